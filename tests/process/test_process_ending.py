"""How processes end: crash, restart, disposal, children, and in which order."""

from __future__ import annotations

import asyncio
import logging

import pytest

from workbench import process, spawn
from workbench.errors import ProcessEnded


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@process(restart="on-crash")
async def adder(ctx, start):
    total = start
    yield total
    async for message in ctx:
        if message == "break":
            raise ValueError("broken on purpose")
        total += message
        yield total


async def test_a_restart_begins_from_the_arguments_and_keeps_casts() -> None:
    handle = spawn(adder, start=100)
    await handle.until(lambda state: True)
    handle.cast(50)
    handle.cast("break")
    handle.cast(7)

    assert await handle.until(lambda state: state == 107) == 107
    assert (handle.status, handle.error) == ("running", None)
    await handle.dispose()


async def test_while_restarting_the_last_state_and_the_error_are_shown() -> None:
    gate = asyncio.Event()
    lives = []

    @process(restart="on-crash")
    async def body(ctx):
        lives.append(ctx)
        if len(lives) == 2:
            await gate.wait()
        yield len(lives)
        raise ValueError("broken on purpose")

    handle = spawn(body)
    await settle()

    assert (handle.status, handle.state, str(handle.error)) == ("restarting", 1, "broken on purpose")
    assert lives[0].cancelled.is_set()
    assert not lives[1].cancelled.is_set()
    await handle.dispose()


async def test_a_spent_budget_of_restarts_is_a_crash() -> None:
    lives = []

    @process(restart="on-crash", max_restarts=2)
    async def body(ctx):
        lives.append(1)
        raise ValueError("broken on purpose")
        yield

    handle = spawn(body)
    with pytest.raises(ProcessEnded) as caught:
        await handle.until(lambda state: True)

    assert (len(lives), handle.status, caught.value.status) == (3, "crashed", "crashed")
    assert isinstance(caught.value.__cause__, ValueError)


async def test_a_queued_call_behind_a_crash_fails_and_never_runs() -> None:
    handle = spawn(adder, start=0)
    await handle.until(lambda state: True)
    handle.cast("break")
    waiting = handle.call(5)

    with pytest.raises(ValueError, match="broken on purpose"):
        await waiting
    handle.cast(1)
    assert await handle.until(lambda state: state == 1) == 1
    await handle.dispose()


async def test_a_crash_is_logged_with_its_name(caplog: pytest.LogCaptureFixture) -> None:
    @process
    async def body(ctx):
        raise ValueError("broken on purpose")
        yield

    with caplog.at_level(logging.ERROR, "workbench"), pytest.raises(ProcessEnded):
        await spawn(body).until(lambda state: True)

    assert [record.getMessage() for record in caplog.records] == ["body crashed: ValueError('broken on purpose')"]


async def test_a_crash_happens_in_this_order() -> None:
    order = []

    @process
    async def child(ctx):
        try:
            async for _ in ctx:
                yield 0
        finally:
            order.append("child's finally")

    @process
    async def body(ctx):
        ctx.spawn(child)
        yield 0
        async for _ in ctx:
            raise ValueError("broken on purpose")

    handle = spawn(body)
    await handle.until(lambda state: True)
    waiting = handle.call("ask")
    waiting.add_done_callback(lambda done: order.append("call failed") or done.exception())
    handle.cast("break")
    with pytest.raises(ProcessEnded):
        await handle.until(lambda state: False)
    order.append("readers hear")
    await handle._task

    assert order == ["call failed", "readers hear", "child's finally"] or order == [
        "readers hear",
        "call failed",
        "child's finally",
    ]


async def test_a_body_that_awaits_is_cancelled_and_may_clean_up() -> None:
    order = []

    @process
    async def body(ctx):
        yield 0
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            order.append("cleaned up")

    handle = spawn(body)
    await handle.until(lambda state: True)
    await handle.dispose()

    assert order == ["cleaned up"]
    assert (handle.status, handle.error) == ("disposed", None)


