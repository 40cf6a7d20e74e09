"""Replacement in memory: a body goes on under new code, and a message in hand is finished under the old."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from workbench import Call, process, spawn
from workbench.errors import ProcessEnded


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def greeter(word: str, gate: asyncio.Event | None = None) -> Any:
    @process(name="greeter")
    async def body(ctx, start: int = 0):
        count = start
        yield f"{word} {count}"
        async for message in ctx:
            if gate is not None:
                await gate.wait()
            if type(message) is Call:
                message.reply(word)
            else:
                count += message
            yield f"{word} {count}"

    return body


async def test_a_body_that_waits_goes_on_under_the_new_code_from_its_arguments() -> None:
    handle = spawn(greeter("hello"), start=3)
    handle.cast(1)
    await settle()
    assert handle.state == "hello 4"

    handle.replace(greeter("goodbye"))
    assert handle.state == "hello 4"
    await settle()

    assert (handle.state, handle.status, handle.error) == ("goodbye 3", "running", None)
    await handle.dispose()


async def test_a_message_in_hand_is_finished_under_the_old_code() -> None:
    gate = asyncio.Event()
    handle = spawn(greeter("hello", gate))
    seen: list[str] = []
    reading = asyncio.ensure_future(_read(handle, seen))
    handle.cast(1)
    handle.cast(2)
    await settle()

    handle.replace(greeter("goodbye"))
    await settle()
    assert handle.state == "hello 0"
    gate.set()
    await settle()

    assert seen[0] == "hello 0"
    assert "hello 3" not in seen
    assert handle.state == "goodbye 2"
    await handle.dispose()
    await reading


async def _read(handle: Any, seen: list[str]) -> None:
    async for state in handle:
        seen += [state]


async def test_what_waits_in_the_mailbox_is_handled_by_the_new_code_calls_too() -> None:
    gate = asyncio.Event()
    handle = spawn(greeter("hello", gate))
    first, second = handle.call("who"), handle.call("who")
    await settle()
    handle.replace(greeter("goodbye"))
    gate.set()

    assert (await first, await second) == ("hello", "goodbye")
    await handle.dispose()


async def test_a_call_that_the_old_body_has_parked_fails() -> None:
    @process(name="desk")
    async def desk(ctx):
        parked = []
        yield 0
        async for message in ctx:
            parked += [message.reply]

    handle = spawn(desk)
    waiting = handle.call("ask")
    await settle()
    handle.replace(greeter("hello"))

    with pytest.raises(ProcessEnded, match="desk was replaced before it answered"):
        await waiting
    await settle()
    assert handle.state == "hello 0"
    await handle.dispose()


async def test_a_body_that_waits_for_something_else_is_cancelled_and_cleans_up() -> None:
    order = []

    @process(name="greeter")
    async def ticker(ctx, start: int):
        yield "tick"
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            order.append("cleaned up")

    handle = spawn(ticker, start=1)
    await settle()
    handle.replace(greeter("hello"))
    await settle()

    assert (order, handle.state) == (["cleaned up"], "hello 1")
    await handle.dispose()


async def test_the_same_code_again_disturbs_nobody() -> None:
    shared = asyncio.Event()
    handle = spawn(greeter("hello", shared))
    await settle()
    context = handle._context

    handle.replace(greeter("hello", shared))
    await settle()

    assert handle._context is context
    await handle.dispose()


async def test_another_default_is_other_code() -> None:
    def made(default: int) -> Any:
        @process(name="defaulted")
        async def body(ctx, add=default):
            yield add
            async for _ in ctx:
                pass

        return body

    handle = spawn(made(1))
    await settle()
    context = handle._context
    handle.replace(made(2))
    await settle()

    assert handle._context is not context
    await handle.dispose()


async def test_children_of_the_old_body_end_and_the_new_one_has_its_own() -> None:
    children = []

    def parent(name: str) -> Any:
        @process(name="parent")
        async def body(ctx):
            children.append((name, ctx.spawn(greeter(name))))
            yield name
            async for _ in ctx:
                pass

        return body

    handle = spawn(parent("old"))
    await settle()
    handle.replace(parent("new"))
    await settle()

    assert [(name, child.status) for name, child in children] == [("old", "disposed"), ("new", "running")]
    await handle.dispose()


async def test_a_replacement_during_the_wait_of_a_restart_begins_at_once() -> None:
    @process(name="greeter", restart="on-crash", backoff=3600)
    async def flaky(ctx, start: int = 0):
        yield "flaky"
        async for _ in ctx:
            raise ValueError("broken on purpose")

    handle = spawn(flaky)
    handle.cast("break")
    await settle()
    assert handle.status == "restarting"
    handle.replace(greeter("mended"))
    await settle()

    assert (handle.state, handle.status, handle.restarts.spent) == ("mended 0", "running", 0)
    await handle.dispose()


async def test_arguments_that_the_new_code_does_not_take_are_a_crash() -> None:
    @process(name="greeter")
    async def other(ctx):
        yield "other"

    handle = spawn(greeter("hello"), start=3)
    await settle()
    handle.replace(other)
    await settle()

    assert (handle.status, type(handle.error)) == ("crashed", TypeError)
    assert handle.state == "hello 3"


async def test_a_replacement_before_the_first_line_uses_the_new_code_alone() -> None:
    handle = spawn(greeter("hello"))
    handle.replace(greeter("goodbye"))

    assert await handle.until(lambda state: True) == "goodbye 0"
    await handle.dispose()


async def test_what_has_ended_stays_ended() -> None:
    handle = spawn(greeter("hello"))
    await handle.dispose()
    handle.replace(greeter("goodbye"))
    await settle()

    assert handle.status == "disposed"


async def test_disposing_while_it_is_replaced_ends_it() -> None:
    gate = asyncio.Event()
    handle = spawn(greeter("hello", gate))
    handle.cast(1)
    await settle()
    handle.replace(greeter("goodbye"))
    await handle.dispose()

    assert (handle.status, handle.state) == ("disposed", "hello 0")
