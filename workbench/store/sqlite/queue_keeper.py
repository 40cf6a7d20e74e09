"""The queues of the SQLite keeper: the verbs of the port, each queued for the writer or read at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.sqlite import queue as writing
from workbench.store.sqlite import queue_reading as reading
from workbench.store.sqlite.part import Part

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from workbench.store.queue import Hold, JobRecord, JobStatus, NewJob, Outlook, Put, QueueStats

__all__ = ["SQLiteQueues"]


class SQLiteQueues(Part):
    """Implements `workbench.store.queue.QueueStore`."""

    def put(self, queue: str, jobs: Sequence[NewJob]) -> asyncio.Future[list[Put]]:
        """Add jobs."""
        return self._run(writing.put(queue, jobs))

    def lease(
        self, queue: str, limit: int, *, seconds: float, max_attempts: int, kept: bool = False
    ) -> asyncio.Future[list[JobRecord]]:
        """Take jobs."""
        return self._run(
            writing.lease(queue, limit, self._member, seconds=seconds, max_attempts=max_attempts, kept=kept)
        )

    def extend(self, queue: str, holds: Sequence[Hold], seconds: float) -> asyncio.Future[dict[int, Exception]]:
        """Move the end of leases."""
        return self._run(writing.extend(queue, holds, seconds))

    def finish(self, queue: str, holds: Sequence[Hold]) -> asyncio.Future[dict[int, Exception]]:
        """Mark jobs done."""
        return self._run(writing.finish(queue, holds))

    def release(
        self, queue: str, hold: Hold, *, delay: float = 0.0, error: str | None = None, counted: bool = True
    ) -> asyncio.Future[None]:
        """Give a job back."""
        return self._run(writing.release(queue, hold, delay=delay, error=error, counted=counted))

    def bury(self, queue: str, hold: Hold, error: str) -> asyncio.Future[None]:
        """Set a job aside."""
        return self._run(writing.bury(queue, hold, error))

    def requeue(self, queue: str, id: int, body: str | None = None) -> asyncio.Future[Put | None]:
        """Have a dead job wait again."""
        return self._run(writing.requeue(queue, id, body))

    def discard(self, queue: str, id: int) -> asyncio.Future[bool]:
        """Give a dead job up."""
        return self._run(writing.discard(queue, id))

    def pause(self, queue: str, paused: bool) -> asyncio.Future[None]:
        """Lease nothing, or go on."""
        return self._run(writing.pause(queue, paused))

    async def prune(self, before: float) -> int:
        """Forget jobs that are over, in slices, so that others write in between."""
        gone = 0
        after: int | None = 0
        while after is not None:
            went, after = await self._run(writing.prune(after, before))
            gone += went
        return gone

    def names_now(self) -> list[str]:
        """Every queue."""
        return reading.names(self._reader)

    def stats_now(self, queue: str) -> QueueStats:
        """The counts of a queue."""
        return reading.stats(self._reader, queue, self._now())

    def jobs_now(self, queue: str, *, status: JobStatus | None = None, limit: int = 1000) -> list[JobRecord]:
        """Jobs in the order in which they were put."""
        return reading.jobs(self._reader, queue, status, limit)

    def job_now(self, queue: str, id: int) -> JobRecord | None:
        """One job."""
        return reading.job(self._reader, queue, id)

    def outlook_now(self) -> dict[str, Outlook]:
        """What there is to lease."""
        return reading.outlook(self._reader, self._member, self._now())
