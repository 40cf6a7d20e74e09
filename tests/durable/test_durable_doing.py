"""Doing: what the inspector of a durable process says that it does, also before its first state."""

from __future__ import annotations

import asyncio
import time

from workbench import Retry, Workbench, durable
from workbench.testing import ManualClock


def said(process) -> tuple[str, str, str]:
    view = process.source().view()
    return view["status"], view["now_line"]["strong"], view["now_line"]["text"]


def of_day(instant: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(instant))


@durable(key="silent:{name}")
async def silent(ctx, name: str):
    async for seconds in ctx:
        await ctx.sleep("cool-off", seconds)
    yield None


async def told(process, strong: str) -> tuple[str, str, str]:
    """What is said once a window that follows it hears of `strong`."""
    heard = asyncio.Event()
    stop = process.source().subscribe(heard.set)
    process.start()
    while said(process)[1] != strong:
        heard.clear()
        await asyncio.wait_for(heard.wait(), 10)
    stop()
    return said(process)


async def test_a_process_that_sleeps_before_its_first_state_says_until_when():
    clock = ManualClock()
    async with Workbench.open(":memory:", silent, clock=clock) as bench:
        process = bench.lookup(silent, name="a")
        waits = await told(process, "Waits for messages.")
        await process.cast(60)
        asleep = await told(process, "Asleep in step cool-off")

    assert waits == ("starting", "Waits for messages.", "No state yet.")
    until = of_day(clock.now() + 60)
    assert asleep == ("starting", "Asleep in step cool-off", f"until {until}. No state yet.")


@durable(key="asks:{name}")
async def asks(ctx, name: str):
    async for what in ctx:
        await ctx.ask(what, {"what": what})
    yield None


async def test_a_process_that_waits_for_a_decision_says_in_which_step():
    async with Workbench.open(":memory:", asks, clock=ManualClock()) as bench:
        process = bench.lookup(asks, name="a")
        await process.cast("sign")

        assert await told(process, "Waits for a decision") == (
            "starting",
            "Waits for a decision",
            "in step sign. No state yet.",
        )
        assert process.source().view()["now_line"]["tone"] == "amber"


@durable(key="works:{name}")
async def works(ctx, name: str):
    yield "up"
    async for gate in ctx:
        await ctx.step(gate, lambda key: broken(), retry=Retry(2, backoff=30))


async def broken():
    raise ValueError("broken on purpose")


async def test_a_step_that_failed_says_when_it_is_tried_again():
    clock = ManualClock()
    async with Workbench.open(":memory:", works, clock=clock) as bench:
        process = bench.lookup(works, name="a")
        await process.cast("pay")

        assert await told(process, "Tries step pay again") == (
            "running",
            "Tries step pay again",
            f"at {of_day(clock.now() + 30)}.",
        )
