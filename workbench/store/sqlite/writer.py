"""The writer: one queue of writes per store, and the thread that lands them in batches.

- A write is queued when it is called; its future is told once COMMIT returned. A batch is everything that a turn of the
  loop queued, and whoever writes while the thread works is in the next one. One hop wakes the whole batch.
- A thread hop costs four quick commits: a small batch is committed on the loop's thread while commits are quick and
  nobody else has the file.
- Every future is told. A cancelled one is passed over, and its write lands all the same: what was queued counts as
  written.
- The thread renews the lease when it had nothing to do for a third of it, so a cell that blocks the loop loses no
  authority.

Used on the loop's thread only. Knows nothing of tables.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.errors import StoreError
from workbench.store.sqlite.blobs import INLINE
from workbench.store.sqlite.ledger import Busy, Ledger
from workbench.store.sqlite.write import APPEND, COMMIT, NOTHING, STEP, Write

if TYPE_CHECKING:
    from workbench.loop import Home

__all__ = ["Writer"]

SMALL = 32
"""Writes that may be committed on the loop's thread at once: about a millisecond."""

LARGE = 1000
"""Writes that the thread commits at once."""

SLICE = 50
"""Waiters that are told in one turn of the loop: what they do then holds it for some milliseconds."""

Waiter: TypeAlias = "asyncio.Future[Any]"
Batch: TypeAlias = tuple[list[Write], list[Waiter]]

log = logging.getLogger("workbench")


