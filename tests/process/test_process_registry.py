"""The registry: one process for the same arguments, gone when it has been idle, or when there are too many."""

from __future__ import annotations

import asyncio
import copy
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import Call, Workbench, derive, durable, process
from workbench.errors import BadInput, NoCode, ProcessEnded
from workbench.process.registry import same_arguments
from workbench.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def bench(clock: ManualClock) -> AsyncIterator[Workbench]:
    async with Workbench.open(clock=clock) as bench:
        yield bench


def query(began: list[Any], **options: Any) -> Any:
    @process(name="query", **options)
    async def body(ctx, of: Any = None, more: Any = None):
        began.append(of)
        parked, holds = [], []
        yield len(began)
        async for message in ctx:
            match message:
                case Call("park", reply):
                    parked.append(reply)
                case "answer":
                    parked.pop()("answered")
                case "hold":
                    holds.append(ctx.busy())
                case "release":
                    holds[-1].release()
                case "release one":
                    holds.pop().release()
                case "end":
                    return

    return body


async def test_the_same_arguments_are_the_same_process(bench: Workbench) -> None:
    began: list[Any] = []
    body = query(began)

    first = bench.lookup(body, of={"a": 1, "b": [1, 2]})
    assert bench.lookup("query", of={"b": [1, 2], "a": 1}) is first
    assert bench.lookup(body, of={"a": 1, "b": [1, 2]}, more=None) is first
    assert bench.lookup(body, of={"a": True, "b": [1, 2]}) is not first
    assert bench.lookup(body, of={"a": 1, "b": (1, 2)}) is not first
    await first.until(lambda state: True)

    assert len(began) == 3


async def test_what_is_not_plain_counts_by_identity(bench: Workbench) -> None:
    body, one, two = query([]), object(), object()
    loop: list[Any] = []
    loop.append(loop)

    assert bench.lookup(body, of=one) is bench.lookup(body, of=one)
    assert bench.lookup(body, of=one) is not bench.lookup(body, of=two)
    assert bench.lookup(body, of=print) is not bench.lookup(body, of=len)
    assert bench.lookup(body, of=loop) is bench.lookup(body, of=loop)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(
            (1, True),
            (0, False),
            (1, 1.0),
            (0.0, -0.0),
            (None, 0),
            ("1", 1),
            (b"a", "a"),
            ([], ()),
            ({}, []),
            ([[]], []),
        ),
        *(
            (math.inf, -math.inf),
            ([1, None], [1]),
            ({"a": None}, {}),
            ({1}, [1]),
            ("nan", math.nan),
            ({"a": 1}, [["a", 1]]),
        ),
    ],
    ids=repr,
)
def test_arguments_that_differ_are_told_apart(one: Any, other: Any) -> None:
    assert same_arguments(one) != same_arguments(other)
    assert same_arguments(one) == same_arguments(one)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


@given(
    st.recursive(
        leaves, lambda of: st.lists(of, max_size=3) | st.dictionaries(st.text(max_size=3), of, max_size=3), max_leaves=8
    )
)
def test_equal_plain_arguments_are_always_the_same(value: Any) -> None:
    assert same_arguments(value) == same_arguments(copy.deepcopy(value))
    assert hash(same_arguments(value)) == hash(same_arguments(copy.deepcopy(value)))


async def test_an_unknown_name_and_what_is_no_definition_are_refused(bench: Workbench) -> None:
    bench.add(query([]))

    with pytest.raises(NoCode, match=r"no definition 'other' here, there are \['query'\]"):
        bench.lookup("other")
    for verb in ("lookup", "evict"):
        with pytest.raises(BadInput, match=f"bench.{verb} needs a definition of a process or the name of one, found 3"):
            getattr(bench, verb)(3)
    with pytest.raises(BadInput, match="does not take"):
        bench.lookup("query", off=1)


async def test_one_name_is_not_both_durable_and_in_memory(bench: Workbench) -> None:
    @durable(key="query:{id}", name="query")
    async def other(ctx, id: str):
        yield 0

    bench.add(query([]))
    with pytest.raises(BadInput, match="'query' is a process in memory on this bench and is now given as durable"):
        bench.add(other)
    with pytest.raises(BadInput, match="'query' is a process in memory"):
        bench.lookup(other, id="a")


async def test_an_idle_process_ends_after_its_window_and_the_next_lookup_is_fresh(
    bench: Workbench, clock: ManualClock
) -> None:
    began: list[Any] = []
    body = query(began, evict=10)
    first = bench.lookup(body, of="a")
    await clock.advance(9.9)
    assert first.status == "running"
    await clock.advance(0.1)

    assert (first.status, began) == ("disposed", ["a"])
    second = bench.lookup(body, of="a")
    await clock.idle()
    assert second is not first
    assert (second.status, began) == ("running", ["a", "a"])


