"""A program that is killed while its tool asks a person, and one that is killed while its tool asks a process."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from workbench import Call, ToolContext, Workbench, durable, tool
from workbench.agents.agent import Agent
from workbench.agents.tools import as_tool
from workbench.models.script import call, scripted

HERE = Path(__file__)
EFFECTS: list[str] = []


@durable(key="desk:{name}")
async def desk(ctx, name: str):
    state = ctx.restored or {"asked": 0}
    yield state
    async for message in ctx:
        match message:
            case Call({"seat": seat}, reply):
                state = {"asked": state["asked"] + 1}
                reply(f"{seat} is free")
        yield state


@tool
async def book(ctx: ToolContext) -> str:
    """Book a seat."""
    seat = await ctx.ask_user(int, "Which seat?")
    return await ctx.step("book", lambda key: EFFECTS.append(key) or f"seat {seat}")


def clerk() -> Agent:
    turns = [[call("desk", seat=7), call("book")], "Booked."]
    tools = [as_tool(desk, message={"seat": int}, args={"name": "A"}), book]
    return Agent("clerk", tools=tools, model=scripted(*turns))


async def die(folder: str) -> None:
    """Run until the tool asks, and die of SIGKILL."""
    agent = clerk()
    bench = await Workbench.open(Path(folder) / "booking.db", agent)
    run = bench.run(agent, "Book a seat", id="r1")
    await run.approval()
    await run.until(lambda state: state["calls"].get("t1.0") == "success")
    signal.raise_signal(signal.SIGKILL)


async def test_the_same_question_is_there_after_sigkill_and_has_one_answer(tmp_path: Path) -> None:
    for _ in range(2):
        program = await asyncio.create_subprocess_exec(sys.executable, str(HERE), str(tmp_path))
        assert await asyncio.wait_for(program.wait(), 60) == -signal.SIGKILL

    EFFECTS.clear()
    agent = clerk()
    async with Workbench.open(tmp_path / "booking.db", agent) as bench:
        (request,) = bench.approvals.pending()
        await bench.approvals.answer(request.id, 12)

        assert await asyncio.wait_for(bench.runs["r1"], 30) == "Booked."
        rows = [row for row in bench.runs["r1"].view()["rows"] if row["kind"] == "call"]
        assert [row["result"] for row in rows] == ["7 is free", "seat 12"]
        assert EFFECTS == ["run:r1#1#t1.1#book#0"]
        assert await bench.lookup(desk, name="A").until(bool) == {"asked": 1}
        assert len(bench.approvals.view()["decided"]) == 1


if __name__ == "__main__":
    asyncio.run(die(sys.argv[1]))
