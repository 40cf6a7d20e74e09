"""Cancelling what does not want to end: it becomes true, or says why not; it never waits for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from workbench import Agent, Workbench, models, tool
from workbench.agents import run as runs
from workbench.durable import residence
from workbench.errors import RunCancelled, RunError
from workbench.models.model import Request

LIMIT = 20.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little patience."""
    monkeypatch.setattr(residence, "GRACE", 0.02)
    monkeypatch.setattr(runs, "PATIENCE", 0.05)
    monkeypatch.setattr(runs, "TICK", 0.01)


@pytest.fixture
async def over() -> AsyncIterator[asyncio.Event]:
    """What the stubborn wait for; set at the end in any case."""
    over = asyncio.Event()
    yield over
    over.set()
    await asyncio.sleep(0)


async def swallow(entered: asyncio.Event, over: asyncio.Event) -> None:
    """Wait for `over` and for nothing else."""
    entered.set()
    while not over.is_set():
        try:
            await over.wait()
        except asyncio.CancelledError:
            continue


async def test_a_cancel_leaves_a_tool_behind_that_swallows_it(over: asyncio.Event) -> None:
    entered, calls = asyncio.Event(), []

    @tool(idempotent=True)
    async def stubborn() -> str:
        calls.append(1)
        await swallow(entered, over)
        return "done all the same"

    agent = Agent("agent", tools=[stubborn], model=models.scripted([models.call("stubborn")], "Done."))
    async with Workbench.open(":memory:", agent) as bench, asyncio.timeout(LIMIT):
        run = bench.run(agent, "Go")
        await entered.wait()

        assert await run.cancel() == "cancelled"
        with pytest.raises(RunCancelled):
            await run
    assert calls == [1]


async def test_a_cancel_leaves_a_model_behind_that_swallows_it(over: asyncio.Event) -> None:
    entered = asyncio.Event()

    class Stubborn:
        name = "stubborn"

        async def ask(self, request: Request, on_text: Callable[[str], None]) -> Any:
            await swallow(entered, over)

    agent = Agent("agent", model=Stubborn())
    async with Workbench.open(":memory:", agent) as bench, asyncio.timeout(LIMIT):
        run = bench.run(agent, "Go")
        await entered.wait()

        assert await run.cancel() == "cancelled"


async def test_a_killed_run_is_cancelled_beside_its_blocked_thread() -> None:
    entered, gate, calls = asyncio.Event(), threading.Event(), []
    loop = asyncio.get_running_loop()

    @tool(idempotent=True)
    def blocks() -> str:
        calls.append(1)
        loop.call_soon_threadsafe(entered.set)
        gate.wait(LIMIT)
        return "late"

    agent = Agent("agent", tools=[blocks], model=models.scripted([models.call("blocks")], "Done."))
    async with Workbench.open(":memory:", agent) as bench, asyncio.timeout(LIMIT):
        run = bench.run(agent, "Go")
        await entered.wait()
        await run.kill()

        assert await run.cancel() == "cancelled"
        gate.set()
    assert calls == [1]


async def test_a_cancel_that_nobody_carries_out_says_so(tmp_path: Path) -> None:
    agent = Agent("agent", model=models.scripted("Hi."))
    file = tmp_path / "agents.db"
    async with Workbench.open(file, agent, worker=False) as bench, asyncio.timeout(LIMIT):
        run = bench.run(agent, "Go", id="r")
        with pytest.raises(RunError, match="no host carries it out"):
            await run.cancel()

    async with Workbench.open(file, agent) as bench, asyncio.timeout(LIMIT):
        with pytest.raises(RunCancelled):
            await bench.runs["r"]
