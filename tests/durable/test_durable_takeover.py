"""Taking over: work changes hands, and every effect happens as often as the journal allows."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from typing import Any

from places import Place, settle, until

from workbench import durable
from workbench.errors import OwnedElsewhere, StoreBroken
from workbench.process.code import same_code


def worker(effects: Counter[str], gate: asyncio.Event) -> Any:
    """Pays, waits inside the second step, and ships."""

    async def effect(key: str) -> str:
        effects[key] += 1
        return key

    async def slow(key: str) -> str:
        effects[key] += 1
        await gate.wait()
        return key

    @durable(key="worker:{id}", name="worker")
    async def body(ctx, id: str):
        yield ctx.restored or "new"
        async for message in ctx:
            await ctx.step("pay", effect)
            await ctx.step("ship", slow)
            yield message

    return body


async def test_a_life_that_cannot_collect_what_was_posted_ends_and_the_next_one_does(place: Place) -> None:
    effects: Counter[str] = Counter()
    gate = asyncio.Event()
    gate.set()
    one = await place.open(worker(effects, gate))
    two = await place.open(worker(effects, gate), worker=False)
    here = one.lookup("worker", id="a")
    await here.until(lambda state: state == "new")
    refused: list[str] = []

    def fails(name: str, args: tuple[Any, ...]) -> OSError | None:
        if name == "collect" and not refused:
            refused.append(name)
            return OSError("the disk is full")
        return None

    one.store.failing = fails  # type: ignore[attr-defined]
    await two.lookup("worker", id="a").cast("posted")
    await until(lambda: refused and here.status == "crashed")

    assert isinstance(here.error, StoreBroken)
    await one._runtime.tick()
    assert await asyncio.wait_for(here.until(lambda state: state == "posted"), 20) == "posted"
    assert set(effects.values()) == {1}


async def test_an_owner_that_lost_its_lease_is_fenced_and_harms_nothing(place: Place) -> None:
    effects: Counter[str] = Counter()
    gate = asyncio.Event()
    one, two = await place.open(worker(effects, gate)), await place.open(worker(effects, gate))
    here = one.lookup("worker", id="a")
    await here.cast("done")
    await until(lambda: len(effects) == 2)

    await two.store.claim("worker:a", force=True)
    there = two.lookup("worker", id="a")
    await until(lambda: effects["worker:a#1##ship#0"] == 2)
    gate.set()

    assert await there.until(lambda state: state == "done") == "done"
    await until(lambda: here.elsewhere is not None)
    assert await asyncio.wait_for(here.until(lambda state: state == "done"), 20) == "done"
    assert effects == {"worker:a#1##pay#0": 1, "worker:a#1##ship#0": 2}
    assert isinstance(here.error, OwnedElsewhere)
    await until(lambda: two.store.keys_now(key="worker:a")[0].cursor == 1)
    assert [life.how for life in await two.store.activations("worker:a")] == ["fenced", None]
    assert await two.store.dead("worker:a") == []


async def test_two_schedulers_wake_a_key_once(place: Place) -> None:
    woken: list[Any] = []

    @durable(key="sleeper:{id}", name="sleeper")
    async def sleeper(ctx, id: str):
        async for message in ctx:
            await ctx.sleep("nap", 10)
            woken.append(message)
            yield message

    front = await place.open(sleeper, worker=False)
    one, two = await place.open(sleeper), await place.open(sleeper)
    for number in range(20):
        await front.lookup(sleeper, id=str(number)).cast(number)

    for _ in range(30):
        await place.clock.advance(1)
    await until(lambda: len(woken) == 20)
    for _ in range(5):
        await place.clock.advance(1)

    assert sorted(woken) == list(range(20))
    assert len(one._runtime.live) + len(two._runtime.live) == 20


async def test_work_that_begins_during_a_recovery_is_done_once(place: Place) -> None:
    handled: Counter[int] = Counter()

    @durable(key="job:{id}", name="job")
    async def job(ctx, id: int):
        async for _ in ctx:
            handled[id] += 1
            yield id

    first = await place.open(job, worker=False)
    for id in range(0, 200, 2):
        await first.lookup(job, id=id).cast("go")
    await place.crash(first)
    second = await place.open(job)
    receipts = [second.lookup(job, id=id).cast("go") for id in range(1, 200, 2)]
    await second._runtime.recover()
    await asyncio.gather(*receipts)
    await until(lambda: len(handled) == 200)
    await settle()

    assert set(handled.values()) == {1}


async def test_waiting_costs_no_thread_and_no_operation(place: Place) -> None:
    @durable(key="desk:{id}", name="desk")
    async def desk(ctx, id: str):
        waiting = ctx.restored or []
        yield waiting
        async for message in ctx:
            if message == "release":
                for one in waiting:
                    ctx.reply(one, "done")
                waiting = []
            else:
                waiting = [*waiting, message.reply.id]
            yield waiting

    bench = await place.open(desk)
    handle = bench.lookup(desk, id="a")
    calls = [handle.call("ask", id=str(number)) for number in range(300)]
    await handle.until(lambda waiting: len(waiting) == 300)
    await until(lambda: bench.store.keys_now(key="desk:a")[0].cursor == 300)
    threads, operations = threading.active_count(), bench.store.count

    for _ in range(5):
        await place.clock.advance(1)
    await asyncio.sleep(0.1)

    assert (threading.active_count(), bench.store.count) == (threads, operations)
    handle.cast("release")
    assert set(await asyncio.gather(*calls)) == {"done"}


async def test_a_kernel_with_many_idle_processes_writes_nothing(place: Place) -> None:
    @durable(key="idle:{id}", name="idle")
    async def idle(ctx, id: int):
        yield ctx.restored or 0
        async for message in ctx:
            yield message

    bench = await place.open(idle)
    handles = [bench.lookup(idle, id=id) for id in range(100)]
    await asyncio.gather(*(handle.until(lambda state: True) for handle in handles))
    operations = bench.store.count

    for _ in range(5):
        await place.clock.advance(1)

    assert bench.store.count == operations


def made(word: Any) -> Any:
    async def body(ctx: Any) -> Any:
        yield word

    return body


def test_code_is_the_same_when_its_lines_and_what_it_closes_over_are() -> None:
    shared = object()

    assert same_code(made("a"), made("".join(["a"])))
    assert same_code(made(shared), made(shared))
    assert not same_code(made("a"), made("b"))
    assert not same_code(made(object()), made(object()))
    assert not same_code(made("a"), made)
