"""The schedules of the memory keepers of one place: the rules that the SQLite keeper has in SQL, on dataclasses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.store.room import text
from workbench.store.schedules import Planned

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from workbench.store.schedules import Firing

__all__ = ["MemorySchedules"]


class MemorySchedules:
    """Implements `workbench.store.schedules.ScheduleStore` for one host of a room.

    `post` is `Inbox.post_now`, `settle` makes an awaitable.
    """

    def __init__(
        self,
        planned: dict[str, Planned],
        post: Callable[..., object],
        now: Callable[[], float],
        settle: Callable[[Callable[[], Any]], asyncio.Future[Any]],
    ) -> None:
        self._planned = planned
        self._post = post
        self._now = now
        self._settle = settle

    def put(self, name: str, plan: str, *, since: float, next_at: float | None) -> asyncio.Future[bool]:
        """Add a schedule."""

        def put() -> bool:
            known = self._planned.get(name)
            if known is not None and known.plan == plan:
                return False
            self._planned[name] = Planned(name, text(plan), since, next_at)
            return True

        return self._settle(put)

    def fire(
        self, name: str, *, due: float, next_at: float | None, last_at: float | None, posts: Sequence[Firing]
    ) -> asyncio.Future[bool]:
        """Post what is due."""

        def fire() -> bool:
            known = self._planned.get(name)
            if known is None or known.next_at != due:
                return False
            for post in posts:
                text(post.message)
            newest = known.last_at if last_at is None else last_at
            self._planned[name] = replace(known, next_at=next_at, last_at=newest, fired=known.fired + len(posts))
            for post in posts:
                args, wake = post.args, self._now()
                self._post(post.key, post.message, id=post.id, wake=wake, definition=post.definition, args=args)
            return True

        return self._settle(fire)

    def drop(self, name: str) -> asyncio.Future[bool]:
        """Forget a schedule."""
        return self._settle(lambda: self._planned.pop(name, None) is not None)

    async def due(self, now: float, limit: int) -> list[Planned]:
        """The schedules that are due."""
        found = [(each.next_at, each.name) for each in self._planned.values() if each.next_at is not None]
        return [self._planned[name] for at, name in sorted(found) if at <= now][:limit]

    def listed(self) -> list[Planned]:
        """Every schedule."""
        return [self._planned[name] for name in sorted(self._planned)]
