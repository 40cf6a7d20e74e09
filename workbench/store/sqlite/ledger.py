"""The ledger: how a batch of writes becomes one transaction.

- One `BEGIN IMMEDIATE … COMMIT` per batch, with one `executemany` per statement. Rows are numbered and judged in the
  order of the batch; what one write leaves is what the next one sees.
- What a write must know of its key (epoch, last number, cursor, wake) is remembered between transactions. `PRAGMA
  data_version`, read inside the transaction, says whether another connection wrote since; then it is read again. Our
  own writes leave it alone.
- A stale write is refused alone; the others of its batch land. A batch that fails is tried again in halves, so only the
  culprit fails.

Used by one thread at a time, under the writer's lock. Knows nothing of futures or loops.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from workbench.errors import Fenced, Signal, StoreError, WorkbenchError
from workbench.store.fencing import fenced
from workbench.store.sqlite.ahead import Ahead, read_ahead
from workbench.store.sqlite.blobs import INLINE
from workbench.store.sqlite.file import PATIENCE, gone, identity, is_busy
from workbench.store.sqlite.gathered import Gathered, Known
from workbench.store.sqlite.hosts import renew
from workbench.store.sqlite.schema import LAST_ID
from workbench.store.sqlite.sound import damaged, is_instant, is_number
from workbench.store.sqlite.statements import (
    DATA_VERSION,
    DEAD,
    MAKE_KEY,
    MAKE_STATE,
    READ_KEY,
)
from workbench.store.sqlite.states import keep
from workbench.store.sqlite.write import APPEND, BEGIN, COMMIT, JOB, STEP

if TYPE_CHECKING:
    from workbench.store.journal import Commit, StepRecord
    from workbench.store.sqlite.write import Job, Write

__all__ = ["Busy", "Known", "Ledger"]

QUICK = 0.0003
"""Seconds that a COMMIT may take for the next lone write to be written on the loop's thread."""


class Busy(Exception):
    """Another connection has the file; nothing was written and the batch can be tried again."""


