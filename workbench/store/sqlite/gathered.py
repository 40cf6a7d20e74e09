"""What a batch gathers: the rows of its writes, and what is remembered of the keys that they are of.

- Rows of one statement go into the file together, when SQL must see them or the batch ends.
- What `Known` says of a key is what its row will say once the rows are in.

Knows nothing of transactions, or of what is written and why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from workbench.store.sqlite.blobs import INLINE, fold
from workbench.store.sqlite.statements import (
    ANSWER,
    CALL,
    COMMITTED,
    FREE_STATE,
    KEY,
    KEY_AND_WAKE,
    MESSAGE,
    NEVER,
    OPEN_CALL,
    RECORD,
    STATE,
)

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Gathered", "Known"]

MOVED = 1000
"""Calls of a key that are remembered as moved: what is sent here at the same time is on its way for milliseconds."""


class Known:
    """What is remembered of one key.

    `seen` is the data version at which it was true; `stored_wake` is the wake that its row has; `state` is its
    committed state, or False until a commit needs it; `posted` is whether something waits in its inbox. `moved` are the
    newest calls that were posted from elsewhere and moved into its log, with their numbers: the same call, sent here at
    the same time, is logged once.
    """

    __slots__ = (
        "cursor", "epoch", "id", "last_life", "last_message", "last_seq", "last_state", "last_work", "moved", "posted",
        "seen", "state", "stored_wake", "wake",
    )  # fmt: skip

    def __init__(self, row: tuple[int, int, int, int, int, int, int, float | None, int, int], seen: int) -> None:
        self.id, self.epoch, self.cursor, self.last_seq = row[:4]
        self.last_message, self.last_work, self.last_life, self.wake, self.last_state = row[4:9]
        self.posted = bool(row[9])
        self.stored_wake = self.wake
        self.seen = seen
        self.state: str | Literal[False] | None = False
        self.moved: dict[str, int] | None = None

    def move(self, call_id: str, seq: int) -> None:
        """Remember a call that was moved into the log."""
        moved = self.moved = self.moved or {}
        moved[call_id] = seq
        if len(moved) > MOVED:
            del moved[next(iter(moved))]


class Gathered:
    """The rows of one transaction, by statement."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.sql = connection.execute
        self.connection = connection
        self._many = connection.executemany
        self._clear()

    def later(self, statement: str, row: tuple[Any, ...]) -> None:
        """Run a statement with the rows that are gathered, before SQL must see them."""
        self._later.setdefault(statement, []).append(row)

    def settle(self) -> None:
        """Bring the rows that are gathered into the tables, so that SQL sees them."""
        if not self._touched and not self._later:
            return
        many = self._many
        for statement, rows in self._later.items():
            many(statement, rows)
        for statement, rows in (
            (MESSAGE, self._messages),
            (CALL, self._calls),
            (RECORD, self._records),
            (COMMITTED, self._commits),
            (OPEN_CALL, self._opened),
            (ANSWER, self._answers),
        ):
            if rows:
                many(statement, rows)
        if self.states:
            if self.large:
                many(FREE_STATE, self.large)
            many(STATE, self.states.values())
        self._settle_keys()
        self._clear()

    def _settle_keys(self) -> None:
        stay: list[tuple[Any, ...]] = []
        move: list[tuple[Any, ...]] = []
        for known in self._touched.values():
            row = (
                known.epoch,
                known.cursor,
                known.last_seq,
                known.last_message,
                known.last_work,
                known.last_life,
                known.last_state,
            )
            if known.wake == known.stored_wake:
                stay.append((*row, known.id))
            else:
                known.stored_wake = known.wake
                move.append((*row, NEVER if known.wake is None else known.wake, known.id))
        if stay:
            self._many(KEY, stay)
        if move:
            self._many(KEY_AND_WAKE, move)

    def fold(self, payload: str) -> str | bytes:
        """What a column holds for a payload (`workbench.store.sqlite.blobs`)."""
        return payload if len(payload) <= INLINE else fold(self.connection, payload)

    def _clear(self) -> None:
        self._messages: list[tuple[Any, ...]] = []
        self._calls: list[tuple[Any, ...]] = []
        self._records: list[tuple[Any, ...]] = []
        self._commits: list[tuple[Any, ...]] = []
        self._opened: list[tuple[Any, ...]] = []
        self._answers: list[tuple[Any, ...]] = []
        self.states: dict[int, tuple[int, str | None, int]] = {}
        self.large: set[tuple[int]] = set()
        self._touched: dict[int, Known] = {}
        self._later: dict[str, list[tuple[Any, ...]]] = {}
