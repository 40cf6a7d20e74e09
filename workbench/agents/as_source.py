"""Source: plain data and scripts as Python text that makes them again, with the imports that the text needs.

What the text makes equals what went in, types included. What equals anything (`unittest.mock.ANY`) stays so, and a
number that is none (nan, inf) is written as `float("nan")`. What does not fit a line has a line for each of its parts.

Knows nothing of runs.
"""

from __future__ import annotations

import datetime as dt
import keyword
import math
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

from workbench.models.script import ScriptedCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["imports_of", "source"]

WIDTH = 110
_IMPORTS = {
    dt.date: "import datetime",
    dt.time: "import datetime",
    dt.timedelta: "import datetime",
    dt.tzinfo: "import zoneinfo",
    Decimal: "from decimal import Decimal",
    uuid.UUID: "from uuid import UUID",
}


def source(value: Any, indent: int = 0) -> str:
    """The text that makes `value`, for a line that is indented by `indent`."""
    match value:
        case ScriptedCall():
            return _call(value, indent)
        case dict() if value:
            return _parts(
                "{", [f"{_text(key)}: {source(item, indent + 4)}" for key, item in value.items()], "}", indent
            )
        case list() if value:
            return _parts("[", [source(item, indent + 4) for item in value], "]", indent)
        case tuple() if value:
            made = _parts("(", [source(item, indent + 4) for item in value], ")", indent)
            return f"{made[:-1]},)" if len(value) == 1 and not made.endswith(",\n)") else made
        case set() if value:
            return _parts("{", sorted(source(item, indent + 4) for item in value), "}", indent)
        case str():
            return _text(value)
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case _:
            return "ANY" if value is ANY else repr(value)


def imports_of(value: Any) -> set[str]:
    """The import lines that `source(value)` needs."""
    walked = list(_walk(value))
    found = {line for item in walked for kind, line in _IMPORTS.items() if isinstance(item, kind)}
    return found | {"from unittest.mock import ANY" for item in walked if item is ANY}


def _parts(opening: str, parts: Iterable[str], closing: str, indent: int) -> str:
    made = list(parts)
    line = f"{opening}{', '.join(made)}{closing}"
    if "\n" not in line and len(line) + indent <= WIDTH:
        return line
    margin = "\n" + " " * (indent + 4)
    return f"{opening}{margin}{f',{margin}'.join(made)},\n{' ' * indent}{closing}"


def _text(text: Any) -> str:
    """A text in double quotes, where that needs no more escapes."""
    made = repr(text)
    if isinstance(text, str) and made.startswith("'") and '"' not in text:
        return f'"{made[1:-1]}"'
    return made


def _call(call: ScriptedCall, indent: int) -> str:
    if call.raw is not None:
        return f"models.raw_call({_text(call.tool)}, {_text(call.raw)})"
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in call.args):
        given = [f"{name}={source(item, indent + 4)}" for name, item in call.args.items()]
    else:
        given = [f"**{source(call.args, indent + 4)}"]
    return _parts("models.call(", [_text(call.tool), *given], ")", indent)


def _walk(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, ScriptedCall):
        yield from _walk(value.args)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _walk(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _walk(item)
    elif isinstance(value, dt.datetime) and value.tzinfo is not None:
        yield value.tzinfo
