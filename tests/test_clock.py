"""Clocks: the machine's, and the one of the tests."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from workbench import clock
from workbench.clock import LONGEST_NAP, SystemClock
from workbench.testing.clock import ManualClock


async def test_a_deadline_that_passed_is_not_waited_for() -> None:
    await asyncio.wait_for(SystemClock().sleep_until(time.time() - 1), 1)


async def test_the_system_clock_reads_the_time_again_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    now, naps = [1000.0], []

    async def nap(seconds: float) -> None:
        naps.append(seconds)
        now[0] += seconds if len(naps) != 2 else -50  # the clock is set back during the second nap

    monkeypatch.setattr(SystemClock, "now", staticmethod(lambda: now[0]))
    monkeypatch.setattr(clock.asyncio, "sleep", nap)
    await SystemClock().sleep_until(1070.0)

    assert naps == [LONGEST_NAP, LONGEST_NAP, LONGEST_NAP, LONGEST_NAP, LONGEST_NAP]
    assert now[0] >= 1070.0


async def test_the_test_clock_wakes_in_the_order_of_the_instants() -> None:
    hand, woken = ManualClock(0.0), []

    async def sleeper(when: float) -> None:
        await hand.sleep_until(when)
        woken.append((when, hand.now()))

    tasks = [asyncio.create_task(sleeper(when)) for when in (30.0, 10.0, 20.0, 10.0)]
    await hand.advance(20.0)

    assert woken == [(10.0, 10.0), (10.0, 10.0), (20.0, 20.0)]
    await hand.advance(10.0)
    assert woken[-1] == (30.0, 30.0)
    await asyncio.gather(*tasks)


async def test_a_sleep_begun_on_the_way_ends_on_the_way() -> None:
    hand, ticks = ManualClock(0.0), []

    async def ticker() -> None:
        while True:
            await hand.sleep_until(hand.now() + 10)
            ticks.append(hand.now())

    task = asyncio.create_task(ticker())
    await hand.advance(35.0)

    assert (ticks, hand.now(), hand.monotonic()) == ([10.0, 20.0, 30.0], 35.0, 35.0)
    task.cancel()


async def test_a_clock_set_back_keeps_sleepers_asleep() -> None:
    hand = ManualClock(100.0)
    task = asyncio.create_task(hand.sleep_until(110.0))
    await hand.idle()

    hand.set_back(50.0)
    await hand.advance(59.0)
    assert not task.done()
    await hand.advance(1.0)

    assert task.done()
    assert (hand.now(), hand.monotonic()) == (110.0, 60.0)


async def test_a_cancelled_sleeper_is_forgotten() -> None:
    hand = ManualClock(0.0)
    task: asyncio.Task[Any] = asyncio.create_task(hand.sleep_until(5.0))
    await hand.idle()
    task.cancel()
    await hand.idle()

    assert hand._next() is None
