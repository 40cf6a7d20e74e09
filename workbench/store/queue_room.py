"""What the memory keepers of one place share of queues, and how a job of it changes.

Jobs are kept by status, and those that wait in the order in which they are leased, so that history costs nothing. Knows
nothing of hosts or of awaiting.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, insort
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.store.queue import JobRecord, JobStatus

__all__ = ["QueueLine", "QueueRoom"]

AT_WORK: tuple[JobStatus, ...] = ("waiting", "delayed", "leased")


class QueueRoom:
    """The queues of one place."""

    def __init__(self) -> None:
        self.lines: dict[str, QueueLine] = {}
        self.ids = itertools.count(1)


class QueueLine:
    """Everything of one queue. `kept` are the jobs whose lease belongs to a host that extends it."""

    __slots__ = ("_by_key", "_by_status", "_order", "done", "jobs", "kept", "paused")

    def __init__(self) -> None:
        self.jobs: dict[int, JobRecord] = {}
        self.kept: set[int] = set()
        self.done = 0
        self.paused = False
        self._by_status: dict[str, dict[int, JobRecord]] = {}
        self._by_key: dict[str, int] = {}
        self._order: list[tuple[int, int]] = []

    def of(self, status: JobStatus) -> list[JobRecord]:
        """The jobs of a status."""
        return list(self._by_status.get(status, {}).values())

    def next(self) -> JobRecord | None:
        """The waiting job that is leased next."""
        return self.jobs[self._order[0][1]] if self._order else None

    def at_work(self, key: str) -> JobRecord | None:
        """The job that has a key and is not over."""
        id = self._by_key.get(key)
        return None if id is None else self.jobs[id]

    def put(self, job: JobRecord) -> JobRecord:
        """Keep a job, in place of the one of its number."""
        before = self.jobs.get(job.id)
        if before is not None:
            self._forget(before)
        self.jobs[job.id] = job
        self._by_status.setdefault(job.status, {})[job.id] = job
        if job.status == "waiting":
            insort(self._order, (-job.priority, job.id))
        if job.key is not None and job.status in AT_WORK:
            self._by_key[job.key] = job.id
        return job

    def change(self, job: JobRecord, **changes: Any) -> JobRecord:
        """Put a job with other values."""
        return self.put(replace(job, **changes))

    def drop(self, job: JobRecord) -> None:
        """Keep a job no more."""
        self._forget(job)
        del self.jobs[job.id]

    def _forget(self, job: JobRecord) -> None:
        del self._by_status[job.status][job.id]
        if job.status == "waiting":
            del self._order[bisect_left(self._order, (-job.priority, job.id))]
        if job.key is not None and self._by_key.get(job.key) == job.id:
            del self._by_key[job.key]
