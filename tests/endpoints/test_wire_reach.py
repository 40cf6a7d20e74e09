"""What a caller of the wire reaches of processes that live in other kernels, and from which moment on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from workbench import Call, Workbench, durable, process
from workbench.endpoints import connect
from workbench.errors import ProcessEnded

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
