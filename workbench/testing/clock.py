"""The test clock: time that moves only when a test says so.

- `advance` stops at every instant somebody waits for and lets the loop run until it is idle there, so things happen in
  the order of their instants and a test needs no sleep.
- `set_back` moves the wall time back, as an administrator would, and leaves `monotonic` alone; `jump` moves it ahead,
  as a laptop that slept does.

Idle means that the loop has nothing ready to run and that nothing told of by `busy_while` is at work in a thread.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ManualClock"]

Sleeper: TypeAlias = "tuple[float, int, asyncio.Future[None]]"

EXACT = 1e-6
"""Seconds by which sums of floats may be off."""
PAUSE = 0.0005
"""Seconds of real time between two looks at what is busy in a thread, which needs the interpreter meanwhile."""


class ManualClock:
    """A clock that stands still until it is advanced. Implements `workbench.clock.Clock`."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start
        self._monotonic = 0.0
        self._order = itertools.count()
        self._sleepers: list[Sleeper] = []
        self._pausing: list[Sleeper] = []
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
            await self._in_line(self._sleepers, when)

    async def pause(self, seconds: float) -> None:
        """Return once `monotonic()` has moved on by `seconds`."""
        ends = self._monotonic + seconds
        while self._monotonic < ends:
            await self._in_line(self._pausing, ends)

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

    async def jump(self, seconds: float) -> None:
        """Move the wall time ahead by `seconds` while `monotonic` stands still, wake who is due, and return when idle.

        The machine's clock is found to have jumped within `workbench.clock.LONGEST_NAP` seconds; this one at once.
        """
        self._now += seconds
        self._wake()
        await self.idle()

    def busy_while(self, busy: Callable[[], bool]) -> None:
        """Have `idle` wait while `busy()` is true: something works in a thread that the loop cannot see."""
        self._busy.append(busy)

    async def idle(self) -> None:
        """Return when the loop has nothing more to run now."""
        ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # nothing public says whether a loop is idle
        await asyncio.sleep(0)
        while ready or any(busy() for busy in self._busy):
            await asyncio.sleep(0 if ready else PAUSE)

    async def _in_line(self, line: list[Sleeper], until: float) -> None:
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(line, (until, next(self._order), sleeper))
        await sleeper

    def _next(self) -> float | None:
        """The wall time at which somebody is due, as far as it can be told now."""
        sleeper, pausing = _first(self._sleepers), _first(self._pausing)
        instants = [] if sleeper is None else [sleeper]
        if pausing is not None:
            instants.append(self._now + pausing - self._monotonic)
        return min(instants, default=None)

    def _move(self, to: float) -> None:
        self._monotonic += max(0.0, to - self._now)
        self._now = to
        if (pausing := _first(self._pausing)) is not None and abs(pausing - self._monotonic) < EXACT:
            self._monotonic = pausing  # what was added up is the instant that it was added up to

    def _wake(self) -> None:
        for line, time in ((self._sleepers, self._now), (self._pausing, self._monotonic)):
            while (until := _first(line)) is not None and until <= time:
                heapq.heappop(line)[2].set_result(None)


def _first(line: list[Sleeper]) -> float | None:
    """The earliest end of those who still wait."""
    while line and line[0][2].done():
        heapq.heappop(line)
    return line[0][0] if line else None
