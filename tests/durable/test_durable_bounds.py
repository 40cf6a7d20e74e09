"""Bounded mailboxes of durable processes: what is sent above the bound waits for room, or is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from places import Place, until

from workbench import Call, durable
from workbench.errors import BadInput, CallRefused, ProcessEnded


def gated(gate: asyncio.Event, **options: Any) -> Any:
    """A body that records what it handles, each message once the gate is open."""

    @durable(key="gated:{id}", name="gated", **options)
    async def body(ctx, id: str):
        seen = ctx.restored or []
        yield seen
        async for message in ctx:
            await gate.wait()
            if type(message) is Call:
                message.reply(len(seen))
            else:
                seen = [*seen, message]
                yield seen

    return body


async def test_what_is_sent_above_the_bound_waits_for_room_in_order(place: Place) -> None:
    gate = asyncio.Event()
    bench = await place.open(gated(gate, mailbox=2))
    handle = bench.lookup("gated", id="a")
    receipts = [handle.cast(number) for number in range(6)]
    await place.clock.idle()

    assert [repr(receipt) for receipt in receipts] == [
        "<Receipt: in the journal as 1>",
        "<Receipt: in the journal as 2>",
        *["<Receipt: on its way>"] * 4,
    ]
    info = await bench.store.key_info("gated:a")
    assert info.last_seq == 2
    gate.set()

    assert await handle.until(lambda seen: len(seen) == 6) == list(range(6))
    assert [await receipt for receipt in receipts] == [1, 2, 3, 4, 5, 6]


async def test_the_log_never_holds_more_than_the_bound(place: Place) -> None:
    gate, most = asyncio.Event(), []
    gate.set()
    bench = await place.open(gated(gate, mailbox=3))
    handle = bench.lookup("gated", id="a")
    await handle.until(lambda seen: True)
    stop = handle.states.subscribe(lambda: most.append(handle.unacked))

    await asyncio.gather(*(handle.cast(number) for number in range(50)))
    assert await handle.until(lambda seen: len(seen) == 50) == list(range(50))
    stop()

    assert max(most) <= 3


async def test_a_full_mailbox_may_refuse(place: Place) -> None:
    gate = asyncio.Event()
    bench = await place.open(gated(gate, mailbox=2, full="refuse"))
    handle = bench.lookup("gated", id="a")
    handle.cast(1)
    handle.cast(2)
    with pytest.raises(CallRefused, match="'gated:a' has 2 messages that wait, as many as it may") as caught:
        handle.cast(3)  # before it lives
    assert caught.value.key == "gated:a"
    await place.clock.idle()
    with pytest.raises(CallRefused):
        handle.cast(3)
    with pytest.raises(CallRefused):
        handle.call("ask", id="1")
    gate.set()
    await handle.until(lambda seen: seen == [1, 2])
    await until(lambda: handle.unacked == 0)

    handle.cast(4)
    assert await handle.until(lambda seen: len(seen) == 3) == [1, 2, 4]


async def test_calls_wait_for_room_behind_casts(place: Place) -> None:
    gate = asyncio.Event()
    bench = await place.open(gated(gate, mailbox=1))
    handle = bench.lookup("gated", id="a")
    handle.cast("a")
    handle.cast("b")
    answer = handle.call("how many", id="1")
    handle.cast("c")
    await place.clock.idle()
    gate.set()

    assert await answer == 2
    assert await handle.until(lambda seen: len(seen) == 3) == ["a", "b", "c"]


async def test_a_body_casts_to_itself_above_the_bound(place: Place) -> None:
    @durable(key="loop:{id}", name="loop", mailbox=1)
    async def loop(ctx, id: str):
        yield ctx.restored or 0
        async for left in ctx:
            if left:
                ctx.cast(left - 1)
                ctx.cast(0)
            yield left or "done"

    bench = await place.open(loop)
    handle = bench.lookup(loop, id="a")
    handle.cast(3)

    assert await asyncio.wait_for(handle.until(lambda state: state == "done"), 20) == "done"


async def test_what_waits_for_room_hears_of_the_end(place: Place) -> None:
    gate = asyncio.Event()
    bench = await place.open(gated(gate, mailbox=1))
    handle = bench.lookup("gated", id="a")
    first, second = handle.cast(1), handle.cast(2)
    await first
    await handle.kill()

    with pytest.raises(ProcessEnded, match="send it again"):
        await second


async def test_what_waits_for_room_outlives_a_replacement(place: Place) -> None:
    gate = asyncio.Event()
    bench = await place.open(gated(gate, mailbox=1))
    handle = bench.lookup("gated", id="a")
    receipts = [handle.cast(number) for number in range(4)]
    await receipts[0]

    @durable(key="gated:{id}", name="gated", mailbox=1)
    async def other(ctx, id: str):
        seen = ctx.restored or []
        yield seen
        async for message in ctx:
            seen = [*seen, -message]
            yield seen

    bench.add(other)
    await place.clock.idle()
    gate.set()

    assert await handle.until(lambda seen: len(seen) == 4) == [0, -1, -2, -3]
    assert [await receipt for receipt in receipts] == [1, 2, 3, 4]


@pytest.mark.parametrize("options", [{"mailbox": 0}, {"mailbox": -1}, {"full": "drop"}], ids=str)
def test_a_bound_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="mailbox"):
        gated(asyncio.Event(), **options)


async def test_a_call_that_is_known_is_answered_however_full_it_is(place: Place) -> None:
    gate = asyncio.Event()
    gate.set()
    bench = await place.open(gated(gate, mailbox=2, full="refuse"))
    handle = bench.lookup("gated", id="a")
    assert await handle.call("ask", id="1") == 0
    gate.clear()
    handle.cast(1)
    open_call = handle.call("ask", id="2")

    assert await handle.call("ask", id="1") == 0
    again = handle.call("ask", id="2")
    gate.set()

    assert [await open_call, await again] == [1, 1]


@pytest.mark.parametrize("full", ["wait", "refuse"])
async def test_what_other_kernels_send_is_bounded_too(place: Place, full: str) -> None:
    gate = asyncio.Event()
    owner = await place.open(gated(gate, mailbox=2, full=full))
    await owner.lookup("gated", id="a").until(lambda seen: True)
    other = await place.open(gated(gate, mailbox=2, full=full))
    there = other.lookup("gated", id="a")
    await until(lambda: there.elsewhere)
    await there.cast(1)
    await there.cast(2)
    third, fourth = there.cast(3), there.call("ask", id="4")
    await place.clock.idle()

    if full == "refuse":
        for refused in (third, fourth):
            with pytest.raises(CallRefused, match="'gated:a' has 2 messages that wait, as many as it may"):
                await refused
        gate.set()
        await until(lambda: there.state == [1, 2])
    else:
        gate.set()
        assert await fourth == 3
        assert await third > 0
        assert there.state == [1, 2, 3]
