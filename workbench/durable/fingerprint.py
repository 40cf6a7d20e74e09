"""The fingerprint of code: whether two lives of a key ran the same lines, told without keeping the lines.

The same source compiled by the same Python has the same fingerprint in every process; comments, blank lines and where
the lines stand make no difference. Source: PROCESSES B.2 (8). Nothing is ever decided by it: it is for people to see.
"""

from __future__ import annotations

import hashlib
from types import CodeType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["fingerprint"]

LENGTH = 12


def fingerprint(function: Callable[..., Any]) -> str | None:
    """Twelve hexadecimal digits, or None for a callable that has no code of its own."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return None
    marks = hashlib.sha256()
    for part in _parts(code):
        marks.update(part.encode(errors="backslashreplace") + b"\0")
    return marks.hexdigest()[:LENGTH]


def _parts(code: CodeType) -> Iterator[str]:
    """What a piece of code is made of, constants and inner functions included."""
    yield code.co_code.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)
        elif isinstance(constant, frozenset):  # its order differs between processes
            yield repr(sorted(map(repr, constant)))
        else:
            yield f"{type(constant).__name__} {constant!r}"
