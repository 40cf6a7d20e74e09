"""Supervision of durable bodies: restarts outside any message, back-off, and what the handle shows of them."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from places import Place

from workbench import durable
from workbench.errors import DeadLettered, ProcessEnded
from workbench.process.crashes import Crash, observe_crashes


def fragile(began: list[int], bad: int, **options: Any) -> Any:
    """A body whose first `bad` lives fail before any message."""

    @durable(key="fragile:{id}", name="fragile", **options)
    async def body(ctx, id: str):
        began.append(1)
        total = ctx.restored or 0
        yield total
        if len(began) <= bad:
            raise ValueError("broken on purpose")
        async for message in ctx:
            total += message
            yield total

    return body


async def test_a_body_that_fails_outside_any_message_begins_again_after_the_wait(place: Place) -> None:
    began: list[int] = []
    bench = await place.open(fragile(began, 2, restart="on-crash", backoff=4, window=60))
    handle = bench.lookup("fragile", id="a")
    receipt = handle.cast(5)
    await place.clock.idle()

    assert (len(began), handle.status, handle.stale, handle.working) == (1, "restarting", True, True)
    assert (handle.restarts.spent, handle.restarts.next_at) == (1, place.clock.now() + 4)
    await place.clock.advance(4)
    assert (len(began), handle.restarts.spent, handle.restarts.next_at) == (2, 2, place.clock.now() + 8)
    await place.clock.advance(8)

    assert await handle.until(lambda total: total == 5) == 5
    assert await receipt == 1
    assert (len(began), handle.status, handle.error) == (3, "running", None)
    assert await bench.store.dead("fragile:a") == []


async def test_what_is_sent_while_it_waits_lands_in_order(place: Place) -> None:
    began: list[int] = []
    bench = await place.open(fragile(began, 1, restart="on-crash", backoff=4))
    handle = bench.lookup("fragile", id="a")
    await place.clock.idle()

    receipts = [handle.cast(number) for number in (1, 2, 3)]
    await place.clock.advance(4)

    assert [await receipt for receipt in receipts] == [1, 2, 3]
    assert await handle.until(lambda total: total == 6) == 6


async def test_a_caller_hears_that_the_key_was_taken_while_it_waited(place: Place) -> None:
    began: list[int] = []
    one = await place.open(fragile(began, 1, restart="on-crash", backoff=40))
    handle = one.lookup("fragile", id="a")
    call = handle.call(5, id="1")
    await place.clock.idle()
    assert handle.status == "restarting"

    two = await place.open()
    assert await two.store.claim("fragile:a", force=True) is None
    await place.clock.advance(40)

    with pytest.raises(ProcessEnded, match="call again with the same id"):
        await asyncio.wait_for(call, 20)


async def test_a_spent_budget_of_restarts_is_a_crash_that_says_so(place: Place) -> None:
    began: list[int] = []
    bench = await place.open(fragile(began, 9, restart="on-crash", max_restarts=2, window=60))
    handle = bench.lookup("fragile", id="a")

    with pytest.raises(ProcessEnded):
        await handle.until(lambda total: total == 1)

    assert (len(began), handle.status, handle.restarts.left) == (3, "crashed", 0)
    assert handle.error is not None
    assert handle.error.__notes__ == ["'fragile:a' has spent 2 restarts in 60 s, and does not begin again by itself"]


async def test_without_a_restart_policy_the_first_failure_is_the_last(place: Place) -> None:
    began: list[int] = []
    bench = await place.open(fragile(began, 9))
    handle = bench.lookup("fragile", id="a")

    with pytest.raises(ProcessEnded):
        await handle.until(lambda total: total == 1)

    assert (len(began), handle.status) == (1, "crashed")


async def test_a_lookup_begins_a_spent_body_again(place: Place) -> None:
    began: list[int] = []
    bench = await place.open(fragile(began, 1))
    with pytest.raises(ProcessEnded):
        await bench.lookup("fragile", id="a").until(lambda total: total == 1)

    handle = bench.lookup("fragile", id="a")
    handle.cast(1)

    assert await handle.until(lambda total: total == 1) == 1


def poisoned(tries: list[int], bad: int, **options: Any) -> Any:
    @durable(key="poisoned:{id}", name="poisoned", **options)
    async def body(ctx, id: str):
        total = ctx.restored or 0
        yield total
        async for message in ctx:
            if message == "poison":
                tries.append(1)
                if len(tries) <= bad:
                    raise ValueError("broken on purpose")
                total += 100
            elif type(message) is int:
                total += message
            yield total

    return body


async def test_a_failed_message_is_tried_again_after_the_wait(place: Place) -> None:
    tries: list[int] = []
    bench = await place.open(poisoned(tries, 2, backoff=10))
    handle = bench.lookup("poisoned", id="a")
    handle.cast("poison")
    handle.cast(1)
    await place.clock.idle()

    assert (len(tries), handle.status, handle.attempts) == (1, "restarting", 1)
    await place.clock.advance(9)
    assert len(tries) == 1
    await place.clock.advance(1)
    assert (len(tries), handle.attempts) == (2, 2)
    await place.clock.advance(20)

    assert await handle.until(lambda total: total == 101) == 101
    assert (len(tries), handle.attempts, handle.restarts.spent) == (3, 0, 0)


async def test_after_a_dead_letter_there_is_no_wait(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    tries: list[int] = []
    bench = await place.open(poisoned(tries, 9, backoff=10, max_attempts=2))
    handle = bench.lookup("poisoned", id="a")
    with caplog.at_level(logging.CRITICAL, "workbench"):
        handle.cast("poison")
        handle.cast(1)
        await place.clock.idle()
        await place.clock.advance(10)

    assert await handle.until(lambda total: total == 1) == 1
    assert (len(tries), handle.attempts) == (2, 0)
    assert [letter.message for letter in await bench.store.dead("poisoned:a")] == ['"poison"']


async def test_a_call_waits_out_the_back_off_of_its_message(place: Place) -> None:
    @durable(key="desk:{id}", name="desk", max_attempts=2, backoff=10)
    async def desk(ctx, id: str):
        yield 0
        async for _ in ctx:
            raise ValueError("broken on purpose")

    bench = await place.open(desk)
    answer = bench.lookup(desk, id="a").call("ask", id="1")
    await place.clock.idle()
    assert not answer.done()
    await place.clock.advance(10)

    with pytest.raises(DeadLettered, match="broken on purpose"):
        await answer


@pytest.mark.parametrize("verb", ["kill", "dispose"])
async def test_what_ends_while_it_waits_ends_at_once(place: Place, verb: str) -> None:
    tries: list[int] = []
    bench = await place.open(poisoned(tries, 1, backoff=1000))
    handle = bench.lookup("poisoned", id="a")
    await handle.cast("poison")
    await place.clock.idle()
    assert handle.status == "restarting"

    await getattr(handle, verb)()
    assert handle.status == "disposed"
    bench.lookup("poisoned", id="a")
    await place.clock.advance(999)
    assert len(tries) == 1
    await place.clock.advance(1)

    assert await handle.until(lambda total: total == 100) == 100
    assert len(tries) == 2


async def test_observers_hear_of_durable_crashes(place: Place) -> None:
    heard: list[Crash] = []
    stop = observe_crashes(heard.append)
    bench = await place.open(fragile([], 9, restart="on-crash", max_restarts=1), poisoned([], 1))
    with pytest.raises(ProcessEnded):
        await bench.lookup("fragile", id="a").until(lambda total: total == 1)
    handle = bench.lookup("poisoned", id="a")
    handle.cast("poison")
    await handle.until(lambda total: total == 100)
    stop()

    assert [(crash.name, crash.again) for crash in heard] == [
        ("fragile:a", True),
        ("fragile:a", False),
        ("poisoned:a", True),
    ]


async def test_the_handle_shows_the_next_wake(place: Place) -> None:
    @durable(key="sleeper:{id}", name="sleeper")
    async def sleeper(ctx, id: str):
        yield "up"
        async for _ in ctx:
            await ctx.sleep("nap", 500)
            yield "woken"

    bench = await place.open(sleeper)
    handle = bench.lookup(sleeper, id="a")
    began = place.clock.now()
    await handle.cast("sleep")
    await place.clock.idle()

    assert handle.next_wake == began + 500
    assert handle.working
    await place.clock.advance(500)
    assert (handle.state, handle.next_wake, handle.working) == ("woken", None, False)
