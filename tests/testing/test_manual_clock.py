"""The test clock: time moves when it is told to, and what is due happens in the order of its instants."""

from __future__ import annotations

import asyncio

from workbench.clock import Clock
from workbench.testing import ManualClock


async def test_sleepers_wake_in_the_order_of_their_instants() -> None:
    clock = ManualClock(start=1000.0)
    woken: list[tuple[str, float]] = []

    async def sleep(name: str, when: float) -> None:
        await clock.sleep_until(when)
        woken.append((name, clock.now()))

    async with asyncio.TaskGroup() as tasks:
        for name, when in (("late", 1030.0), ("early", 1010.0), ("past", 900.0), ("never", 2000.0)):
            tasks.create_task(sleep(name, when))
        await clock.advance(50)
        assert woken == [("past", 1000.0), ("early", 1010.0), ("late", 1030.0)]
        assert clock.now() == 1050.0
        await clock.advance(950)

    assert woken[3:] == [("never", 2000.0)]


async def test_who_sleeps_again_on_the_way_is_woken_again() -> None:
    clock = ManualClock(start=0.0)
    beats: list[float] = []

    async def beat() -> None:
        while True:
            await clock.sleep_until(clock.now() + 10)
            beats.append(clock.now())

    task = asyncio.create_task(beat())
    await clock.advance(35)
    task.cancel()

    assert beats == [10.0, 20.0, 30.0]


async def test_a_clock_set_back_wakes_nobody_twice() -> None:
    clock = ManualClock(start=1000.0)
    task = asyncio.create_task(clock.sleep_until(1010.0))
    await clock.advance(9)

    clock.set_back(100)
    await clock.advance(100)
    assert not task.done()
    await clock.advance(1)

    assert task.done()
    assert clock.monotonic() == 110.0


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep_until(clock.now() + 5))
    await clock.idle()

    task.cancel()
    await clock.advance(10)

    assert task.cancelled()


async def test_idle_waits_for_what_works_in_a_thread() -> None:
    clock = ManualClock()
    done = asyncio.get_running_loop().run_in_executor(None, sum, range(100_000))
    clock.busy_while(lambda: not done.done())

    await clock.idle()

    assert done.done()


def test_it_is_a_clock() -> None:
    clock: Clock = ManualClock(start=5.0)

    assert (clock.now(), clock.monotonic()) == (5.0, 0.0)
