"""Code: whether two functions do the same, so that a cell that is run again disturbs nothing that lives.

Where the lines stand in their file is no difference, nor is the file. Source: PROCESSES B.2 (20).
"""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, CodeType
from typing import Any

__all__ = ["same_code"]

_EMPTY = CellType()


def same_code(one: Callable[..., Any], other: Callable[..., Any]) -> bool:
    """Whether two functions are made from the same lines, defaults included, over the same things."""
    if one is other:
        return True
    code, also = getattr(one, "__code__", None), getattr(other, "__code__", None)
    if not (isinstance(code, CodeType) and isinstance(also, CodeType)) or _bare(code) != _bare(also):
        return False
    mine, yours = _given(one), _given(other)
    return len(mine) == len(yours) and all(a is b or _equal(a, b) for a, b in zip(mine, yours, strict=True))


def _bare(code: CodeType) -> CodeType:
    """The code without the places of its lines."""
    constants = tuple(_bare(const) if isinstance(const, CodeType) else const for const in code.co_consts)
    return code.replace(co_firstlineno=1, co_linetable=b"", co_filename="", co_consts=constants)


def _given(function: Callable[..., Any]) -> list[Any]:
    """What it closes over, and its defaults."""
    cells = getattr(function, "__closure__", None) or ()
    named = getattr(function, "__kwdefaults__", None) or {}
    return [
        *(cell.cell_contents for cell in cells if cell != _EMPTY),
        *(getattr(function, "__defaults__", None) or ()),
        *(named[name] for name in sorted(named)),
    ]


def _equal(one: Any, other: Any) -> bool:
    """Whether two things that are not one are equal for sure: constants of one type."""
    return type(one) is type(other) and isinstance(one, str | int | float | bool | bytes) and bool(one == other)
