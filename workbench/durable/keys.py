"""Keys and addresses: the texts by which the journal knows processes and steps.

- A key is made from a template and arguments; arguments are escaped and type-tagged, so different arguments never
  give one key: text stands as it is, anything else as `~` and its JSON.
- A step's idempotency key is `key#seq#branch#name#occurrence`, fields escaped, so inserting another step never
  changes it.

Source: DESIGN 2 and rule 8, PROCESSES B.4.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from workbench.errors import BadInput
from workbench.given import NAME, named
from workbench.plain import canonical

__all__ = ["KEY", "KeyMaker", "escape", "key_maker", "key_stem", "step_key"]

KeyMaker = Callable[[dict[str, Any]], str]
KEY = 4 * NAME
"""Bytes that a key has at most: a name with every character escaped, and what stands around it."""
_LITERAL = " $&'()*+,;=?@[]._-<>|"  # not escaped; what separates fields is: : # / ! ~ %


@lru_cache(maxsize=4096)
def escape(text: str) -> str:
    """The text with everything that separates fields percent-encoded; different texts stay different.

    Raises: BadInput for what is no text, or has half of a character in it.
    """
    try:
        return quote(text.encode(), safe=_LITERAL).replace("~", "%7E")
    except (AttributeError, UnicodeEncodeError) as error:
        raise BadInput(f"a name is text of UTF-8, found {text!r:.80}") from error


def step_key(key: str, seq: int, branch: str, name: str, occurrence: int) -> str:
    """The idempotency key of a step: equal on every retry of it, different from every other step's."""
    return f"{key_stem(key, seq)}{branch}#{escape(name)}#{occurrence}"


def key_stem(key: str, seq: int) -> str:
    """What the idempotency keys of all steps of a message begin with."""
    return f"{_whole_key(key)}#{seq}#"


@lru_cache(maxsize=4096)
def _whole_key(key: str) -> str:
    return key.replace("%", "%25").replace("#", "%23")


def key_maker(template: str | KeyMaker, parameters: list[str], name: str) -> KeyMaker:
    """A function from arguments to the key.

    Raises: BadInput when the template names no parameter of the body, or a format.
    """
    if callable(template):
        return lambda args: named(f"the key of {name}", template(args), KEY)
    if not isinstance(template, str):
        raise BadInput(f"the key of {name} is a template such as 'order:{{id}}', or a function, found {template!r}")
    named(f"the key of {name}", template)
    parts = [part for part in string.Formatter().parse(template) if part[1] is not None]
    fields = [field for _, field, _, _ in parts]
    for _, field, spec, conversion in parts:
        if field not in parameters:
            raise BadInput(f"the key {template!r} of {name} uses {{{field}}}; its parameters are {parameters}")
        if spec or conversion:
            raise BadInput(f"the key {template!r} of {name} takes no format; write {{{field}}} alone")

    def make(args: dict[str, Any]) -> str:
        key = template.format(**{field: _argument(args[field], f"{name}({field})") for field in fields if field})
        return key if len(key) <= KEY else named(f"the key of {name}", key, KEY)

    return make


def _argument(value: object, path: str) -> str:
    return escape(value) if type(value) is str else "~" + escape(canonical(value, path))
