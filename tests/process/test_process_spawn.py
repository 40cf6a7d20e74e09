"""Processes in memory: how they start, publish, receive and are read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from workbench import Context, process, spawn
from workbench.errors import BadInput, NotPlain, ProcessEnded


@process
async def counter(ctx, start: int = 0):
    total = start
    yield total
    async for message in ctx:
        total += message
        yield total


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_process_starts_without_a_state() -> None:
    handle = spawn(counter, start=3)

    assert (handle.status, handle.state) == ("starting", None)
    assert await handle.until(lambda state: True) == 3
    assert (handle.status, handle.error) == ("running", None)
    await handle.dispose()


async def test_an_initial_state_can_be_read_at_once() -> None:
    @process(initial={"ready": False})
    async def slow(ctx):
        async for _ in ctx:
            yield {"ready": True}

    handle = spawn(slow)

    assert handle.state == {"ready": False}
    await handle.dispose()


async def test_messages_are_handled_one_at_a_time_in_order() -> None:
    seen = []

    @process
    async def body(ctx):
        async for message in ctx:
            seen.append(("begin", message))
            await asyncio.sleep(0)
            seen.append(("end", message))
            yield message

    handle = spawn(body)
    for number in range(3):
        handle.cast(number)
    await handle.until(lambda state: state == 2)

    assert seen == [(what, number) for number in range(3) for what in ("begin", "end")]
    await handle.dispose()


async def test_a_cast_in_memory_has_no_number() -> None:
    handle = spawn(counter)

    assert await handle.cast(1) == 0
    await handle.dispose()


async def test_a_process_can_cast_to_itself() -> None:
    @process
    async def countdown(ctx):
        async for left in ctx:
            if left:
                ctx.cast(left - 1)
            yield left

    handle = spawn(countdown)
    handle.cast(3)

    assert await handle.until(lambda state: state == 0) == 0
    await handle.dispose()


async def test_what_was_yielded_cannot_be_changed_later() -> None:
    state = {"items": [1]}

    @process
    async def body(ctx):
        yield state
        state["items"].append(2)
        async for _ in ctx:
            pass

    handle = spawn(body)
    await handle.until(lambda state: True)
    await settle()

    assert handle.state == {"items": [1]}
    await handle.dispose()


async def test_iterating_shows_the_newest_state_only() -> None:
    handle = spawn(counter)
    seen = []
    async for state in handle:
        seen.append(state)
        if state == 0:
            for _ in range(5):
                handle.cast(1)
            await settle()
        if state == 5:
            break

    assert seen == [0, 5]
    await handle.dispose()


async def test_the_same_state_again_wakes_nobody() -> None:
    handle = spawn(counter)
    await handle.until(lambda state: True)
    version = handle.states.version

    handle.cast(0)
    await settle()

    assert handle.states.version == version
    await handle.dispose()


async def test_iteration_ends_with_the_last_state() -> None:
    @process
    async def two(ctx):
        yield 1
        yield 2

    handle = spawn(two)

    assert [state async for state in handle][-1] == 2
    assert [state async for state in handle] == [2]
    assert handle.status == "done"


async def test_two_readers_see_the_same_states() -> None:
    handle = spawn(counter)

    first, second = await asyncio.gather(handle.until(lambda state: True), handle.until(lambda state: True))

    assert first == second == 0
    await handle.dispose()


async def test_until_fails_when_the_process_ends_first() -> None:
    @process
    async def one(ctx):
        yield 1

    handle = spawn(one)
    with pytest.raises(ProcessEnded, match="one is done with the state 1") as caught:
        await handle.until(lambda state: state == 2)

    assert caught.value.status == "done"


async def test_true_is_not_one() -> None:
    @process
    async def body(ctx):
        yield 1
        async for message in ctx:
            yield message

    handle = spawn(body)
    await handle.until(lambda state: state == 1)
    handle.cast(True)

    assert await handle.until(lambda state: state is True) is True
    await handle.dispose()


async def test_a_state_that_is_not_plain_crashes_its_process() -> None:
    @process
    async def body(ctx):
        yield {"orders": [object()]}

    handle = spawn(body)
    with pytest.raises(ProcessEnded):
        await handle.until(lambda state: True)

    assert handle.status == "crashed"
    assert isinstance(handle.error, NotPlain)
    assert handle.error.path == "state.orders[0]"


async def test_a_typed_state_comes_back_as_its_type() -> None:
    @dataclass
    class Basket:
        total: int

    async def body(ctx, start):
        yield Basket(start)
        async for _ in ctx:
            pass

    body.__annotations__["ctx"] = Context[Any, Basket]
    handle = spawn(process(body), start=4)

    assert await handle.until(lambda state: True) == Basket(4)
    await handle.dispose()


def test_a_process_body_is_an_async_generator() -> None:
    async def body(ctx):
        return 1

    with pytest.raises(BadInput, match="write an async generator function"):
        process(body)


@pytest.mark.parametrize(
    "options",
    [{"restart": "always"}, {"max_restarts": -1}, {"max_restarts": True}, {"mailbox": -1}, {"mailbox": 1.5}],
    ids=str,
)
def test_an_option_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(options))):
        process(**options)(counter.body)


async def test_arguments_that_do_not_fit_start_nothing() -> None:
    with pytest.raises(BadInput, match=r"counter.*does not take \{'begin': 3\}"):
        spawn(counter, begin=3)


async def test_a_process_keeps_running_without_its_handle() -> None:
    done = asyncio.Event()

    @process
    async def body(ctx):
        yield 0
        await asyncio.sleep(0)
        done.set()

    spawn(body)

    await asyncio.wait_for(done.wait(), 5)


async def test_an_interrupt_of_a_body_ends_that_body_only() -> None:
    @process
    async def interrupted(ctx):
        yield 1
        raise KeyboardInterrupt

    bystander, handle = spawn(counter), spawn(interrupted)
    with pytest.raises(ProcessEnded):
        await handle.until(lambda state: False)

    assert isinstance(handle.error, KeyboardInterrupt)
    assert await bystander.until(lambda state: True) == 0
    await bystander.dispose()
