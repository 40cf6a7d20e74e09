"""Killing and recovering, and the threads that run on after a kill."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from counters import counter
from places import Place, settle, until

from workbench import durable


async def test_killing_leaves_the_key_alone_until_it_is_recovered(place: Place) -> None:
    handled: list[Any] = []
    bench = await place.open(counter(handled))
    handle = bench.lookup("counter", id="a")
    await handle.cast("hang")
    await until(lambda: handled == ["hang"])
    await handle.kill(by="a test")
    assert (handle.status, handle.held_by) == ("disposed", "a test")

    await place.clock.advance(90)
    assert handled == ["hang"]

    await handle.recover()
    await until(lambda: handled == ["hang", "hang"])
    assert (handle.status, handle.held_by) == ("starting", None) or handle.status == "running"


@pytest.mark.parametrize("how", ["lookup", "cast", "call"])
async def test_a_killed_process_comes_back_when_it_is_asked_for(place: Place, how: str) -> None:
    handled: list[Any] = []
    bench = await place.open(counter(handled))
    handle = bench.lookup("counter", id="a")
    await handle.cast(1)
    await handle.until(lambda total: total == 1)
    await handle.kill()

    if how == "lookup":
        assert bench.lookup("counter", id="a") is handle
    elif how == "cast":
        await handle.cast(2)
    else:
        assert await handle.call(2, id="x") == 3

    await until(lambda: handle.activation is not None)
    assert handle.held_by is None


async def test_the_lives_of_a_key_say_how_they_ended(place: Place) -> None:
    handled: list[Any] = []
    bench = await place.open(counter(handled))
    handle = bench.lookup("counter", id="a")
    for end in (handle.dispose, handle.kill):
        await handle.call(1, id="x")
        await end()
    await handle.recover()
    await handle.call(2, id="y")
    await place.crash(bench)
    bench = await place.open(counter(handled))
    await bench.lookup("counter", id="a").call(3, id="z")

    lives = await bench.store.activations("counter:a")

    assert [life.how for life in lives] == ["disposed", "killed", "lost", None]
    assert [life.epoch for life in lives] == [1, 2, 3, 4]


def blocked(started: threading.Event, gate: threading.Event, ran: list[int]) -> Any:
    @durable(key="blocked:{id}", name="blocked")
    async def body(ctx, id: str):
        yield ctx.restored or "new"
        async for _ in ctx:

            def work() -> str:
                ran.append(1)
                started.set()
                gate.wait(20)
                return f"run {len(ran)}"

            yield await ctx.step("work", work)

    return body


async def test_a_thread_that_runs_on_after_a_kill_writes_nothing(place: Place) -> None:
    started, gate, ran = threading.Event(), threading.Event(), []
    bench = await place.open(blocked(started, gate, ran))
    handle = bench.lookup("blocked", id="a")
    await handle.cast(1)
    await until(started.is_set)
    await handle.kill()

    recovering = asyncio.ensure_future(handle.recover())
    await asyncio.sleep(0.02)
    assert (ran, recovering.done(), handle.activation) == ([1], False, None)
    gate.set()
    await recovering

    assert await handle.until(lambda state: state != "new") == "run 2"
    steps = [entry.step.payload for entry in await bench.store.history("blocked:a") if entry.kind == "step"]
    assert steps == ['"run 2"']


async def test_a_lookup_after_a_kill_waits_for_the_thread_too(place: Place) -> None:
    started, gate, ran = threading.Event(), threading.Event(), []
    bench = await place.open(blocked(started, gate, ran))
    handle = bench.lookup("blocked", id="a")
    await handle.cast(1)
    await until(started.is_set)
    await handle.kill()

    bench.lookup("blocked", id="a")
    await asyncio.sleep(0.02)
    assert ran == [1]
    gate.set()

    assert await handle.until(lambda state: state != "new") == "run 2"


async def test_going_on_beside_a_thread_must_be_asked_for(place: Place) -> None:
    started, gate, ran = threading.Event(), threading.Event(), []
    bench = await place.open(blocked(started, gate, ran))
    handle = bench.lookup("blocked", id="a")
    await handle.cast(1)
    await until(started.is_set)
    await handle.kill()

    await handle.recover(beside=True)
    await until(lambda: ran == [1, 1])
    gate.set()

    assert await handle.until(lambda state: state != "new") == "run 2"


async def test_disposing_what_waits_for_a_thread_does_not_wait(place: Place) -> None:
    started, gate, ran = threading.Event(), threading.Event(), []
    bench = await place.open(blocked(started, gate, ran))
    handle = bench.lookup("blocked", id="a")
    await handle.cast(1)
    await until(started.is_set)
    await handle.kill()
    bench.lookup("blocked", id="a")
    await settle()

    await asyncio.wait_for(handle.dispose(), 2)

    assert handle.status == "disposed"
    gate.set()
