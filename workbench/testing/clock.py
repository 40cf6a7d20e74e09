"""The test clock: time that moves only when a test says so.

- `advance` stops at every instant somebody waits for and lets the loop run until it is idle there, so things happen in
  the order of their instants and a test needs no sleep.
- `set_back` moves the wall time back, as an administrator would, and leaves `monotonic` alone.

Idle means that the loop has nothing ready to run and that nothing told of by `busy_while` is at work in a thread.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ManualClock"]


class ManualClock:
    """A clock that stands still until it is advanced. Implements `workbench.clock.Clock`."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._monotonic = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._busy: list[Callable[[], bool]] = []

    def now(self) -> float:
        """The wall time, in UTC seconds."""
        return self._now

    def monotonic(self) -> float:
        """Seconds that were advanced so far."""
        return self._monotonic

    async def sleep_until(self, when: float) -> None:
        """Return once `now()` has reached `when`; at once when it has already."""
        while self._now < when:
            sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            heapq.heappush(self._sleepers, (when, next(self._order), sleeper))
            await sleeper

    async def advance(self, seconds: float) -> None:
        """Move the time on by `seconds`, waking whoever waits on the way, and return when the loop is idle."""
        end = self._now + seconds
        await self.idle()
        while (when := self._next()) is not None and when <= end:
            self._move(max(when, self._now))
            self._wake()
            await self.idle()
        self._move(end)
        await self.idle()

    def set_back(self, seconds: float) -> None:
        """Move the wall time back by `seconds`."""
        self._now -= seconds

    def busy_while(self, busy: Callable[[], bool]) -> None:
        """Have `idle` wait while `busy()` is true: something works in a thread that the loop cannot see."""
        self._busy.append(busy)

    async def idle(self) -> None:
        """Return when the loop has nothing more to run now."""
        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # nothing public says whether a loop is idle
        await asyncio.sleep(0)
        while ready or any(busy() for busy in self._busy):
            await asyncio.sleep(0)

    def _next(self) -> float | None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _move(self, to: float) -> None:
        self._monotonic += max(0.0, to - self._now)
        self._now = to

    def _wake(self) -> None:
        while (when := self._next()) is not None and when <= self._now:
            heapq.heappop(self._sleepers)[2].set_result(None)
