"""What every process keeps, in one sentence each, where no other file says it."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest

from workbench import process, spawn
from workbench.errors import ProcessEnded
from workbench.process.drive import MANY


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@process
async def echo(ctx):
    yield "ready"
    async for message in ctx:
        if message == "break":
            raise ValueError("broken on purpose")
        yield message


async def test_a_body_runs_to_its_first_await_in_the_turn_after_its_spawn() -> None:
    handle = spawn(echo)
    await asyncio.sleep(0)

    assert (handle.state, handle.working) == ("ready", False)
    await handle.dispose()


@pytest.mark.parametrize("how", ["dispose", "break"])
async def test_an_instance_that_ends_is_told_so(how: str) -> None:
    contexts = []

    @process
    async def body(ctx):
        contexts.append(ctx)
        yield 0
        async for _ in ctx:
            raise ValueError("broken on purpose")

    handle = spawn(body)
    await settle()
    assert not contexts[0].cancelled.is_set()
    if how == "dispose":
        await handle.dispose()
    else:
        handle.cast("break")
        await settle()

    assert contexts[0].cancelled.is_set()


async def test_open_calls_fail_with_the_crash_while_the_state_stays_and_is_stale() -> None:
    handle = spawn(echo)
    await settle()
    handle.cast("break")
    waiting = handle.call("ask")

    with pytest.raises(ValueError, match="broken on purpose"):
        await waiting
    assert (handle.state, handle.stale, handle.status) == ("ready", True, "crashed")


async def test_readers_of_a_crash_get_the_last_state_first() -> None:
    @process
    async def body(ctx):
        yield 1
        await asyncio.sleep(0)
        yield 2
        raise ValueError("broken on purpose")

    handle = spawn(body)
    seen = [state async for state in handle]

    assert seen[-1] == 2
    assert [state async for state in handle] == [2]


async def test_every_reader_is_independent_of_the_others() -> None:
    handle = spawn(echo)
    fast, slow = aiter(handle), aiter(handle)
    seen = [await anext(fast), await anext(slow)]
    for message in ("a", "b"):
        handle.cast(message)
        await settle()
        seen.append(await anext(fast))
    seen.append(await anext(slow))

    assert seen == ["ready", "ready", "a", "b", "b"]
    await handle.dispose()
    assert [await anext(fast, "ended"), await anext(slow, "ended")] == ["ended", "ended"]


async def test_who_iterates_keeps_the_process_without_holding_its_handle() -> None:
    async def read(states: Any) -> list[Any]:
        return [state async for state in states]

    reading = asyncio.ensure_future(read(aiter(spawn(echo))))
    await settle()
    assert not reading.done()
    reading.cancel()


async def test_a_child_that_a_finally_began_ends_with_its_parent() -> None:
    children = []

    @process
    async def parent(ctx):
        try:
            yield 0
            async for _ in ctx:
                pass
        finally:
            children.append(ctx.spawn(echo))

    handle = spawn(parent)
    await settle()
    await handle.dispose()

    assert [child.status for child in children] == ["disposed"]


async def test_children_that_have_ended_are_not_kept() -> None:
    @process
    async def brief(ctx):
        yield 0

    owners = []

    @process
    async def parent(ctx):
        owners.append(ctx.owner)
        yield 0
        async for _ in ctx:
            await ctx.spawn(brief).until(lambda state: True)

    handle = spawn(parent)
    for _ in range(10 * MANY):
        handle.cast("another")
    await settle()
    while handle.pending or handle.working:
        await asyncio.sleep(0)

    assert len(owners[0]._children) <= MANY
    await handle.dispose()


async def test_a_grandchild_ends_with_its_grandparent_and_after_its_parent() -> None:
    order = []

    @process
    async def one(ctx, depth: int):
        if depth:
            ctx.spawn(one, depth=depth - 1)
        try:
            yield depth
            async for _ in ctx:
                pass
        finally:
            await asyncio.sleep(0)
            order.append(depth)

    handle = spawn(one, depth=3)
    await settle()
    await handle.dispose()

    assert order == [3, 2, 1, 0]


async def test_a_leaf_that_is_no_json_wakes_by_its_value() -> None:
    @process
    async def clock(ctx):
        day = dt.date(2026, 1, 1)
        yield {"day": day, "n": 0}
        async for days in ctx:
            day += dt.timedelta(days=days)
            yield {"day": day, "n": days}

    handle = spawn(clock)
    await settle()
    seen: list[Any] = []
    day = handle.select("/day")
    stop = day.subscribe(lambda: seen.append(day.value))
    for days in (0, 1, 0):
        handle.cast(days)
        await settle()
    stop()

    assert seen == [dt.date(2026, 1, 2)]
    await handle.dispose()


async def test_messages_between_two_states_are_never_handled_at_once() -> None:
    inside, most = [], []

    @process
    async def body(ctx):
        yield 0
        async for _ in ctx:
            inside.append(1)
            most.append(len(inside))
            await asyncio.sleep(0)
            inside.pop()

    handle = spawn(body)
    for _ in range(20):
        handle.cast("go")
    while len(most) < 20:
        await asyncio.sleep(0)

    assert set(most) == {1}
    await handle.dispose()


async def test_a_call_to_what_has_ended_names_how_it_ended() -> None:
    @process
    async def once(ctx):
        yield 0

    done, crashed, disposed = spawn(once), spawn(echo), spawn(echo)
    crashed.cast("break")
    await settle()
    await disposed.dispose()

    for handle, status in ((done, "done"), (crashed, "crashed"), (disposed, "disposed")):
        with pytest.raises(ProcessEnded, match=f"is {status} and takes no calls"):
            await handle.call("ask")