class Ledger(Gathered):
    """The write connection of a store, with what is remembered of its keys."""

    def __init__(self, connection: sqlite3.Connection, path: str, now: Callable[[], float], *, relaxed: bool) -> None:
        super().__init__(connection)
        self.relaxed = relaxed
        self.path = path
        self.at = 0.0
        self.quick = False
        self.version = -1
        self.slot = 0
        self.lease = 0.0
        self.renewed = 0.0
        self._file = identity(path)
        self._now = now
        self._known: dict[str, Known] = {}
        self.ahead: Ahead | None = None
        self._landed: tuple[Sequence[Write], list[object]] = ((), [])
        self._last_id = self._stored_id = -1
        self._land: tuple[Callable[[Write], object], ...] = (
            self._append,
            self._put_step,
            self._commit,
            self._job,
            self._nothing,
            self._begin_life,
        )

    def land(self, writes: Sequence[Write]) -> list[object]:
        """Write a batch; gives for each write its value, or the error that it ends with.

        Waits for other processes as long as `PATIENCE`, then every write ends with StoreError.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self.try_to_land(writes)
            except Busy as busy:
                if time.monotonic() >= deadline:
                    return [self._explained(write, busy) for write in writes]

    def try_to_land(self, writes: Sequence[Write]) -> list[object]:
        """`land`, without waiting for other processes for more than some milliseconds. Raises: Busy."""
        try:
            return self._transaction(writes)
        except Exception as error:
            if is_busy(error):
                raise Busy(str(error)) from error
            return self._apart(writes, error)

    def told(self) -> None:
        """Forget the batch that landed last: whoever waited for it has its outcome."""
        self._landed = ((), [])

    def changed(self) -> int:
        """A number that moves when another connection has written."""
        (version,) = self.sql(DATA_VERSION).fetchone()
        if version != self.version:
            self.version = version
            self._stored_id = -1
        return self.version

    def known(self, key: str) -> Known | None:
        """What is true of a key now, or None when the store does not know it."""
        known = self._known.get(key)
        if known is not None and known.seen == self.version:
            return known
        row = self.sql(READ_KEY, (key,)).fetchone()
        if row is None:
            return None
        known = self.remember(key, row)
        if known is None:
            raise damaged(key, f"{row!r:.100} are no numbers of a key")
        return known

    def remember(self, key: str, row: tuple[Any, ...]) -> Known | None:
        """Take in a row of `READ_KEY`; None when it is none of a key."""
        if not all(map(is_number, row[:7])) or not is_number(row[8]) or not (row[7] is None or is_instant(row[7])):
            return None
        before = self._known.get(key)
        known = self._known[key] = Known(row, self.version)
        if before is not None and before.epoch == known.epoch:
            known.moved = before.moved
        return known

    def make(self, key: str) -> Known:
        """What is true of a key, which is made when the store does not know it."""
        known = self.known(key)
        if known is None:
            made = self.sql(MAKE_KEY, (key, self.at)).lastrowid
            self.sql(MAKE_STATE, (made,))
            known = self.known(key)
            assert known is not None  # it was just made
        return known

    def forget(self, key: str) -> None:
        """Read a key again before its next write, because a job wrote to its row."""
        self._known.pop(key, None)

    @property
    def last_id(self) -> int:
        """The number of the newest row."""
        return self._last_id

    def next_id(self) -> int:
        """The number of a new row; rises in the order of writing."""
        self._last_id += 1
        return self._last_id

    def fenced(self, key: str, epoch: int, known: Known | None) -> Fenced:
        """The refusal of a stale write."""
        return fenced(key, epoch, known.epoch if known is not None else 0)

    def log(self, known: Known, epoch: int, message: str, call_id: str | None, wake_at: float | None) -> int:
        """Add a message to the log of a key; gives its number."""
        self._last_id = row = self._last_id + 1
        known.last_seq = seq = known.last_seq + 1
        payload = message if len(message) <= INLINE else self.fold(message)
        if call_id is None:
            self._messages.append((row, known.last_message, known.id, seq, epoch, self.at, payload))
        else:
            self._calls.append((row, known.last_message, known.id, seq, epoch, self.at, payload, call_id))
            self._opened.append((self.next_id(), known.id, call_id, seq, row))
        known.last_message = row
        if wake_at is not None and known.wake is None:
            known.wake = wake_at
        self._touched[known.id] = known
        return seq

    def keep_step(self, key: str, epoch: int, seq: int, record: StepRecord) -> None:
        """Add the record of a step from inside a job, whose epoch is the newest."""
        self._put_step((STEP, key, epoch, seq, record, None))

    def begin_life(self, known: Known) -> int:
        """Begin an epoch above all earlier ones of a key; gives the number of its row among the lives."""
        known.epoch += 1
        known.moved = None
        known.last_life = self.next_id()
        self._touched[known.id] = known
        return known.last_life

    def set_wake(self, known: Known, wake_at: float | None) -> None:
        """Move the wake of a key."""
        known.wake = wake_at
        self._touched[known.id] = known

    # The kinds of writes, in the order of their constants.

    def _append(self, write: Write) -> object:
        _, key, epoch, message, call_id, wake_at = write
        known = self._known.get(key)
        if known is None or known.seen != self.version:
            known = self.known(key)
        if known is None or known.epoch != epoch:
            return self.fenced(key, epoch, known)
        if known.moved and call_id in known.moved:
            return known.moved[call_id]
        return self.log(known, epoch, message, call_id, wake_at)

    def _put_step(self, write: Write) -> object:
        key: str
        record: StepRecord
        _, key, epoch, seq, record, wake_at = write
        known = self._known.get(key)
        if known is None or known.seen != self.version:
            known = self.known(key)
        if known is None or known.epoch != epoch:
            return self.fenced(key, epoch, known)
        self._last_id = row = self._last_id + 1
        r = record
        place = (r.branch, r.name, r.occurrence, r.position, r.began_at, r.took)
        payload = r.payload if len(r.payload) <= INLINE else self.fold(r.payload)
        self._records.append((row, known.last_work, known.id, r.kind, seq, epoch, self.at, *place, payload))
        known.last_work = row
        if wake_at is not None:
            known.wake = wake_at
        self._touched[known.id] = known
        return None

    def _commit(self, write: Write) -> object:
        commit: Commit
        _, key, epoch, commit = write
        known = self._known.get(key)
        if known is None or known.seen != self.version:
            known = self.known(key)
        if known is None or known.epoch != epoch:
            return self.fenced(key, epoch, known)
        known.cursor = cursor = max(known.cursor, commit.cursor)
        known.last_seq = max(known.last_seq, cursor)
        if commit.dead is not None:
            dead = commit.dead
            why = (dead.call_id, self.fold(dead.message), dead.error, dead.attempts)
            self.sql(DEAD, (self.next_id(), known.id, dead.seq, epoch, self.at, *why))
        for call_id, payload in commit.answers:
            self._answers.append((self.next_id(), known.id, call_id, cursor, epoch, self.at, self.fold(payload)))
        self._last_id = row = self._last_id + 1
        kept = keep(self, known, row, commit)
        self._commits.append((row, known.last_work, known.id, cursor, epoch, self.at, commit.version, kept))
        known.last_work = row
        numbers = [self.log(known, epoch, cast, None, None) for cast in commit.casts] if commit.casts else ()
        known.wake = commit.wake_at if known.last_seq > cursor or known.posted else None
        self._touched[known.id] = known
        return numbers

    def _job(self, write: Write) -> object:
        self.settle()
        job: Job[object] = write[1]
        return job(self)

    def _begin_life(self, write: Write) -> object:
        _, key, job = write
        known = self._known.get(key)
        if known is not None and known.id in self._touched:
            self.settle()
        began: object = job(self)
        return began

    def _nothing(self, write: Write) -> object:
        return None

    # The transaction.

    def _transaction(self, writes: Sequence[Write]) -> list[object]:
        if self._landed[0] is writes:  # an interrupt of the cell struck after its COMMIT
            return self._landed[1]
        sql, landed = self.sql, None
        full = self.relaxed and any(write[0] == JOB and write[2] for write in writes)
        if full:
            sql("PRAGMA synchronous = FULL")
        try:
            sql("BEGIN IMMEDIATE")
            try:
                self._begin()
                outcomes = self._land_all(writes)
                self._end()
                began = time.perf_counter()
                landed = (writes, outcomes)
                sql("COMMIT")
                wrote = self._last_id != self._stored_id
                self._landed, self._stored_id = landed, self._last_id
                if wrote:
                    self.quick = time.perf_counter() - began < QUICK
            except BaseException as error:
                if landed is not None and not self.connection.in_transaction and not isinstance(error, sqlite3.Error):
                    self._landed = landed
                self._undo()
                raise
        finally:
            if full:
                sql("PRAGMA synchronous = NORMAL")
        return outcomes

    def _land_all(self, writes: Sequence[Write]) -> list[object]:
        land = self._land
        if not any(write[0] == BEGIN for write in writes):
            return [land[write[0]](write) for write in writes]
        outcomes: list[object] = []
        for begins, run in groupby(writes, lambda write: bool(write[0] == BEGIN)):
            together = list(run)
            if begins:
                self.settle()
                self.ahead = read_ahead(self, [write[1] for write in together])
            outcomes += [land[write[0]](write) for write in together]
            self.ahead = None
        return outcomes

    def _begin(self) -> None:
        if identity(self.path) != self._file:
            raise gone(self.path)
        self.changed()
        if self._stored_id < 0:
            (self._stored_id,) = self.sql(LAST_ID).fetchone()
        self._last_id = self._stored_id
        self.at = self._now()

    def _end(self) -> None:
        self.settle()
        if self.lease and not 0.0 <= self.at - self.renewed <= self.lease / 3:
            renew(self.connection, self.slot, self.at + self.lease)
            self.renewed = self.at

    def _undo(self) -> None:
        """Leave the transaction with nothing of it remembered."""
        self._clear()
        self.ahead = None
        self._known.clear()
        self._stored_id = -1
        self.renewed = 0.0
        if self.connection.in_transaction:
            self.sql("ROLLBACK")

    def _apart(self, writes: Sequence[Write], error: Exception) -> list[object]:
        """Find the culprits of a batch that failed, by halves; the others land."""
        if len(writes) == 1:
            return [self._explained(writes[0], error)]
        middle = len(writes) // 2
        return [*self.land(writes[:middle]), *self.land(writes[middle:])]

    def _explained(self, write: Write, error: Exception) -> BaseException:
        if isinstance(error, (WorkbenchError, Signal)):
            return error
        what = f"a write to {write[1]!r}" if write[0] in (APPEND, STEP, COMMIT) else "a write"
        failure = StoreError(
            f"{what} failed in {self.path!r} ({error}); nothing of it was kept, mend the cause and try again"
        )
        failure.__cause__ = error
        return failure
