"""What is guaranteed where a write, an end or a sleep is cut in the middle."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from counters import counter
from places import Place, settle, until

from workbench import Call, durable
from workbench.errors import ProcessEnded, StoreError


def charging(effects: Counter[str], **options: Any) -> Any:
    """A process that charges and mails for each call, and answers with how often it was called."""

    @durable(key="till:{id}", name="till", **options)
    async def till(ctx, id: str):
        async def effect(key: str) -> str:
            effects[key] += 1
            return key

        calls = ctx.restored or 0
        yield calls
        async for message in ctx:
            await ctx.step("charge", effect)
            await ctx.step("mail", effect)
            calls += 1
            if type(message) is Call:
                message.reply(calls)
            yield calls

    return till


async def test_a_step_whose_write_failed_runs_again_and_the_one_before_it_does_not(place: Place) -> None:
    effects: Counter[str] = Counter()
    bench = await place.open(charging(effects))
    handle = bench.lookup("till", id="a")
    writes = iter(range(100))
    bench.store.failing = lambda name, args: (
        StoreError("the disk is full") if name == "put_step" and next(writes) == 1 else None
    )

    await handle.cast("go")
    await until(lambda: handle.status == "crashed")
    await handle.recover()

    assert await handle.until(lambda calls: calls == 1) == 1
    assert effects == {"till:a#1##charge#0": 1, "till:a#1##mail#0": 2}


async def test_a_failed_commit_repeats_no_step_and_records_no_answer(place: Place) -> None:
    effects: Counter[str] = Counter()
    bench = await place.open(charging(effects))
    handle = bench.lookup("till", id="a")
    bench.store.failing = lambda name, args: StoreError("the disk is full") if name == "commit" else None

    with pytest.raises(ProcessEnded, match="call again with the same id"):
        await handle.call("go", id="x")
    await until(lambda: handle.status == "crashed")
    assert await bench.store.result("till:a", "x") is None
    bench.store.failing = lambda name, args: None

    assert await handle.call("go", id="x") == 1
    assert set(effects.values()) == {1}


@pytest.mark.parametrize("turns", [0, 1, 2, 5])
async def test_what_is_disposed_when_its_commit_lands_has_answered(place: Place, turns: int) -> None:
    effects: Counter[str] = Counter()
    bench = await place.open(charging(effects))
    handle = bench.lookup("till", id="a")
    inner = bench.store.inner
    land = inner.commit

    async def commit(*args: Any) -> Any:
        landed = await land(*args)
        handle.dispose()
        for _ in range(turns):
            await asyncio.sleep(0)
        return landed

    inner.commit = commit

    assert await handle.call("go", id="x") == 1

    await until(lambda: handle.status == "disposed")
    info = await bench.store.key_info("till:a")
    assert (info.cursor, info.last_seq) == (1, 1)
    inner.commit = land
    assert await handle.call("go", id="x") == 1
    assert set(effects.values()) == {1}


def sleeper(woken: list[Any], **options: Any) -> Any:
    @durable(key="sleeper:{id}", name="sleeper", **options)
    async def body(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            for nap in range(3):
                await ctx.sleep(f"nap {nap}", 60)
                woken.append((message, nap))
            yield message

    return body


def waiting(place: Place) -> int:
    """How many wait for an instant of the clock."""
    return sum(not sleeper[2].done() for sleeper in place.clock._sleepers)


async def test_a_process_disposed_in_its_sleep_runs_nothing_more_and_loses_nothing(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken, max_attempts=1))
    alone = waiting(place)
    handle = bench.lookup("sleeper", id="a")
    await handle.cast(1)
    await until(lambda: waiting(place) == alone + 1)

    await handle.dispose()

    assert (waiting(place), woken) == (alone, [])
    assert await bench.store.dead("sleeper:a") == []
    assert [logged.message for logged in await bench.store.pending("sleeper:a", 0)] == ["1"]


async def test_sleeps_leave_nothing_behind(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    alone = waiting(place)
    handle = bench.lookup("sleeper", id="a")

    for message in (1, 2, 3):
        await handle.cast(message)
        await until(lambda: waiting(place) == alone + 1)
        await place.clock.advance(200)
        assert await handle.until(lambda state, message=message: state == message) == message

    await until(lambda: waiting(place) == alone)
    assert woken == [(message, nap) for message in (1, 2, 3) for nap in range(3)]
    assert not handle.activation._tasks


async def test_messages_behind_an_interrupted_one_come_again_with_it(place: Place) -> None:
    handled: list[Any] = []
    bench = await place.open(counter(handled))
    handle = bench.lookup("counter", id="a")
    for message in ("hang", 2, 3):
        await handle.cast(message)
    await until(lambda: handled == ["hang"])
    await place.crash(bench)

    bench = await place.open(durable(key="counter:{id}", name="counter")(_body(handled)))
    await until(lambda: len(handled) == 4)
    await settle()

    assert handled == ["hang", "hang", 2, 3]
    await until(lambda: bench.store.keys_now(key="counter:a")[0].cursor == 3)
    assert bench.store.keys_now(key="counter:a")[0].wake_at is None


def _body(handled: list[Any]) -> Any:
    async def body(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            handled.append(message)
            yield message

    return body


async def test_a_sleep_cut_by_a_crash_ends_at_its_deadline_without_a_lookup(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    await bench.lookup("sleeper", id="a").cast(1)
    await until(lambda: place.kind == "memory" or bench.store.inner.idle)
    await place.clock.advance(50)
    await place.crash(bench)
    await place.clock.advance(5)

    bench = await place.open(sleeper(woken))
    await place.clock.advance(4)
    assert woken == []
    await place.clock.advance(2)

    assert woken == [(1, 0)]
