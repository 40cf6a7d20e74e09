"""Secret texts: what of a value its JSON schema marks as secret (`writeOnly`, or of the format `password`), as texts.

- The marks count at any depth: in objects, lists, unions and definitions; what is marked is secret with all in it.
- A truth value, nothing and an empty text are no secrets: they stand for too much else.

Knows nothing of tools or runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["secret_texts", "secret_texts_of_raw"]

_STRING = r'"((?:[^"\\]|\\.)*)'


def secret_texts(schema: Any, value: Any) -> Iterator[str]:
    """The texts of the secrets in a value, by its schema."""
    yield from _texts(schema, value, schema, frozenset())


def secret_texts_of_raw(schema: Any, text: str) -> Iterator[str]:
    """The texts of the secrets in what was meant to be the JSON of a value, as they stand there, and what they say."""
    for name in _names(schema):
        for found in re.findall(rf"{re.escape(json.dumps(name))}\s*:\s*{_STRING}", text):
            if found:
                yield found
            try:
                said = json.loads(f'"{found}"')
            except ValueError:  # cut off in the middle of an escape
                continue
            yield from _leaves(said)


def _texts(schema: Any, value: Any, root: Any, seen: frozenset[str]) -> Iterator[str]:
    """`seen` are the references that led to this value, so that a schema that goes in a circle comes to an end."""
    if not isinstance(schema, Mapping):
        return
    if _is_marked(schema):
        yield from _leaves(value)
        return
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        yield from _texts(_definition(root, reference), value, root, seen | {reference})
    for word in ("anyOf", "oneOf", "allOf"):
        for each in _list(schema.get(word)):
            yield from _texts(each, value, root, seen)
    if isinstance(value, Mapping):
        known = schema.get("properties")
        known = known if isinstance(known, Mapping) else {}
        for name, item in value.items():
            yield from _texts(known.get(name, schema.get("additionalProperties")), item, root, frozenset())
    elif isinstance(value, list | tuple | set | frozenset):
        first = _list(schema.get("prefixItems"))
        for place, item in enumerate(value):
            yield from _texts(first[place] if place < len(first) else schema.get("items"), item, root, frozenset())


def _is_marked(schema: Mapping[str, Any]) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool) and str(value):
        yield str(value)


def _names(schema: Any) -> Iterator[str]:
    """The names of all properties that are marked, wherever they are defined."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        for name, own in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(own, Mapping) and any(_is_marked(one) for one in (own, *_alternatives(own))):
                yield name
        for each in schema.values():
            yield from _names(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _names(each)


def _alternatives(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for word in ("anyOf", "oneOf", "allOf"):
        yield from (each for each in _list(schema.get(word)) if isinstance(each, Mapping))


def _definition(root: Any, reference: str) -> Any:
    """What a reference inside a schema points at, such as `#/$defs/Login`; None for one that leads nowhere."""
    found = root
    for part in reference.removeprefix("#/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
