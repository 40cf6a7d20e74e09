"""Alignment: which rows of two runs belong beside each other.

- A turn with its calls is one block. Blocks that call the same tools belong together; where neither has a match, the
  next of each are put beside each other, so a turn that did something else is seen as changed.
- Inside a block, calls of one tool belong together.

Knows nothing of what is different in them, or of views.
"""

from __future__ import annotations

import difflib
from itertools import takewhile, zip_longest
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from workbench.agents.views import CallRow, MessageRow

__all__ = ["aligned"]

T = TypeVar("T")


def aligned(
    first: Sequence[MessageRow | CallRow], second: Sequence[MessageRow | CallRow]
) -> list[tuple[MessageRow | CallRow | None, MessageRow | CallRow | None]]:
    """The rows of two runs in pairs, in order; a row without a match has None beside it."""
    made: list[tuple[MessageRow | CallRow | None, MessageRow | CallRow | None]] = []
    for one, other in _paired(_blocks(first), _blocks(second), _signature):
        calls = _paired((one or [])[1:], (other or [])[1:], _tool)
        made.append((one[0] if one else None, other[0] if other else None))
        made += calls
    return made


def _blocks(rows: Sequence[MessageRow | CallRow]) -> list[list[MessageRow | CallRow]]:
    """The rows of each turn, what was said first."""
    blocks: list[list[MessageRow | CallRow]] = []
    for row in rows:
        if row["kind"] == "message" or not blocks:
            blocks.append([])
        blocks[-1].append(row)
    return blocks


def _signature(block: list[MessageRow | CallRow]) -> Hashable:
    return block[0]["kind"] == "message" and block[0]["who"] == "you", tuple(_tool(row) for row in block[1:])


def _tool(row: MessageRow | CallRow) -> str:
    return row["tool"] if row["kind"] == "call" else ""


def _paired(first: Sequence[T], second: Sequence[T], sign: Callable[[T], Hashable]) -> list[tuple[T | None, T | None]]:
    """Items with equal signs in pairs; the equal beginning first, so that what was shared stays together."""
    lead = sum(1 for _ in takewhile(lambda pair: sign(pair[0]) == sign(pair[1]), zip(first, second, strict=False)))
    made: list[tuple[T | None, T | None]] = list(zip(first[:lead], second[:lead], strict=True))
    one, other = first[lead:], second[lead:]
    signs = [sign(item) for item in one], [sign(item) for item in other]
    for _, i1, i2, j1, j2 in difflib.SequenceMatcher(None, *signs, autojunk=False).get_opcodes():
        made += zip_longest(one[i1:i2], other[j1:j2])
    return made
