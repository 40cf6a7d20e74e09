"""The crew: workers of one queue, each a process that takes a job, handles it, and takes the next.

- A handler that returns has done its job; one that raises has failed it: the job waits again after a back-off, and is
  set aside when its attempts are used up.
- A worker that is disposed gives its job back, and the attempt counts for nothing. One that is killed says nothing: its
  lease, or its host's death, frees the job.
- A plain function runs in a thread of the crew's own. It cannot be stopped: a worker that is disposed waits for it
  `GRACE` seconds and then leaves the job to its lease, so that nobody else begins it meanwhile.

Source: PROCESSES 6.3.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from workbench.process.definition import Definition
from workbench.process.spawn import GRACE, spawn
from workbench.table import Table

if TYPE_CHECKING:
    from workbench.messaging.desk import Desk
    from workbench.messaging.job import Job
    from workbench.process.handle import Handle

__all__ = ["LONGEST_PAUSE", "Crew", "Handler"]

LONGEST_PAUSE = 300.0
"""Seconds that a back-off grows to."""

SHOWN = 6
"""Jobs that a worker's state remembers."""

Handler = Callable[["Job"], Any]
Backoff = float | Callable[[int], float]

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
        self._handler = handler
        self._backoff = backoff
        self._ended = ended
        self._pool: ThreadPoolExecutor | None = None
        if not _is_async(handler):
            self._pool = ThreadPoolExecutor(workers, thread_name_prefix=f"workbench-{desk.queue}")
        definition = Definition(_work, name=f"worker of {desk.queue}")
        self.workers: list[Handle] = [spawn(definition, crew=self) for _ in range(workers)]

    async def dispose(self) -> None:
        """End the workers; what they were at is given back."""
        await asyncio.gather(*(worker.dispose() for worker in self.workers))
        await self._ended(self)
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    async def handle(self, job: Job) -> bool:
        """Have a job done; gives whether it was."""
        task = job.task = asyncio.current_task()
        try:
            await self._call(job)
        except asyncio.CancelledError as error:
            if job.lost is None and task is not None and task.cancelling():
                if not job.over:
                    self.desk.give_back(job, counted=False)
                raise
            if job.lost is not None and task is not None:
                task.uncancel()
            return self._failed(job, error)
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            return self._failed(job, error)
        finally:
            job.task = None
        self.desk.finish(job)
        return True

    async def _call(self, job: Job) -> None:
        if self._pool is None:
            await self._handler(job)
        else:
            await self._in_thread(self._pool, job)

    async def _in_thread(self, pool: ThreadPoolExecutor, job: Job) -> None:
        context = contextvars.copy_context()
        work = asyncio.get_running_loop().run_in_executor(pool, context.run, _plain, self._handler, job)
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            if not work.done() and job.lost is None:
                await asyncio.wait([work], timeout=GRACE)
            if not work.done():
                self.desk.leave(job)
                work.add_done_callback(lambda done: done.exception())
            elif job.lost is None and not work.cancelled():
                self._ended_late(job, work.exception())
            raise

    def _ended_late(self, job: Job, error: BaseException | None) -> None:
        """A function that ended after its worker was disposed did its job, or failed it, all the same."""
        if error is None:
            self.desk.finish(job)
        else:
            self._failed(job, error)

    def _failed(self, job: Job, error: BaseException) -> bool:
        """See to a job whose handler raised. Gives False."""
        words = f"{type(error).__qualname__}: {error}"
        if job.lost is not None:
            log.warning("a handler of %r was stopped: %s", job.queue, job.lost)
        elif job.over:  # the handler gave it up itself
            self.desk.leave(job)
        elif job.attempts >= self.desk.terms.max_attempts:
            log.error("job %s of %r is set aside after %s attempts: %s", job.id, job.queue, job.attempts, words)
            self.desk.bury(job, words)
        else:
            self.desk.give_back(job, delay=self.pause_after(job.attempts), error=words)
        return False

    def pause_after(self, attempts: int) -> float:
        """Seconds that a job waits after its attempt number `attempts` failed."""
        if callable(self._backoff):
            return max(0.0, float(self._backoff(attempts)))
        return min(self._backoff * 2.0 ** min(attempts - 1, 60), LONGEST_PAUSE)

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
    while True:
        yield {"status": "idle", "holding": None, **counts, "last": list(last)}
        job = await crew.desk.take()
        yield {"status": "working", "holding": job.id, **counts, "last": list(last)}
        counts["done" if await crew.handle(job) else "failed"] += 1
        last.append(job.id)


def _plain(handler: Handler, job: Job) -> None:
    """Call a plain handler in its thread."""
    try:
        handler(job)
    except StopIteration as error:  # a future cannot carry one
        raise RuntimeError("the handler raised StopIteration") from error


def _is_async(handler: Handler) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004
