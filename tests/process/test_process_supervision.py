"""Supervision: how often a crashed body begins again, within which time, and after which wait."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Any

import pytest

from workbench import Workbench, process
from workbench.errors import BadInput, ProcessEnded
from workbench.process.crashes import Crash, observe_crashes
from workbench.process.spawn import Process, spawn_for
from workbench.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def fragile(**options: Any) -> tuple[Any, list[float]]:
    """A body that adds numbers up and breaks on "break", and when its instances began."""
    began: list[Any] = []

    @process(restart="on-crash", **options)
    async def body(ctx):
        began.append(ctx)
        total = 0
        yield total
        async for message in ctx:
            if message == "break":
                raise ValueError("broken on purpose")
            total += message
            yield total

    return body, began


async def broken(handle: Process, clock: ManualClock, times: int) -> None:
    for _ in range(times):
        handle.cast("break")
        await clock.idle()


async def test_crashes_outside_the_window_do_not_count(clock: ManualClock) -> None:
    body, began = fragile(max_restarts=2, window=60)
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()

    await broken(handle, clock, 2)
    assert (handle.restarts.spent, handle.restarts.left) == (2, 0)
    await clock.advance(60)
    assert handle.restarts.spent == 0
    await broken(handle, clock, 2)

    assert (handle.status, len(began)) == ("running", 5)
    await broken(handle, clock, 1)
    assert (handle.status, len(began)) == ("crashed", 5)


async def test_a_window_moves_with_the_time(clock: ManualClock) -> None:
    body, began = fragile(max_restarts=2, window=60)
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()

    for _ in range(5):
        await broken(handle, clock, 1)
        await clock.advance(31)

    assert (handle.status, len(began), handle.restarts.spent) == ("running", 6, 1)
    await handle.dispose()


async def test_without_a_window_the_budget_is_for_life(clock: ManualClock) -> None:
    body, began = fragile(max_restarts=2)
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()

    for _ in range(3):
        await broken(handle, clock, 1)
        await clock.advance(1_000_000)

    assert (handle.status, len(began)) == ("crashed", 3)


async def test_a_budget_without_a_bound_is_never_spent(clock: ManualClock) -> None:
    body, began = fragile(max_restarts=None)
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()

    await broken(handle, clock, 20)

    assert (handle.status, len(began), handle.restarts.left) == ("running", 21, None)
    await handle.dispose()


async def test_the_wait_doubles_with_every_restart_that_counts(clock: ManualClock) -> None:
    body, began = fragile(max_restarts=9, window=3600, backoff=0.5)
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()
    waits = []

    for number in range(9):
        await broken(handle, clock, 1)
        assert (handle.status, len(began)) == ("restarting", number + 1)
        assert handle.restarts.next_at is not None
        waits.append(handle.restarts.next_at - clock.now())
        await clock.advance(waits[-1] - 0.001)
        assert len(began) == number + 1
        await clock.advance(0.001)
        assert (handle.status, len(began), handle.restarts.next_at) == ("running", number + 2, None)

    assert waits == [0.5, 1, 2, 4, 8, 16, 32, 32, 32]
    await handle.dispose()


async def test_casts_sent_while_it_waits_reach_the_next_instance(clock: ManualClock) -> None:
    body, _ = fragile(backoff=10)
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()
    await broken(handle, clock, 1)

    handle.cast(4)
    await clock.idle()
    assert (handle.state, handle.pending, handle.stale) == (0, 1, True)
    await clock.advance(10)

    assert (handle.state, handle.pending, handle.stale) == (4, 0, False)
    await handle.dispose()


async def test_a_process_disposed_while_it_waits_does_not_begin_again(clock: ManualClock) -> None:
    body, began = fragile(backoff=10)
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()
    await broken(handle, clock, 1)
    waiting = handle.call("ask")

    await handle.dispose()
    await clock.advance(100)

    assert (handle.status, len(began), handle.restarts.next_at) == ("disposed", 1, None)
    with pytest.raises(ProcessEnded):
        await waiting


async def test_a_spent_budget_says_so(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    body, _ = fragile(max_restarts=1, window=60)
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()

    with caplog.at_level(logging.ERROR, "workbench"):
        await broken(handle, clock, 2)

    words = "body has spent 1 restart in 60 s, and does not begin again"
    assert handle.error is not None
    assert handle.error.__notes__ == [words]
    assert [record.getMessage() for record in caplog.records] == [
        *["body crashed: ValueError('broken on purpose')"] * 2,
        words,
    ]


async def test_children_live_by_the_clock_of_their_owner(clock: ManualClock) -> None:
    flaky, began = fragile(backoff=5)
    children = []

    @process
    async def parent(ctx):
        children.append(ctx.spawn(flaky))
        yield 0
        async for _ in ctx:
            yield 1

    async with Workbench.open(clock=clock) as bench:
        bench.spawn(parent)
        await clock.idle()
        await broken(children[0], clock, 1)
        await clock.advance(5)

        assert len(began) == 2


async def test_observers_hear_of_every_crash_also_of_restarts(clock: ManualClock) -> None:
    body, _ = fragile(max_restarts=1)
    heard: list[Crash] = []
    stop = observe_crashes(heard.append)
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()

    await broken(handle, clock, 1)
    first = list(heard)
    await broken(handle, clock, 1)
    stop()

    assert [(crash.name, str(crash.error), crash.again) for crash in heard] == [
        ("body", "broken on purpose", True),
        ("body", "broken on purpose", False),
    ]
    assert len(first) == 1


async def test_observers_do_not_hear_of_quiet_bodies_nor_after_they_stop(clock: ManualClock) -> None:
    heard: list[Crash] = []
    stop = observe_crashes(heard.append)
    loud, quiet = fragile(max_restarts=0)[0], fragile(max_restarts=0, quiet=True)[0]

    await broken(spawn_for(None, quiet, {}, clock=clock), clock, 1)
    stop()
    await broken(spawn_for(None, loud, {}, clock=clock), clock, 1)

    assert heard == []


async def test_an_observer_that_fails_breaks_nobody(clock: ManualClock, caplog: pytest.LogCaptureFixture) -> None:
    def broken_observer(crash: Crash) -> None:
        raise RuntimeError("the observer is broken")

    heard: list[Crash] = []
    stops = [observe_crashes(broken_observer), observe_crashes(heard.append)]
    body, _ = fragile()
    handle = spawn_for(None, body, {}, clock=clock)
    await clock.idle()
    await broken(handle, clock, 1)
    for stop in stops:
        stop()

    assert (handle.status, len(heard)) == ("running", 1)
    assert "an observer of crashes failed, of body" in caplog.text
    await handle.dispose()


async def test_an_observer_hears_after_the_crash_and_not_inside_it() -> None:
    @process(restart="on-crash", max_restarts=0)
    async def body(ctx):
        raise ValueError("broken on purpose")
        yield

    told: list[str] = []
    handle = spawn_for(None, body, {})
    stop = observe_crashes(lambda crash: told.append(handle.status))
    for _ in range(20):
        await asyncio.sleep(0)
    stop()

    assert told == ["crashed"]


@pytest.mark.parametrize(
    "options",
    [{"window": 0}, {"window": True}, {"window": math.inf}, {"backoff": -1}, {"backoff": math.nan}, {"evict": -1}],
    ids=str,
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=f"^{next(iter(options))} is"):
        fragile(**options)
