"""The queues: what a store promises to leased work, as a protocol, and the housekeeping beside it.

- A job is leased to one holder at a time, under a number that rises with every lease. Whoever comes with an older
  number is refused (`LeaseLost`) and changes nothing.
- An attempt is counted when a job is leased, before anyone sees it, so a job that takes its host down is counted too.
- A lease ends at its time, or at once when its host is dead. A *kept* lease belongs to a host that extends it: another
  host takes it only when that one is dead, so a busy cell loses nothing; its own host takes it when its time is over.
- While a job with a key waits, is delayed or is leased, a second put of that key adds nothing and gives the first.
- Of several that wait, the highest priority goes first, then the oldest.

Instants are those of the store's clock; durations are seconds. Bodies are payloads (`workbench.store.journal`). Source:
PROCESSES 6.3, DESIGN rules 3 and 7. Knows nothing of workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

__all__ = [
    "Hold",
    "JobRecord",
    "JobStatus",
    "NewJob",
    "Outlook",
    "Put",
    "QueueCare",
    "QueueStats",
    "QueueStore",
    "Queues",
]

JobStatus: TypeAlias = Literal["waiting", "delayed", "leased", "done", "dead", "discarded"]

Hold: TypeAlias = "tuple[int, int]"
"""A job and the number of the lease under which somebody has it."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to be put. It waits `delay` seconds before it can be leased."""

    body: str
    key: str | None = None
    priority: int = 0
    delay: float = 0.0


@dataclass(slots=True, unsafe_hash=True)  # never changed; a frozen one takes longer to make than its row to write
class Put:
    """What became of a `NewJob`: its number, or that of the job which had its key already (then not `fresh`).

    `body` is what that job has.
    """

    id: int
    fresh: bool
    body: str


@dataclass(slots=True, unsafe_hash=True)  # as Put
class JobRecord:
    """A job as the store has it.

    `at` is when it became ready, will be ready, its lease ends, or it was done or set aside, by its status. `number`
    counts its leases. `holder` is the id of the host that has it, `error` how it failed last.
    """

    id: int
    body: str
    status: JobStatus
    priority: int
    attempts: int
    number: int
    key: str | None
    at: float
    put_at: float
    holder: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class QueueStats:
    """How many jobs of a queue there are of each status. `done` counts all that ever were."""

    waiting: int = 0
    delayed: int = 0
    leased: int = 0
    done: int = 0
    dead: int = 0
    paused: bool = False


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a queue has to lease: something now (`ready`), and something more, unless it is over before, at `at`.

    `elsewhere` says that another host has jobs of it, which are free at once when that host dies.
    """

    ready: bool
    at: float | None
    elsewhere: bool


class Queues(Protocol):
    """The six verbs. A queue is made by the first thing that is put into it."""

    def put(self, queue: str, jobs: Sequence[NewJob]) -> Awaitable[list[Put]]:
        """Add jobs in order, in one transaction; gives what became of each."""
        ...

    def lease(
        self, queue: str, limit: int, *, seconds: float, max_attempts: int, kept: bool = False
    ) -> Awaitable[list[JobRecord]]:
        """Take at most `limit` jobs for `seconds`, best first; each has one attempt more.

        One that has had `max_attempts` already is set aside instead. A paused queue gives none.
        """
        ...

    def extend(self, queue: str, holds: Sequence[Hold], seconds: float) -> Awaitable[dict[int, Exception]]:
        """Have leases end `seconds` from now; gives a `LeaseLost` by job for those that are not the holder's any more.

        A lease whose time is over can be extended while nobody else took the job.
        """
        ...

    def finish(self, queue: str, holds: Sequence[Hold]) -> Awaitable[dict[int, Exception]]:
        """Mark jobs done; gives a `LeaseLost` by job for those that are not the holder's any more.

        The same holder may say it twice.
        """
        ...

    def release(
        self, queue: str, hold: Hold, *, delay: float = 0.0, error: str | None = None, counted: bool = True
    ) -> Awaitable[None]:
        """Give a job back, to be leased again after `delay`. Not `counted`: the attempt was none.

        Raises: LeaseLost.
        """
        ...

    def bury(self, queue: str, hold: Hold, error: str) -> Awaitable[None]:
        """Set a job aside as a dead letter. Raises: LeaseLost."""
        ...


class QueueCare(Protocol):
    """Housekeeping: dead letters, pauses, and reading what is committed now without waiting for what is queued."""

    def requeue(self, queue: str, id: int, body: str | None = None) -> Awaitable[Put | None]:
        """Have a dead job wait again with no attempt, with another body if one is given.

        Gives None, and changes nothing, when no such job is dead; not `fresh` when another job has its key meanwhile.
        """
        ...

    def discard(self, queue: str, id: int) -> Awaitable[bool]:
        """Give a dead job up for good; False when no such job is dead."""
        ...

    def pause(self, queue: str, paused: bool) -> Awaitable[None]:
        """Lease nothing from a queue until it is resumed, by anyone, also after a restart."""
        ...

    def prune(self, before: float) -> Awaitable[int]:
        """Forget the jobs that were done or discarded before `before`, but for the newest; gives how many went."""
        ...

    def names_now(self) -> list[str]:
        """Every queue, oldest first."""
        ...

    def stats_now(self, queue: str) -> QueueStats:
        """The counts of a queue."""
        ...

    def jobs_now(self, queue: str, *, status: JobStatus | None = None, limit: int = 1000) -> list[JobRecord]:
        """Jobs in the order in which they were put, all or those of a status."""
        ...

    def job_now(self, queue: str, id: int) -> JobRecord | None:
        """One job, or None when there is none or it was forgotten."""
        ...

    def outlook_now(self) -> dict[str, Outlook]:
        """What each queue that is not paused has to lease."""
        ...


class QueueStore(Queues, QueueCare, Protocol):
    """What a keeper has of queues."""
