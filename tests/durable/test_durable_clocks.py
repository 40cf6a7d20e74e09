"""Clocks that jump and clocks that are set back, sleeps side by side, and what the scheduler makes of lost time."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from counters import counter
from places import Place, until

from workbench import Workbench, clock, durable
from workbench.clock import LONGEST_NAP, SystemClock
from workbench.durable import runtime
from workbench.durable.retries import Retry
from workbench.store.sqlite import hosts

NIGHT = 8 * 3600.0


def sleeper(woken: list[Any], name: str = "sleeper") -> Any:
    @durable(key=f"{name}:{{id}}", name=name)
    async def body(ctx, id: str):
        async for seconds in ctx:
            await ctx.sleep("nap", seconds)
            woken.append(id)
            yield "rested"

    return body


def side_by_side(woken: list[Any], deadlines: tuple[float, ...], busy: asyncio.Event | None = None) -> Any:
    @durable(key="many:{id}", name="many")
    async def many(ctx, id: str):
        async def nap(seconds: float) -> None:
            async with ctx.branch(f"nap {seconds}"):
                await ctx.sleep("nap", seconds)
                woken.append(seconds)

        async def work() -> None:
            async with ctx.branch("work"):
                await ctx.step("wait", lambda key: busy.wait())

        async for _ in ctx:
            working = [asyncio.create_task(work())] if busy is not None else []
            await asyncio.sleep(0)
            await asyncio.gather(*working, *(nap(seconds) for seconds in deadlines))
            yield "rested"

    return many


async def saved(place: Place, bench: Any, key: str, count: int = 1) -> None:
    """Return once `count` deadlines of the key are in the journal, and everybody sleeps."""
    await until(lambda: sum(entry.kind == "sleep" for entry in bench.store.history_now(key)) == count)
    await place.clock.idle()


def wake_of(bench: Any, key: str) -> float | None:
    wake: float | None = bench.store.keys_now(key=key)[0].wake_at
    return wake


async def test_sleeps_side_by_side_end_each_at_its_own_deadline(place: Place) -> None:
    woken: list[float] = []
    deadlines = tuple(float(seconds) for seconds in range(10, 400, 10))
    bench = await place.open(side_by_side(woken, deadlines))
    handle = bench.lookup("many", id="a")
    await handle.cast("go")
    await saved(place, bench, "many:a", len(deadlines))

    await place.clock.advance(205)
    assert woken == list(deadlines[:20])
    await place.clock.advance(200)

    assert await handle.until(lambda state: state == "rested") == "rested"
    assert woken == list(deadlines)


async def test_a_key_with_several_sleeps_is_due_at_the_earliest(place: Place) -> None:
    woken: list[float] = []
    bench = await place.open(side_by_side(woken, (10.0, NIGHT, 60.0)))
    now = place.clock.now()
    await bench.lookup("many", id="a").cast("go")
    await saved(place, bench, "many:a", 3)

    assert wake_of(bench, "many:a") == now + 10
    await place.crash(bench)
    await place.clock.advance(10)
    bench = await place.open(side_by_side(woken, (10.0, NIGHT, 60.0)))
    await until(lambda: woken == [10.0])


async def test_a_key_that_works_beside_its_sleep_is_due_as_ever(place: Place) -> None:
    bench = await place.open(side_by_side([], (NIGHT,), asyncio.Event()), lease=30.0)
    await bench.lookup("many", id="a").cast("go")
    await saved(place, bench, "many:a")

    wake = wake_of(bench, "many:a")

    assert wake is not None
    assert wake <= place.clock.now() + 31


async def test_a_sleep_has_its_place_and_deadline_from_when_it_is_asked_for(place: Place) -> None:
    @durable(key="order:{id}", name="order")
    async def order(ctx, id: str):
        async for _ in ctx:
            first, second = ctx.sleep("nap", 20), ctx.sleep("nap", 10)
            await second
            await first
            yield "rested"

    bench = await place.open(order)
    now = place.clock.now()
    handle = bench.lookup(order, id="a")
    await handle.cast("go")
    await saved(place, bench, "order:a")
    await place.clock.advance(20)
    await handle.until(lambda state: state == "rested")

    steps = [entry.step for entry in bench.store.history_now("order:a") if entry.kind == "sleep"]
    assert {step.occurrence: float(step.payload) for step in steps} == {0: now + 20, 1: now + 10}


async def test_after_a_night_of_sleep_everything_due_comes_once(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    for id in range(20):
        await bench.lookup("sleeper", id=str(id)).cast(600 + id)
        await saved(place, bench, f"sleeper:{id}")
    await bench.lookup("sleeper", id="later").cast(2 * NIGHT)
    await saved(place, bench, "sleeper:later")

    await place.clock.jump(NIGHT)
    await until(lambda: len(woken) == 20)
    await place.clock.advance(120)

    assert sorted(woken) == sorted(str(id) for id in range(20))


async def test_the_machines_clock_notices_a_jump_within_its_longest_nap(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[Any] = []
    ahead = [0.0]
    monkeypatch.setattr(clock, "LONGEST_NAP", 0.2)
    monkeypatch.setattr(SystemClock, "now", lambda self: time.time() + ahead[0])
    async with Workbench.open(":memory:", sleeper(woken), clock=SystemClock()) as bench:
        handle = bench.lookup("sleeper", id="a")
        await handle.cast(NIGHT / 2)
        await until(lambda: any(entry.kind == "sleep" for entry in bench.store.history_now("sleeper:a")))
        began = time.monotonic()

        ahead[0] = NIGHT
        await asyncio.wait_for(handle.until(lambda state: state == "rested"), 20)

    assert time.monotonic() - began < 5
    assert woken == ["a"]
    assert LONGEST_NAP == 30.0


async def test_a_clock_set_back_does_not_stop_the_scheduler(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    front = await place.open(worker=False)
    await place.clock.advance(1)

    place.clock.set_back(NIGHT)
    await front.store.post("sleeper:a", "0", wake=place.clock.now(), definition="sleeper", args='{"id":"a"}')
    await place.clock.advance(1)
    await until(lambda: woken == ["a"])

    place.clock.set_back(NIGHT)
    await place.clock.advance(2 * NIGHT / 100)
    assert woken == ["a"]
    assert wake_of(bench, "sleeper:a") is None


async def test_a_key_that_waits_to_try_again_beside_its_sleep_is_due_at_the_earlier(place: Place) -> None:
    def fails(key: str) -> None:
        raise OSError("not yet")

    @durable(key="again:{id}", name="again")
    async def again(ctx, id: str):
        async def nap() -> None:
            async with ctx.branch("nap"):
                await ctx.sleep("nap", 10)

        async for _ in ctx:
            napping = asyncio.create_task(nap())
            await asyncio.sleep(0)
            await ctx.step("call", fails, retry=Retry(times=2, backoff=NIGHT, longest=NIGHT))
            await napping
            yield "done"

    bench = await place.open(again)
    now = place.clock.now()
    await bench.lookup(again, id="a").cast("go")
    await until(lambda: any(entry.kind == "try" for entry in bench.store.history_now("again:a")))

    assert wake_of(bench, "again:a") == now + 10


async def test_lost_time_is_caught_up_on_earliest_first_in_several_fetches(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "BATCH", 2)
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    front = await place.open(worker=False)
    for id, seconds in (("c", 30), ("a", 10), ("e", 50), ("d", 40), ("b", 20)):
        await bench.lookup("sleeper", id=id).cast(seconds)
        await saved(place, bench, f"sleeper:{id}")
    for process in list(bench._runtime.live.values()):
        await process.dispose()
    fetches: list[list[str]] = []
    due = bench.store.inner.due

    async def counted(*args: Any) -> list[str]:
        fetches.append(await due(*args))
        return fetches[-1]

    monkeypatch.setattr(bench.store.inner, "due", counted)
    await place.clock.jump(NIGHT)
    woken_by_one_pass = await bench._runtime.tick()
    passed = list(fetches)
    await place.clock.advance(2)
    await until(lambda: len(woken) == 5)

    assert woken_by_one_pass == 5
    assert passed == [["sleeper:a", "sleeper:b"], ["sleeper:c", "sleeper:d"], ["sleeper:e"]]
    assert sorted(woken) == list("abcde")
    assert front._runtime.live == {}


async def test_a_recovery_begins_with_what_is_longest_due(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await place.open(sleeper([]))
    for id, seconds in (("c", 30), ("a", 10), ("b", 20)):
        await bench.lookup("sleeper", id=id).cast(seconds)
        await saved(place, bench, f"sleeper:{id}")
    woken: list[str] = []
    monkeypatch.setattr(bench._runtime, "_wake", lambda info: woken.append(info.key))

    await bench._runtime.recover()

    assert woken == ["sleeper:a", "sleeper:b", "sleeper:c"]


async def test_a_wake_whose_life_dies_before_it_writes_comes_due_again(place: Place) -> None:
    woken: list[Any] = []
    front = await place.open(worker=False)
    for _ in range(2):  # a host that wakes it and dies while it loads, twice
        await front.store.post("sleeper:a", "0", wake=place.clock.now(), definition="sleeper", args='{"id":"a"}')
        dying = await place.open(sleeper(woken), after=1, heard=False)
        await until(dying.store.gone.is_set)
        await place.crash(dying)
    assert woken == []

    await place.open(sleeper(woken))
    await until(lambda: sorted(woken) == ["a", "a"])


@pytest.mark.parametrize("leaves", [True, False], ids=["left", "died"])
async def test_what_a_host_had_unfinished_is_taken_up_by_another_at_once(place: Place, leaves: bool) -> None:
    begun: list[str] = []

    @durable(key="work:{id}", name="work")
    async def work(ctx, id: str):
        async def nap() -> None:
            async with ctx.branch("nap"):
                await ctx.sleep("nap", NIGHT)

        async for _ in ctx:
            begun.append(id)
            await nap()
            yield "done"

    one, two = await place.open(work), await place.open(work)
    await one.lookup(work, id="a").cast("go")
    await saved(place, one, "work:a")
    await place.clock.advance(2)
    assert begun == ["a"]

    if leaves:
        await one.close()
        place.benches.remove(one)
    else:
        await place.crash(one)
    await place.clock.advance(1)
    await until(lambda: begun == ["a", "a"])

    assert list(two._runtime.live) == ["work:a"]


async def test_after_a_night_of_sleep_no_lease_of_a_living_host_has_run_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts.LockFile, "_lock", lambda self, slot, *, exclusive: False)
    place, handled = Place("sqlite", tmp_path), []
    two, one = await place.open(counter(handled)), await place.open(counter(handled))  # two looks first
    here = one.lookup("counter", id="a")
    await here.cast("hang")
    await until(lambda: handled == ["hang"])
    there = two.lookup("counter", id="a")
    await until(lambda: there.elsewhere is not None)

    await place.clock.jump(NIGHT)
    await place.clock.advance(10)

    assert (there.activation, handled) == (None, ["hang"])
    assert [life.how for life in two.store.activations_now("counter:a")] == [None]
    await place.close()
