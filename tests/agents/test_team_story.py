"""The story of a team: research, writing, a yes, one budget; each thing once, whatever is killed in between."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from houses import Ears, House, ears, until

from workbench import Agent, ToolContext, tool
from workbench.agents.budget import Budget
from workbench.models.script import call


class Free(Ears):
    """A model whose turns take no tokens, so that the budget counts what the tools spend alone."""

    async def ask(self, request: Any, on_text: Any) -> Any:
        return replace(await super().ask(request, on_text), input_tokens=0, output_tokens=0)


STAGES = {"researching": ["writing"], "writing": ["published", "researching"], "published": []}


class Newsroom:
    """A supervisor, a researcher who takes 120 tokens and a writer who takes 200, and what they really did."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.at_work = asyncio.Event()
        self.go = asyncio.Event()
        self.go.set()
        look = tool(name="search_notes", read_only=True)(self._search)
        publish = tool(name="publish_post", approval=True)(self._publish)
        self.researcher = Agent("researcher", tools=[look], model=Free(call("search_notes", topic="packs"), "Notes."))
        drafted = call("publish_post", text="A post.")
        self.writer = Agent("writer", tools=[tool(name="draft", idempotent=True)(self._draft), publish],
                            model=Free(call("draft", notes="Notes."), drafted, "Published."))  # fmt: skip
        team = [self.researcher.as_tool(stage="researching"), self.writer.as_tool(stage="writing")]
        turns = [call("ask_researcher", message="Research packs."), call("ask_writer", message="Write: Notes.")]
        model = Free(*turns, call("move_to", stage="published"), "It is out.")
        self.supervisor = Agent("supervisor", tools=team, stages=STAGES, model=model)

    async def _search(self, topic: str, ctx: ToolContext) -> str:
        """Search the notes."""
        await ctx.spend(tokens=120)
        self.did.append("search")
        return f"notes on {topic}"

    async def _draft(self, notes: str, ctx: ToolContext) -> str:
        """Draft a post."""
        self.at_work.set()
        await self.go.wait()
        await ctx.spend(tokens=200)
        self.did.append("draft")
        return "A post."

    def _publish(self, text: str) -> str:
        """Publish a post."""
        self.did.append("publish")
        return "published"

    @property
    def turns(self) -> list[int]:
        """How often each model was asked."""
        return [len(ears(agent).requests) for agent in (self.supervisor, self.researcher, self.writer)]


async def published(bench: Any, run: Any) -> str:
    """Say yes to the one thing that is asked, and wait for the end."""
    request = await run.approval()
    assert request.chain == ["supervisor", "writer", "publish_post"]
    await bench.approvals.approve(request.id)
    return str(await run)


async def test_a_post_is_researched_written_approved_and_published(house: House) -> None:
    room = Newsroom()
    bench = await house.open(room.supervisor)
    run = bench.run(room.supervisor, "A post on packs.", id="r1", budget=Budget(tokens=1000))

    assert await published(bench, run) == "It is out."

    assert (room.did, room.turns) == (["search", "draft", "publish"], [4, 2, 3])
    assert run.budget is not None
    assert {name: spent["tokens"] for name, spent in run.budget.by.items() if spent.get("tokens")} == {
        "researcher": 120,
        "writer": 200,
    }
    assert (run.view()["stages"] or {})["path"] == ["researching", "writing", "published"]


async def test_one_budget_of_150_refuses_the_writer(house: House) -> None:
    room = Newsroom()
    bench = await house.open(room.supervisor)
    run = bench.run(room.supervisor, "A post on packs.", id="r1", budget=Budget(tokens=150))

    request = await run.approval()  # the writer's model hears that its draft was refused, and asks to publish
    await bench.approvals.reject(request.id, "There is no draft.")
    assert await run == "It is out."

    assert run.budget is not None
    assert (run.budget.spent["tokens"], run.budget.state["refused"], room.did) == (120, 1, ["search"])
    told = [row["error"] for row in bench.runs["r1/t2.0"].view()["rows"] if row["kind"] == "call"]
    assert told[0] is not None
    assert told[0]["type"] == "BudgetSpent"
    assert "is 150 tokens, writer asks for 200 and 30 are left" in told[0]["message"]


async def test_a_team_killed_mid_pipeline_repeats_nothing(house: House) -> None:
    room = Newsroom()
    room.go.clear()
    bench = await house.open(room.supervisor)
    run = bench.run(room.supervisor, "A post on packs.", id="r1", budget=Budget(tokens=1000))
    await room.at_work.wait()
    await run.kill()
    room.go.set()
    assert [each.alive for each in bench.runs] == [False, True, False]  # the researcher has ended

    await run.recover()

    assert await published(bench, run) == "It is out."
    assert (room.did, room.turns) == (["search", "draft", "publish"], [4, 2, 3])
    assert run.budget is not None
    assert run.budget.spent["tokens"] == 320


async def test_a_child_that_its_budget_stops_has_its_parent_wait(house: House) -> None:
    room = Newsroom()
    bench = await house.open(room.supervisor)
    run = bench.run(room.supervisor, "A post on packs.", id="r1", budget=Budget(requests=2))

    await until(lambda: run.status == "waiting")
    assert bench.runs["r1/t1.0"].status == "waiting"
    assert run.view()["now_line"]["strong"] == "Budget used up:"
    await run.extend(requests=100)

    assert await published(bench, run) == "It is out."
    assert room.turns == [4, 2, 3]


async def test_a_stop_below_is_told_and_extended_at_the_top(house: House) -> None:
    room = Newsroom()
    bench = await house.open(room.supervisor)
    run = bench.run(room.supervisor, "A post on packs.", id="r1", budget=Budget(requests=2))
    await until(lambda: run.view()["now_line"]["action"] == "Extend and resume")

    view = run.view()
    assert (view["now_line"]["strong"], view["now_line"]["text"]) == ("Budget used up:", "2 of 2 requests.")
    assert run.reason == "the budget of run 'r1' is used up, 2 of 2 requests"
    button = next(action for action in view["actions"] if action["command"] == "extend")
    assert await run.command("extend", button["args"]) == {"extended": {"requests": 2}, "status": run.status}
    await run.extend(requests=100)

    assert await published(bench, run) == "It is out."
