"""Ends that what is ended does not want: threads that block and bodies that swallow; nothing waits for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from workbench import Workbench, durable
from workbench.durable import residence
from workbench.errors import ProcessEnded

PATIENCE = 20.0


@pytest.fixture
async def bench() -> AsyncIterator[Workbench]:
    """A bench in memory."""
    bench = await Workbench.open(":memory:")
    yield bench
    async with asyncio.timeout(PATIENCE):
        await bench.close()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What a blocked thread waits for; opened at the end in any case."""
    gate = threading.Event()
    yield gate
    gate.set()


def blocker(gate: threading.Event, entered: asyncio.Event) -> Any:
    """A process whose step blocks its thread."""
    loop = asyncio.get_running_loop()

    def block() -> None:
        loop.call_soon_threadsafe(entered.set)
        gate.wait(PATIENCE)

    @durable(key="blocked")
    async def blocked(ctx: Any) -> Any:
        async for _ in ctx:
            yield await ctx.step("block", block) or "through"

    return blocked


async def killed_in_a_thread(bench: Workbench, gate: threading.Event) -> Any:
    """The handle of a process that was killed while its step blocked a thread."""
    entered = asyncio.Event()
    handle = bench.lookup(blocker(gate, entered))
    await handle.cast("go")
    await entered.wait()
    await handle.kill()
    return handle


@pytest.mark.parametrize("end", ["kill", "close"])
async def test_an_end_reaches_a_recovery_that_waits_for_a_thread(
    end: str, bench: Workbench, gate: threading.Event
) -> None:
    handle = await killed_in_a_thread(bench, gate)
    recovering = asyncio.ensure_future(handle.recover())
    await asyncio.sleep(0)

    await (handle.kill() if end == "kill" else bench.close())

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ProcessEnded, match="told to end"):
            await recovering
    assert handle.status == "disposed"


async def test_going_on_beside_a_thread_frees_who_waits_for_it(bench: Workbench, gate: threading.Event) -> None:
    handle = await killed_in_a_thread(bench, gate)
    waiting = asyncio.ensure_future(handle.recover())
    await asyncio.sleep(0)
    receipt = handle.cast("and again")

    await handle.recover(beside=True)

    async with asyncio.timeout(PATIENCE):
        await waiting
        assert await receipt == 2
    gate.set()


async def test_a_body_that_swallowed_its_end_leaves_the_next_life_alone(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residence, "GRACE", 0.02)
    over, born = asyncio.Event(), []

    @durable(key="stubborn")
    async def stubborn(ctx: Any) -> Any:
        born.append(ctx)
        async for _ in ctx:
            while len(born) == 1 and not over.is_set():
                try:
                    await over.wait()
                except asyncio.CancelledError:
                    continue
            yield len(born)

    handle = bench.lookup(stubborn)
    await handle.cast("go")
    await asyncio.sleep(0)
    await handle.kill()
    recovering = asyncio.ensure_future(handle.recover())
    await asyncio.sleep(0)
    assert len(born) == 1

    over.set()

    async with asyncio.timeout(PATIENCE):
        await recovering
        assert await handle.until(lambda state: state == 2) == 2
        assert await handle.cast("once more") == 2
    assert handle.status == "running"


async def test_a_life_begun_beside_a_stubborn_one_outlives_its_end(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residence, "GRACE", 0.02)
    over, gone, born = asyncio.Event(), asyncio.Event(), []

    @durable(key="stubborn")
    async def stubborn(ctx: Any) -> Any:
        born.append(ctx)
        mine = len(born)
        try:
            async for _ in ctx:
                while mine == 1 and not over.is_set():
                    try:
                        await over.wait()
                    except asyncio.CancelledError:
                        continue
                yield mine
        finally:
            if mine == 1:
                gone.set()

    handle = bench.lookup(stubborn)
    await handle.cast("go")
    await asyncio.sleep(0)
    await handle.kill()
    await handle.recover(beside=True)
    await handle.until(lambda state: state == 2)

    over.set()
    await gone.wait()

    async with asyncio.timeout(PATIENCE):
        assert await handle.cast("once more") == 2
        await bench._runtime.home.loop.run_in_executor(None, lambda: None)
    assert (handle.status, handle.activation is not None) == ("running", True)