async def test_a_lookup_begins_the_window_anew(bench: Workbench, clock: ManualClock) -> None:
    body = query([], evict=10)
    handle = bench.lookup(body)
    for _ in range(5):
        await clock.advance(9)
        assert bench.lookup(body) is handle
    await clock.advance(10)

    assert handle.status == "disposed"


async def test_reading_the_state_is_not_watching(bench: Workbench, clock: ManualClock) -> None:
    handle = bench.lookup(query([], evict=10))
    for _ in range(10):
        await clock.advance(1)
        _ = handle.state, handle.select("").value, derive(lambda state: state, handle).value, handle.flags.value

    assert handle.status == "disposed"


async def test_a_watched_process_stays_and_its_window_begins_when_the_last_watcher_goes(
    bench: Workbench, clock: ManualClock
) -> None:
    handle = bench.lookup(query([], evict=10))
    one, two = handle.select("").subscribe(lambda: None), handle.states.subscribe(lambda: None)
    await clock.advance(100)
    one()
    await clock.advance(100)
    two()
    await clock.advance(9)
    assert handle.status == "running"
    three = handle.states.subscribe(lambda: None)  # a watcher comes back in time
    await clock.advance(100)
    three()
    await clock.advance(10)

    assert handle.status == "disposed"


@pytest.mark.parametrize("watch", ["derive", "flags", "iterate", "until"])
async def test_who_derives_reads_flags_iterates_or_waits_is_a_watcher(
    bench: Workbench, clock: ManualClock, watch: str
) -> None:
    handle = bench.lookup(query([], evict=10))
    await clock.idle()
    task = None
    if watch == "derive":
        stop = derive(lambda state: state, handle).subscribe(lambda: None)
    elif watch == "flags":
        stop = handle.flags.subscribe(lambda: None)
    else:
        waiting = handle.until(lambda state: False) if watch == "until" else _read(handle)
        task = asyncio.ensure_future(waiting)
        stop = task.cancel
    await clock.advance(100)
    assert handle.status == "running"
    stop()
    await clock.idle()
    await clock.advance(10)

    assert handle.status == "disposed"
    if task is not None:
        with pytest.raises(asyncio.CancelledError):
            await task


async def _read(handle: Any) -> None:
    async for _ in handle:
        pass


async def test_a_process_with_a_call_to_answer_stays_window_by_window(bench: Workbench, clock: ManualClock) -> None:
    handle = bench.lookup(query([], evict=10))
    waiting = handle.call("park")
    await clock.advance(95)
    assert handle.status == "running"
    handle.cast("answer")

    assert await waiting == "answered"
    await clock.advance(4.9)  # the window that began at 90
    assert handle.status == "running"
    await clock.advance(0.1)
    assert handle.status == "disposed"


async def test_a_held_process_stays_until_its_last_hold_is_released(bench: Workbench, clock: ManualClock) -> None:
    handle = bench.lookup(query([], evict=10))
    for message in ("hold", "hold", "release", "release"):
        handle.cast(message)
    await clock.advance(100)
    assert handle.status == "running"
    handle.cast("release one")
    handle.cast("release one")
    await clock.advance(10)

    assert handle.status == "disposed"


async def test_without_a_window_a_process_stays(bench: Workbench, clock: ManualClock) -> None:
    handle = bench.lookup(query([]))
    await clock.advance(1000)

    assert handle.status == "running"


async def test_a_window_of_nothing_is_the_next_chance(bench: Workbench, clock: ManualClock) -> None:
    handle = bench.lookup(query([], evict=0))
    await clock.idle()

    assert handle.status == "disposed"


async def test_a_shorter_window_is_not_kept_waiting_by_a_longer_one(bench: Workbench, clock: ManualClock) -> None:
    @process(name="short", evict=5)
    async def short(ctx):
        yield 0
        async for _ in ctx:
            pass

    long = bench.lookup(query([], evict=1000))
    await clock.advance(1)
    brief = bench.lookup(short)
    await clock.advance(5)

    assert (long.status, brief.status) == ("running", "disposed")


async def test_a_process_that_has_ended_is_forgotten(bench: Workbench, clock: ManualClock) -> None:
    body = query([], evict=10)
    first = bench.lookup(body)
    first.cast("end")
    await clock.idle()
    second = bench.lookup(body)
    await clock.advance(9)

    assert (first.status, second.status) == ("done", "running")
    assert len(bench._runtime.entries) == 1


async def test_evicting_ends_one_or_all_busy_or_not(bench: Workbench, clock: ManualClock) -> None:
    body = query([])
    handles = [bench.lookup(body, of=name) for name in "abc"]
    waiting = handles[0].call("park")
    await clock.idle()

    await bench.evict(body, of="a")
    assert [handle.status for handle in handles] == ["disposed", "running", "running"]
    with pytest.raises(ProcessEnded):
        await waiting
    await bench.evict("query")

    assert [handle.status for handle in handles] == ["disposed"] * 3
    await bench.evict(body, of="nobody")


