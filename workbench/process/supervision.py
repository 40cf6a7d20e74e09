"""Supervision: how often a body that crashed begins again, and how long it waits before it does.

- A budget of restarts counts those of the last `window` seconds, or of the whole life where there is no window.
- The wait doubles with every restart that counts, up to `DOUBLINGS` times, so a body that fails at once does not spin.
- Time is the clock's that is handed in: durations by its monotonic time, the wait until an instant of its wall time.

Source: PROCESSES 1.6 and B.2 (3). Knows nothing of bodies, mailboxes or journals.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.errors import BadInput
from workbench.given import LONGEST, shown

if TYPE_CHECKING:
    from workbench.clock import Clock

__all__ = ["DOUBLINGS", "Budget", "Policy", "Restarts"]

RESTARTS = ("never", "on-crash")
DOUBLINGS = 6


@dataclass(frozen=True, slots=True)
class Policy:
    """When a crashed body begins again. `most` is None for no bound; `window` and `backoff` are in seconds.

    Raises: BadInput for an option that cannot be.
    """

    restart: str = "never"
    most: int | None = 3
    window: float | None = None
    backoff: float = 0.0

    def __post_init__(self) -> None:
        if self.restart not in RESTARTS:
            raise BadInput(f"restart is one of {RESTARTS}, found {self.restart!r}")
        if self.most is not None and (type(self.most) is not int or self.most < 0):
            raise BadInput(f"max_restarts is a whole number from 0, or None for no bound, found {shown(self.most)}")
        if self.window is not None and not (_is_number(self.window) and self.window > 0):
            raise BadInput(
                f"window is a number of seconds above 0, or None for the whole life, found {shown(self.window)}"
            )
        if not (_is_number(self.backoff) and self.backoff >= 0):
            raise BadInput(f"backoff is a number of seconds from 0, found {shown(self.backoff)}")

    def wait_before(self, number: int) -> float:
        """The seconds before the `number`th restart that counts."""
        return float(self.backoff * 2 ** min(number - 1, DOUBLINGS))


@dataclass(frozen=True, slots=True)
class Budget:
    """The restarts of a process as they stand: `spent` of `most` within `window` seconds.

    `next_at` is when the next instance begins, in UTC seconds, while one is waited for.
    """

    most: int | None
    window: float | None
    spent: int
    next_at: float | None

    @property
    def left(self) -> int | None:
        """How many more there may be now; None for no bound."""
        return None if self.most is None else max(0, self.most - self.spent)

    def __str__(self) -> str:
        within = "" if self.window is None else f" in {self.window:g} s"
        return f"{self.spent} restarts{within}" if self.spent != 1 else f"1 restart{within}"


class Restarts:
    """The restarts of one process."""

    __slots__ = ("_began", "_clock", "next_at", "policy")

    def __init__(self, policy: Policy, clock: Clock) -> None:
        self.policy = policy
        self.next_at: float | None = None
        self._clock = clock
        self._began: deque[float] | None = None

    @property
    def budget(self) -> Budget:
        """What is spent of it now."""
        most = self.policy.most if self.policy.restart == "on-crash" else 0
        return Budget(most, self.policy.window, self._counting(), self.next_at)

    def take(self) -> bool:
        """Spend one restart; False when none is left."""
        policy, counted = self.policy, self._counting()
        if policy.restart == "never" or (policy.most is not None and counted >= policy.most):
            return False
        if self._began is None:
            self._began = deque()
        self._began.append(self._clock.monotonic())
        self.delay(counted + 1)
        return True

    def delay(self, number: int) -> None:
        """Have the next `pause` wait as before the `number`th restart that counts."""
        wait = self.policy.wait_before(number)
        self.next_at = self._clock.now() + wait if wait else None

    async def pause(self) -> None:
        """Return when the restart that was taken may begin."""
        try:
            if self.next_at is not None:
                await self._clock.sleep_until(self.next_at)
        finally:
            self.next_at = None

    def _counting(self) -> int:
        """How many restarts count now; those that have left the window are forgotten."""
        if self._began is None:
            return 0
        if self.policy.window is not None:
            oldest = self._clock.monotonic() - self.policy.window
            while self._began and self._began[0] <= oldest:
                self._began.popleft()
        return len(self._began)


def _is_number(given: object) -> bool:
    return isinstance(given, (int, float)) and not isinstance(given, bool) and -LONGEST <= given <= LONGEST
