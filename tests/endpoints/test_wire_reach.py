"""What a caller of the wire reaches of processes that live in other kernels, and from which moment on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from workbench import Call, Workbench, durable, process
from workbench.endpoints import connect
from workbench.errors import BadInput, LinkError, ProcessEnded

TOKEN = "lab-token-of-a-test"


@process
async def counter(ctx: Any) -> Any:
    """Tells how long a text is."""
    yield {"count": 0}
    async for message in ctx:
        match message:
            case Call(["length", text], reply):
                reply(len(text))
        yield {"count": 0}


@durable(key="order:{id}")
async def order(ctx: Any, id: str) -> Any:
    """Adds up."""
    state = ctx.restored or {"total": 0}
    yield state
    async for message in ctx:
        state = {"total": state["total"] + message}
        yield state


@pytest.fixture
async def bench() -> AsyncIterator[Workbench]:
    async with Workbench.open(":memory:", counter) as bench:
        yield bench


async def test_a_caller_does_not_move_a_process_here(tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "agents.db", order) as bench:
        door = await bench.publish(wire={"lab": TOKEN})
        remote = await connect(door.url, TOKEN)

        moved = remote.lookup("order", id="A-1", take=True)
        with pytest.raises(ProcessEnded):
            await moved.until(lambda state: True)

        assert str(moved.error) == "'order' is not moved over the wire; look it up without take="
        assert [key for key, *_ in bench.keys()] == []
        await remote.close()


async def test_a_link_stands_from_the_moment_that_it_is_given(bench: Workbench) -> None:
    door = await bench.publish(wire={"lab": TOKEN})
    remote = await connect(door.url, TOKEN)

    length = remote.lookup("counter").call(["length", "abc"])

    assert remote.connected
    assert await length == 3
    await remote.close()


async def test_a_link_that_is_closed_at_once_leaves_nothing_open(bench: Workbench) -> None:
    door = await bench.publish(wire={"lab": TOKEN})

    remote = await connect(door.url, TOKEN)
    await remote.close()

    async with asyncio.timeout(5):
        while door.connected:
            await asyncio.sleep(0.001)
    assert not remote.connected


@pytest.mark.parametrize("url", ["ftp://a", "a", None, "http://a:99999", "http://a:x", "http://a..b", "http://a b"])
async def test_a_door_that_cannot_be_is_refused(url: Any) -> None:
    with pytest.raises(BadInput, match=r"the url of a door begins with .*, and has a host and port that can be"):
        await connect(url, TOKEN)


@pytest.mark.parametrize("token", ["", "\n", "é" * 20, 5, None])
async def test_a_token_that_no_header_carries_is_refused_and_not_shown(token: Any) -> None:
    with pytest.raises(BadInput, match="token is the text that the door's owner gave you, found one that"):
        await connect("http://127.0.0.1:1", token)


async def test_a_login_in_the_url_of_a_door_is_refused_and_not_shown() -> None:
    with pytest.raises(BadInput, match=r"a door asks for no login but the token; give the url of 'a' without"):
        await connect("http://me:secret@a/", TOKEN)


@pytest.mark.parametrize("place", ["https://127.0.0.1/login", "ws://127.0.0.1:99999/", "ws://me@127.0.0.1/", "ws://"])
async def test_a_redirect_to_where_no_door_can_be_is_a_link_that_cannot_be_had(place: str) -> None:
    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(redirect, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(LinkError, match=f"ws://127.0.0.1:{port}/wire cannot be reached: "):
            await connect(f"http://127.0.0.1:{port}", TOKEN)