async def test_nobody_owns_what_was_looked_up(bench: Workbench, clock: ManualClock) -> None:
    body = query([])

    @process
    async def asker(ctx):
        bench.lookup(body)
        yield 0
        async for _ in ctx:
            pass

    asking = bench.spawn(asker)
    await clock.idle()
    await asking.dispose()

    assert bench.lookup(body).status == "running"


async def test_above_the_cap_the_longest_unasked_leave_first(clock: ManualClock) -> None:
    async with Workbench.open(clock=clock, max_entries=2) as bench:
        body = query([])
        a, b = bench.lookup(body, of="a"), bench.lookup(body, of="b")
        bench.lookup(body, of="a")
        c = bench.lookup(body, of="c")
        await clock.idle()

        assert [handle.status for handle in (a, b, c)] == ["running", "disposed", "running"]


async def test_a_hundred_lookups_under_a_cap_of_three_keep_the_last_three(clock: ManualClock) -> None:
    async with Workbench.open(clock=clock, max_entries=3) as bench:
        body = query([])
        handles = [bench.lookup(body, of=number) for number in range(100)]
        await clock.idle()

        assert [number for number, handle in enumerate(handles) if handle.status == "running"] == [97, 98, 99]
        assert len(bench._runtime.entries) == 3


async def test_what_is_watched_or_busy_is_above_the_cap(clock: ManualClock) -> None:
    async with Workbench.open(clock=clock, max_entries=1) as bench:
        body = query([])
        watched, calling, held = (bench.lookup(body, of=name) for name in ("watched", "calling", "held"))
        stop = watched.states.subscribe(lambda: None)
        waiting = calling.call("park")
        held.cast("hold")
        await clock.advance(30)
        last = bench.lookup(body, of="last")
        await clock.advance(30)
        assert [one.status for one in (watched, calling, held, last)] == ["running"] * 4

        stop()
        held.cast("release")
        await clock.advance(2)
        assert [one.status for one in (watched, calling, held, last)] == ["disposed", "running", "disposed", "running"]
        calling.cast("answer")
        assert await waiting == "answered"
        await clock.advance(2)

        assert [calling.status, last.status] == ["disposed", "running"]


@pytest.mark.parametrize("most", [0, -1, True, 1.5, "3"])
def test_a_cap_is_a_whole_number_from_one(most: Any) -> None:
    with pytest.raises(BadInput, match="max_entries is a whole number from 1"):
        Workbench.open(max_entries=most)


async def test_a_lookup_is_a_cache_of_what_its_body_fetched(bench: Workbench, clock: ManualClock) -> None:
    fetched: list[str] = []

    @process(evict=60)
    async def page(ctx, address: str):
        fetched.append(address)
        yield {"address": address, "text": "hello"}
        async for _ in ctx:
            pass

    first, second = await asyncio.gather(
        bench.lookup(page, address="a").until(lambda state: True), bench.lookup(page, address="a").until(lambda s: True)
    )
    assert (first, second, fetched) == ({"address": "a", "text": "hello"}, first, ["a"])
    await clock.advance(60)
    await bench.lookup(page, address="a").until(lambda state: True)

    assert fetched == ["a", "a"]


async def test_added_again_its_instances_go_on_under_the_new_code(bench: Workbench, clock: ManualClock) -> None:
    def greeter(word: str) -> Any:
        @process(name="greeter")
        async def body(ctx, name: str):
            yield f"{word} {name}"
            async for _ in ctx:
                pass

        return body

    handles = [bench.lookup(greeter("hello"), name=name) for name in "ab"]
    await clock.idle()
    bench.add(greeter("goodbye"))
    await clock.idle()

    assert [handle.state for handle in handles] == ["goodbye a", "goodbye b"]
    assert bench.lookup("greeter", name="a") is handles[0]


async def test_what_was_looked_up_or_spawned_ends_with_the_bench(clock: ManualClock) -> None:
    order: list[str] = []

    @process(name="tidy")
    async def tidy(ctx, name: str):
        try:
            yield 0
            async for _ in ctx:
                pass
        finally:
            order.append(name)

    bench = await Workbench.open(clock=clock)
    handles = [bench.lookup(tidy, name="looked up"), bench.spawn(tidy, name="spawned")]
    await clock.idle()
    await bench.close()

    assert sorted(order) == ["looked up", "spawned"]
    assert [handle.status for handle in handles] == ["disposed", "disposed"]


async def test_many_processes_that_come_and_go_leave_nothing_behind(bench: Workbench, clock: ManualClock) -> None:
    body = query([], evict=1)
    for number in range(500):
        bench.lookup(body, of=number)
        if number % 50 == 0:
            await clock.advance(1)
    await clock.advance(1)

    assert len(bench._runtime.entries) == len(bench._directory.memory) == 0
    bench.lookup(body, of="last")
    assert len(bench._directory.memory._live) <= 20


async def test_a_process_in_memory_cannot_be_taken(bench: Workbench) -> None:
    with pytest.raises(BadInput, match="'query' is a process in memory, which cannot be taken from another kernel"):
        bench.lookup(query([]), take=True)
