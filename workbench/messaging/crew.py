"""The crew: workers of one queue, each a process that takes a job, handles it, and takes the next.

- A handler that returns has done its job; one that raises, whatever it raises, has failed it: the job waits again
  after a back-off, and is set aside when its attempts are used up.
- A worker that is disposed gives its job back, and the attempt counts for nothing. One that is killed says nothing: its
  lease, or its host's death, frees the job.
- A plain function runs in a thread of the crew's own. It cannot be stopped: a worker that is disposed waits for it
  five seconds and then leaves the job to its lease, so that nobody else begins it meanwhile.

Source: PROCESSES 6.3.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from workbench.messaging.handler import Backoff, Cut, Hands, pause_after
from workbench.process.definition import Definition
from workbench.process.spawn import spawn
from workbench.table import Table
from workbench.words import kind_and_words

if TYPE_CHECKING:
    from workbench.messaging.desk import Desk
    from workbench.messaging.job import Job
    from workbench.process.handle import Handle

__all__ = ["Crew", "Handler"]

SHOWN = 6
"""Jobs that a worker's state remembers."""

Handler = Callable[["Job"], Any]

log = logging.getLogger("workbench")


class Crew:
    """The workers of one handler. `workers` are their handles; each one's state says what it does and did."""

    def __init__(
        self,
        desk: Desk,
        handler: Handler,
        *,
        name: str,
        workers: int,
        backoff: Backoff,
        ended: Callable[[Crew], Awaitable[None]],
    ) -> None:
        self.name = name
        self.desk = desk
        self._backoff = backoff
        self._ended = ended
        self._hands = Hands(handler, workers, desk.queue)
        definition = Definition(_work, name=f"worker of {desk.queue}")
        self.workers: list[Handle] = [spawn(definition, crew=self) for _ in range(workers)]

    async def dispose(self) -> None:
        """End the workers; what they were at is given back."""
        await asyncio.gather(*(worker.dispose() for worker in self.workers))
        await self._ended(self)
        self._hands.close()

    async def handle(self, job: Job) -> bool:
        """Have a job done; gives whether it was."""
        task = job.task = asyncio.current_task()
        try:
            await self._hands.call(job)
        except asyncio.CancelledError as error:
            if task is None or not task.cancelling():  # the handler's own
                return self._failed(job, error)
            if job.lost is None:
                self._let_go(job, error)
                raise
            task.uncancel()
            return self._failed(job, error)
        except GeneratorExit:  # the loop is gone
            self.desk.leave(job)
            raise
        except BaseException as error:
            return self._failed(job, error)
        finally:
            job.task = None
        self.desk.finish(job)
        return True

    def _let_go(self, job: Job, error: asyncio.CancelledError) -> None:
        """See to a job whose worker is disposed. A function that ended all the same did it, or failed it."""
        work = error.work if isinstance(error, Cut) else None
        if job.over or (work is not None and not work.done()):
            self.desk.leave(job)
        elif work is None or work.cancelled():
            self.desk.give_back(job, counted=False)
        elif (failure := work.exception()) is not None:
            self._failed(job, failure)
        else:
            self.desk.finish(job)

    def _failed(self, job: Job, error: BaseException) -> bool:
        """See to a job whose handler raised. Gives False."""
        words = kind_and_words(error)
        if job.lost is not None:
            log.warning("a handler of %r was stopped: %s", job.queue, job.lost)
        elif job.over:  # the handler gave it up itself
            self.desk.leave(job)
        elif job.attempts >= self.desk.terms.max_attempts:
            log.error("job %s of %r is set aside after %s attempts: %s", job.id, job.queue, job.attempts, words)
            self.desk.bury(job, words)
        else:
            self.desk.give_back(job, delay=pause_after(self._backoff, job.attempts), error=words)
        return False

    def _rows(self) -> Table:
        columns = ("worker", "status", "holding", "done", "failed")
        states = [(worker, worker.state or {}) for worker in self.workers]
        return Table(
            [{**state, "worker": at, "status": _status(worker, state)} for at, (worker, state) in enumerate(states, 1)],
            columns,
        )

    def __repr__(self) -> str:
        return f"{len(self.workers)} workers of {self.desk.queue!r} ({self.name})\n{self._rows()!r}"

    def _repr_html_(self) -> str:
        return self._rows()._repr_html_()


def _status(worker: Handle, state: dict[str, Any]) -> str:
    return str(state.get("status", worker.status)) if worker.status == "running" else worker.status


async def _work(ctx: Any, crew: Crew) -> AsyncGenerator[dict[str, Any], None]:
    """The body of a worker."""
    counts = {"done": 0, "failed": 0}
    last: deque[int] = deque(maxlen=SHOWN)
    idle = True
    while True:
        if idle:
            yield {"status": "idle", "holding": None, **counts, "last": list(last)}
        job = await (crew.desk.take() if idle else crew.desk.take_now())
        if job is None:
            idle = True
            continue
        idle = False
        yield {"status": "working", "holding": job.id, **counts, "last": list(last)}
        counts["done" if await crew.handle(job) else "failed"] += 1
        last.append(job.id)