class Writer:
    """Lands writes in the order in which they were put."""

    def __init__(self, ledger: Ledger, home: Home, pause: float) -> None:
        self.lock = threading.Lock()
        self._ledger = ledger
        self._home, self._loop = home, home.loop
        self._writes: list[Write] = []
        self._waiters: list[Waiter] = []
        self._turn_due = False
        self._current: Batch = ([], [])
        self._handed: Batch | None = None
        self._busy = False
        self._closed = False
        self._calls: SimpleQueue[bool] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, args=(pause,), name="workbench-writer", daemon=True)
        self._thread.start()

    def put(self, write: Write) -> Waiter:
        """Queue a write; the future is told once it is committed, or why it is not. Raises: BadInput in a thread."""
        self._home.must_be_here("a store is written")
        future = self._loop.create_future()
        if self._closed:
            _fail(future, StoreError(f"the store {self._ledger.path!r} is closed; open it again to write to it"))
            return future
        self._writes.append(write)
        self._waiters.append(future)
        if not self._turn_due:
            self._turn_due = True
            self._loop.call_soon(self._turn)
        return future

    @property
    def idle(self) -> bool:
        """Whether everything that was put is committed."""
        return not self._busy and not self._writes and not self._current[0]

    async def flushed(self) -> None:
        """Return once everything put before is committed or refused."""
        if not self.idle:
            await self.put((NOTHING, None))

    def at_once(self, write: Write) -> Any:
        """Commit everything that is queued and then `write`, and give its value; blocks.

        Raises: what the write ends with.
        """
        future = self.put(write)
        try:
            while not future.done():
                with self.lock:
                    self._gather()
                    outcomes = self._ledger.land(self._current[0])
                self._tell_current(outcomes)
        finally:
            self._see_to_it()
        return future.result()

    async def close(self) -> None:
        """Land what is queued, then end the thread; later writes are refused."""
        while not self.idle:
            await self.flushed()
        self._closed = True
        self._calls.put(False)
        await asyncio.to_thread(self._thread.join)

    # On the loop. `_current` is the batch that is being landed here: an interrupt of the cell may strike anywhere, then
    # it is still there and is landed again, and the ledger knows whether it had landed.

    def _turn(self) -> None:
        self._turn_due = False
        try:
            if not self._busy and not self._land_here():
                self._hand_over()
        finally:
            self._see_to_it()

    def _see_to_it(self) -> None:
        """Come back for what is left, unless somebody does already."""
        if not self._turn_due and not self._busy and (self._writes or self._current[0]):
            self._turn_due = True
            self._loop.call_soon(self._turn)

    def _land_here(self) -> bool:
        """Land everything on this thread; False when the other one is better at it."""
        if (
            not self._ledger.quick
            or len(self._writes) > SMALL
            or self._is_heavy()
            or not self.lock.acquire(blocking=False)
        ):
            return not self._writes and not self._current[0]
        try:
            self._gather()
            outcomes = self._ledger.try_to_land(self._current[0])
        except Busy:
            self._ledger.quick = False
            return False
        finally:
            self.lock.release()
        self._tell_current(outcomes)
        return True

    def _is_heavy(self) -> bool:
        """Whether a payload is large enough for its digest and copy to be felt on the loop."""
        try:
            for write in self._writes:
                if (
                    (write[0] == APPEND and len(write[3]) > INLINE)
                    or (write[0] == STEP and len(write[4].payload) > INLINE)
                    or (write[0] == COMMIT and len(write[3].snapshot or "") > INLINE)
                ):
                    return True
        except (TypeError, AttributeError):  # no payload at all: the ledger says so to who wrote it
            return True
        return False

    def _gather(self) -> None:
        """Make one batch of everything that is not committed, in order, unless one is left over. Under the lock."""
        if not self._current[0]:
            if self._handed is not None:
                writes, waiters = self._handed
                self._writes[:0], self._waiters[:0], self._handed = writes, waiters, None
            self._current, self._writes, self._waiters = (self._writes, self._waiters), [], []

    def _tell_current(self, outcomes: list[object]) -> None:
        for waiter, outcome in zip(self._current[1], outcomes, strict=True):
            _resolve(waiter, outcome)
        self._current = ([], [])
        self._ledger.told()

    def _hand_over(self) -> None:
        if self._current[0]:
            self._handed, self._current = self._current, ([], [])
        else:
            self._handed = (self._writes[:LARGE], self._waiters[:LARGE])
            self._writes, self._waiters = self._writes[LARGE:], self._waiters[LARGE:]
        self._busy = True
        self._calls.put(True)

    def _landed(self, told: deque[tuple[Waiter, object]]) -> None:
        """Tell a slice of those who wait, and come back for the rest, also after an interrupt of the cell."""
        try:
            for _ in range(min(SLICE, len(told))):
                _resolve(*told[0])
                told.popleft()
        finally:
            if told:
                self._loop.call_soon(self._landed, told)
            else:
                self._busy = False
                self._see_to_it()

    # On the thread.

    def _work(self, pause: float) -> None:
        while True:
            try:
                if not self._calls.get(timeout=pause):
                    return
            except Empty:
                if self._loop.is_closed():  # a host without a loop is dead and renews nothing
                    return
                self._beat()
                continue
            if not self._land_handed():
                return

    def _land_handed(self) -> bool:
        """Land what was handed over and say so with one hop; False when the loop is closed."""
        with self.lock:
            writes, waiters = self._handed or ([], [])
            self._handed = None
            outcomes = self._landed_or_failed(writes) if writes else []
            self._ledger.told()
        try:
            self._loop.call_soon_threadsafe(self._landed, deque(zip(waiters, outcomes, strict=True)))
        except RuntimeError:
            return False
        return True

    def _landed_or_failed(self, writes: list[Write]) -> list[object]:
        """What became of each write. A fault of ours fails the batch, never the thread: nobody else would be told."""
        try:
            return self._ledger.land(writes)
        except Exception as error:
            log.exception("a batch of %r could not be written", self._ledger.path)
            words = f"a write to {self._ledger.path!r} failed ({error!r}); the log has the whole of it"
            return [StoreError(words) for _ in writes]

    def _beat(self) -> None:
        """Renew the lease in a transaction of its own; when the file is busy, the next beat does."""
        with self.lock:
            try:
                self._ledger.try_to_land([(NOTHING, None)])
            except Busy:
                log.debug("the lease of %r waits for another writer", self._ledger.path)
            except Exception:
                log.exception("the lease of %r was not renewed; the next beat tries again", self._ledger.path)


def _resolve(waiter: Waiter, outcome: object) -> None:
    if waiter.done():
        return
    if isinstance(outcome, BaseException):
        _fail(waiter, outcome)
    else:
        waiter.set_result(outcome)


def _fail(future: Waiter, error: BaseException) -> None:
    future.set_exception(error)
    future.exception()  # a failure that nobody awaits is its caller's choice; asyncio must not warn of it
