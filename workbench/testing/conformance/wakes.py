"""The laws of wakes: when a key is due, and for whom.

Ten of the twenty-eight of the reference. Source: PROCESSES section 3, "wake times / due".
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.store.journal import Commit, DeadLetter
from workbench.testing.conformance.journal import begin, record
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.testing.clock import ManualClock

__all__ = ["WAKES"]

WAKES: list[Law] = []
law = enrol(WAKES)


@law
async def a_step_wakes_its_key_at_its_instant(open_store: Open, clock: ManualClock) -> None:
    """Without it, a sleeping process wakes early, late or never."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    seq = await store.append("order:1", epoch, '"wait"')
    when = clock.now() + 3600

    await store.put_step("order:1", epoch, seq, record("deadline", kind="sleep"), when)

    assert await store.due(when - 0.001, when + 30, 10) == []
    assert await store.due(when, when + 30, 10) == ["order:1"]


@law
async def due_hides_a_key_until_its_lease_is_over(open_store: Open, clock: ManualClock) -> None:
    """Without it, a key whose host died while waking it is never woken again."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    now = clock.now()
    await store.append("order:1", epoch, '"add"', wake_at=now)

    assert await store.due(now, now + 30, 10) == ["order:1"]

    assert await store.due(now + 29, now + 60, 10) == []
    assert await store.due(now + 30, now + 60, 10) == ["order:1"]


@law
async def one_of_two_overlapping_callers_gets_the_key(open_store: Open, clock: ManualClock) -> None:
    """Without it, two workers wake one key."""
    store = await open_store()
    now = clock.now()
    for turns in range(5):
        key = f"order:{turns}"
        epoch = await begin(store, key)
        await store.append(key, epoch, '"add"', wake_at=now)

        async def second(turns: int = turns) -> list[str]:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await store.due(now, now + 30, 10)

        both = await asyncio.gather(store.due(now, now + 30, 10), second())

        assert sorted(both[0] + both[1]) == [key]


@law
async def due_gives_the_earliest_first_and_at_most_limit(open_store: Open, clock: ManualClock) -> None:
    """Without it, the oldest work waits while newer work runs."""
    store = await open_store()
    now = clock.now()
    for key, wake_at in (("c", now + 1), ("a", now + 3), ("b", now + 2)):
        await store.append(key, await begin(store, key), '"add"', wake_at=wake_at)

    assert await store.due(now + 5, now + 60, 0) == []
    assert await store.due(now + 5, now + 60, 2) == ["c", "b"]
    assert await store.due(now + 5, now + 60, 2) == ["a"]


@law
async def a_later_step_replaces_the_wake(open_store: Open, clock: ManualClock) -> None:
    """Without it, a process that sleeps again wakes at the end of its first sleep."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    seq = await store.append("order:1", epoch, '"wait"')

    await store.put_step("order:1", epoch, seq, record("first"), now + 10)
    await store.put_step("order:1", epoch, seq, record("second"), now + 20)
    await store.put_step("order:1", epoch, seq, record("third"))

    assert await store.due(now + 19, now + 60, 10) == []
    assert await store.due(now + 20, now + 60, 10) == ["order:1"]


@law
async def a_commit_that_leaves_nothing_clears_the_wake(open_store: Open, clock: ManualClock) -> None:
    """Without it, idle keys are woken for ever."""
    store = await open_store()
    now = clock.now()
    letter = DeadLetter(1, '"add"', None, "boom")
    for key, dead in (("order:1", None), ("order:2", letter)):
        epoch = await begin(store, key)
        seq = await store.append(key, epoch, '"add"', wake_at=now)

        await store.commit(key, epoch, Commit("1", 0, seq, (), dead))

    assert await store.due(now + 10**6, now + 2 * 10**6, 10) == []


@law
async def an_append_sets_the_wake_only_where_there_is_none(open_store: Open, clock: ManualClock) -> None:
    """Without it, every message delays the first one's redelivery, or breaks the lease of who is waking the key."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    await store.append("order:1", epoch, '"one"', wake_at=now + 10)

    await store.append("order:1", epoch, '"two"', wake_at=now + 20)

    assert await store.due(now + 10, now + 40, 10) == ["order:1"]
    await store.append("order:1", epoch, '"three"', wake_at=now + 11)
    assert await store.due(now + 39, now + 60, 10) == []


@law
async def an_append_leaves_the_wake_of_a_step(open_store: Open, clock: ManualClock) -> None:
    """Without it, a message wakes a sleeper early."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    seq = await store.append("order:1", epoch, '"wait"')
    await store.put_step("order:1", epoch, seq, record("deadline", kind="sleep"), now + 100)

    await store.append("order:1", epoch, '"more"', wake_at=now + 10)

    assert await store.due(now + 99, now + 200, 10) == []
    assert await store.due(now + 100, now + 200, 10) == ["order:1"]


@law
async def a_commit_with_messages_left_moves_the_wake(open_store: Open, clock: ManualClock) -> None:
    """Without it, the next message is redelivered while it is being handled, or never."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    first = await store.append("order:1", epoch, '"one"', wake_at=now + 10)
    second = await store.append("order:1", epoch, '"two"', wake_at=now + 10)

    await store.commit("order:1", epoch, Commit("1", 0, first, wake_at=now + 50))

    assert await store.due(now + 49, now + 100, 10) == []
    assert await store.due(now + 50, now + 100, 10) == ["order:1"]
    await store.commit("order:1", epoch, Commit("2", 0, second, wake_at=now + 50))
    assert await store.due(now + 10**6, now + 2 * 10**6, 10) == []


@law
async def a_key_without_a_wake_is_never_due(open_store: Open, clock: ManualClock) -> None:
    """Without it, parked work burns a worker."""
    store = await open_store()
    epoch = await begin(store, "order:1")

    await store.append("order:1", epoch, '"add"')

    assert await store.due(clock.now() + 10**12, clock.now() + 10**13, 10) == []
