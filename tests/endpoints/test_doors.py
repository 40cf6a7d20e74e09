"""Doors: opened, replaced, closed, and opened again where they were."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from workbench import Workbench
from workbench.door import Limits
from workbench.endpoints import Wire
from workbench.endpoints.front import listening
from workbench.errors import BadInput, StoreError

pytestmark = pytest.mark.usefixtures("echoing")
CALLERS = {"desktop": "desktop-token-of-a-test"}
BEARER = {"Authorization": f"Bearer {CALLERS['desktop']}"}


async def test_a_door_says_what_it_is_and_who_called_it(bench: Workbench, http: httpx.AsyncClient) -> None:
    door = await bench.publish(mcp=CALLERS)

    await http.post(f"{door.url}/mcp/ask_support", headers=BEARER)

    assert repr(door) == f"<Door http://127.0.0.1:{door.port}: mcp for desktop>"
    assert [(visit.caller, visit.what, visit.run) for visit in door.calls] == [("mcp:desktop", "ask_support", "")]
    assert door.configuration == {
        "curl": f'curl -H "Authorization: Bearer ${{WORKBENCH_TOKEN}}" http://127.0.0.1:{door.port}/mcp'
    }
    assert list(bench.doors) == [door]


async def test_nothing_listens_unless_it_is_asked_for(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_MCP_CALLERS_DESKTOP", CALLERS["desktop"])

    with pytest.raises(BadInput, match="a door serves what it is told to, and nothing was"):
        await bench.publish()

    assert list(bench.doors) == []
    assert [thread.name for thread in threading.enumerate() if "door" in thread.name] == []


async def test_a_busy_cell_does_not_make_a_door_look_dead(bench: Workbench) -> None:
    door = await bench.publish(mcp=CALLERS)

    def health() -> float:
        began = time.monotonic()
        assert httpx.get(f"{door.url}/health", timeout=10).json() == {"status": "ok"}
        return time.monotonic() - began

    asking = asyncio.get_running_loop().run_in_executor(None, health)
    time.sleep(1.0)  # noqa: ASYNC251 - the busy cell

    assert await asking < 0.9


async def test_running_the_cell_again_replaces_the_door_on_its_port(
    bench: Workbench, http: httpx.AsyncClient, echoing: list[Any]
) -> None:
    handler = signal.getsignal(signal.SIGINT)
    first = await bench.publish(mcp=CALLERS)
    again = [await bench.publish(mcp={"desktop": "another-token-of-a-test"}) for _ in range(3)][-1]

    assert (first.closed, again.port, list(bench.doors)) == (True, first.port, [again])
    assert [one.events for one in echoing] == [["running", "stopped", "closed"]] * 3 + [["running"]]
    assert (await http.post(f"{again.url}/mcp", headers=BEARER)).status_code == 401
    assert len([thread for thread in threading.enumerate() if thread.name == f"door on port {again.port}"]) == 1
    assert signal.getsignal(signal.SIGINT) is handler


async def test_what_cannot_be_published_leaves_the_old_door_open(bench: Workbench, http: httpx.AsyncClient) -> None:
    door = await bench.publish(mcp=CALLERS)

    with pytest.raises(BadInput, match="has 5 characters, at least 16 are needed"):
        await bench.publish(mcp={"desktop": "short"})

    assert (await http.post(f"{door.url}/mcp", headers=BEARER)).status_code == 200


async def test_a_door_opens_again_on_its_port_after_a_restart(tmp_path: Path) -> None:
    ports = []
    for _ in range(2):
        async with Workbench.open(tmp_path / "agents.db") as bench:
            ports.append((await bench.publish(mcp=CALLERS)).port)

    assert ports[0] == ports[1]


async def test_a_used_port_is_named(bench: Workbench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(BadInput, match=rf"port {port} of 127.0.0.1 cannot be had: Address already in use"):
            await bench.publish(mcp=CALLERS, port=port)

    assert (await bench.publish(mcp=CALLERS, port=port)).port == port


async def test_stopping_with_open_streams_takes_less_than_half_a_second(
    bench: Workbench, http: httpx.AsyncClient, echoing: list[Any]
) -> None:
    door = await bench.publish(mcp=CALLERS)

    async with http.stream("GET", f"{door.url}/mcp/stream", headers=BEARER) as stream:
        lines = stream.aiter_lines()
        assert await anext(lines) == "data: hello"
        began = time.monotonic()
        await door.close()
        took = time.monotonic() - began
        assert [line async for line in lines] == [""]

    assert took < 0.5
    assert echoing[0].events == ["running", "stopped", "closed"]
    assert echoing[0].reception.closing
    with pytest.raises(httpx.ConnectError):
        await http.get(f"{door.url}/health")
    await door.close()


async def test_a_bench_that_closes_closes_its_doors() -> None:
    async with Workbench.open(":memory:") as bench:
        door = await bench.publish(mcp=CALLERS)

    assert door.closed
    assert repr(door).endswith(": closed>")
    with pytest.raises(StoreError, match="is closed"):
        await bench.publish(mcp=CALLERS)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mcp": {}}, "nobody could call"),
        ({"mcp": True}, "no variable WORKBENCH_MCP_CALLERS_NAME is set"),
        ({"mcp": {"desktop": 7}}, "the token of mcp caller 'desktop' is a text, found int"),
        ({"mcp": {"desktop": "with spaces in the token"}}, "characters that no header carries"),
        ({"mcp": {"de:sk": "a" * 16}}, "is named by letters, digits"),
        ({"mcp": {"a": "a" * 16, "b": "a" * 16}}, "two callers of mcp have the same token"),
        ({"mcp": "a" * 16}, "takes tokens by the caller's name"),
        ({"mcp": CALLERS, "port": 70_000}, "port is a whole number from 0"),
        ({"mcp": CALLERS, "host": "0.0.0.0"}, "give public_url="),
        ({"mcp": CALLERS, "host": ""}, "host is an address of this machine"),
        ({"mcp": CALLERS, "host": "no.such.host.invalid"}, "a door cannot listen on"),
        ({"mcp": CALLERS, "public_url": "hub"}, "public_url is where others reach the door"),
        ({"mcp": CALLERS, "public_url": "http://hub:99999"}, "public_url is where others reach the door"),
        ({"mcp": CALLERS, "public_url": "http://hub/?token=x"}, "public_url is where others reach the door"),
        ({"mcp": CALLERS, "public_url": "http://me:secret@hub"}, "public_url is where .*, found 'http://…@hub'$"),
        ({"mcp": CALLERS, "approvals": "ask"}, "approvals is 'decline' or 'wait'"),
        ({"mcp": CALLERS, "default_agent": 5}, "default_agent is a text of at least one character, found 5"),
        ({"mcp": CALLERS, "limits": 0}, r"limits are given as workbench.door.Limits\(in_flight=…\), found 0"),
        ({"mcp": CALLERS, "limits": {"body": 1}}, "limits are given as"),
        ({"mcp": CALLERS, "middleware": 5}, "middleware are given as a list"),
        ({"mcp": CALLERS, "middleware": None}, "middleware are given as a list"),
        ({"mcp": CALLERS, "middleware": [7]}, "middleware takes functions of an ASGI app"),
        ({"mcp": CALLERS, "middleware": [int]}, "middleware <class 'int'> takes no ASGI app: TypeError: int"),
        ({"mcp": CALLERS, "middleware": [str]}, "middleware <class 'str'> gives an ASGI app, found '<"),
    ],
)
async def test_what_cannot_be_is_refused_by_what_it_is_for(
    bench: Workbench, given: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match=words):
        await bench.publish(**given)

    assert list(bench.doors) == []


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Limits(in_flight=0), "in_flight of Limits is a whole number from 1, found 0"),
        (lambda: Limits(burst=1.5), "burst of Limits is a whole number from 1, found 1.5"),  # type: ignore[arg-type]
        (lambda: Limits(sessions=-1), "sessions of Limits is a whole number from 0, found -1"),
        (lambda: Limits(body=True), "body of Limits is a whole number from 1, found True"),
        (lambda: Limits(rate="x"), "rate of Limits is a number of requests a second"),  # type: ignore[arg-type]
        (lambda: Limits(rate=float("nan")), "rate of Limits is a number of requests a second"),
        (lambda: Limits(rate=float("inf")), "rate of Limits is a number of requests a second"),
        (lambda: Wire(5), "Wire takes tokens by the caller's name, found int"),  # type: ignore[arg-type]
        (lambda: Wire("abc"), "Wire takes tokens by the caller's name, found str"),  # type: ignore[arg-type]
        (lambda: Wire(CALLERS, scope="x"), "scope of Wire is a function"),  # type: ignore[arg-type]
        (lambda: Wire(CALLERS, admit=5), "admit of Wire is a function"),  # type: ignore[arg-type]
        (lambda: Wire(CALLERS, watches=0), "watches of Wire is a whole number from 1, found 0"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_when_it_is_made(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        make()


async def test_callers_come_from_the_environment_in_lower_case(
    bench: Workbench, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_MCP_CALLERS_MY_DESKTOP", CALLERS["desktop"])
    monkeypatch.setenv("WORKBENCH_A2A_CALLERS_PARTNER", "a" * 16)

    door = await bench.publish(mcp=True)

    assert door.callers == {"mcp": ["my_desktop"]}
    assert (await http.post(f"{door.url}/mcp", headers=BEARER)).json()["caller"] == "mcp:my_desktop"


def test_a_listening_socket_names_its_protocol_so_that_answers_are_not_held_back() -> None:
    with listening("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP  # asyncio sets TCP_NODELAY only then
