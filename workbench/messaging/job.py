"""A job: work that one holder has for the time of its lease, with the verbs by which the holder gives it up.

Every verb is refused (`LeaseLost`) once the job belongs to a later lease: whoever is late changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput
from workbench.given import seconds as checked_seconds
from workbench.plain import decode
from workbench.words import LONGEST, as_text

if TYPE_CHECKING:
    import asyncio

    from workbench.store.queue import Hold, JobRecord, Queues

__all__ = ["SHORTEST", "Job"]

SHORTEST = 0.001
"""Seconds that a lease lasts at least."""


class Job:
    """What a handler gets, or who took a job by hand. `attempts` counts this one; `error` is how the last one failed.

    `id` is the same on every attempt: give it to whoever must recognise what was done already.
    """

    __slots__ = (
        "_queues", "attempts", "body", "error", "id", "key", "lost", "number", "over", "priority", "put_at", "queue",
        "task",
    )  # fmt: skip

    def __init__(self, queues: Queues, queue: str, record: JobRecord) -> None:
        self._queues = queues
        self.queue = queue
        self.id = record.id
        self.number = record.number
        self.body: Any = decode(record.body)
        self.attempts = record.attempts
        self.key = record.key
        self.priority = record.priority
        self.put_at = record.put_at
        self.error = record.error
        self.over = False
        self.lost: Exception | None = None
        self.task: asyncio.Task[Any] | None = None

    @property
    def hold(self) -> Hold:
        """What the store knows this lease by."""
        return self.id, self.number

    async def ack(self) -> None:
        """Say that the job is done. A worker says it itself when its handler returns. Raises: LeaseLost."""
        _check(await self._queues.finish(self.queue, [self.hold]), self.id)
        self.over = True

    async def extend(self, seconds: float) -> None:
        """Have the lease end `seconds` from now. A worker extends its own by itself. Raises: LeaseLost, BadInput."""
        checked_seconds("the time by which a lease is extended", seconds, SHORTEST)
        _check(await self._queues.extend(self.queue, [self.hold], seconds), self.id)

    async def release(self, *, delay: float = 0.0, error: str | None = None) -> None:
        """Give the job back, to be taken again after `delay` seconds. Raises: LeaseLost, BadInput."""
        checked_seconds("delay", delay)
        words = None if error is None else _words(error)
        await self._queues.release(self.queue, self.hold, delay=float(delay), error=words)
        self.over = True

    async def bury(self, error: str) -> None:
        """Set the job aside as a dead letter, for somebody to look at. Raises: LeaseLost, BadInput."""
        await self._queues.bury(self.queue, self.hold, _words(error))
        self.over = True

    def __repr__(self) -> str:
        return f"<job {self.id} of {self.queue!r}, attempt {self.attempts}: {self.body!r:.60}>"


def _words(error: object) -> str:
    """Why a job was given up. Raises: BadInput for what is no text."""
    if not isinstance(error, str):
        raise BadInput(f"why a job is given up is told by a text, found {error!r:.80}; write e.g. error=str(error)")
    return as_text(error[:LONGEST])


def _check(lost: dict[int, Exception], id: int) -> None:
    if id in lost:
        raise lost[id]
