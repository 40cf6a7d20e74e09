"""Handlers for tests of the post room, which keep what they saw."""

from __future__ import annotations

import asyncio
from typing import Any

from workbench.messaging.event import Event
from workbench.messaging.job import Job


class Handled:
    """A handler that keeps what it saw, fails as often as it is told, and can be held."""

    __name__ = "handled"

    def __init__(self, *, fail: int = 0) -> None:
        self.jobs: list[Job] = []
        self.fail = fail
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, job: Job) -> None:
        self.jobs.append(job)
        await self.gate.wait()
        if len(self.jobs) <= self.fail:
            raise ValueError(f"boom {len(self.jobs)}")

    @property
    def bodies(self) -> list[Any]:
        return [job.body for job in self.jobs]


class Heard:
    """A handler that keeps the bodies it saw, and fails at one of them as often as it is told."""

    __name__ = "heard"

    def __init__(self, *, fail_at: Any = None, times: int = 0) -> None:
        self.bodies: list[Any] = []
        self.tries: list[Any] = []
        self._fail_at = fail_at
        self._times = times

    async def __call__(self, event: Event) -> None:
        self.tries.append(event.body)
        if event.body == self._fail_at and self._times:
            self._times -= 1
            raise ValueError(f"boom at {event.position}")
        self.bodies.append(event.body)
