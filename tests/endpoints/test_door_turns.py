"""Doors one after another: two at once, a cancel in between, a bench that closes meanwhile, ports that are taken."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from workbench import Workbench
from workbench.endpoints import publishing
from workbench.errors import BadInput, StoreError

pytestmark = pytest.mark.usefixtures("echoing")
CALLERS = {"desktop": "desktop-token-of-a-test"}
PARTNERS = {"partner": "partner-token-of-a-test"}


@contextmanager
def taken(port: int = 0) -> Iterator[int]:
    """A port on which somebody else listens."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        yield other.getsockname()[1]


@pytest.fixture
def free() -> int:
    with taken() as port:
        return port


async def test_a_publish_that_is_cancelled_at_any_turn_leaves_nothing_listening(bench: Workbench, free: int) -> None:
    cancelled = 0
    for turns in range(24):
        opening = asyncio.ensure_future(bench.publish(mcp=CALLERS, port=free))
        for _ in range(turns):
            await asyncio.sleep(0)
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)

        if opening.cancelled():
            cancelled += 1
        else:  # it was there by then
            await opening.result().close()
        assert list(bench.doors) == []
        with taken(free):
            pass

    assert cancelled > 1


async def test_a_publish_that_is_cancelled_while_it_begins_lets_its_services_go(
    bench: Workbench, free: int, echoing: list[Any]
) -> None:
    opening = asyncio.ensure_future(bench.publish(mcp=CALLERS, port=free))
    while not (echoing and echoing[0].events):
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.gather(opening, return_exceptions=True)

    assert echoing[0].events == ["running", "stopped", "closed"]
    assert (await bench.publish(mcp=CALLERS, port=free)).port == free


async def test_two_that_are_published_at_once_leave_one_door(bench: Workbench, http: httpx.AsyncClient) -> None:
    for _ in range(2):
        first, second = await asyncio.gather(bench.publish(mcp=CALLERS), bench.publish(mcp=CALLERS))

        assert (first.closed, second.port, list(bench.doors)) == (True, first.port, [second])
        assert (await http.get(f"{second.url}/health")).status_code == 200


async def test_a_bench_that_closes_while_a_door_opens_has_no_open_door(free: int) -> None:
    bench = await Workbench.open(":memory:")

    door, _ = await asyncio.gather(bench.publish(mcp=CALLERS, port=free), bench.close())

    assert (door.closed, list(bench.doors)) == (True, [])
    with taken(free):
        pass


async def test_a_door_that_waits_for_its_turn_is_refused_by_a_bench_that_closed(free: int) -> None:
    bench = await Workbench.open(":memory:")

    opened = await asyncio.gather(
        *(bench.publish(mcp=CALLERS, port=free) for _ in range(2)), bench.close(), return_exceptions=True
    )

    assert [type(each) for each in opened[1:]] == [StoreError, type(None)]
    with taken(free):
        pass


async def test_a_close_that_is_cancelled_closes_all_the_same(bench: Workbench, free: int, echoing: list[Any]) -> None:
    door = await bench.publish(mcp=CALLERS, port=free)

    closing = asyncio.ensure_future(door.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await door.close()

    assert echoing[0].events == ["running", "stopped", "closed"]
    with taken(free):
        pass


async def test_a_port_that_is_taken_leaves_the_old_door_open(bench: Workbench, http: httpx.AsyncClient) -> None:
    door = await bench.publish(mcp=CALLERS)

    with taken() as port, pytest.raises(BadInput, match=f"port {port} of 127.0.0.1 cannot be had"):
        await bench.publish(mcp=CALLERS, port=port)
    with pytest.raises(BadInput, match=r"a door cannot listen on '192.0.2.1': .*host is an address of this machine"):
        await bench.publish(mcp=CALLERS, host="192.0.2.1", port=door.port)

    assert (door.closed, list(bench.doors)) == (False, [door])
    assert (await http.get(f"{door.url}/health")).status_code == 200


async def test_the_port_of_last_time_gives_way_to_who_has_it_now(tmp_path: Path) -> None:
    async def published() -> int:
        async with Workbench.open(tmp_path / "agents.db") as bench:
            return (await bench.publish(mcp=CALLERS)).port

    first = await published()
    with taken(first):
        second = await published()
        assert await published() == second
    with taken(second):
        assert await published() == first

    assert len({first, second}) == 2


async def test_a_door_that_is_published_again_keeps_its_port_whatever_another_kernel_took(tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "agents.db") as bench:
        door = await bench.publish(mcp=CALLERS)
        with taken() as other:
            await publishing._remember(bench.store, ["mcp"], other, bench.clock.now())

        assert (await bench.publish(mcp=CALLERS)).port == door.port


async def test_a_door_for_two_is_split_and_each_keeps_its_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(publishing.MODULES, "a2a", "echo_service")

    async with Workbench.open(tmp_path / "agents.db") as bench:
        both = await bench.publish(mcp=CALLERS, a2a=PARTNERS)
        ports = [(await bench.publish(mcp=CALLERS)).port, (await bench.publish(a2a=PARTNERS)).port]
        assert (ports[0], len(set(ports)), len(list(bench.doors))) == (both.port, 2, 2)
    async with Workbench.open(tmp_path / "agents.db") as bench:
        again = [(await bench.publish(mcp=CALLERS)).port, (await bench.publish(a2a=PARTNERS)).port]

    assert again == ports


async def test_a_door_is_opened_on_the_loop_of_its_bench(bench: Workbench) -> None:
    with pytest.raises(BadInput, match="a door is opened on the loop of its bench"):
        await asyncio.to_thread(asyncio.run, bench.publish(mcp=CALLERS))
