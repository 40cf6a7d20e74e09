"""The queues of the memory keepers of one place: the rules that the SQLite keeper has in SQL, on dataclasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.store.leases import DIED, RAN_OUT, lease_lost
from workbench.store.memory_part import MemoryPart
from workbench.store.queue import JobRecord, Outlook, Put, QueueStats
from workbench.store.queue_room import QueueLine, QueueRoom
from workbench.store.room import text

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from workbench.store.queue import Hold, JobStatus, NewJob

__all__ = ["MemoryQueues"]


class MemoryQueues(MemoryPart[QueueRoom]):
    """Implements `workbench.store.queue.QueueStore` for one host of a room."""

    def put(self, queue: str, jobs: Sequence[NewJob]) -> asyncio.Future[list[Put]]:
        """Add jobs."""

        def put() -> list[Put]:
            bodies = [text(new.body) for new in jobs]
            return [self._put(self._make(queue), new, body) for new, body in zip(jobs, bodies, strict=True)]

        return self._write(put)

    def _put(self, line: QueueLine, new: NewJob, body: str) -> Put:
        if new.key is not None and (same := line.at_work(new.key)) is not None:
            return Put(same.id, False, same.body)
        status: JobStatus = "delayed" if new.delay > 0 else "waiting"
        id, at = next(self._room.ids), self._now()
        line.put(JobRecord(id, body, status, new.priority, 0, 0, new.key, at + new.delay, at))
        return Put(id, True, body)

    def lease(
        self, queue: str, limit: int, *, seconds: float, max_attempts: int, kept: bool = False
    ) -> asyncio.Future[list[JobRecord]]:
        """Take jobs."""

        def lease() -> list[JobRecord]:
            line = self._look(queue)
            if line.paused:
                return []
            self._free(line)
            taken: list[JobRecord] = []
            while len(taken) < limit and (job := line.next()) is not None:
                if job.attempts >= max_attempts:
                    error = f"{job.error or RAN_OUT}, {job.attempts} times"
                    line.change(job, status="dead", at=self._now(), error=error)
                else:
                    taken.append(self._take(line, job, seconds, kept))
            return taken

        return self._write(lease)

    def _take(self, line: QueueLine, job: JobRecord, seconds: float, kept: bool) -> JobRecord:
        (line.kept.add if kept else line.kept.discard)(job.id)
        return line.change(
            job, status="leased", at=self._now() + seconds, attempts=job.attempts + 1, number=job.number + 1,
            holder=self._host().id,
        )  # fmt: skip

    def _free(self, line: QueueLine) -> None:
        """Have everything wait again that is free at this instant."""
        for job in (*line.of("delayed"), *line.of("leased")):
            why = self._is_free(line, job)
            if why is not None:
                at = job.at if job.status == "delayed" else self._now()
                line.change(job, status="waiting", at=at, holder=None, error=why or job.error)

    def _is_free(self, line: QueueLine, job: JobRecord) -> str | None:
        """Why a job that is delayed or leased waits again from this instant on, empty for a delay; None while not."""
        over = job.at <= self._now()
        if job.status == "delayed":
            return "" if over else None
        if job.holder not in self._hosts:
            return DIED
        return RAN_OUT if over and (job.id not in line.kept or job.holder == self._host().id) else None

    def extend(self, queue: str, holds: Sequence[Hold], seconds: float) -> asyncio.Future[dict[int, Exception]]:
        """Move the end of leases."""
        return self._write(lambda: self._each(queue, holds, "leased", at=self._now() + seconds))

    def finish(self, queue: str, holds: Sequence[Hold]) -> asyncio.Future[dict[int, Exception]]:
        """Mark jobs done."""

        def finish() -> dict[int, Exception]:
            line = self._look(queue)
            before = len(line.of("leased"))
            lost = self._each(queue, holds, "done", status="done", at=self._now(), holder=None, error=None)
            line.done += before - len(line.of("leased"))
            return lost

        return self._write(finish)

    def _each(self, queue: str, holds: Sequence[Hold], wanted: str, **changes: Any) -> dict[int, Exception]:
        """Change the leased jobs of `holds`; gives a refusal for those that do not end with the status `wanted`."""
        line, lost = self._look(queue), {}
        for id, number in holds:
            job = line.jobs.get(id)
            if job is not None and job.number == number and job.status == "leased":
                line.change(job, **changes)
            elif job is None or (job.status, job.number) != (wanted, number):
                lost[id] = self._refusal(queue, line, (id, number))
        return lost

    def release(
        self, queue: str, hold: Hold, *, delay: float = 0.0, error: str | None = None, counted: bool = True
    ) -> asyncio.Future[None]:
        """Give a job back."""

        def release() -> None:
            line, job = self._held(queue, hold)
            line.change(
                job, status="delayed" if delay > 0 else "waiting", at=self._now() + delay, holder=None,
                attempts=job.attempts - (not counted), error=error or job.error,
            )  # fmt: skip

        return self._write(release)

    def bury(self, queue: str, hold: Hold, error: str) -> asyncio.Future[None]:
        """Set a job aside."""

        def bury() -> None:
            line, job = self._held(queue, hold)
            line.change(job, status="dead", at=self._now(), holder=None, error=error)

        return self._write(bury)

    def requeue(self, queue: str, id: int, body: str | None = None) -> asyncio.Future[Put | None]:
        """Have a dead job wait again."""

        def requeue() -> Put | None:
            line = self._look(queue)
            job = line.jobs.get(id)
            if job is None or job.status != "dead":
                return None
            if job.key is not None and (same := line.at_work(job.key)) is not None:
                return Put(same.id, False, same.body)
            new = job.body if body is None else text(body)
            line.change(job, status="waiting", at=self._now(), attempts=0, body=new)
            return Put(id, True, new)

        return self._write(requeue)

    def discard(self, queue: str, id: int) -> asyncio.Future[bool]:
        """Give a dead job up."""

        def discard() -> bool:
            line = self._look(queue)
            job = line.jobs.get(id)
            if job is None or job.status != "dead":
                return False
            line.change(job, status="discarded", at=self._now())
            return True

        return self._write(discard)

    def pause(self, queue: str, paused: bool) -> asyncio.Future[None]:
        """Lease nothing, or go on."""

        def pause() -> None:
            self._make(queue).paused = paused

        return self._write(pause)

    async def prune(self, before: float) -> int:
        """Forget jobs that are over."""
        gone, lines = 0, self._room.lines.values()
        newest = max((id for line in lines for id in line.jobs), default=0)  # stays, as in a file, which counts by it
        for line in lines:
            for job in (*line.of("done"), *line.of("discarded")):
                if job.at < before and job.id != newest:
                    line.drop(job)
                    gone += 1
        return gone

    def names_now(self) -> list[str]:
        """Every queue."""
        return list(self._room.lines)

    def stats_now(self, queue: str) -> QueueStats:
        """The counts of a queue."""
        line = self._look(queue)
        ripe = sum(job.at <= self._now() for job in line.of("delayed"))
        return QueueStats(
            len(line.of("waiting")) + ripe, len(line.of("delayed")) - ripe, len(line.of("leased")),
            line.done, len(line.of("dead")), line.paused,
        )  # fmt: skip

    def jobs_now(self, queue: str, *, status: JobStatus | None = None, limit: int = 1000) -> list[JobRecord]:
        """Jobs in the order in which they were put."""
        return [job for job in self._look(queue).jobs.values() if status in (None, job.status)][:limit]

    def job_now(self, queue: str, id: int) -> JobRecord | None:
        """One job."""
        return self._look(queue).jobs.get(id)

    def outlook_now(self) -> dict[str, Outlook]:
        """What there is to lease."""
        return {name: self._outlook(line) for name, line in self._room.lines.items() if not line.paused}

    def _outlook(self, line: QueueLine) -> Outlook:
        now, timed = self._now(), (*line.of("leased"), *line.of("delayed"))
        free = any(self._is_free(line, job) is not None for job in timed)
        coming = min((job.at for job in timed if job.at > now), default=None)
        away = any(job.holder != self._host().id for job in line.of("leased"))
        return Outlook(line.next() is not None or free, coming, away)

    # What the verbs are made of.

    def _look(self, queue: str) -> QueueLine:
        return self._room.lines.get(queue) or QueueLine()

    def _make(self, queue: str) -> QueueLine:
        return self._room.lines.setdefault(queue, QueueLine())

    def _held(self, queue: str, hold: Hold) -> tuple[QueueLine, JobRecord]:
        """A job that is leased under its number. Raises: LeaseLost."""
        line = self._look(queue)
        job = line.jobs.get(hold[0])
        if job is None or job.status != "leased" or job.number != hold[1]:
            raise self._refusal(queue, line, hold)
        return line, job

    def _refusal(self, queue: str, line: QueueLine, hold: Hold) -> Exception:
        job = line.jobs.get(hold[0])
        return lease_lost(queue, *hold, None if job is None else job.status, 0 if job is None else job.number)
