"""Calls to processes in memory: answered, parked, refused, failed."""

from __future__ import annotations

import asyncio

import pytest

from workbench import Call, process, spawn
from workbench.errors import BadInput, CallRefused, ProcessEnded


@process
async def desk(ctx):
    total, parked = 0, []
    yield total
    async for message in ctx:
        match message:
            case Call({"type": "add", "amount": amount}, reply):
                total += amount
                reply(total)
            case Call({"type": "park"}, reply):
                parked.append(reply)
            case Call({"type": "twice"}, reply):
                reply("first")
                reply("second")
            case {"type": "release", "value": value}:
                parked.pop(0)(value)
            case {"type": "forget"}:
                parked.clear()
                reply = None
            case {"type": "break"}:
                raise ValueError("broken on purpose")
        yield total


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_call_is_answered_with_its_value() -> None:
    handle = spawn(desk)

    assert await handle.call({"type": "add", "amount": 2}) == 2
    assert await handle.call({"type": "add", "amount": 3}) == 5
    await handle.dispose()


async def test_a_parked_call_is_answered_by_a_later_message() -> None:
    handle = spawn(desk)
    waiting = handle.call({"type": "park"})
    await settle()
    assert not waiting.done()

    handle.cast({"type": "release", "value": "yes"})

    assert await waiting == "yes"
    await handle.dispose()


async def test_a_call_that_no_case_takes_is_refused() -> None:
    handle = spawn(desk)

    with pytest.raises(CallRefused, match=r"desk has no case for \{'type': 'unknown'\}"):
        await handle.call({"type": "unknown"})
    assert await handle.call({"type": "add", "amount": 1}) == 1
    await handle.dispose()


async def test_a_parked_call_that_is_thrown_away_is_refused() -> None:
    handle = spawn(desk)
    waiting = handle.call({"type": "park"})
    handle.cast({"type": "forget"})
    handle.cast({"type": "release?"})

    with pytest.raises(CallRefused, match="no case"):
        await waiting
    await handle.dispose()


async def test_a_second_answer_is_refused_and_the_first_stands() -> None:
    handle = spawn(desk)
    waiting = handle.call({"type": "twice"})

    assert await waiting == "first"
    with pytest.raises(ProcessEnded):
        await handle.until(lambda state: False)
    assert isinstance(handle.error, CallRefused)
    assert "one call has one answer" in str(handle.error)


async def test_open_calls_fail_with_what_crashed_the_body() -> None:
    handle = spawn(desk)
    waiting = handle.call({"type": "park"})
    handle.cast({"type": "break"})

    with pytest.raises(ValueError, match="broken on purpose"):
        await waiting
    assert handle.status == "crashed"
    assert handle.state == 0


async def test_open_calls_fail_when_the_process_is_disposed() -> None:
    handle = spawn(desk)
    waiting = handle.call({"type": "park"})
    await settle()

    await handle.dispose()

    with pytest.raises(ProcessEnded, match="ended before it answered") as caught:
        await waiting
    assert caught.value.status == "disposed"


async def test_open_calls_fail_when_the_body_returns() -> None:
    @process
    async def leaves(ctx):
        yield 0
        async for message in ctx:
            kept = message.reply  # noqa: F841 - kept to the end, and never used
            return

    handle = spawn(leaves)
    with pytest.raises(ProcessEnded) as caught:
        await handle.call({"type": "stay"})

    assert caught.value.status == "done"


async def test_a_call_after_the_end_says_what_the_process_is() -> None:
    handle = spawn(desk)
    await handle.dispose()

    with pytest.raises(ProcessEnded, match="desk is disposed and takes no calls") as caught:
        await handle.call({"type": "add", "amount": 1})
    assert caught.value.status == "disposed"


async def test_a_caller_that_went_away_harms_nobody() -> None:
    handle = spawn(desk)
    waiting = handle.call({"type": "add", "amount": 7})
    waiting.cancel()

    assert await handle.call({"type": "add", "amount": 1}) == 8
    await handle.dispose()


async def test_a_call_before_the_first_state_is_answered() -> None:
    @process
    async def slow(ctx):
        await asyncio.sleep(0)
        async for message in ctx:
            message.reply("late")
            yield 1

    handle = spawn(slow)

    assert await handle.call({"type": "early"}) == "late"
    await handle.dispose()


async def test_a_call_from_a_thread_is_told_to_hop() -> None:
    handle = spawn(desk)

    with pytest.raises(BadInput, match="from a thread, hop there"):
        await asyncio.to_thread(lambda: handle.call({"type": "add", "amount": 2}))

    assert await handle.call({"type": "add", "amount": 3}) == 3
    await handle.dispose()
