"""Houses where agents work under test: a keeper with one clock and any number of benches, and models with ears."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from workbench import Agent, Workbench, tool
from workbench.agents.run import Run
from workbench.models.messages import ToolResult, results_of
from workbench.models.model import Request, Turn
from workbench.models.script import ScriptedTurn, call, scripted
from workbench.store.memory import MemoryStore, Room
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.testing.clock import ManualClock

PATIENCE = 20.0
OrderId = Annotated[str, Field(pattern=r"^A-\d{4}$", description="The order number")]


class Ears:
    """A scripted model that keeps every request it was asked with."""

    name = "scripted"

    def __init__(self, *turns: ScriptedTurn) -> None:
        self.requests: list[Request] = []
        self._script = scripted(*turns)

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        self.requests.append(request)
        return await self._script.ask(request, on_text)

    @property
    def told(self) -> list[ToolResult]:
        """The results that the model was told last."""
        return results_of(self.requests[-1].history[-1])


class House:
    """One keeper's place. `await house.open(agent, …)` gives one more bench on it."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.clock = ManualClock()
        self.benches: list[Workbench] = []
        self._file = folder / "agents.db"
        self._room = Room()

    async def open(self, *what: Any, **options: Any) -> Workbench:
        store: Any = MemoryStore(self._room) if self.kind == "memory" else SQLiteStore(self._file)
        bench = await Workbench.open("unused", *what, store=store, clock=self.clock, **options)
        self.benches.append(bench)
        return bench

    async def close(self) -> None:
        for bench in reversed(self.benches):
            await bench.close()


def clerk(*turns: ScriptedTurn, tools: Iterable[Any] = (), **options: Any) -> Agent:
    """An agent that plays these turns; its model keeps what it heard."""
    return Agent("clerk", tools=tools, model=Ears(*turns), **options)


def ears(agent: Agent) -> Ears:
    """The model of a clerk."""
    assert isinstance(agent.model, Ears)
    return agent.model


class Worker:
    """An async tool that is at work until it is let go, and says how it ended."""

    def __init__(self, **policy: Any) -> None:
        self.log: list[str] = []
        self.go = asyncio.Event()
        self.tool = tool(name="work", **policy)(self._work)

    async def _work(self) -> str:
        self.log.append("began")
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.log.append("cancelled")
            raise
        self.log.append("done")
        return "worked"

    def agent(self, name: str = "writer") -> Agent:
        """An agent that works once and says so."""
        return Agent(name, tools=[self.tool], model=Ears(call("work"), "Worked."))


class Desk:
    """A tool that needs a person, and the calls that really ran."""

    def __init__(self, approval: Any = True) -> None:
        self.ran: list[tuple[str, str]] = []
        self.cancel = tool(approval=approval, name="cancel_order", description="Cancel an order.")(self._cancel)

    def _cancel(self, order_id: OrderId, reason: str = "") -> str:
        self.ran.append((order_id, reason))
        return f"{order_id} cancelled"

    def agent(self, *more: Any, **args: Any) -> Agent:
        """A clerk that cancels one order and says so."""
        return clerk(call("cancel_order", order_id="A-1002", **args), *more, "All done.", tools=[self.cancel])


def calls(run: Run) -> list[dict[str, Any]]:
    """The rows of the run's tool calls."""
    return [dict(row) for row in run.view()["rows"] if row["kind"] == "call"]


def steps_done(run: Run) -> list[str]:
    """The steps that the calls of the run have behind them, and in the journal."""
    return [step["name"] for row in calls(run) for step in row["steps"] if step["status"] == "success"]


async def until(condition: Callable[[], Any]) -> None:
    """Return once the condition holds; threads and files decide when."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.001)
