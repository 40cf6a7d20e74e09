"""The desk: those of one bench who wait for jobs of a queue on the same terms.

- Waiting costs a future: no thread, no statement, no timer of one's own. One lease takes a job for everyone who waits.
- What was finished in a turn of the loop and the lease for those who are free again ride in one transaction.
- Nothing is leased ahead of who works on it, so a death counts an attempt for what was at work and for nothing else.
- Leases of workers are extended every third of their time, and before a lease when the loop was blocked longer.

Knows nothing of handlers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from workbench.errors import BadInput, StoreError
from workbench.messaging.job import Job

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from workbench.clock import Clock
    from workbench.loop import Home
    from workbench.store.queue import Hold, JobRecord, Outlook, Queues

__all__ = ["Desk", "Terms"]

PAUSE = 1.0
"""Seconds until the next try after a failure of the store, and between two looks at whether another host died."""

T = TypeVar("T")
Waiter: TypeAlias = "asyncio.Future[Job | None]"

log = logging.getLogger("workbench")


@dataclass(frozen=True, slots=True)
class Terms:
    """How jobs are leased: for `lease` seconds, at most `max_attempts` times each; `kept` ones are extended."""

    lease: float
    max_attempts: int
    kept: bool


class Desk:
    """Hands jobs to who waits.

    `look` has it told (`consider`) what its queue has to lease; `changed` hears that a job is over, or back.
    """

    def __init__(
        self,
        queues: Queues,
        queue: str,
        terms: Terms,
        home: Home,
        clock: Clock,
        *,
        look: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self.queue = queue
        self.terms = terms
        self.held: dict[int, Job] = {}
        self._queues = queues
        self._home = home
        self._clock = clock
        self._look = look
        self._changed = changed
        self._waiters: deque[Waiter] = deque()
        self._hasty: deque[Waiter] = deque()
        self._done: list[Hold] = []
        self._turn_due = self._dry = self._closed = False
        self._lease: asyncio.Future[list[JobRecord]] | None = None
        self._writes: set[asyncio.Future[Any]] = set()
        self._extended_at = 0.0
        self._alarm: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._retry: asyncio.Task[None] | None = None

    @property
    def waits(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiters or self._hasty)

    async def take(self) -> Job:
        """The next job, waited for. Raises: StoreError when the bench closes meanwhile."""
        job = await self._wait(self._waiters)
        assert job is not None  # only who wants one now is told that there is none
        return job

    async def take_now(self) -> Job | None:
        """The next job, or None once it is known that the queue has none now. Raises: StoreError."""
        return None if self._dry else await self._wait(self._hasty)

    async def _wait(self, waiters: deque[Waiter]) -> Job | None:
        if self._closed:
            raise _closed(self.queue)
        waiter: Waiter = self._home.loop.create_future()
        waiters.append(waiter)
        if self._dry:  # nobody may have looked since it was: then who waits had no alarm set
            self._look()
        else:
            self._turn_soon()
        try:
            return await waiter
        except asyncio.CancelledError:
            job = waiter.result() if waiter.done() and not waiter.cancelled() and not waiter.exception() else None
            if job is not None:
                self.give_back(job, counted=False)
            elif waiter in waiters:
                waiters.remove(waiter)
            raise

    def finish(self, job: Job) -> None:
        """Mark a job done, with the others of this turn of the loop."""
        if not job.over:
            job.over = True
            self._done.append(job.hold)
            self._turn_soon()
        self.held.pop(job.id, None)

    def give_back(self, job: Job, *, delay: float = 0.0, error: str | None = None, counted: bool = True) -> None:
        """Give a job back."""
        if self.held.pop(job.id, None) is not None or not self.terms.kept:
            self._settle(job, self._queues.release(self.queue, job.hold, delay=delay, error=error, counted=counted))

    def bury(self, job: Job, error: str) -> None:
        """Set a job aside."""
        if self.held.pop(job.id, None) is not None:
            self._settle(job, self._queues.bury(self.queue, job.hold, error))

    def leave(self, job: Job) -> None:
        """Let a job be: its lease runs out."""
        job.over = True
        self.held.pop(job.id, None)

    def wake(self) -> None:
        """There may be something to lease."""
        self._dry = False
        self._turn_soon()

    def consider(self, outlook: Outlook | None) -> None:
        """Take what there is now, or come back when there is."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if outlook is None or not self.waits:
            return
        if outlook.ready:
            self.wake()
            return
        now = self._clock.now()
        instants = [at for at in (outlook.at, now + PAUSE if outlook.elsewhere else None) if at is not None]
        if instants:
            self._alarm = self._home.start(self._wait_until(min(instants)), name=f"wait for a job of {self.queue}")

    async def close(self) -> None:
        """Send what is done, have nobody wait any more, and return when all of it is in the store."""
        self._turn()
        self._closed = True
        for task in (self._alarm, self._keeper, self._retry):
            if task is not None:
                task.cancel()
        for waiter in (*self._waiters, *self._hasty):
            if not waiter.done():
                waiter.set_exception(_closed(self.queue))
        self._waiters.clear()
        self._hasty.clear()
        while self._writes:
            await asyncio.wait(self._writes)

    # Once per turn of the loop.

    def _turn_soon(self) -> None:
        if not self._turn_due and not self._closed:
            self._turn_due = True
            self._home.loop.call_soon(self._turn)

    def _turn(self) -> None:
        self._turn_due = False
        if self._closed:
            return
        if self._done:
            holds, self._done = self._done, []
            self._then(self._queues.finish(self.queue, holds), lambda done: self._finished(holds, done))
        if self.waits and self._lease is None and not self._dry:
            self._ask()

    def _ask(self) -> None:
        terms = self.terms
        if terms.kept:
            self._keep()
        asked = len(self._waiters) + len(self._hasty)
        self._lease = self._then(
            self._queues.lease(
                self.queue, asked, seconds=terms.lease, max_attempts=terms.max_attempts, kept=terms.kept
            ),
            lambda done: self._leased(asked, done),
        )

    def _leased(self, asked: int, done: asyncio.Future[list[JobRecord]]) -> None:
        self._lease = None
        if (error := _failure(done)) is not None:
            self._fail("no job could be leased", error)
            return
        records = done.result()
        for record in records:
            self._hand_over(record)
        if len(records) < asked:
            self._dry = True
            self._tell_the_hasty()
            self._look()
        elif self.waits:
            self._turn_soon()

    def _tell_the_hasty(self) -> None:
        """There is no job now."""
        while self._hasty:
            waiter = self._hasty.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _hand_over(self, record: JobRecord) -> None:
        try:
            job = Job(self._queues, self.queue, record)
        except BadInput as error:  # the row was changed by hand: no handler could read it
            self._then(self._queues.bury(self.queue, (record.id, record.number), str(error)), self._settled)
            return
        while waiters := self._waiters or self._hasty:
            waiter = waiters.popleft()
            if not waiter.done():
                if self.terms.kept:
                    self.held[job.id] = job
                waiter.set_result(job)
                return
        self._settle(job, self._queues.release(self.queue, job.hold, counted=False))

    def _finished(self, holds: list[Hold], done: asyncio.Future[dict[int, Exception]]) -> None:
        if (error := _failure(done)) is not None:
            self._done[:0] = holds
            self._fail(f"{len(holds)} jobs could not be marked done", error)
            return
        for lost in done.result().values():
            log.warning("done, but late: %s", lost)
        self._changed()

    def _settle(self, job: Job, write: Awaitable[None]) -> None:
        job.over = True
        self._then(write, self._settled)

    def _settled(self, done: asyncio.Future[None]) -> None:
        if (error := _failure(done)) is not None:
            log.warning("a job of %r was not given back: %s", self.queue, error)
        self._look()
        self._changed()

    def _fail(self, what: str, error: BaseException) -> None:
        """Try again after a pause, while the bench is open."""
        if not self._closed and (self._retry is None or self._retry.done()):
            log.error("%s from %r: %s; trying again in %s s", what, self.queue, error, PAUSE)
            again = self._wait_until(self._clock.now() + PAUSE)
            self._retry = self._home.start(again, name=f"try the queue {self.queue} again")

    async def _wait_until(self, at: float) -> None:
        await self._clock.sleep_until(at)
        self.wake()

    def _then(self, write: Awaitable[T], tell: Callable[[asyncio.Future[T]], None]) -> asyncio.Future[T]:
        """Call `tell` once a write is committed or refused."""
        written = asyncio.ensure_future(write)
        self._writes.add(written)
        written.add_done_callback(self._writes.discard)
        written.add_done_callback(tell)
        return written

    # Extending.

    def _keep(self) -> None:
        """See to it that leases are extended; at once when that is overdue, because the loop was blocked."""
        now = self._clock.now()
        if self._keeper is None:
            self._extended_at = now
            self._keeper = self._home.start(self._extend_always(), name=f"extend the leases of {self.queue}")
        elif now - self._extended_at > self.terms.lease / 2:
            self._extend()

    async def _extend_always(self) -> None:
        while True:
            await self._clock.sleep_until(self._extended_at + self.terms.lease / 3)
            self._extend()

    def _extend(self) -> None:
        self._extended_at = self._clock.now()
        if self.held:
            holds = [job.hold for job in self.held.values()]
            self._then(self._queues.extend(self.queue, holds, self.terms.lease), self._were_extended)

    def _were_extended(self, done: asyncio.Future[dict[int, Exception]]) -> None:
        if (error := _failure(done)) is not None:
            log.error("the leases of %r could not be extended: %s", self.queue, error)
            return
        for id, lost in done.result().items():
            job = self.held.pop(id, None)
            if job is not None:
                job.lost, job.over = lost, True
                if job.task is not None:
                    job.task.cancel()


def _failure(done: asyncio.Future[Any]) -> BaseException | None:
    return asyncio.CancelledError("the write was cancelled") if done.cancelled() else done.exception()


def _closed(queue: str) -> StoreError:
    return StoreError(f"the bench of the queue {queue!r} is closed; open it again to take jobs")
