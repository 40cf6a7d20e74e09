"""Clocks: where the workbench reads the time, and how it waits for an instant.

- Deadlines are wall time: UTC seconds as a float, so they survive a restart.
- A wait for an instant is armed for at most `LONGEST_NAP` seconds and reads the clock again, so a machine that slept,
  or a clock that was set, is noticed within that time.
- A pause is measured on the monotonic clock: a wall clock that is set back does not lengthen it.

Knows nothing of what is waited for.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

__all__ = ["LONGEST_NAP", "Clock", "SystemClock"]

LONGEST_NAP = 30.0


class Clock(Protocol):
    """What the runtime asks of a clock. Tests pass one that they move by hand (`workbench.testing.ManualClock`)."""

    def now(self) -> float:
        """The wall time, in UTC seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; for durations only."""
        ...

    async def sleep_until(self, when: float) -> None:
        """Return once `now()` has reached `when`; at once when it has already."""
        ...

    async def pause(self, seconds: float) -> None:
        """Return once `monotonic()` has moved on by `seconds`, whatever the wall clock does meanwhile."""
        ...


class SystemClock:
    """The machine's clock."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    async def sleep_until(self, when: float) -> None:
        while (left := when - self.now()) > 0:
            await asyncio.sleep(min(left, LONGEST_NAP))

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
