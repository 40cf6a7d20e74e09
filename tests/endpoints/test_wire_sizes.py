"""What goes over the wire at a real door: states and answers of any size, half characters, and what is too large."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from websockets.asyncio.client import connect as dial

from workbench import Call, Workbench, process
from workbench.agents.context import Principal
from workbench.door import Door
from workbench.endpoints import connect, wire
from workbench.endpoints.wire_frames import FROM_CLIENT, REVISION, text_of
from workbench.endpoints.wire_host import Host, Session, lookups
from workbench.endpoints.wire_link import Link
from workbench.errors import BadInput, ProcessEnded

TOKEN = "lab-token-of-a-test"
MIB = 1024 * 1024
HALF = "\ud800"


@process
async def heap(ctx: Any, n: int = 0, size: int = 1, sort: str = "x") -> Any:
    """A state of so many characters, which is given and changed when it is asked for."""
    yield {"n": n, "text": sort * size}
    async for message in ctx:
        match message:
            case Call(["give", asked], reply):
                reply(sort * asked)
            case Call(["length", text], reply):
                reply(len(text))
            case Call("again", reply):
                reply(n)
                yield {"n": n, "text": sort * size + "!"}
            case _:
                yield {"n": n, "text": message}


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with Workbench.open(":memory:", heap) as bench:
        yield await bench.publish(wire={"lab": TOKEN})


@pytest.fixture
async def remote(door: Door) -> AsyncIterator[Link]:
    link = await connect(door.url, TOKEN)
    yield link
    await link.close()


def dials(door: Door) -> int:
    return len(door.calls)


@pytest.mark.parametrize(("count", "size"), [(1, 20 * MIB), (3, 9 * MIB), (400, 50_000)])
async def test_states_of_any_size_and_number_come_over_one_link(
    door: Door, remote: Link, count: int, size: int
) -> None:
    handles = [remote.lookup("heap", n=n, size=size) for n in range(count)]

    async with asyncio.timeout(60):
        states = await asyncio.gather(*(handle.until(lambda state: True) for handle in handles))

    assert [len(state["text"]) for state in states] == count * [size]
    assert dials(door) == 1


async def test_states_wait_their_turn_while_a_client_reads_slowly() -> None:
    async with Workbench.open(":memory:", heap) as bench:
        on_their_way: list[str] = []
        read = asyncio.Event()

        async def send(text: str) -> None:
            on_their_way.append(text)
            await read.wait()

        host = Host(lambda name, args: bench.lookup(name, **args), lambda: bench.processes)
        session = Session(host, Principal("tester", "wire"), lookups(), send)
        for n in range(5):
            session.receive(text_of("lookup", ref=f"r{n}", name="heap", v=REVISION, args={"n": n}))
        for _ in range(200):
            await asyncio.sleep(0)
        unread = len(on_their_way)
        read.set()
        for n in range(5):
            await bench.lookup("heap", n=n).until(lambda state: True)
        for _ in range(200):
            await asyncio.sleep(0)
        session.close()

    states = [frame["ref"] for frame in map(json.loads, on_their_way) if frame["type"] == "yield"]
    assert (unread, sorted(states)) == (1, ["r0", "r1", "r2", "r3", "r4"])


async def test_answers_larger_than_eight_mebibytes_come_over_one_link(door: Door, remote: Link) -> None:
    small, large = remote.lookup("heap"), remote.lookup("heap", n=1)

    async with asyncio.timeout(60):
        answers = await asyncio.gather(*(large.call(["give", 9 * MIB]) for _ in range(3)), small.call(["give", 3]))

    assert [len(answer) for answer in answers] == [9 * MIB, 9 * MIB, 9 * MIB, 3]
    assert dials(door) == 1


async def test_a_message_larger_than_a_host_takes_is_refused_before_it_is_sent(door: Door, remote: Link) -> None:
    handle, text = remote.lookup("heap"), "x" * FROM_CLIENT

    with pytest.raises(BadInput, match=r"the message to 'heap' is 1,048,6\d\d bytes .* more than the 1,048,576 that"):
        handle.call(["length", text])
    with pytest.raises(BadInput, match="the message to 'heap'"):
        handle.cast(text)
    with pytest.raises(BadInput, match="the message to 'heap'"):
        handle.call("again", id=text)
    with pytest.raises(BadInput, match="the lookup of 'heap'"):
        remote.lookup("heap", n=1, sort=text)

    assert await handle.call(["length", text[:-200]]) == len(text) - 200
    assert await handle.call(["length", "é" * 500_000]) == 500_000
    assert dials(door) == 1


async def test_what_is_too_large_is_refused_while_the_link_is_lost_too(door: Door) -> None:
    remote = await connect(door.url, TOKEN)
    handle = remote.lookup("heap")
    await handle.until(lambda state: True)
    await door.close()
    async with asyncio.timeout(10):
        while remote.connected:
            await asyncio.sleep(0.001)

    with pytest.raises(BadInput, match="the message to 'heap'"):
        handle.cast("x" * FROM_CLIENT)
    handle.cast("waits")
    await remote.close()


async def test_what_can_never_come_is_refused_to_who_asked_and_the_link_stays(
    door: Door, remote: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.endpoints.wire_host.FROM_HOST", 100_000)
    fits, large = remote.lookup("heap"), remote.lookup("heap", n=1, size=200_000)

    with pytest.raises(
        BadInput, match=r"the answer of 'heap' is 200,0\d\d bytes .* more than the 100,000 that it takes"
    ):
        await fits.call(["give", 200_000])
    with pytest.raises(ProcessEnded):
        await large.until(lambda state: True)
    await fits.call("again")

    assert str(large.error).startswith("the state of 'heap' is 200,0")
    assert (fits.status, dials(door)) == ("running", 1)


async def test_half_of_a_character_goes_over_the_wire_and_back(door: Door, remote: Link) -> None:
    handle = remote.lookup("heap", sort=HALF, size=2)

    async with asyncio.timeout(20):
        await handle.until(lambda state: state["text"] == 2 * HALF)
        assert await handle.call(["give", 3]) == 3 * HALF
        assert await handle.call(["length", f"é{HALF}"]) == 2
        await handle.cast(f"é{HALF}")
        await handle.until(lambda state: state["text"] == f"é{HALF}")
    assert dials(door) == 1


async def test_who_leaves_too_much_unread_is_cut_off_and_one_large_frame_is_not_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "UNREAD", 10)
    outbox = wire._Outbox()
    monkeypatch.setattr(wire, "ROOM", 5)

    putting = [asyncio.ensure_future(outbox.put(text)) for text in ("x" * 100, "y", "z")]
    await asyncio.wait(putting[1:], timeout=0)
    told = [await outbox.get(), await outbox.get()]

    assert told == ["x" * 100, None]
    outbox.close()
    await asyncio.wait(putting)


@pytest.mark.parametrize("odd", ["NaN", "1e999", '{"$":"timedelta","v":"x"}', '{"$":"unheard of","v":1}'])
async def test_a_message_that_is_no_value_is_refused_and_the_next_one_heard(door: Door, odd: str) -> None:
    address = door.url.replace("http", "ws", 1) + "/wire"
    calling = '{"type":"call","ref":"r","id":1,"call_id":null,"msg":["give",' + odd + "]}"
    async with dial(address, additional_headers={"Authorization": f"Bearer {TOKEN}"}, proxy=None) as socket:
        for frame in (
            text_of("lookup", ref="r", name="heap", v=REVISION, args={}),
            calling,
            text_of("call", ref="r", id=2, call_id=None, msg=["length", "ab"]),
        ):
            await socket.send(frame)
        told: dict[int, Any] = {}
        async with asyncio.timeout(10):
            while 2 not in told:
                frame = json.loads(await socket.recv())
                told[frame.get("id")] = frame

    assert (told[1]["error"]["type"], told[2]["value"]) == ("BadInput", 2)
