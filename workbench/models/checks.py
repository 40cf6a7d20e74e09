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

__all__ = ["arguments_invalid", "is_finite"]


def arguments_invalid(tool: str, problems: list[dict[str, str]]) -> ToolArgumentsInvalid:
    """The error for arguments that do not fit, in words that a model and a person can act on."""
    said = [f"{p['parameter']} is {p['found']}, expected {p['expected']}" for p in problems[:5]]
    more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
    words = f"tool {tool!r} cannot take these arguments: {'; '.join(said)}{more}; call it again with arguments that fit"
    return ToolArgumentsInvalid(words, tool=tool, problems=problems, **problems[0])


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
