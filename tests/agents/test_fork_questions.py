"""Forks of runs in which a tool waits with a question: it is asked anew, and nothing before it is done again."""

from __future__ import annotations

from houses import House, calls, clerk

from workbench import Agent, ToolContext, tool
from workbench.models.script import call


class Moving:
    """A tool that is not to be run twice, which packs and then asks where to; and what it did."""

    def __init__(self, *, approval: bool = False) -> None:
        self.done: list[str] = []
        self._move = tool(approval=approval, name="move", description="Move the house.")(self._moved)

    async def _moved(self, ctx: ToolContext) -> str:
        await ctx.step("pack", lambda key: self.done.append("packed"))
        where = await ctx.ask_user("Where to?")
        await ctx.step("drive", lambda key: self.done.append(f"driven to {where}"))
        return f"moved to {where}"

    def agent(self) -> Agent:
        @tool(read_only=True)
        def look() -> str:
            """Look at the house."""
            return "a house"

        return clerk([call("look"), call("move")], "Moved.", tools=[look, self._move])


async def test_an_open_question_is_asked_anew_in_a_fork(house: House) -> None:
    moving = Moving()
    bench = await house.open(agent := moving.agent())
    run = bench.run(agent, "Move")
    first = await run.approval()

    for before in ("t1.0", "t2"):
        fork = await run.fork(before=before)
        asked = await fork.approval()
        assert (asked.run, asked.message, asked.id != first.id) == (fork.id, "Where to?", True)
        await bench.approvals.answer(asked.id, f"town {before}")
        assert await fork == "Moved."
        assert [row["result"] for row in calls(fork)] == ["a house", f"moved to town {before}"]

    assert moving.done == ["packed", "driven to town t1.0", "driven to town t2"]
    assert (await bench.approvals.get(first.id)).status == "pending"


async def test_a_question_that_a_cancel_closed_is_open_in_a_fork(room: House) -> None:
    moving = Moving(approval=True)
    bench = await room.open(agent := moving.agent())
    run = bench.run(agent, "Move")
    await bench.approvals.approve((await run.approval()).id)
    await run.until(lambda state: bool(moving.done))
    assert (await run.approval()).message == "Where to?"
    await run.cancel()

    fork = await run.fork(before="t1.0")
    await bench.approvals.answer((await fork.approval()).id, "Rome")

    assert await fork == "Moved."
    assert moving.done == ["packed", "driven to Rome"]
    assert [row["status"] for row in calls(fork)] == ["success", "success"]


async def test_an_answered_question_is_not_asked_again_in_a_fork(room: House) -> None:
    moving = Moving()
    bench = await room.open(agent := moving.agent())
    run = bench.run(agent, "Move")
    asked = await run.approval()
    fork = await run.fork(before="t1.0")
    assert await bench.approvals.answer((await fork.approval()).id, "Rome")
    await fork
    await bench.approvals.answer(asked.id, "Oslo")
    await run

    again = await run.fork(before="t1.0")

    assert await again == "Moved."
    assert [row["result"] for row in calls(again)] == ["a house", "moved to Oslo"]
    assert moving.done == ["packed", "driven to Rome", "driven to Oslo"]
