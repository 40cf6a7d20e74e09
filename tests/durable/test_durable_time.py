"""Time in durable processes: sleeps that outlive their host, retries, timeouts, and the scheduler."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from places import Place, until

from workbench import durable
from workbench.errors import BadInput


def sleeper(woken: list[float] | None = None, seconds: float = 60.0, **options: Any) -> Any:
    heard = woken if woken is not None else []

    @durable(key="sleeper:{id}", name="sleeper", **options)
    async def body(ctx, id: str):
        yield ctx.restored or "awake"
        async for message in ctx:
            await ctx.sleep("nap", seconds)
            heard.append(await ctx.step("clock", lambda message=message: message))
            yield "rested"

    return body


async def asleep(place: Place, bench: Any, key: str = "sleeper:a") -> None:
    await until(lambda: any(entry.kind == "sleep" for entry in bench.store.history_now(key)))
    await place.clock.idle()


async def test_a_sleep_ends_at_its_deadline_and_not_before(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    handle = bench.lookup("sleeper", id="a")
    await handle.cast(1)
    await asleep(place, bench)

    await place.clock.advance(59)
    assert woken == []
    await place.clock.advance(1)

    assert await handle.until(lambda state: state == "rested") == "rested"
    assert woken == [1]


async def test_after_a_restart_only_the_remainder_is_slept(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    await bench.lookup("sleeper", id="a").cast(1)
    await asleep(place, bench)
    await place.clock.advance(50)
    await place.crash(bench)

    handle = (await place.open(sleeper(woken))).lookup("sleeper", id="a")
    await place.clock.advance(9)
    assert woken == []
    await place.clock.advance(1)

    assert await handle.until(lambda state: state == "rested") == "rested"
    assert woken == [1]


async def test_a_deadline_that_passed_is_not_waited_for(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    await bench.lookup("sleeper", id="a").cast(1)
    await asleep(place, bench)
    await place.crash(bench)
    await place.clock.advance(70)

    handle = (await place.open(sleeper(woken))).lookup("sleeper", id="a")

    assert await handle.until(lambda state: state == "rested") == "rested"


async def test_a_clock_set_back_wakes_once(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    handle = bench.lookup("sleeper", id="a")
    await handle.cast(1)
    await asleep(place, bench)
    await place.clock.advance(30)
    place.clock.set_back(15)
    await place.clock.advance(30)
    assert woken == []

    await place.clock.advance(15)
    await handle.until(lambda state: state == "rested")
    place.clock.set_back(120)
    await place.clock.advance(180)

    assert woken == [1]


async def test_a_jump_ahead_is_noticed(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    handle = bench.lookup("sleeper", id="a")
    await handle.cast(1)
    await asleep(place, bench)

    place.clock.set_back(-1_000_000)
    await place.clock.advance(0)

    assert await handle.until(lambda state: state == "rested") == "rested"
    assert woken == [1]


async def test_a_sleeper_that_is_disposed_is_woken_by_the_scheduler(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken, max_attempts=1))
    handle = bench.lookup("sleeper", id="a")
    await handle.cast(1)
    await asleep(place, bench)
    await handle.dispose()
    assert bench.store.keys_now(key="sleeper:a")[0].wake_at == pytest.approx(place.clock.now() + 60)

    await place.clock.advance(50)
    assert handle.status == "disposed"
    await place.clock.advance(12)

    assert await handle.until(lambda state: state == "rested") == "rested"
    await place.clock.advance(60)
    assert woken == [1]
    assert await bench.store.dead("sleeper:a") == []


async def test_nothing_after_a_cut_off_sleep_runs(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    handle = bench.lookup("sleeper", id="a")
    await handle.cast(1)
    await asleep(place, bench)
    await handle.kill()

    await place.clock.advance(100)

    assert (woken, handle.status) == ([], "disposed")
    await handle.recover()
    assert await handle.until(lambda state: state == "rested") == "rested"


@pytest.mark.parametrize("verb", ["sleep", "sleep_until"])
@pytest.mark.parametrize("when", [None, "soon", True, float("nan"), float("inf")])
async def test_a_sleep_needs_a_number_of_seconds(place: Place, verb: str, when: Any) -> None:
    caught = []

    @durable(key="odd:{id}", name="odd")
    async def odd(ctx, id: str):
        async for _ in ctx:
            try:
                await getattr(ctx, verb)("nap", when)
            except BadInput as error:
                caught.append(str(error))
            yield 1

    handle = (await place.open(odd)).lookup(odd, id="a")
    handle.cast(1)
    await handle.until(lambda state: True)

    assert caught == [f"sleep 'nap' needs a number of seconds, found {when!r}"]


async def test_several_sleepers_wake_in_the_order_of_their_deadlines(place: Place) -> None:
    woken: list[Any] = []

    @durable(key="each:{id}", name="each")
    async def each(ctx, id: str):
        async for message in ctx:
            await ctx.sleep("nap", message)
            woken.append(message)
            yield message

    bench = await place.open(each)
    for seconds in (30, 10, 20):
        await bench.lookup(each, id=str(seconds)).cast(seconds)
    for seconds in (30, 10, 20):
        await asleep(place, bench, f"each:{seconds}")

    await place.clock.advance(31)

    assert woken == [10, 20, 30]


async def test_downtime_is_caught_up_on(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken))
    for id in "abc":
        await bench.lookup("sleeper", id=id).cast(id)
        await asleep(place, bench, f"sleeper:{id}")
    await place.crash(bench)
    await place.clock.advance(1_000_000)

    await place.open(sleeper(woken))
    await until(lambda: len(woken) == 3)

    assert sorted(woken) == ["a", "b", "c"]


async def test_an_interrupted_message_comes_due_again_by_itself(place: Place) -> None:
    gate, seen = asyncio.Event(), []

    @durable(key="slow:{id}", name="slow")
    async def slow(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            seen.append(message)
            await gate.wait()
            yield message

    bench = await place.open(slow, lease=5.0)
    handle = bench.lookup(slow, id="a")
    await handle.cast(1)
    await until(lambda: seen == [1])
    await handle.dispose()
    gate.set()

    await place.clock.advance(3)
    assert seen == [1]
    await place.clock.advance(3)
    await until(lambda: handle.state == 1)
    assert seen == [1, 1]
    await place.clock.advance(60)

    assert seen == [1, 1]
    assert bench.store.keys_now(key="slow:a")[0].wake_at is None


async def test_a_key_without_code_is_blocked_until_its_code_comes(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken, seconds=0.0))
    await bench.lookup("sleeper", id="a").cast(1)
    await place.crash(bench)

    bench = await place.open()
    assert bench.blocked == {"sleeper:a": "no code for 'sleeper'; add its definition to this bench"}
    assert woken == [] or woken == [1]
    woken.clear()

    bench.add(sleeper(woken, seconds=0.0))
    assert bench.blocked == {}
    await place.clock.advance(31)
    await until(lambda: bench.store.keys_now(key="sleeper:a")[0].cursor == 1)


async def test_a_closed_bench_leaves_no_timer(place: Place) -> None:
    bench = await place.open(sleeper())
    handle = bench.lookup("sleeper", id="a")
    await handle.cast(1)
    await asleep(place, bench)

    await bench.close()
    place.benches.remove(bench)

    assert place.clock._next() is None
    assert handle.status == "disposed"


async def test_a_failing_pass_is_logged_and_the_next_one_follows(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    bench = await place.open(sleeper())
    honest = bench.store.inner.due

    def failing(*args: Any) -> Any:
        bench.store.inner.due = honest
        raise OSError("the disk is gone")

    bench.store.inner.due = failing
    await place.clock.advance(3)

    assert [record.getMessage() for record in caplog.records] == [
        "a pass of the scheduler failed; the next one follows"
    ]
    assert not bench._runtime._scheduler.done()


async def test_one_pass_takes_any_number_of_keys(place: Place) -> None:
    woken: list[Any] = []
    bench = await place.open(sleeper(woken, seconds=10.0))
    began = time.perf_counter()
    await asyncio.gather(*(bench.lookup("sleeper", id=str(number)).cast(number) for number in range(250)))
    await until(lambda: sum(info.wake_at is not None for info in bench.store.keys_now()) == 250)
    await until(lambda: len(bench._runtime.live) == 250)
    await place.clock.idle()
    await asyncio.gather(*(process.dispose() for process in list(bench._runtime.live.values())))

    await place.clock.advance(12)
    await until(lambda: len(woken) == 250)

    assert sorted(woken) == list(range(250))
    assert time.perf_counter() - began < 60
