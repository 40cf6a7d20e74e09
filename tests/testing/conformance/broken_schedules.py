"""Schedules that are broken in one way each: the negative controls of their laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.store.memory import MemoryStore
from workbench.store.memory_schedules import MemorySchedules
from workbench.store.room import log
from workbench.store.schedules import Firing, Planned


def keeper(schedules: type[MemorySchedules]) -> type[MemoryStore]:
    """The memory keeper with these schedules."""
    return type("Keeper", (MemoryStore,), {"schedules_of": schedules})


class StartsOverWhenPutAgain(MemorySchedules):
    def put(self, name: str, plan: str, *, since: float, next_at: float | None) -> Any:
        known = self._planned.get(name)
        if known is not None and known.plan == plan:
            self._planned[name] = replace(known, since=since, next_at=next_at)
        return super().put(name, plan, since=since, next_at=next_at)


class KeepsTheFirstPlan(MemorySchedules):
    def put(self, name: str, plan: str, *, since: float, next_at: float | None) -> Any:
        known = self._planned.get(name)
        return super().put(name, known.plan if known else plan, since=since, next_at=next_at)


class WakesNobody(MemorySchedules):
    def fire(self, name: str, *, posts: Sequence[Firing], **named: Any) -> Any:
        store: Any = self._post.__self__  # type: ignore[attr-defined]
        wakes = {key: line.wake_at for key, line in store._room.lines.items()}
        fired = super().fire(name, posts=posts, **named)
        for key, line in store._room.lines.items():
            line.wake_at = wakes.get(key)
        return fired


class FiresWheneverAsked(MemorySchedules):
    def fire(self, name: str, *, due: float, **named: Any) -> Any:
        known = self._planned.get(name)
        if known is not None and known.next_at is not None:
            self._planned[name] = replace(known, next_at=due)
        return super().fire(name, due=due, **named)


class ForgetsTheLastWhenNothingIsPosted(MemorySchedules):
    def fire(self, name: str, *, last_at: float | None, **named: Any) -> Any:
        fired = super().fire(name, last_at=last_at, **named)
        if name in self._planned:
            self._planned[name] = replace(self._planned[name], last_at=last_at)
        return fired


class DueByName(MemorySchedules):
    async def due(self, now: float, limit: int) -> list[Planned]:
        return sorted(await super().due(now, 100), key=lambda planned: planned.name)[:limit]


class DropsNothing(MemorySchedules):
    def drop(self, name: str) -> Any:
        return self._settle(lambda: name in self._planned)


class WritesBehindTheOwnersBack(MemorySchedules):
    def fire(self, name: str, *, posts: Sequence[Firing], **named: Any) -> Any:
        store: Any = self._post.__self__  # type: ignore[attr-defined]
        owned = [post for post in posts if post.key in store._room.lines]
        fired = super().fire(name, posts=[post for post in posts if post not in owned], **named)
        for post in owned if fired.result() else ():
            log(store._room.lines[post.key], next(store._room.ids), 0.0, 0, post.message, post.id, 0.0)
        return fired


BROKEN_SCHEDULES: dict[type[MemorySchedules], str] = {
    StartsOverWhenPutAgain: "an_equal_plan_changes_nothing",
    KeepsTheFirstPlan: "another_plan_of_one_name_replaces_the_first",
    WakesNobody: "firing_posts_wakes_and_moves_on",
    FiresWheneverAsked: "an_instant_is_fired_once",
    ForgetsTheLastWhenNothingIsPosted: "nothing_to_post_moves_on_all_the_same",
    DueByName: "schedules_come_earliest_first_and_at_most_limit",
    DropsNothing: "a_dropped_schedule_is_gone",
    WritesBehindTheOwnersBack: "a_live_owner_collects_what_is_posted",
}
