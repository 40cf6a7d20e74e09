"""Selections and derived values: they wake exactly when what they show has changed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from workbench import Context, Workbench, derive, durable, process, spawn
from workbench.errors import BadInput, ProcessEnded


@process
async def board(ctx):
    state = {"orders": {"3": {"status": "open"}, "4": {"status": "open"}}, "total": 0, "rows": ["a", "b"]}
    yield state
    async for change in ctx:
        state = {**state, **change}
        yield state


@process
async def silent(ctx):
    async for _ in ctx:
        yield {"on": True}


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def cast(handle: Any, *changes: dict[str, Any]) -> None:
    for change in changes:
        handle.cast(change)
        await settle()


def counted(reading: Any) -> tuple[list[Any], Any]:
    """The values that a subscriber woke for, and what stops it."""
    seen: list[Any] = []
    return seen, reading.subscribe(lambda: seen.append(reading.value))


async def test_a_selection_is_what_a_pointer_finds() -> None:
    handle = spawn(board)
    await settle()

    assert handle.select("/orders/3/status").value == "open"
    assert handle.select("/rows/1").value == "b"
    assert handle.select("").value == handle.state
    assert handle.select("/total", "/rows/0", "/rows/7").value == (0, "a", None)
    assert [handle.select(path).value for path in ("/orders/9/status", "/rows/01", "/rows/-", "/total/x")] == [None] * 4
    await handle.dispose()


async def test_a_selection_wakes_only_when_it_changed() -> None:
    handle = spawn(board)
    await settle()
    status, stop = counted(handle.select("/orders/3/status"))
    other, stop_other = counted(handle.select("/orders/4"))
    pair, stop_pair = counted(handle.select("/total", "/rows"))

    await cast(
        handle,
        {"total": 1},
        {"orders": {"3": {"status": "paid"}, "4": {"status": "open"}}},
        {"total": 1, "rows": ["a", "b"]},
        {"rows": ["a"]},
    )

    assert status == ["paid"]
    assert other == []
    assert pair == [(1, ["a", "b"]), (1, ["a"])]
    for stop_it in (stop, stop_other, stop_pair):
        stop_it()
    assert not handle.states.watched
    await handle.dispose()


async def test_true_is_another_value_than_one() -> None:
    handle = spawn(board)
    await settle()
    seen, stop = counted(handle.select("/total"))

    await cast(handle, {"total": False}, {"total": 0}, {"total": 0.0})

    assert [(value, type(value)) for value in seen] == [(False, bool), (0, int), (0.0, float)]
    stop()
    await handle.dispose()


async def test_several_states_in_one_turn_wake_once() -> None:
    @process
    async def burst(ctx):
        yield {"n": 0}
        async for _ in ctx:
            for number in range(1, 6):
                yield {"n": number}

    handle = spawn(burst)
    await settle()
    seen, stop = counted(handle.select("/n"))
    await cast(handle, {"go": 1})

    assert seen == [5]
    stop()
    await handle.dispose()


async def test_iterating_a_selection_gives_the_newest_and_ends_with_the_process() -> None:
    handle = spawn(board)
    seen: list[Any] = []

    async def read() -> None:
        async for total in handle.select("/total"):
            seen.append(total)
            if total == 0:
                for number in (1, 2, 3):
                    handle.cast({"total": number})
                await settle()

    reading = asyncio.ensure_future(read())
    await settle()
    await cast(handle, {"rows": []}, {"total": 9})
    await handle.dispose()
    await reading

    assert seen == [0, 3, 9]
    assert not handle.states.watched


async def test_a_selection_opened_after_the_end_gives_the_last_value() -> None:
    handle = spawn(board)
    await settle()
    await handle.dispose()

    assert [total async for total in handle.select("/total")] == [0]


async def test_until_waits_for_the_value_and_fails_with_the_process() -> None:
    handle = spawn(board)
    waiting = asyncio.ensure_future(handle.select("/orders/3/status").until(lambda status: status == "paid"))
    hopeless = asyncio.ensure_future(handle.select("/total").until(lambda total: total == 99))
    await cast(handle, {"orders": {"3": {"status": "paid"}}})

    assert await waiting == "paid"
    await handle.dispose()
    with pytest.raises(ProcessEnded, match="what /total of board is made from has ended with the value 0"):
        await hopeless


async def test_before_the_first_state_there_is_no_value_and_readers_wait() -> None:
    handle = spawn(silent)
    reading = handle.select("/on")
    waiting = asyncio.ensure_future(reading.until(lambda on: True))
    await settle()
    assert (reading.value, reading.ready, waiting.done()) == (None, False, False)
    handle.cast("go")

    assert await waiting is True
    await handle.dispose()


@pytest.mark.parametrize("pointers", [(), ("orders",), ("/a~2",), (3,)])
async def test_what_is_no_pointer_is_refused(pointers: tuple[Any, ...]) -> None:
    handle = spawn(silent)

    with pytest.raises(BadInput, match="JSON pointer"):
        handle.select(*pointers)
    await handle.dispose()


async def test_a_selection_looks_into_typed_states() -> None:
    @dataclass
    class Basket:
        total: int

    async def body(ctx, start):
        yield Basket(start)
        async for message in ctx:
            yield Basket(message)

    body.__annotations__["ctx"] = Context[Any, Basket]
    handle = spawn(process(body), start=4)
    await settle()

    assert handle.select("/total").value == 4
    await handle.dispose()


async def test_a_derived_value_is_made_once_per_change_and_wakes_when_it_differs() -> None:
    handle, made = spawn(board), []
    await settle()

    def is_large(state: dict[str, Any]) -> bool:
        made.append(state["total"])
        return bool(state["total"] > 10)

    large = derive(is_large, handle)
    assert (large.value, large.value, made) == (False, False, [0])
    seen, stop = counted(large)
    await cast(handle, {"total": 5}, {"total": 20}, {"total": 30}, {"total": 1})

    assert seen == [True, False]
    assert made == [0, 5, 20, 30, 1]
    stop()
    await handle.dispose()


async def test_derived_values_compose_and_are_never_out_of_step() -> None:
    handle, pairs = spawn(board), []
    await settle()
    total = handle.select("/total")
    double = derive(lambda value: value * 2, total)

    def both(one: int, two: int) -> int:
        pairs.append((one, two))
        return one + two

    together = derive(both, total, double)
    seen, stop = counted(together)
    await cast(handle, {"total": 1}, {"rows": []}, {"total": 4})

    assert seen == [3, 12]
    assert pairs == [(0, 0), (1, 2), (4, 8)]
    stop()
    await handle.dispose()


async def test_a_derived_value_of_several_processes_follows_each() -> None:
    one, two = spawn(board), spawn(board)
    await settle()
    total = derive(lambda a, b: a["total"] + b["total"], one, two)
    seen, stop = counted(total)

    await cast(one, {"total": 1})
    await cast(two, {"total": 2})
    await cast(one, {"total": 0})
    await cast(two, {"total": 3, "rows": []})

    assert seen == [1, 3, 2, 3]
    stop()
    await one.dispose()
    assert not total.over
    await two.dispose()
    assert total.over


async def test_a_function_that_raises_fails_its_readers_until_it_works_again() -> None:
    handle = spawn(board)
    await settle()
    inverse = derive(lambda state: 1 / state["total"], handle)

    with pytest.raises(ZeroDivisionError):
        _ = inverse.value
    with pytest.raises(ZeroDivisionError):
        _ = inverse.value
    assert isinstance(inverse.error, ZeroDivisionError)
    dependent = derive(lambda value: value + 1, inverse)
    with pytest.raises(ZeroDivisionError):
        _ = dependent.value
    await cast(handle, {"total": 2})

    assert (inverse.value, inverse.error, dependent.value) == (0.5, None, 1.5)
    await handle.dispose()


async def test_an_unwatched_value_costs_its_sources_nothing() -> None:
    handle, made = spawn(board), []
    await settle()
    reading = derive(lambda state: made.append(1), handle)

    await cast(handle, {"total": 1}, {"total": 2})
    assert (made, handle.states.watched) == ([], False)
    stop = reading.subscribe(lambda: None)
    assert handle.states.watched
    stop()

    assert (made, handle.states.watched) == ([1], False)
    await handle.dispose()


@pytest.mark.parametrize("sources", [(), (3,), (None,), ({"total": 1},)])
def test_what_has_no_states_is_no_source(sources: tuple[Any, ...]) -> None:
    with pytest.raises(BadInput, match="derive needs handles"):
        derive(lambda *values: values, *sources)


def test_a_derived_value_needs_a_function() -> None:
    with pytest.raises(BadInput, match="derive needs a function"):
        derive("total")


async def test_durable_processes_and_the_inbox_are_selected_from_alike() -> None:
    @durable(key="order:{id}")
    async def order(ctx, id: str):
        state = ctx.restored or {"status": "open", "total": 0}
        yield state
        async for message in ctx:
            state = {**state, **message}
            yield state

    async with Workbench.open(":memory:", order) as bench:
        handle = bench.lookup(order, id="A")
        await handle.until(lambda state: True)
        seen, stop = counted(handle.select("/status"))
        await handle.cast({"total": 3})
        await handle.cast({"status": "paid"})
        await handle.select("/status").until(lambda status: status == "paid")
        await settle()

        assert seen == ["paid"]
        assert derive(len, bench.approvals).value == 0
        assert bench.approvals.select("/0/tool").value is None
        stop()
