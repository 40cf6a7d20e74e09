"""Records: what a store promises of rows that are found by what they hold; approvals today.

- A row is decided by compare-and-set: of two that decide at once, one hears that it had moved.
- A decision wakes the key that waits for it, in the same transaction.

Instants are UTC seconds. Source: DESIGN rule 12, PROCESSES B.4. Knows nothing of what is asked or decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

__all__ = ["Record", "Records"]


@dataclass(frozen=True, slots=True)
class Record:
    """One row of `Records`. `decision` is a payload, there once it is decided."""

    kind: str
    id: str
    key: str
    body: str
    status: str
    at: float
    decision: str | None = None
    decided_at: float | None = None


class Records(Protocol):
    """Rows that are found by what they hold: approvals today.

    `body` is a payload; `status` moves by compare-and-set.
    """

    def put_record(self, kind: str, id: str, key: str, body: str, *, status: str, at: float) -> Awaitable[bool]:
        """Add a row; gives False and changes nothing when the id is there already."""
        ...

    def decide_record(
        self, kind: str, id: str, *, expect: str, status: str, decision: str, at: float
    ) -> Awaitable[bool]:
        """Move `status` from `expect`, keep `decision` and wake the key, in one transaction; False when it had moved.

        Written with synchronous FULL whatever the durability of the bench.
        """
        ...

    def get_record(self, kind: str, id: str) -> Awaitable[Record | None]:
        """One row, or None."""
        ...

    def find_records(self, kind: str, *, key: str | None = None, status: str | None = None) -> Awaitable[list[Record]]:
        """Rows oldest first."""
        ...
