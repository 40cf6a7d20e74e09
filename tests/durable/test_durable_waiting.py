"""Waiting callers: what they cost, what giving up changes, and what a conflict of ids says."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

import pytest
from places import Place, settle, until

from workbench import Call, durable
from workbench.errors import CallConflict

CALLS = {"memory": 10_000, "sqlite": 1_000}
"""`benchmarks/waiting.py` has ten thousand on a disk."""


def desk(worked: list[str] | None = None) -> Any:
    heard = worked if worked is not None else []

    @durable(key="desk:{id}", name="desk")
    async def body(ctx, id: str):
        count = ctx.restored or 0
        yield count
        async for message in ctx:
            match message:
                case Call("ask", reply):
                    heard.append(reply.id)  # parked: reading the id keeps the call open
                case Call({"add": amount}, reply):
                    heard.append(str(amount))
                    reply(amount)
                case {"release": last}:
                    for number in range(last):
                        ctx.reply(str(number), number)
            count += 1
            yield count

    return body


def statements(bench: Any) -> Callable[[], int]:
    """Counts the statements of a store from now on; of one in memory, its operations."""
    inner, ran = bench.store.inner, []
    if not hasattr(inner, "_connection"):
        return lambda: bench.store.count
    for connection in (inner._connection, inner._reader):
        assert isinstance(connection, sqlite3.Connection)
        connection.set_trace_callback(ran.append)
    return lambda: len(ran)


async def five_seconds(place: Place, count: Callable[[], int]) -> int:
    """The statements of five seconds by the clock of the place."""
    before = count()
    for _ in range(5):
        await place.clock.advance(1)
    return count() - before


async def test_ten_thousand_parked_calls_hold_no_thread_and_run_no_statement(place: Place) -> None:
    many = CALLS[place.kind]
    bench = await place.open(desk())
    handle = bench.lookup("desk", id="a")
    await handle.until(lambda count: True)
    await until(lambda: place.kind == "memory" or bench.store.inner.idle)
    count = statements(bench)
    threads, quiet = threading.active_count(), await five_seconds(place, count)

    calls = [handle.call("ask", id=str(number)) for number in range(many)]
    async with asyncio.timeout(120):
        await handle.until(lambda count: count == many)
    await until(lambda: handle.unacked == 0)

    assert threading.active_count() == threads
    assert abs(await five_seconds(place, count) - quiet) <= 3  # the lease is renewed by the real time
    handle.cast({"release": many})
    assert await asyncio.gather(*calls) == list(range(many))


async def test_callers_of_another_host_share_one_look_at_each_change(place: Place) -> None:
    owner = await place.open(desk())
    await owner.lookup("desk", id="a").until(lambda count: True)
    bench = await place.open(desk())
    there = bench.lookup("desk", id="a")
    await until(lambda: there.elsewhere)
    calls = [there.call("ask", id=str(number)) for number in range(50)]
    await until(lambda: owner.lookup("desk", id="a").state == 50)
    await until(lambda: there.state == 50)
    looks: list[int] = []
    results_now = bench.store.inner.results_now
    bench.store.inner.results_now = lambda key, ids: looks.append(len(ids)) or results_now(key, ids)

    owner.lookup("desk", id="a").cast({"release": 50})

    assert await asyncio.gather(*calls) == list(range(50))
    assert 0 < len(looks) <= 250  # some for each change that was noticed; one for each caller too would be 2,500
    assert max(looks) == 50


async def test_a_caller_that_gives_up_changes_nothing(place: Place) -> None:
    worked: list[str] = []
    bench = await place.open(desk(worked))
    handle = bench.lookup("desk", id="a")
    given_up, patient = handle.call("ask", id="0"), handle.call("ask", id="0")
    await handle.until(lambda count: count == 1)

    given_up.cancel()
    await settle()
    handle.cast({"release": 1})

    assert await patient == 0
    assert await handle.call("ask", id="0") == 0
    assert worked == ["0"]


async def test_a_caller_elsewhere_that_gives_up_changes_nothing(place: Place) -> None:
    worked: list[str] = []
    owner = await place.open(desk(worked))
    await owner.lookup("desk", id="a").until(lambda count: True)
    bench = await place.open(desk())
    there = bench.lookup("desk", id="a")
    await until(lambda: there.elsewhere)
    given_up = there.call("ask", id="0")
    await until(lambda: worked == ["0"])

    given_up.cancel()
    await settle()
    owner.lookup("desk", id="a").cast({"release": 1})

    assert await there.call("ask", id="0") == 0
    assert worked == ["0"]


@pytest.mark.parametrize("where", ["here", "elsewhere"])
@pytest.mark.parametrize("answered", [True, False])
async def test_a_conflict_names_both_messages(place: Place, where: str, answered: bool) -> None:
    owner = await place.open(desk())
    here = owner.lookup("desk", id="a")
    first: Any = {"add": 1} if answered else "ask"
    call = here.call(first, id="7")
    await here.until(lambda count: count == 1)
    await until(lambda: here.unacked == 0)
    bench = owner if where == "here" else await place.open(desk())
    handle = bench.lookup("desk", id="a")
    await until(lambda: where == "here" or handle.elsewhere)

    with pytest.raises(CallConflict) as caught:
        await handle.call({"add": 2}, id="7")

    error = caught.value
    assert (error.key, error.id, error.stored) == ("desk:a", "7", first)
    assert error.first != error.second
    assert f"digest {error.first[:12]}…, now {error.second[:12]}…" in str(error)
    assert ('{"add":1}' if answered else '"ask"') in str(error)
    call.cancel()


async def test_a_key_that_comes_here_takes_its_callers_over(place: Place) -> None:
    worked: list[str] = []
    owner = await place.open(desk(worked))
    await owner.lookup("desk", id="a").until(lambda count: True)
    bench = await place.open(desk(worked))
    there = bench.lookup("desk", id="a")
    await until(lambda: there.elsewhere)
    call = there.call("ask", id="0")
    await until(lambda: worked == ["0"])

    await place.crash(owner)
    await place.clock.advance(3)
    await until(lambda: there.activation)
    there.cast({"release": 1})

    assert await call == 0
    assert worked == ["0"]
