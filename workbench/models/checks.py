"""Checks of tool arguments: what is wrong with them, in words that a model and a person can act on.

Comparisons with NaN are all false, so whoever decides by comparing asks `is_finite` first.

Knows nothing of where a schema came from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from workbench.errors import ToolArgumentsInvalid

__all__ = ["arguments_invalid", "is_finite", "misfits"]


def arguments_invalid(tool: str, problems: list[dict[str, str]]) -> ToolArgumentsInvalid:
    """The error for arguments that do not fit, in words that a model and a person can act on."""
    said = [f"{p['parameter']} is {p['found']}, expected {p['expected']}" for p in problems[:5]]
    more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
    words = f"tool {tool!r} cannot take these arguments: {'; '.join(said)}{more}; call it again with arguments that fit"
    return ToolArgumentsInvalid(words, tool=tool, problems=problems, **problems[0])


def misfits(schema: Mapping[str, Any], args: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is wrong with arguments by a JSON schema that came from elsewhere: missing, unknown, or of another type.

    Only the outermost level is looked at: who has the tool checks the rest.
    """
    properties = schema.get("properties", {})
    problems = [
        {"parameter": name, "found": "nothing", "expected": "a value, it is required"}
        for name in schema.get("required", ())
        if name not in args
    ]
    for name, value in args.items():
        if name not in properties and schema.get("additionalProperties") is False:
            known = ", ".join(properties) or "no parameters"
            problems.append({"parameter": name, "found": repr(value)[:80], "expected": f"one of {known}"})
        kind = properties.get(name, {}).get("type")
        if isinstance(kind, str) and kind in _TYPES and not _is_a(value, kind):
            problems.append({"parameter": name, "found": repr(value)[:80], "expected": f"a value of type {kind}"})
    return problems


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
    "null": (type(None),),
}


def _is_a(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def is_finite(value: Any) -> bool:
    """Whether no number in a value, however deep, is NaN or infinite; models and dataclasses are looked into."""
    if isinstance(value, float | Decimal):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(is_finite(each) for pair in value.items() for each in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return all(is_finite(each) for each in value)
    inside = getattr(value, "__dict__", None)
    return not isinstance(inside, dict) or isinstance(value, type) or all(is_finite(each) for each in inside.values())
