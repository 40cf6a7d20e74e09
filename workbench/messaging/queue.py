"""The queue: leased work by name. What `bench.queue("mail")` gives.

- A put that was awaited is in the store; puts of one turn of the loop share a statement.
- A key says that two puts are the same work: while a job of that key is at work, the second gives the first.
- `work` handles jobs here, in any number of kernels on one store; `take` gives one by hand.

Source: PROCESSES 6.3. Knows nothing of how jobs are stored.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

from workbench.errors import BadInput, JobConflict
from workbench.given import named, seconds, whole
from workbench.messaging.crew import Crew, Handler
from workbench.messaging.desk import Desk, Terms
from workbench.messaging.job import SHORTEST
from workbench.plain import decode, digest, encode
from workbench.store.queue import JobStatus, NewJob
from workbench.table import Table, in_html

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from workbench.messaging.handler import Backoff
    from workbench.messaging.room import PostRoom
    from workbench.store.queue import Put, QueueStats

__all__ = ["Queue", "Ticket"]

COLUMNS = ("queue", "waiting", "delayed", "leased", "done", "dead", "paused", "workers")
JOB_COLUMNS = ("id", "status", "body", "key", "priority", "attempts", "at", "error")
BY_HAND = 1_000_000
"""Attempts of a job that is taken by hand: whoever takes it decides when it has had enough."""
CROWD = 10_000
"""Workers of a crew, at most."""
DAY = 86_400.0
SAME: Any = object()


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a put gives: the number of the job, and whether this put made it (`fresh`) or its key was at work."""

    id: int
    fresh: bool
    key: str | None = None


