"""The mailbox: bounds, skipping to the newest, closing."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from workbench import process, spawn
from workbench.errors import BadInput, CallRefused
from workbench.process.mailbox import Mailbox


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@process
async def recorder(ctx):
    seen: list[int] = []
    yield seen
    async for message in ctx:
        seen.append(message)
        yield seen


def gated(bound: int | None) -> tuple[object, asyncio.Event]:
    gate = asyncio.Event()

    @process(mailbox=bound)
    async def body(ctx):
        seen: list[int] = []
        yield seen
        await gate.wait()
        async for message in ctx:
            seen.append(message if type(message) is int else 0)
            yield seen

    return body, gate


async def test_a_full_mailbox_drops_its_oldest() -> None:
    body, gate = gated(2)
    handle = spawn(body)
    await settle()

    for number in range(1, 6):
        handle.cast(number)
    gate.set()

    assert await handle.until(lambda seen: len(seen) == 2) == [4, 5]
    await handle.dispose()


async def test_a_bound_holds_while_the_body_is_about_to_take() -> None:
    dropped: list[int] = []
    mailbox: Mailbox[int] = Mailbox(2, dropped.append)
    taking = asyncio.ensure_future(mailbox.take())
    await settle()

    for number in range(1, 6):
        mailbox.post(number)

    assert await taking == 1
    assert dropped == [2, 3]
    assert [await mailbox.take(), await mailbox.take()] == [4, 5]


async def test_a_mailbox_of_none_hands_over_to_who_waits() -> None:
    dropped: list[int] = []
    mailbox: Mailbox[int] = Mailbox(0, dropped.append)

    mailbox.post(1)
    taking = asyncio.ensure_future(mailbox.take())
    await settle()
    mailbox.post(2)

    assert (dropped, await taking) == ([1], 2)


async def test_dropping_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    body, gate = gated(1)
    handle = spawn(body)
    await settle()

    with caplog.at_level(logging.WARNING, "workbench"):
        for number in range(5):
            handle.cast(number)

    assert [record.getMessage() for record in caplog.records] == [
        "body dropped its oldest message: its mailbox holds 1"
    ]
    gate.set()
    await handle.dispose()


async def test_a_dropped_call_is_refused_to_its_caller() -> None:
    body, gate = gated(1)
    handle = spawn(body)
    await settle()
    waiting = handle.call({"type": "ask"})

    handle.cast(2)

    with pytest.raises(CallRefused, match="its mailbox holds 1"):
        await waiting
    gate.set()
    assert await handle.until(lambda seen: bool(seen)) == [2]
    await handle.dispose()


async def test_latest_skips_what_a_newer_message_overtook() -> None:
    @process
    async def body(ctx):
        seen: list[int] = []
        yield seen
        async for message in ctx.latest():
            seen.append(message)
            await settle()
            yield seen

    handle = spawn(body)
    await settle()
    handle.cast(1)
    await asyncio.sleep(0)
    for number in (2, 3, 4):
        handle.cast(number)

    assert await handle.until(lambda seen: len(seen) == 2) == [1, 4]
    await handle.dispose()


async def test_a_burst_in_one_turn_is_its_newest() -> None:
    @process
    async def body(ctx):
        yield []
        async for message in ctx.latest():
            yield [message]

    handle = spawn(body)
    await settle()
    for number in range(5):
        handle.cast(number)
    seen = []
    async for state in handle:
        seen.append(state)
        if state == [4]:
            break

    assert seen == [[], [4]]
    await handle.dispose()


async def test_a_call_that_latest_skips_is_refused() -> None:
    @process
    async def body(ctx):
        yield 0
        async for message in ctx.latest():
            yield message

    handle = spawn(body)
    await settle()
    waiting = handle.call({"type": "ask"})
    handle.cast(1)

    with pytest.raises(CallRefused, match="skipped"):
        await waiting
    assert await handle.until(lambda state: state == 1) == 1
    await handle.dispose()


async def test_a_cast_after_the_end_is_dropped() -> None:
    handle = spawn(recorder)
    await handle.until(lambda state: True)
    await handle.dispose()

    assert await handle.cast(1) == 0
    assert (handle.state, handle.pending) == ([], 0)


def test_a_bound_is_a_whole_number() -> None:
    with pytest.raises(BadInput, match="mailbox bound"):
        Mailbox(-1)


async def test_a_taker_that_gives_up_loses_no_message() -> None:
    mailbox: Mailbox[int] = Mailbox()
    taking = asyncio.ensure_future(mailbox.take())
    await settle()
    mailbox.post(1)
    taking.cancel()
    await settle()

    assert await mailbox.take() == 1


async def test_draining_is_linear() -> None:
    async def drain(count: int) -> float:
        mailbox: Mailbox[int] = Mailbox()
        for number in range(count):
            mailbox.post(number)
        began = time.perf_counter()
        for _ in range(count):
            await mailbox.take()
        return time.perf_counter() - began

    assert min([await drain(40_000) for _ in range(3)]) < 16 * min([await drain(10_000) for _ in range(3)])
