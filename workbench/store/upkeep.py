"""Upkeep: what a store promises to who looks after it: measuring, checking, forgetting, and copies of a key.

- What is forgotten is over: a key is deleted whole, and never while another live host has it. A key of that name that
  begins later goes on behind the deleted one, so no old owner can write to it and no idempotency key comes twice.
- A copy is rows of plain data (`ROWS`). It is restored in one transaction, or not at all, and never over a key that is
  there.
- A copy that is restored read-only belongs to `READER`, a host that is always alive and never does anything; who takes
  the key makes it live.

Source: DESIGN rule 10, PROCESSES B.2 (12) and 2.16. Knows nothing of files' formats or of who asks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from workbench.store.claims import Host

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Sequence

__all__ = ["READER", "ROWS", "CopyRow", "Kind", "Size", "Upkeep"]

READER = Host("read-only", "a read-only copy", 0, math.inf)
"""The owner of a key that was restored read-only."""

CopyRow = dict[str, Any]
"""One row of a copy: `row` is a name of `ROWS`, then its columns."""

_MAYBE = (str, type(None))
_NUMBER = (int, float)
ROWS: dict[str, dict[str, tuple[type, ...]]] = {
    "key": {
        "key": (str,),
        "definition": (str,),
        "args": (str,),
        "version": (int,),
        "snapshot": _MAYBE,
        "cursor": (int,),
        "last_seq": (int,),
        "epoch": (int,),
        "wake_at": (*_NUMBER, type(None)),
        "created_at": _NUMBER,
    },
    "entry": {
        "kind": (str,),
        "seq": (int,),
        "epoch": (int,),
        "at": _NUMBER,
        "call_id": _MAYBE,
        "branch": _MAYBE,
        "name": _MAYBE,
        "occurrence": (int, type(None)),
        "position": (int, type(None)),
        "began_at": (*_NUMBER, type(None)),
        "took": (*_NUMBER, type(None)),
        "payload": _MAYBE,
    },
    "call": {
        "call_id": (str,),
        "seq": (int,),
        "logged": (bool,),
        "epoch": (int, type(None)),
        "at": (*_NUMBER, type(None)),
        "payload": _MAYBE,
    },
    "letter": {
        "seq": (int,),
        "epoch": (int,),
        "at": _NUMBER,
        "call_id": _MAYBE,
        "message": (str,),
        "error": (str,),
        "attempts": (int,),
        "status": (str,),
        "decided_at": (*_NUMBER, type(None)),
        "by": _MAYBE,
    },
    "post": {"at": _NUMBER, "call_id": _MAYBE, "message": (str,), "letter": (int, type(None))},
    "life": {
        "epoch": (int,),
        "host": (str,),
        "began_at": _NUMBER,
        "ended_at": (*_NUMBER, type(None)),
        "how": _MAYBE,
        "by": _MAYBE,
    },
    "record": {
        "kind": (str,),
        "id": (str,),
        "body": (str,),
        "status": (str,),
        "at": _NUMBER,
        "decision": _MAYBE,
        "decided_at": (*_NUMBER, type(None)),
    },
}
"""The rows of a copy in their order, each with its columns and their types."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How much there is of one kind of content: rows, and bytes of their payloads."""

    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Size:
    """What a store weighs, in bytes: its file, the log beside it, what the file has free; and what is in it.

    `oldest` is the instant of the oldest entry.
    """

    file: int
    wal: int
    free: int
    kinds: dict[str, Kind] = field(default_factory=dict)
    oldest: float | None = None


class Upkeep(Protocol):
    """The verbs of who looks after a store."""

    def used_now(self) -> int:
        """Bytes in use, without what is free for new content; a quick look."""
        ...

    def measure(self) -> Awaitable[Size]:
        """What the store weighs, by kind of content; looks at everything, off the loop."""
        ...

    def check(self) -> Awaitable[list[str]]:
        """What the keeper's own check finds wrong, off the loop; empty when the store is whole."""
        ...

    def hosts_now(self) -> list[tuple[Host, bool]]:
        """The hosts of the store, and whether each is alive."""
        ...

    def prune_letters(self, before: float) -> Awaitable[int]:
        """Forget dead letters that were set aside before `before`, decided or not; gives how many went."""
        ...

    def delete(self, key: str) -> Awaitable[bool]:
        """Forget a key and everything of it, in one transaction; False when it is unknown.

        Raises: OwnedElsewhere while another live host has it.
        """
        ...

    def copy(self, key: str) -> Iterator[CopyRow]:
        """The rows of a key, as they are committed at one moment; for a thread of its own. Empty when unknown."""
        ...

    def restore(self, rows: Sequence[CopyRow], *, read_only: bool) -> Awaitable[str | None]:
        """Bring a copy in, in one transaction; gives None, or the name of what is there already (then nothing changed).

        `rows` fit `ROWS`, the key first. Its entries, calls and records get new row numbers.
        """
        ...
