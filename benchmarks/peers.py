"""The peers, each in a process of its own: what DBOS, LangGraph and pykka do with the work of `beside.py`.

    python benchmarks/peers.py dbos|dbos-agent|langgraph|pykka DIRECTORY

Prints one JSON object: the version, and rates per second (of `dbos-agent`, milliseconds of a run). Each is used as its
documentation shows and with its own defaults; DBOS has SQLite as its system database, LangGraph its SQLite
checkpointer.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, TypedDict

AT_ONCE = 100
STEPS = 10
CALLS = 3000
RUNS = 10


async def _rate(work: Callable[[int], Awaitable[Any]]) -> float:
    """Steps per second of `AT_ONCE` pieces of work with `STEPS` steps each."""
    await work(-1)
    began = time.perf_counter()
    await asyncio.gather(*(work(number) for number in range(AT_ONCE)))
    return AT_ONCE * STEPS / (time.perf_counter() - began)


def dbos(place: Path) -> dict[str, float]:
    """Workflows of ten async steps."""
    from dbos import DBOS

    @DBOS.step()
    async def step(number: int) -> int:
        return number + 1

    @DBOS.workflow()
    async def workflow(number: int) -> int:
        for _ in range(STEPS):
            number = await step(number)
        return number

    url = f"sqlite:///{place / 'dbos.db'}"
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})

    async def measured() -> float:
        DBOS.launch()
        try:
            return await _rate(workflow)
        finally:
            DBOS.destroy()

    return {"steps": asyncio.run(measured())}


def dbos_agent(place: Path) -> dict[str, float]:
    """Runs of an agent with ten tool calls, by the shape of `agents.py`; its tool is a step."""
    from dbos import DBOS
    from pydantic_ai import Agent
    from pydantic_ai.durable_exec.dbos import DBOSAgent
    from scripted_agent import add, played

    step = DBOS.step()(add)
    agents = {
        name: DBOSAgent(Agent(played(at_once), tools=[step], name=f"adder-{at_once}"))
        for name, at_once in (("one a turn", False), ("all in one turn", True))
    }
    url = f"sqlite:///{place / 'dbos-agent.db'}"
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})

    async def median_of(agent: Any) -> float:
        took = []
        for _ in range(RUNS + 3):
            began = time.perf_counter()
            await agent.run("Add them up")
            took.append(time.perf_counter() - began)
        return median(took[3:]) * 1000

    async def measured() -> dict[str, float]:
        DBOS.launch()
        try:
            return {name: await median_of(agent) for name, agent in agents.items()}
        finally:
            DBOS.destroy()

    return asyncio.run(measured())


def langgraph(place: Path) -> dict[str, float]:
    """A chain of ten nodes, checkpointed after each."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        number: int

    async def node(state: State) -> State:
        return {"number": state["number"] + 1}

    async def measured() -> float:
        async with AsyncSqliteSaver.from_conn_string(str(place / "langgraph.db")) as saver:
            graph = StateGraph(State)
            names = [START, *(f"node {number}" for number in range(STEPS)), END]
            for name in names[1:-1]:
                graph.add_node(name, node)
            for one, next_one in pairwise(names):
                graph.add_edge(one, next_one)
            chain = graph.compile(checkpointer=saver)
            return await _rate(lambda number: chain.ainvoke({"number": 0}, {"configurable": {"thread_id": number}}))

    return {"steps": asyncio.run(measured())}


def pykka(place: Path) -> dict[str, float]:
    """Asking an actor, one question after the other."""
    from pykka import ThreadingActor

    class Adder(ThreadingActor):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.total = 0

        def on_receive(self, message: int) -> int:
            self.total += message
            return self.total

    actor = Adder.start()
    actor.ask(1)
    began = time.perf_counter()
    for _ in range(CALLS):
        actor.ask(1)
    took = time.perf_counter() - began
    actor.stop()
    return {"calls": CALLS / took}


def main() -> None:
    name, place = sys.argv[1], Path(sys.argv[2])
    logging.disable(logging.WARNING)
    measured = {"dbos": dbos, "dbos-agent": dbos_agent, "langgraph": langgraph, "pykka": pykka}[name](place)
    print(json.dumps({"version": importlib.metadata.version(name.partition("-")[0]), **measured}))


if __name__ == "__main__":
    main()