class Queue:
    """One queue of a bench's store. Shows itself as a table of its counts."""

    def __init__(self, room: PostRoom, name: str) -> None:
        self.name = named("a queue", name)
        self.crews: dict[str, Crew] = {}
        self._room = room
        self._hands: dict[float, Desk] = {}
        self._unsent = 0
        self._leaving: set[asyncio.Task[None]] = set()
        self._puts: list[tuple[NewJob, asyncio.Future[Ticket]]] = []

    # Putting.

    def put(self, body: Any, *, delay: float = 0.0, priority: int = 0, key: str | None = None) -> Awaitable[Ticket]:
        """Add a job; await it to have it in the store. It can be taken after `delay` seconds; a higher priority first.

        Raises: NotPlain, BadInput at once; JobConflict when a job of that key is at work with another body.
        """
        self._room.check()
        seconds("delay", delay)
        if type(priority) is not int or abs(priority) >= 1 << 31:
            raise BadInput(f"priority is a whole number of less than 32 bits, found {priority!r}")
        job = NewJob(encode(body, "body"), None if key is None else named("a key", key), priority, float(delay))
        if not self._puts:
            self._room.home.loop.call_soon(self.flush)
        future: asyncio.Future[Ticket] = self._room.home.loop.create_future()
        self._puts.append((job, future))
        return future

    def flush(self) -> None:
        """Send what was put in this turn of the loop."""
        puts, self._puts = self._puts, []
        if puts:
            self._unsent += 1
            sent = self._room.store.queues.put(self.name, [job for job, _ in puts])
            asyncio.ensure_future(sent).add_done_callback(lambda done: self._were_put(puts, done))

    def _were_put(self, puts: list[tuple[NewJob, asyncio.Future[Ticket]]], done: asyncio.Future[list[Put]]) -> None:
        self._unsent -= 1
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        outcomes: list[Put | None] = [None] * len(puts) if error is not None else [*done.result()]
        later = False
        for (job, future), put in zip(puts, outcomes, strict=True):
            later = later or job.delay > 0
            if future.done():
                continue
            conflict = error if put is None else self._conflict(job, put)
            if conflict is not None:
                future.set_exception(conflict)
                future.exception()  # a failure that nobody awaits is its caller's choice
            elif put is not None:
                future.set_result(Ticket(put.id, put.fresh, job.key))
        self._room.offer(self.name, later=later)

    def _conflict(self, job: NewJob, put: Put) -> JobConflict | None:
        """The refusal of a put whose key is at work with another body."""
        if put.fresh or put.body == job.body or digest(decode(put.body)) == digest(decode(job.body)):
            return None
        return JobConflict(
            f"the key {job.key!r} of {self.name!r} is at work as job {put.id} with {decode(put.body)!r:.60}, "
            f"and is put with {decode(job.body)!r:.60}; use another key, or put it again when that job is over",
            queue=self.name,
            key=job.key,
            job=put.id,
        )

    # Taking.

    def work(
        self,
        handler: Handler,
        *,
        workers: int = 1,
        name: str | None = None,
        lease: float = 30.0,
        max_attempts: int = 3,
        backoff: Backoff = 1.0,
    ) -> Crew:
        """Have `workers` processes here handle the jobs, each `handler(job)`, a coroutine or a plain function.

        A lease lasts `lease` seconds and is extended while the handler runs. A job that failed waits `backoff` seconds,
        twice as long each time, or what `backoff(attempts)` says; after `max_attempts` it is a dead letter. A crew
        of the same `name`, which is the handler's unless given, is replaced, so a cell can be run again.

        Raises: BadInput.
        """
        self._room.check_begins()
        if not self._room.worker:
            raise BadInput(f"this bench was opened with worker=False and runs nothing; work on {self.name!r} elsewhere")
        if not callable(handler):
            raise BadInput(f"a queue is worked by a function of a job, found {handler!r}")
        whole("workers", workers, 1, CROWD)
        whole("max_attempts", max_attempts, 1)
        seconds("lease", lease, SHORTEST, DAY)
        if not callable(backoff):
            seconds("backoff", backoff)
        name = named("a crew", getattr(handler, "__name__", type(handler).__name__) if name is None else name)
        if name in self.crews:
            self._leave(self.crews.pop(name))
        desk = self._room.desk(self.name, Terms(float(lease), max_attempts, kept=True))
        crew = Crew(desk, handler, name=name, workers=workers, backoff=backoff, ended=self._ended)
        self.crews[name] = crew
        return crew

    def _leave(self, crew: Crew) -> None:
        """Dispose a crew that is replaced."""
        task = self._room.home.start(crew.dispose(), name=f"replace the crew {crew.name} of {self.name}")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _ended(self, crew: Crew) -> None:
        await self._room.forget(crew.desk)
        if self.crews.get(crew.name) is crew:
            del self.crews[crew.name]

    async def take(self, *, lease: float = 30.0) -> Any:
        """The next job (`workbench.messaging.job.Job`), waited for and leased for `lease` seconds.

        Nobody extends it or says how it went but the caller: `ack`, `extend`, `release`, `bury`. Raises: BadInput.
        """
        self._room.check_begins()
        seconds("lease", lease, SHORTEST, DAY)
        desk = self._hands.get(lease)
        if desk is None:
            desk = self._hands[lease] = self._room.desk(self.name, Terms(float(lease), BY_HAND, kept=False))
        return await desk.take()

    async def drained(self) -> QueueStats:
        """Return once nothing waits, is delayed or at work, in any kernel; dead letters may be left.

        Raises: StoreError when the bench closes meanwhile.
        """
        self.flush()
        while (stats := self.stats).waiting or stats.delayed or stats.leased or self._unsent:
            await self._room.change()
        return stats

    # Seeing to it.

    @property
    def stats(self) -> QueueStats:
        """How many jobs there are of each status: waiting, delayed, leased, done, dead; and whether it is paused."""
        self._room.check()
        return self._room.store.queues.stats_now(self.name)

    def jobs(self, status: JobStatus | None = None, *, limit: int = 1000) -> Table:
        """Jobs in the order in which they were put, all or those of a status, as a table."""
        self._room.check()
        if status is not None and status not in get_args(JobStatus):
            raise BadInput(f"the status of a job is one of {get_args(JobStatus)}, or None for all, found {status!r}")
        whole("limit", limit, 0)
        rows = self._room.store.queues.jobs_now(self.name, status=status, limit=limit)
        return Table([{**asdict(row), "body": decode(row.body)} for row in rows], JOB_COLUMNS)

    def dead(self) -> Table:
        """The dead letters: jobs whose attempts are used up, and how the last one failed."""
        return self.jobs("dead")

    async def requeue(self, id: int, body: Any = SAME) -> Ticket:
        """Have a dead job wait again with all its attempts, with another `body` if one is given.

        Raises: BadInput when no such job is dead, JobConflict when another job has its key meanwhile, NotPlain.
        """
        self._room.check()
        whole("the id of a job", id, 1)
        text = None if body is SAME else encode(body, "body")
        put = await self._room.store.queues.requeue(self.name, id, text)
        if put is None:
            raise self._not_dead(id)
        if not put.fresh:
            raise JobConflict(
                f"job {id} of {self.name!r} has the key of job {put.id}, which is at work; discard it, or wait",
                queue=self.name,
                job=put.id,
            )
        self._room.offer(self.name)
        return Ticket(put.id, True)

    async def discard(self, id: int) -> None:
        """Give a dead job up for good. Raises: BadInput when no such job is dead."""
        self._room.check()
        whole("the id of a job", id, 1)
        if not await self._room.store.queues.discard(self.name, id):
            raise self._not_dead(id)

    async def pause(self) -> None:
        """Hand out no job, in any kernel, until `resume`; what is at work goes on."""
        self._room.check()
        await self._room.store.queues.pause(self.name, True)

    async def resume(self) -> None:
        """Hand out jobs again."""
        self._room.check()
        await self._room.store.queues.pause(self.name, False)
        self._room.offer(self.name)

    async def close(self) -> None:
        """End what works here."""
        await asyncio.gather(*(crew.dispose() for crew in self.crews.values()), *self._leaving)
        await asyncio.gather(*(desk.close() for desk in self._hands.values()))

    def _not_dead(self, id: int) -> BadInput:
        dead = [row["id"] for row in self.dead()[:10]]
        return BadInput(f"no job {id!r} of {self.name!r} is dead, these are: {dead}; see queue.dead()", queue=self.name)

    def _rows(self) -> Table:
        workers = sum(worker.status == "running" for crew in self.crews.values() for worker in crew.workers)
        return Table([{"queue": self.name, **asdict(self.stats), "workers": workers}], COLUMNS)

    def __repr__(self) -> str:
        return f"<Queue {self.name!r}: the bench is closed>" if self._room.closed else repr(self._rows())

    def _repr_html_(self) -> str:
        if self._room.closed:
            return in_html(self)
        dead = self.dead()
        return self._rows()._repr_html_() + (dead._repr_html_() if dead else "")
