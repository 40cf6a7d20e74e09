"""The schedules: what a store promises to work that comes again, as a protocol.

- A schedule is a plan (a payload, never looked into) and the instant at which it is due next.
- Firing is one compare-and-set on that instant, and posts its messages in the same transaction: of any number of
  schedulers one fires, and a crash on the way leaves it unfired or fired, never half.

Instants are UTC seconds. Source: DESIGN rules 5 and 6. Knows nothing of cron or of time zones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

__all__ = ["Firing", "Planned", "ScheduleStore"]


@dataclass(frozen=True, slots=True)
class Firing:
    """A message that a schedule posts, as `Inbox.post` takes it; it wakes its key."""

    key: str
    message: str
    id: str | None = None
    definition: str | None = None
    args: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """One schedule. `since` is when it was made, `next_at` None once it never comes again, `fired` counts its posts."""

    name: str
    plan: str
    since: float
    next_at: float | None
    last_at: float | None = None
    fired: int = 0


class ScheduleStore(Protocol):
    """The schedules of a store."""

    def put(self, name: str, plan: str, *, since: float, next_at: float | None) -> Awaitable[bool]:
        """Add a schedule, or replace the one of that name; False, and nothing changed, when it has that very plan."""
        ...

    def fire(
        self, name: str, *, due: float, next_at: float | None, last_at: float | None, posts: Sequence[Firing]
    ) -> Awaitable[bool]:
        """Post, and move the schedule from the instant `due` to `next_at`; False, and nothing done, when it had moved.

        `last_at` is the instant of the newest post, None when there is none.
        """
        ...

    def drop(self, name: str) -> Awaitable[bool]:
        """Forget a schedule; False when there was none."""
        ...

    def due(self, now: float, limit: int) -> Awaitable[list[Planned]]:
        """The schedules due at `now` or before, earliest first, at most `limit`. Takes nothing."""
        ...

    def listed(self) -> list[Planned]:
        """Every schedule by name, as it is committed."""
        ...
