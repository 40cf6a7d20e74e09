"""Patches: the difference between two plain values, as a list of operations that turns one into the other.

- Operations are `["set", path, value]`, `["del", path]` and `["splice", path, start, remove, insert]`; paths are JSON
  pointers (RFC 6901, the root is `""`). On a list `insert` is a list; on a string it is text, and positions count
  characters (code points).
- Values of different types differ: True is not 1, and 1 is not 1.0. The same object is never walked.
- Lists are compared by position after an equal beginning and end: nothing is followed when it moves.

Knows nothing of who sends or shows them. Source: PROCESSES 1.8; `tests/vectors/patches.json` binds the front end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Op", "apply", "diff", "keys_of", "same"]

Op = list[Any]

SHORT = 32  # a string this short is set whole: a splice would not be smaller
LENGTHS = {"set": 3, "del": 2, "splice": 5}


def diff(before: Any, after: Any) -> list[Op]:
    """The operations that turn `before` into `after`; none when they are equal."""
    ops: list[Op] = []
    _walk(before, after, "", ops)
    return ops


def apply(value: Any, ops: list[Op]) -> Any:
    """`value` with the operations done, in order; `value` itself stays as it was and shares what was not touched.

    Raises: BadInput when an operation does not fit the value, or is none.
    """
    owned: set[int] = set()
    keep: list[Any] = []  # holds what is in `owned`, so that no id is used twice

    def own(container: Any) -> Any:
        if id(container) in owned:
            return container
        copy = container.copy()
        owned.add(id(copy))
        keep.append(copy)
        return copy

    for op in ops:
        _must_be_one(op)
        value = _apply(value, op, own)
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two plain values are equal, types included: True is not 1, and 1 is not 1.0."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(key in other and same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def keys_of(path: str) -> list[str]:
    """The parts of a JSON pointer, unescaped; none for the root, `""`. Raises: BadInput for what is no pointer."""
    if path == "":
        return []
    if not path.startswith("/") or any(rest[:1] not in ("0", "1") for rest in path.split("~")[1:]):
        raise BadInput(f"{path!r} is no path; expected a JSON pointer such as '/rows/3/text'", path=path)
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]


def _walk(before: Any, after: Any, path: str, ops: list[Op]) -> None:
    if before is after:
        return
    if type(before) is not type(after):
        ops.append(["set", path, after])
    elif isinstance(after, dict):
        _walk_dict(before, after, path, ops)
    elif isinstance(after, list):
        _walk_list(before, after, path, ops)
    elif not same(before, after):
        ops.append(_text(before, after, path) if isinstance(after, str) else ["set", path, after])


def _walk_dict(before: dict[str, Any], after: dict[str, Any], path: str, ops: list[Op]) -> None:
    ops.extend(["del", _join(path, key)] for key in before if key not in after)
    for key, value in after.items():
        if key in before:
            _walk(before[key], value, _join(path, key), ops)
        else:
            ops.append(["set", _join(path, key), value])


def _walk_list(before: list[Any], after: list[Any], path: str, ops: list[Op]) -> None:
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and same(before[start], after[start]):
        start += 1
    end = 0
    while end < shorter - start and same(before[-1 - end], after[-1 - end]):
        end += 1
    removed, inserted = len(before) - end - start, len(after) - end - start
    common = min(removed, inserted)
    for index in range(start, start + common):
        _walk(before[index], after[index], f"{path}/{index}", ops)
    if removed != inserted:
        at = start + common
        ops.append(["splice", path, at, removed - common, after[at : start + inserted]])


def _text(before: str, after: str, path: str) -> Op:
    if len(after) <= SHORT:
        return ["set", path, after]
    start = _shared(before, after)
    limit = min(len(before), len(after)) - start
    end = _shared(before[start:][::-1], after[start:][::-1]) if limit else 0
    return ["splice", path, start, len(before) - end - start, after[start : len(after) - end]]


def _shared(one: str, other: str) -> int:
    """How many characters both begin with: by halving, since comparing slices is far quicker than characters."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _join(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"


def _must_be_one(op: object) -> None:
    """Raises: BadInput for what has not the shape of an operation."""
    path = op[1] if isinstance(op, list) and len(op) > 1 else None
    if not isinstance(op, list) or not isinstance(path, str):
        raise BadInput(f"{op!r:.80} is no operation; expected e.g. ['set', '/rows/3', 1]", path=path)
    if LENGTHS.get(str(op[0])) != len(op):
        raise BadInput(
            f"{op[0]!r} with {len(op) - 1} parts at {path!r} is no operation; expected set with a path and a value, "
            "del with a path, or splice with a path, a start, a number to remove, and what to insert",
            path=path,
        )
    if op[0] == "splice" and (type(op[2]) is not int or type(op[3]) is not int):
        raise BadInput(f"a splice at {path!r} is given in whole numbers, found {op[2]!r} and {op[3]!r}", path=path)


def _apply(value: Any, op: Op, own: Callable[[Any], Any]) -> Any:
    kind, path = op[0], op[1]
    parts = keys_of(path)
    if not parts:
        if kind == "del":
            raise BadInput("the root cannot be deleted; set it to another value", path=path)
        return op[2] if kind == "set" else _splice(value, op, own)
    root = parent = own(_container(value, path))
    for part in parts[:-1]:
        place = _place(parent, part, path)
        parent[place] = parent = own(_container(parent[place], path))
    _finish(parent, parts[-1], op, own)
    return root


def _finish(parent: Any, last: str, op: Op, own: Callable[[Any], Any]) -> None:
    kind, path = op[0], op[1]
    if kind == "set":
        parent[last if isinstance(parent, dict) else _place(parent, last, path)] = op[2]
    elif kind == "del":
        del parent[_place(parent, last, path)]
    else:
        place = _place(parent, last, path)
        parent[place] = _splice(parent[place], op, own)


def _splice(value: Any, op: Op, own: Callable[[Any], Any]) -> Any:
    _, path, start, remove, insert = op
    if type(value) not in (str, list) or type(insert) is not type(value):
        raise BadInput(
            f"{path!r} is a {type(value).__name__}, which a splice of a {type(insert).__name__} does not fit", path=path
        )
    if not 0 <= start <= start + remove <= len(value):
        raise BadInput(f"{path!r} has length {len(value)}, and the splice takes {start} to {start + remove}", path=path)
    if isinstance(value, str):
        return value[:start] + insert + value[start + remove :]
    spliced = own(value)
    spliced[start : start + remove] = insert
    return spliced


def _container(value: Any, path: str) -> Any:
    if not isinstance(value, dict | list):
        raise BadInput(f"{path!r} leads through a {type(value).__name__}; expected a dict or a list there", path=path)
    return value


def _place(parent: Any, part: str, path: str) -> Any:
    """The key or index that is there."""
    if isinstance(parent, dict):
        if part in parent:
            return part
    elif part.isascii() and part.isdigit() and str(int(part)) == part and int(part) < len(parent):
        return int(part)
    raise BadInput(f"{path!r} leads to nothing: no {part!r} there", path=path)
