"""The pace of updates: how often views may tell the front end what changed.

- At most `PER_VIEW` updates a second for one view and `PER_KERNEL` for all: a server drops everything above 3,000
  messages in 3 s.
- The first change after a quiet time goes out at once; later ones wait for their turn and go together.
- The timer exists only while something waits.

Used on the home loop only. Knows nothing of what is sent. Source: KERNEL E, DESIGN rule 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from asyncio import TimerHandle
    from collections.abc import Callable

__all__ = ["PER_KERNEL", "PER_VIEW", "Pace", "Timers"]

PER_VIEW = 20
PER_KERNEL = 50


class Timers(Protocol):
    """What the pace needs of a loop: its time, and a call later."""

    def time(self) -> float:
        """Seconds that never go back."""
        ...

    def call_later(self, delay: float, callback: Callable[..., Any], /) -> TimerHandle:
        """Call `callback` after `delay` seconds."""
        ...


class Pace:
    """Turns for views that changed. Each view is known by the function that sends its changes."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._waiting: dict[Callable[[], bool], float] = {}
        self._latest: dict[Callable[[], bool], float] = {}
        self._free_at = 0.0
        self._timer: TimerHandle | None = None

    def due(self, send: Callable[[], bool]) -> None:
        """Call `send` when its turn comes; once, however often it was due. It says whether it sent anything."""
        if send not in self._waiting:
            self._waiting[send] = self._latest.get(send, float("-inf")) + 1 / PER_VIEW
            self._arm()

    def forget(self, send: Callable[[], bool]) -> None:
        """Drop a view that was closed."""
        self._waiting.pop(send, None)
        self._latest.pop(send, None)

    def _arm(self) -> None:
        if self._timer is None and self._waiting:
            at = max(self._free_at, min(self._waiting.values()))
            self._timer = self._timers.call_later(max(0.0, at - self._timers.time()), self._turn)

    def _turn(self) -> None:
        self._timer = None
        now = self._timers.time()
        ready = next((send for send, at in self._waiting.items() if at <= now), None)
        if ready is not None:
            del self._waiting[ready]
            try:
                if ready():
                    self._latest[ready] = now
                    self._free_at = now + 1 / PER_KERNEL
            finally:
                self._arm()
        else:
            self._arm()
