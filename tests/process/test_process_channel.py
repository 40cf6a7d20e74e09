"""The channel: driving a body by hand, without a process."""

from __future__ import annotations

import asyncio

import pytest

from workbench import Call, process, spawn
from workbench.errors import BadInput, CallRefused, Disposed, ProcessEnded
from workbench.testing import Channel


@process
async def adder(ctx, start: int = 0):
    total = start
    yield total
    async for message in ctx:
        match message:
            case Call({"type": "total"}, reply):
                reply(total)
            case int():
                total += message
                yield total


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_transcript_is_every_state_in_order() -> None:
    async with Channel() as channel:
        assert await channel.transcript(adder, 1, 2, 3, start=10) == [10, 11, 13, 16]


async def test_a_body_is_driven_step_by_step() -> None:
    async with Channel() as channel:
        body = adder.body(channel, start=1)

        assert await anext(body) == 1
        channel.cast(4)
        assert await anext(body) == 5
        channel.close()
        with pytest.raises(StopAsyncIteration):
            await anext(body)


async def test_messages_are_taken_in_the_order_in_which_they_were_sent() -> None:
    @process
    async def recorder(ctx):
        async for message in ctx:
            yield message

    async with Channel() as channel:
        assert await channel.transcript(recorder, *range(5)) == list(range(5))


async def test_a_call_through_a_channel_is_answered() -> None:
    async with Channel() as channel:
        asked = channel.call({"type": "total"})
        assert await channel.transcript(adder, 2, start=3) == [3, 5]

        assert await asked == 3


async def test_a_call_that_no_case_takes_is_refused() -> None:
    async with Channel("desk") as channel:
        asked = channel.call({"type": "unknown"})
        await channel.transcript(adder)

        with pytest.raises(CallRefused, match="desk has no case for"):
            await asked


async def test_closing_ends_the_iteration_of_a_body_that_waits() -> None:
    async with Channel() as channel:
        body = adder.body(channel)
        await anext(body)
        waiting = asyncio.ensure_future(anext(body, "ended"))
        await settle()
        channel.close()

        assert await waiting == "ended"


async def test_disposal_ends_the_iteration_and_fails_open_calls() -> None:
    channel = Channel()
    body = adder.body(channel)
    await anext(body)
    waiting = asyncio.ensure_future(anext(body, "ended"))
    asked = channel.call({"type": "total"})
    await channel.dispose()

    assert await waiting == "ended"
    assert channel.cancelled.is_set()
    with pytest.raises(ProcessEnded):
        await asked


async def test_latest_skips_what_waits_and_refuses_the_calls_in_it() -> None:
    @process
    async def newest(ctx):
        async for message in ctx.latest():
            yield message

    async with Channel() as channel:
        asked = channel.call("ask")
        assert await channel.transcript(newest, 1, 2, 3) == [3]

        with pytest.raises(CallRefused, match="skipped 'ask' for a newer message"):
            await asked


async def test_children_of_a_channel_end_with_it() -> None:
    children = []

    @process
    async def parent(ctx):
        children.append(ctx.spawn(adder))
        await asyncio.sleep(0)
        children.append(spawn(adder))
        yield 0

    channel = Channel()
    await channel.transcript(parent)
    await settle()
    assert [child.status for child in children] == ["running", "running"]
    await channel.dispose()

    assert [child.status for child in children] == ["disposed", "disposed"]
    assert channel.spawn(adder).status == "disposed"


async def test_a_body_may_wrap_another_one_through_a_channel() -> None:
    @process
    async def doubled(ctx):
        async with Channel("inner") as inner:
            body = adder.body(inner)
            yield 2 * await anext(body)
            async for message in ctx:
                inner.cast(message)
                yield 2 * await anext(body)

    handle = spawn(doubled)
    handle.cast(3)
    handle.cast(4)

    assert await handle.until(lambda state: state == 14) == 14
    await handle.dispose()


async def test_a_channel_that_nobody_can_evict_is_held_by_nothing() -> None:
    async with Channel() as channel, asyncio.timeout(5):
        with channel.busy():
            assert await channel.transcript(adder) == [0]


async def test_a_body_that_asks_on_after_the_end_is_ended() -> None:
    @process
    async def stubborn(ctx):
        while True:
            async for message in ctx:
                yield message

    async with Channel() as channel:
        with pytest.raises(Disposed):
            await channel.transcript(stubborn, 1)


async def test_arguments_that_do_not_fit_are_refused() -> None:
    async with Channel() as channel:
        with pytest.raises(BadInput, match="does not take"):
            await channel.transcript(adder, begin=3)
