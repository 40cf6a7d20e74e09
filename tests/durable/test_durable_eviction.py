"""Eviction of durable processes: what is idle or asleep leaves memory, and comes back for whoever asks."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

from places import Place, until
from tallies import tally

from workbench import Agent, Call, durable, models


def sleeper(woken: list[str], **options: Any) -> Any:
    @durable(key="sleeper:{id}", name="sleeper", **options)
    async def body(ctx, id: str):
        state = ctx.restored or "new"
        yield state
        async for message in ctx:
            match message:
                case {"sleep": seconds}:
                    await ctx.sleep("nap", seconds)
                    woken.append(id)
                    yield "slept"
                case Call("slow", reply):
                    await ctx.sleep("nap", 100)
                    reply("at last")
                case "hold":
                    ctx.busy()
                case _:
                    yield "awake"

    return body


async def test_an_idle_process_leaves_and_the_next_message_brings_it_back(place: Place) -> None:
    bench = await place.open(tally(evict=10))
    handle = bench.lookup("tally", id="a")
    await handle.cast(1)
    await handle.until(lambda total: total == 1)
    await place.clock.advance(10)

    assert (handle.status, handle.state, handle.stale, handle.epoch) == ("disposed", 1, True, None)
    assert bench._runtime.live == {}
    assert [(life.how, life.by) for life in await bench.store.activations("tally:a")] == [("disposed", "eviction")]
    await handle.cast(2)
    assert await handle.until(lambda total: total == 3) == 3
    assert (handle.status, handle.stale) == ("running", False)


async def test_a_lookup_brings_it_back_under_the_same_handle(place: Place) -> None:
    bench = await place.open(tally(evict=10))
    handle = bench.lookup("tally", id="a")
    await handle.cast(1)
    await place.clock.advance(10)

    assert bench.lookup("tally", id="a") is handle
    assert await handle.call({"type": "total"}, id="1") == 1


async def test_a_sleeping_process_leaves_and_its_deadline_wakes_it_once(place: Place) -> None:
    woken: list[str] = []
    bench = await place.open(sleeper(woken, evict=10))
    handle = bench.lookup("sleeper", id="a")
    await handle.cast({"sleep": 100})
    await place.clock.advance(50)
    assert (handle.status, bench._runtime.live) == ("disposed", {})
    await place.clock.advance(49)
    assert (woken, bench._runtime.live) == ([], {})
    await place.clock.advance(2)

    assert woken == ["a"]
    await until(lambda: handle.state == "slept")
    await place.clock.advance(60)
    assert (woken, handle.status) == (["a"], "disposed")
    assert await bench.store.dead("sleeper:a") == []


async def test_a_message_at_work_keeps_its_process_window_by_window(place: Place) -> None:
    gate = asyncio.Event()

    @durable(key="worker:{id}", name="worker", evict=10)
    async def worker(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            await ctx.step("work", lambda key: gate.wait())
            yield message

    bench = await place.open(worker)
    handle = bench.lookup(worker, id="a")
    await handle.cast(1)
    await place.clock.advance(95)
    assert handle.status == "running"
    gate.set()
    await handle.until(lambda state: state == 1)
    await place.clock.advance(10)

    assert (handle.status, len(await bench.store.activations("worker:a"))) == ("disposed", 1)


async def test_a_caller_who_waits_keeps_a_sleeping_process(place: Place) -> None:
    bench = await place.open(sleeper([], evict=10))
    handle = bench.lookup("sleeper", id="a")
    waiting = handle.call("slow", id="1")
    await place.clock.advance(99)
    assert handle.status == "running"
    await place.clock.advance(2)

    assert await waiting == "at last"
    assert len(await bench.store.activations("sleeper:a")) == 1
    await place.clock.advance(10)
    assert handle.status == "disposed"


async def test_a_hold_keeps_a_durable_process(place: Place) -> None:
    bench = await place.open(sleeper([], evict=10))
    handle = bench.lookup("sleeper", id="a")
    await handle.cast("hold")
    await place.clock.advance(100)

    assert handle.status == "running"


async def test_a_watched_process_stays(place: Place) -> None:
    bench = await place.open(tally(evict=10))
    handle = bench.lookup("tally", id="a")
    stop = handle.select("").subscribe(lambda: None)
    await place.clock.advance(100)
    assert handle.status == "running"
    stop()
    await place.clock.advance(10)

    assert handle.status == "disposed"


async def test_what_is_sent_the_moment_it_leaves_is_handled_at_once(place: Place) -> None:
    bench = await place.open(tally())
    handle = bench.lookup("tally", id="a")
    await handle.cast(1)
    await handle.until(lambda total: total == 1)
    await until(lambda: not handle.busy)

    handle.leave()
    receipt, answer = handle.cast(2), handle.call({"type": "total"}, id="1")

    assert (await receipt, await answer) == (2, 3)
    assert [life.how for life in await bench.store.activations("tally:a")] == ["disposed", None]


async def test_an_explicit_eviction_wins_over_work_and_the_message_comes_again(place: Place) -> None:
    gate, tries = asyncio.Event(), []

    @durable(key="worker:{id}", name="worker", max_attempts=1)
    async def worker(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            tries.append(id)
            await gate.wait()
            yield message

    bench = await place.open(worker)
    handles = [bench.lookup(worker, id=name) for name in "ab"]
    for handle in handles:
        await handle.cast(1)
    await until(lambda: sorted(tries) == ["a", "b"])

    await bench.evict(worker, id="a")
    assert [handle.status for handle in handles] == ["disposed", "running"]
    gate.set()
    await place.clock.advance(40)  # nobody asks: the journal does

    assert await handles[0].until(lambda state: state == 1) == 1
    assert sorted(tries) == ["a", "a", "b"]
    assert await bench.store.dead("worker:a") == []


async def test_evicting_a_definition_evicts_all_of_it(place: Place) -> None:
    bench = await place.open(tally(), sleeper([]))
    tallies = [bench.lookup("tally", id=name) for name in "abc"]
    other = bench.lookup("sleeper", id="a")
    await place.clock.idle()
    await bench.evict("tally")

    assert [handle.status for handle in tallies] == ["disposed"] * 3
    assert other.status == "running"


async def test_above_the_cap_idle_and_sleeping_ones_leave_and_busy_ones_stay(place: Place) -> None:
    gate = asyncio.Event()

    @durable(key="worker:{id}", name="worker")
    async def worker(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            await ctx.step("work", lambda key: gate.wait())
            yield message

    bench = await place.open(worker, sleeper([]), tally(), max_entries=2)
    busy = bench.lookup(worker, id="busy")
    await busy.cast(1)
    asleep = bench.lookup("sleeper", id="asleep")
    await asleep.cast({"sleep": 1000})
    idle = bench.lookup("tally", id="idle")
    await idle.cast(1)
    await place.clock.advance(5)
    last = bench.lookup("tally", id="last")
    await place.clock.advance(5)

    assert [one.status for one in (busy, asleep, idle, last)] == ["running", "disposed", "disposed", "running"]
    gate.set()


async def test_a_hundred_keys_under_a_cap_of_three_are_all_kept_in_the_journal(place: Place) -> None:
    bench = await place.open(tally(), max_entries=3)
    await asyncio.gather(*(bench.lookup("tally", id=str(number)).cast(number) for number in range(100)))
    await place.clock.advance(5)
    assert len(bench._runtime.live) == len(bench._runtime.entries) == 3

    totals = [await bench.lookup("tally", id=str(n)).call({"type": "total"}, id="t") for n in range(100)]

    assert totals == list(range(100))


async def test_nothing_is_kept_of_a_key_that_has_left_and_that_nobody_holds(place: Place) -> None:
    bench = await place.open(tally(evict=10))
    for number in range(50):
        await bench.lookup("tally", id=str(number)).cast(number)
    await place.clock.advance(10)
    gc.collect()

    assert bench._runtime.live == {}
    assert (len(bench._runtime._handles), len(bench._runtime.entries)) == (0, 0)


async def test_a_handle_that_nobody_holds_lives_as_long_as_its_process(place: Place) -> None:
    bench = await place.open(tally())
    await bench.lookup("tally", id="a").cast(1)
    gc.collect()
    first = id(bench._runtime.live["tally:a"])
    gc.collect()

    assert id(bench.lookup("tally", id="a")) == first


async def test_what_was_fenced_or_follows_is_no_entry(place: Place) -> None:
    one, two = await place.open(tally()), await place.open(tally())
    await one.lookup("tally", id="a").cast(1)
    there = two.lookup("tally", id="a")
    await until(lambda: there.elsewhere is not None)

    assert (len(one._runtime.entries), len(two._runtime.entries)) == (1, 0)


async def test_a_run_that_has_ended_leaves_memory_and_can_still_be_read(place: Place) -> None:
    agent = Agent("greeter", tools=[], instructions="Greet.", model=models.scripted("Hello."))
    bench = await place.open(agent)
    run = bench.run(agent, "Say hello", id="r1")
    assert await run == "Hello."
    del run
    await place.clock.advance(61)
    gc.collect()

    assert bench._runtime.live == {}
    assert (len(bench._runtime._handles), len(bench.runs._runs)) == (0, 0)
    again = bench.runs["r1"]
    assert (again.status, again.output, again.alive, await again) == ("completed", "Hello.", True, "Hello.")


async def test_a_run_that_waits_for_a_person_stays(place: Place) -> None:
    from workbench import tool

    @tool(approval=True)
    def cancel(order: str) -> str:
        """Cancel an order."""
        return f"{order} cancelled"

    agent = Agent(
        "support",
        tools=[cancel],
        instructions="Help.",
        model=models.scripted([models.call("cancel", order="A")], "Done."),
    )
    bench = await place.open(agent)
    run = bench.run(agent, "Cancel A", id="r1")
    request = await run.approval()
    await place.clock.advance(1000)

    assert run.alive
    await bench.approvals.approve(request.id)
    assert await run == "Done."
