"""Differences: what two texts or two plain values do not have in common, as pieces that can be shown beside each other.

- Words are compared, not characters; white space belongs to the word before it. A text of very many words is compared
  by its lines, so that no comparison takes long.
- Values are compared leaf by leaf, by path (`items[0].price`); types count: 1 is not 1.0, and True is not 1.

Knows nothing of runs or views.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, TypedDict

from workbench.patch import same

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Field", "Piece", "changed_fields", "pieces"]

WORDS = 1500
"""Words of a text up to which they are compared one by one."""
LEAVES = 200
"""Leaves of a value up to which each is compared; what is beyond is compared as a whole."""


class Piece(TypedDict):
    """A part of two texts. `how`: same (in both), removed (only in the first), added (only in the second)."""

    how: str
    text: str


class Field(TypedDict):
    """A leaf that differs. `how`: changed, removed (only in the first), added (only in the second)."""

    path: str
    how: str
    a: Any
    b: Any


def pieces(before: str, after: str) -> list[Piece]:
    """What becomes of `before` on the way to `after`, in order."""
    first, second = _parts(before), _parts(after)
    if max(len(first), len(second)) > WORDS:
        first, second = before.splitlines(keepends=True), after.splitlines(keepends=True)
    made: list[Piece] = []
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, first, second, autojunk=len(first) > WORDS).get_opcodes():
        if tag == "equal":
            made.append({"how": "same", "text": "".join(first[i1:i2])})
            continue
        if i2 > i1:
            made.append({"how": "removed", "text": "".join(first[i1:i2])})
        if j2 > j1:
            made.append({"how": "added", "text": "".join(second[j1:j2])})
    return made


def _parts(text: str) -> list[str]:
    return re.findall(r"\w+\s*|[^\w\s]\s*|\s+", text)


def changed_fields(before: Any, after: Any) -> list[Field]:
    """The leaves that are not the same, in the order in which they are met."""
    if same(before, after):
        return []
    first, second = dict(_leaves(before, "")), dict(_leaves(after, ""))
    if max(len(first), len(second)) > LEAVES:
        return [{"path": "", "how": "changed", "a": before, "b": after}]
    made: list[Field] = []
    for path in dict.fromkeys([*first, *second]):
        if path not in second:
            made.append({"path": path, "how": "removed", "a": first[path], "b": None})
        elif path not in first:
            made.append({"path": path, "how": "added", "a": None, "b": second[path]})
        elif not same(first[path], second[path]):
            made.append({"path": path, "how": "changed", "a": first[path], "b": second[path]})
    return made or [{"path": "", "how": "changed", "a": before, "b": after}]


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        yield path, value
