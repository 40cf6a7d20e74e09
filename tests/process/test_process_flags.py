"""Flags: working, stale, error and busy, and who wakes for them."""

from __future__ import annotations

import asyncio

from workbench import Call, process, spawn
from workbench.process.flags import Flags


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@process(restart="on-crash", max_restarts=1)
async def worker(ctx, gate: asyncio.Event):
    yield "ready"
    async for message in ctx:
        await gate.wait()
        if message == "break":
            raise ValueError("broken on purpose")
        yield message


async def test_a_process_works_until_it_yields_and_from_each_message_on() -> None:
    gate = asyncio.Event()
    handle = spawn(worker, gate=gate)
    at_spawn = handle.working
    await settle()
    parked = handle.working
    handle.cast("go")
    await settle()
    at_work = handle.working
    gate.set()
    await settle()

    assert (at_spawn, parked, at_work, handle.working) == (True, False, True, False)
    await handle.dispose()
    assert not handle.working


async def test_a_process_that_yields_nothing_for_a_message_works_no_more_once_it_waits() -> None:
    @process
    async def silent(ctx):
        async for _ in ctx:
            pass
        yield

    handle = spawn(silent)
    await settle()
    assert not handle.working
    handle.cast(1)
    await settle()

    assert not handle.working
    await handle.dispose()


async def test_a_state_that_outlives_a_crash_is_stale_until_the_next_good_one() -> None:
    gate, lives = asyncio.Event(), []

    @process(restart="on-crash", max_restarts=1)
    async def body(ctx):
        lives.append(1)
        if len(lives) == 2:
            await gate.wait()
        yield len(lives)
        async for _ in ctx:
            raise ValueError("broken on purpose")

    handle = spawn(body)
    await settle()
    assert not handle.stale
    handle.cast("break")
    await settle()
    assert (handle.state, handle.stale, handle.working, str(handle.error)) == (1, True, True, "broken on purpose")
    gate.set()
    await settle()

    assert (handle.state, handle.stale, handle.error) == (2, False, None)
    handle.cast("break")
    await settle()
    assert (handle.state, handle.stale, handle.status) == (2, True, "crashed")


async def test_what_was_disposed_is_stale_and_what_is_done_is_not() -> None:
    @process
    async def once(ctx):
        yield 1

    gone, done = spawn(worker, gate=asyncio.Event()), spawn(once)
    await settle()
    await gone.dispose()

    assert (gone.status, gone.stale) == ("disposed", True)
    assert (done.status, done.stale) == ("done", False)


async def test_a_process_without_a_state_is_not_stale() -> None:
    @process
    async def silent(ctx):
        async for _ in ctx:
            pass
        yield

    handle = spawn(silent)
    await settle()
    await handle.dispose()

    assert (handle.status, handle.stale) == ("disposed", False)


async def test_a_reader_of_flags_does_not_wake_for_states() -> None:
    @process
    async def counter(ctx):
        yield 0
        for number in range(1, 100):
            await asyncio.sleep(0)
            yield number
        await asyncio.Event().wait()

    handle = spawn(counter)
    wakes: list[Flags] = []
    stop = handle.flags.subscribe(lambda: wakes.append(handle.flags.value))
    await handle.until(lambda state: state == 99)
    await settle()
    during = list(wakes)
    await handle.dispose()
    await settle()
    stop()

    assert during == [Flags("running", working=False, stale=False, error=None)]
    assert wakes[1:] == [Flags("disposed", working=False, stale=True, error=None)]


async def test_flags_can_be_waited_for() -> None:
    gate = asyncio.Event()
    handle = spawn(worker, gate=gate)
    await settle()
    handle.cast("go")

    assert (await handle.flags.until(lambda flags: flags.working)).working
    gate.set()
    assert not (await handle.flags.until(lambda flags: not flags.working)).working
    await handle.dispose()


async def test_a_process_is_busy_while_it_has_a_call_to_answer() -> None:
    @process
    async def desk(ctx):
        parked = []
        yield 0
        async for message in ctx:
            match message:
                case Call(_, reply):
                    parked.append(reply)
                case "answer":
                    parked.pop()("yes")

    handle = spawn(desk)
    await settle()
    assert not handle.busy
    waiting = handle.call("ask")
    await settle()
    assert handle.busy
    handle.cast("answer")

    assert await waiting == "yes"
    assert not handle.busy
    await handle.dispose()


async def test_holds_nest_and_one_released_twice_is_released_once() -> None:
    holds = []

    @process
    async def holder(ctx):
        yield 0
        async for message in ctx:
            match message:
                case "hold":
                    holds.append(ctx.busy())
                case "with":
                    with ctx.busy():
                        yield "held"
                        await asyncio.Event().wait()

    handle = spawn(holder)
    handle.cast("hold")
    handle.cast("hold")
    await settle()
    first, second = holds

    first.release()
    first.release()
    assert handle.busy
    second.release()
    assert not handle.busy
    handle.cast("with")
    await handle.until(lambda state: state == "held")
    assert handle.busy
    await handle.dispose()
    assert not handle.busy


async def test_holds_end_with_their_instance() -> None:
    @process(restart="on-crash")
    async def holder(ctx):
        yield 0
        async for _ in ctx:
            ctx.busy()
            raise ValueError("broken on purpose")

    handle = spawn(holder)
    handle.cast("break")
    await settle()

    assert (handle.status, handle.busy) == ("running", False)
    await handle.dispose()