async def test_disposal_begins_without_being_awaited() -> None:
    @process
    async def body(ctx):
        yield 0
        async for _ in ctx:
            yield 1

    handle = spawn(body)
    await handle.until(lambda state: True)
    ending = handle.dispose()

    assert handle.status == "disposed"
    await ending
    await ending


async def test_a_process_disposed_before_its_first_line_never_runs() -> None:
    ran = []

    @process
    async def body(ctx):
        ran.append(1)
        yield 0

    handle = spawn(body)
    waiting = handle.call("ask")
    await handle.dispose()

    assert (ran, handle.status) == ([], "disposed")
    with pytest.raises(ProcessEnded):
        await waiting


async def test_a_failure_while_ending_is_seen(caplog: pytest.LogCaptureFixture) -> None:
    @process
    async def body(ctx):
        try:
            yield 0
            async for _ in ctx:
                yield 1
        finally:
            raise ValueError("the door is stuck")

    handle = spawn(body)
    await handle.until(lambda state: True)
    with caplog.at_level(logging.ERROR, "workbench"):
        await handle.dispose()

    assert "the door is stuck" in caplog.text
    assert handle.status == "disposed"


async def test_a_state_yielded_while_ending_is_not_shown() -> None:
    @process
    async def body(ctx):
        yield "alive"
        async for _ in ctx:
            pass
        yield "late"

    handle = spawn(body)
    await handle.until(lambda state: True)
    await handle.dispose()

    assert handle.state == "alive"


async def test_readers_that_wait_end_with_the_process() -> None:
    @process
    async def body(ctx):
        yield 1
        async for _ in ctx:
            yield 2

    handle = spawn(body)
    reading = asyncio.ensure_future(_all(handle))
    await settle()
    await handle.dispose()

    assert await reading == [1]


async def _all(handle) -> list[object]:
    return [state async for state in handle]


async def test_a_cancellation_that_nobody_asked_for_is_a_crash() -> None:
    @process
    async def body(ctx):
        yield 0
        raise asyncio.CancelledError

    handle = spawn(body)
    with pytest.raises(ProcessEnded):
        await handle.until(lambda state: False)

    assert handle.status == "crashed"


async def test_disposing_while_it_restarts_ends_it() -> None:
    gate = asyncio.Event()

    @process
    async def child(ctx):
        try:
            yield 0
            async for _ in ctx:
                yield 1
        finally:
            await gate.wait()

    @process(restart="on-crash")
    async def parent(ctx):
        ctx.spawn(child)
        yield 0
        await settle()
        raise ValueError("broken on purpose")

    handle = spawn(parent)
    await handle.until(lambda state: True)
    await settle()
    await settle()
    ending = handle.dispose()
    gate.set()
    await ending

    assert handle.status == "disposed"


@pytest.mark.parametrize("swallowed", [Exception, BaseException])
async def test_a_body_that_begins_again_for_ever_leaves_the_loop_alone(swallowed: type[BaseException]) -> None:
    rounds = []

    @process
    async def stubborn(ctx):
        yield 0
        while len(rounds) < 5:
            rounds.append(1)
            try:
                async for message in ctx:
                    yield message
            except swallowed:
                pass

    handle = spawn(stubborn)
    await handle.until(lambda state: True)
    ended = handle.dispose()
    beats = 0
    async with asyncio.timeout(20):
        while not handle._task.done():
            await asyncio.sleep(0)
            beats += 1
    await ended

    assert len(rounds) == (2 if swallowed is Exception else 5)
    assert beats > 10


async def test_a_finally_that_fails_after_a_refused_state_fails_the_callers() -> None:
    @process
    async def messy(ctx):
        try:
            async for _ in ctx:
                yield object()
        finally:
            raise RuntimeError("the clean-up fails too")

    handle = spawn(messy)

    with pytest.raises(RuntimeError, match="clean-up"):
        await asyncio.wait_for(handle.call("anything"), 5)
    assert handle.status == "crashed"
