"""The laws of schedules: what comes again is posted once for each instant, by whoever comes first.

Source: PROCESSES 2.13, DESIGN rules 5 and 6.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.store.schedules import Firing, Planned
from workbench.testing.conformance.journal import begin
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.store.schedules import ScheduleStore
    from workbench.testing.clock import ManualClock

__all__ = ["SCHEDULES"]

SCHEDULES: list[Law] = []
law = enrol(SCHEDULES)

TICK = Firing("order:1", '"tick"', definition="order", args='{"id":"1"}')


async def morning(schedules: ScheduleStore, now: float, plan: str = '"daily"') -> bool:
    """Put the schedule that the laws share, due at `now`."""
    return await schedules.put("morning", plan, since=now, next_at=now)


@law
async def an_equal_plan_changes_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, running a cell again moves what it schedules."""
    schedules, now = (await open_store()).schedules, clock.now()
    assert await morning(schedules, now)
    assert await schedules.fire("morning", due=now, next_at=now + 60, last_at=now, posts=[TICK])

    assert not await morning(schedules, now + 5)

    assert schedules.listed() == [Planned("morning", '"daily"', now, now + 60, now, 1)]


@law
async def another_plan_of_one_name_replaces_the_first(open_store: Open, clock: ManualClock) -> None:
    """Without it, an edited schedule goes on as it was."""
    schedules, now = (await open_store()).schedules, clock.now()
    await morning(schedules, now)
    await schedules.fire("morning", due=now, next_at=now + 60, last_at=now, posts=[TICK])

    assert await morning(schedules, now + 5, '"hourly"')

    assert schedules.listed() == [Planned("morning", '"hourly"', now + 5, now + 5)]


@law
async def firing_posts_wakes_and_moves_on(open_store: Open, clock: ManualClock) -> None:
    """Without it, a schedule posts nothing, to nobody, or for ever."""
    store = await open_store()
    schedules, now = store.schedules, clock.now()
    await morning(schedules, now)

    assert await schedules.fire("morning", due=now, next_at=now + 60, last_at=now, posts=[TICK, TICK])

    assert [logged.message for logged in await store.pending("order:1", 0)] == ['"tick"', '"tick"']
    info = await store.key_info("order:1")
    assert info is not None
    assert (info.definition, info.args) == ("order", '{"id":"1"}')
    assert await store.due(now, now + 30, 10) == ["order:1"]
    assert await schedules.due(now + 59, 10) == []
    assert [planned.name for planned in await schedules.due(now + 60, 10)] == ["morning"]


@law
async def an_instant_is_fired_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, two schedulers post twice."""
    ours, theirs = await open_store(), await open_store()
    now = clock.now()
    await morning(ours.schedules, now)

    fired = await asyncio.gather(
        *(
            store.schedules.fire("morning", due=now, next_at=now + 60, last_at=now, posts=[TICK])
            for store in (ours, theirs, ours)
        )
    )

    assert sorted(fired) == [False, False, True]
    assert len(await ours.pending("order:1", 0)) == 1


@law
async def nothing_to_post_moves_on_all_the_same(open_store: Open, clock: ManualClock) -> None:
    """Without it, a schedule that skips what it missed stays due."""
    schedules, now = (await open_store()).schedules, clock.now()
    await morning(schedules, now)
    await schedules.fire("morning", due=now, next_at=now + 60, last_at=now, posts=[TICK])

    assert await schedules.fire("morning", due=now + 60, next_at=None, last_at=None, posts=[])

    assert schedules.listed() == [Planned("morning", '"daily"', now, None, now, 1)]
    assert await schedules.due(now + 10**9, 10) == []


@law
async def schedules_come_earliest_first_and_at_most_limit(open_store: Open, clock: ManualClock) -> None:
    """Without it, the oldest of what was missed comes last."""
    schedules, now = (await open_store()).schedules, clock.now()
    for name, at in (("c", now + 1), ("a", now + 3), ("b", now + 2), ("d", None)):
        await schedules.put(name, '"plan"', since=now, next_at=at)

    assert [planned.name for planned in await schedules.due(now + 5, 2)] == ["c", "b"]
    assert [planned.name for planned in schedules.listed()] == ["a", "b", "c", "d"]


@law
async def a_dropped_schedule_is_gone(open_store: Open, clock: ManualClock) -> None:
    """Without it, what was cancelled comes again."""
    store = await open_store()
    schedules, now = store.schedules, clock.now()
    await morning(schedules, now)

    assert await schedules.drop("morning")

    assert not await schedules.drop("morning")
    assert not await schedules.fire("morning", due=now, next_at=now + 60, last_at=now, posts=[TICK])
    assert (schedules.listed(), await store.pending("order:1", 0)) == ([], [])


@law
async def a_live_owner_collects_what_is_posted(open_store: Open, clock: ManualClock) -> None:
    """Without it, a schedule writes into the log of a key behind its owner's back."""
    ours, theirs = await open_store(), await open_store()
    epoch, now = await begin(ours, "order:1"), clock.now()
    await morning(theirs.schedules, now)

    await theirs.schedules.fire("morning", due=now, next_at=None, last_at=now, posts=[TICK])

    assert (await ours.posted(), await ours.pending("order:1", 0)) == (["order:1"], [])
    assert [logged.message for logged in await ours.collect("order:1", epoch)] == ['"tick"']
