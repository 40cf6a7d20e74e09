"""The wire: remote handles over a network with faults, what a host lets be reached, and a real door."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench import Call, Workbench, durable, process
from workbench.endpoints import Wire, connect
from workbench.endpoints.bucket import Bucket
from workbench.endpoints.wire_frames import from_client, from_host, packed, text_of, unpacked
from workbench.endpoints.wire_host import Host
from workbench.endpoints.wire_link import Link
from workbench.endpoints.wire_network import Wires
from workbench.errors import BadInput, CallRefused, LinkError, NotPlain, ProcessEnded

TOKEN = "lab-token-of-a-test"


@process
async def counter(ctx: Any, step: int = 1) -> Any:
    """Counts, fails, ends."""
    kept: list[Any] = []
    state: dict[str, Any] = {"count": 0, "notes": [], "every": timedelta(seconds=step)}
    yield state
    async for message in ctx:
        match message:
            case "end":
                return
            case "fail":
                raise RuntimeError("password=hunter2")
            case Call("count", reply):
                reply(state["count"])
            case Call("never", reply):
                kept.append(reply)
            case note:
                state = {**state, "count": state["count"] + step, "notes": [*state["notes"], note]}
        yield state


@durable(key="order:{id}")
async def order(ctx: Any, id: str) -> Any:
    """Adds up."""
    state = ctx.restored or {"total": 0, "charges": 0}
    yield state
    async for message in ctx:
        match message:
            case Call("charge", reply):
                state = {**state, "charges": state["charges"] + 1}
                reply(state["charges"])
            case {"add": price}:
                state = {**state, "total": state["total"] + price}
        yield state


@pytest.fixture
async def bench() -> AsyncIterator[Workbench]:
    async with Workbench.open(":memory:", counter, order) as bench:
        yield bench


def host(bench: Workbench, **options: Any) -> Host:
    return Host(lambda name, args: bench.lookup(name, **args), lambda: bench.processes, **options)


async def no_pause(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
async def wires(bench: Workbench) -> Wires:
    return Wires(host(bench))


@pytest.fixture
async def link(wires: Wires) -> AsyncIterator[Link]:
    link = Link("the lab", wires.dial, no_pause)
    await link.open()
    yield link
    await link.close()


async def soon(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


async def test_a_remote_handle_is_a_handle_like_any_other(bench: Workbench, link: Link) -> None:
    here, there = bench.lookup(counter, step=2), link.lookup("counter", step=2)
    seen: list[int] = []

    async def watch() -> None:
        seen.extend([state["count"] async for state in there])

    watching = asyncio.create_task(watch())
    await there.until(lambda state: state["count"] == 0)
    await there.cast("a note")
    await here.cast("another")
    await there.until(lambda state: state["count"] == 4)

    assert there.state == here.state == {"count": 4, "notes": ["a note", "another"], "every": timedelta(seconds=2)}
    assert await there.call("count") == 4
    assert (there.status, there.stale, there.error) == ("running", False, None)
    assert link.lookup("counter", step=2) is there
    await there.cast("end")
    await watching
    assert (there.status, seen[-1]) == ("done", 4)
    with pytest.raises(ProcessEnded):
        await there.call("count")
    assert link.lookup("counter", step=2) is not there


async def test_a_durable_call_has_an_id_of_its_caller(bench: Workbench, link: Link) -> None:
    there = link.lookup("order", id="A-1")

    assert [await there.call("charge", id="c-1") for _ in range(3)] == [1, 1, 1]
    with pytest.raises(CallRefused, match="needs an id"):
        await there.call("charge")
    assert await bench.lookup(order, id="A-1").call("charge", id="c-1") == 2
    assert there.details()["elsewhere"] == "the lab"
    window = there.source().view()
    assert (window["name"], window["status"], window["elsewhere"]) == ("order", "running", "the lab")
    assert window["state"] == {"total": 0, "charges": 1}


async def test_while_the_link_is_lost_the_state_stays_and_is_stale(bench: Workbench, wires: Wires, link: Link) -> None:
    here, there = bench.lookup(counter), link.lookup("counter")
    await there.until(lambda state: state["count"] == 0)
    parked = asyncio.ensure_future(there.call("never"))
    await asyncio.sleep(0.01)

    wires.cut()
    with pytest.raises(LinkError, match="which may or may not have happened"):
        await parked
    assert (there.state["count"], there.stale, there.status, link.connected) == (0, True, "running", False)
    with pytest.raises(LinkError, match="the link to the lab is lost; 'counter' was not called"):
        await there.call("count")
    casts = [asyncio.ensure_future(there.cast(f"note {number}")) for number in range(70)]
    await here.cast("meanwhile")
    wires.mend()
    await asyncio.gather(*casts, return_exceptions=True)

    assert [type(cast.exception()) for cast in casts[:6]] == [LinkError] * 6
    await there.until(lambda state: state["count"] == 65)
    assert there.state["notes"] == ["meanwhile", *(f"note {number}" for number in range(6, 70))]
    assert (there.stale, wires.dialled) == (False, 2)


async def test_a_crash_over_there_is_told_without_its_words(link: Link) -> None:
    there = link.lookup("counter")
    waiting = asyncio.ensure_future(there.call("never"))

    await there.cast("fail")
    with pytest.raises(ProcessEnded):
        await waiting
    await soon(lambda: there.status == "crashed")

    assert "hunter2" not in str(there.error)
    assert str(there.error) == "the lab says RuntimeError: RuntimeError, which the host tells its owner"
    assert (there.state["count"], there.stale) == (0, True)


async def test_letting_go_leaves_the_process(bench: Workbench, link: Link) -> None:
    here, there = bench.lookup(counter), link.lookup("counter")
    await there.until(lambda state: state["count"] == 0)

    await there.dispose()
    await soon(lambda: not here.states.watched)

    assert (there.status, here.status) == ("disposed", "running")
    assert (await link.lookup("counter").until(lambda state: True))["count"] == 0


async def test_scope_says_what_is_reached_and_admit_what_is_said(bench: Workbench) -> None:
    def scope(principal: Any, name: str, args: dict[str, Any]) -> Any:
        return (name, {"id": f"{principal.name}-{args['id']}"}) if name == "order" else None

    def admit(principal: Any, name: str, message: Any) -> Any:
        if message == {"add": 13}:
            raise ValueError("password=hunter2")
        return None if message == "charge" else {"add": message["add"] * 2}

    link = Link("the lab", Wires(host(bench, scope=scope, admit=admit)).dial, no_pause)
    await link.open()
    there = link.lookup("order", id="1")

    await there.cast({"add": 5})
    with pytest.raises(BadInput, match="'order' does not take that message from wire:tester"):
        await there.call("charge", id="c")
    with pytest.raises(LinkError, match="says ValueError: ValueError, which the host tells its owner"):
        await there.cast({"add": 13})
    hidden, unknown = link.lookup("counter"), link.lookup("nothing")
    await soon(lambda: hidden.over and unknown.over)
    await link.close()

    assert bench.lookup(order, id="tester-1").state["total"] == 10
    assert str(hidden.error).replace("counter", "nothing") == str(unknown.error)


async def test_watches_and_lookups_are_bounded(bench: Workbench) -> None:
    link = Link("the lab", Wires(host(bench, watches=2)).dial, no_pause)
    await link.open()
    handles = [link.lookup("order", id=str(number)) for number in range(3)]
    await soon(lambda: handles[2].over)
    await handles[0].dispose()
    again = link.lookup("order", id="2")
    await again.until(lambda state: True)
    await link.close()

    assert "watches 2 processes already" in str(handles[2].error)
    bucket = Bucket(rate=1.0, burst=2.0, left=2.0)
    assert [bucket.take(at) for at in (0.0, 0.0, 0.0, 0.5, 1.0, 9.0, 9.0, 9.0)] == [
        True, True, False, False, True, True, True, False,
    ]  # fmt: skip


@given(seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_after_any_partitions_a_remote_handle_converges(seed: int) -> None:
    asyncio.run(_partitions(random.Random(seed)))


async def _partitions(chance: random.Random) -> None:
    async with Workbench.open(":memory:", counter) as bench:
        wires = Wires(host(bench))
        link = Link("the lab", wires.dial, no_pause)
        await link.open()
        here, there = bench.lookup(counter), link.lookup("counter")
        casts = []
        for number in range(30):
            match chance.choice(("cast", "cast", "there", "cut", "stall", "mend", "settle")):
                case "cast":
                    casts.append(asyncio.ensure_future(there.cast(number)))
                case "there":
                    await here.cast(f"host {number}")
                case "cut":
                    wires.cut()
                case "stall":
                    wires.stall()
                case "mend":
                    wires.mend()
                case "settle":
                    await asyncio.sleep(0.001)
        wires.mend()
        outcomes = await asyncio.gather(*casts, return_exceptions=True)
        await soon(lambda: not there.stale and there.state == here.state)
        known = [note for note in here.state["notes"] if isinstance(note, int)]
        assert len(set(known)) == len(known)
        assert known == sorted(known)
        assert sum(1 for outcome in outcomes if isinstance(outcome, int)) <= len(known)
        assert all(isinstance(outcome, int | LinkError) for outcome in outcomes)
        await link.close()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(ref=st.text(), id=st.integers(0, 2**53 - 1), value=values, call_id=st.none() | st.text())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_frames_are_read_as_they_were_written_and_by_their_side_only(
    ref: str, id: int, value: Any, call_id: Any
) -> None:
    try:
        lies = packed(value, "value")
    except NotPlain:  # a lone surrogate
        return
    call = text_of("call", ref=ref, id=id, msg=lies, call_id=call_id)
    reply = text_of("reply", ref=ref, id=id, value=lies)

    assert from_client(call) == {"type": "call", "ref": ref, "id": id, "msg": lies, "call_id": call_id}
    assert unpacked(from_host(reply)["value"]) == value  # type: ignore[index]
    assert (from_host(call), from_client(reply)) == (None, None)


@given(st.text() | st.binary() | values.map(json.dumps) | st.none())
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_no_frame_is_none(anything: Any) -> None:
    assert from_client(anything) is None
    assert from_host(anything) is None


async def test_a_garbled_yield_is_looked_up_anew(bench: Workbench, wires: Wires, link: Link) -> None:
    here, there = bench.lookup(counter), link.lookup("counter")
    await there.until(lambda state: state["count"] == 0)

    link._told(there, {"type": "yield", "ref": there.ref, "patch": [["del", "/nothing/here"]]})
    await here.cast("a note")

    await there.until(lambda state: state["count"] == 1)
    assert there.state == here.state


async def test_over_a_real_door_with_a_token(bench: Workbench) -> None:
    door = await bench.publish(wire=Wire({"lab": TOKEN}))
    remote = await connect(door.url, TOKEN)
    there = remote.lookup("counter")

    await there.cast("hello")
    await there.until(lambda state: state["count"] == 1)
    assert await there.call("count") == 1
    with pytest.raises(LinkError, match="403: it does not accept the token"):
        await connect(door.url, "another-token-of-a-test")
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http:
        schema = (await http.get(f"{door.url}/wire/schema")).json()
    port = door.port
    await door.close()
    await soon(lambda: there.stale)
    again = await bench.publish(wire={"lab": TOKEN}, port=port)
    await bench.lookup(counter).cast("meanwhile")
    await there.until(lambda state: state["count"] == 2)

    assert schema == {"protocol": 3, "names": ["counter", "order"]}
    assert (there.stale, remote.connected) == (False, True)
    assert TOKEN not in repr(remote) + repr(door) + json.dumps(door.configuration)
    await remote.close()
    await again.close()
    with pytest.raises(LinkError, match="is closed; connect again"):
        remote.lookup("counter")
    with pytest.raises(LinkError, match="cannot be reached"):
        await connect(door.url, TOKEN)
