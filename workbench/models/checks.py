"""Checks of what a model gives: what is wrong with it, in words that a model and a person can act on.

Beside them, schemas as providers take them: no number that is no JSON, an object at their root.
Comparisons with NaN are all false, so whoever decides by comparing asks `is_finite` first.

Knows nothing of where a schema came from.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any

from workbench.errors import ToolArgumentsInvalid

__all__ = ["arguments_invalid", "is_finite", "problem_of", "rooted", "said_of", "strict_json"]


def arguments_invalid(tool: str, problems: list[dict[str, str]]) -> ToolArgumentsInvalid:
    """The error for arguments that do not fit, in words that a model and a person can act on."""
    words = f"tool {tool!r} cannot take these arguments: {said_of(problems)}; call it again with arguments that fit"
    return ToolArgumentsInvalid(words, tool=tool, problems=problems, **problems[0])


def said_of(problems: list[dict[str, str]]) -> str:
    """The problems in one line, the first five of them."""
    said = [f"{p['parameter']} is {p['found']}, expected {p['expected']}" for p in problems[:5]]
    return "; ".join(said) + (f" and {len(problems) - 5} more" if len(problems) > 5 else "")


def problem_of(detail: Any, *, whole: str = "arguments") -> dict[str, str]:
    """One of pydantic's validation errors: the place (`whole` where it is all), what was found, what was expected."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"]).lstrip(".")
    missing, unknown = detail["type"] == "missing", detail["type"] == "extra_forbidden"
    found = "missing" if missing else repr(detail["input"])
    expected = "a value" if missing else "no such parameter" if unknown else _expectation(detail["msg"])
    return {
        "parameter": path or whole,
        "found": found if len(found) <= 80 else found[:79] + "…",
        "expected": expected,
    }


def _expectation(message: str) -> str:
    bare = re.sub(r"^(?:Input|Value) should be |^(?:Value|Assertion) error, ", "", message)
    bare = re.sub(r"^\w+ should ", "to ", bare)
    return bare[:1].lower() + bare[1:]


def strict_json(value: Any) -> Any:
    """A schema without defaults that are no JSON (an infinite float)."""
    if isinstance(value, dict):
        return {
            key: strict_json(item)
            for key, item in value.items()
            if not (key == "default" and isinstance(item, float) and not math.isfinite(item))
        }
    return [strict_json(item) for item in value] if isinstance(value, list) else value


def rooted(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that is an object itself, where the generator made a reference to one (a recursive model)."""
    if "$ref" not in schema:
        return schema
    target = schema["$ref"].rpartition("/")[2]
    return {**schema["$defs"][target], "$defs": schema["$defs"]}


def is_finite(value: Any) -> bool:
    """Whether no number in a value, however deep, is NaN or infinite; what objects have is looked into."""
    if isinstance(value, float | Decimal):
        return math.isfinite(value)
    if isinstance(value, complex):
        return cmath.isfinite(value)
    if isinstance(value, str | bytes | type):
        return True
    if isinstance(value, Mapping):
        return all(is_finite(each) for pair in value.items() for each in pair)
    if isinstance(value, Collection):
        return all(is_finite(each) for each in value)
    return all(is_finite(each) for each in _inside(value))


def _inside(value: Any) -> Iterator[Any]:
    """What an object has: in its dict and in its slots, among which are the extra fields of a pydantic model."""
    inside = getattr(value, "__dict__", None)
    if isinstance(inside, dict):
        yield from inside.values()
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                mangled = name.startswith("__") and not name.endswith("__")
                yield getattr(value, f"_{kind.__name__.lstrip('_')}{name}" if mangled else name, None)
