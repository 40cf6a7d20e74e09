"""A team whose supervisor is a process: its stages are declared, and its agents asked once, whatever is killed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import Ears, House, ears, until

from workbench import Agent, Call, durable, tool
from workbench.errors import CallRefused, RunCancelled, RunFailed
from workbench.models.script import call

STAGES = {"idle": ["researching"], "researching": ["writing", "broke"], "writing": ["published", "broke"]}


class Newsroom:
    """A process that has a post researched and written by agents, and what they were asked."""

    def __init__(self) -> None:
        self.bench: Any = None
        self.at_work, self.go = asyncio.Event(), asyncio.Event()
        draft = tool(name="draft", idempotent=True)(self._draft)
        self.researcher = Agent("researcher", model=Ears("Notes."))
        self.writer = Agent("writer", tools=[draft], model=Ears(call("draft"), "A post."))
        self.definition = durable(key="desk:{name}", stages=STAGES)(self._body)

    async def _draft(self) -> str:
        """Draft."""
        self.at_work.set()
        await self.go.wait()
        return "drafted"

    async def _body(self, ctx: Any, name: str) -> Any:
        state = ctx.restored or {"stage": "idle"}
        yield state
        async for message in ctx:
            match message:
                case Call({"brief": topic}, reply):
                    state = state | {"stage": "researching", "topic": topic}
                    yield state
                    notes = await ctx.call("research", self.bench.lookup(self.researcher), f"Research {topic}.")
                    state = state | {"stage": "writing", "notes": notes}
                    yield state
                    post = await ctx.call("write", self.bench.lookup(self.writer), f"Write: {notes}")
                    state = state | {"stage": "published", "post": post}
                    reply(post)
            yield state

    async def open(self, house: House) -> Any:
        self.bench = await house.open(self.definition, self.researcher, self.writer)
        return self.bench.lookup(self.definition, name="news")

    @property
    def turns(self) -> list[int]:
        return [len(ears(agent).requests) for agent in (self.researcher, self.writer)]


async def test_a_process_asks_agents_stage_by_stage(house: House) -> None:
    room = Newsroom()
    room.go.set()
    desk = await room.open(house)

    assert await desk.call({"brief": "packs"}, id="b1") == "A post."

    assert (desk.state["stage"], desk.state["notes"], room.turns) == ("published", "Notes.", [1, 2])
    assert desk.source().view()["stages"]["path"] == ["idle", "researching", "writing", "published"]
    assert [(run.agent, run.request) for run in room.bench.runs] == [
        ("researcher", "Research packs."),
        ("writer", "Write: Notes."),
    ]


async def test_a_supervisor_killed_mid_pipeline_asks_nobody_again(house: House) -> None:
    room = Newsroom()
    desk = await room.open(house)
    calling = desk.call({"brief": "packs"}, id="b1")
    await room.at_work.wait()

    await desk.kill()
    calling.cancel()
    room.go.set()
    await until(lambda: [run.status for run in room.bench.runs] == ["completed", "completed"])
    await desk.recover()

    assert await desk.call({"brief": "packs"}, id="b1") == "A post."
    assert (room.turns, len(room.bench.runs)) == ([1, 2], 2)
    assert desk.source().view()["stages"]["path"] == ["idle", "researching", "writing", "published"]


async def test_the_desk_of_an_agent_tells_how_its_run_ended(room: House) -> None:
    agent = Agent("clerk", model=Ears(call("nothing"), "All done."), max_turns=1)
    slow = Newsroom()
    bench = await room.open(agent, slow.writer)
    desk = bench.lookup(agent)

    with pytest.raises(RunFailed, match="'clerk' failed with RunFailed: run 'c1' used all of its 1 model turns"):
        await desk.call("Do it.", id="c1")
    asking = asyncio.ensure_future(bench.lookup(slow.writer).call("Write.", id="c2"))
    await slow.at_work.wait()
    await bench.runs["c2"].cancel("ana")
    with pytest.raises(RunCancelled, match="'writer' gave no answer: its run was cancelled by ana"):
        await asking
    with pytest.raises(CallRefused, match="a call of agent 'clerk' needs an id"):
        await desk.call("Do it.", id="")
