"""A supervisor with stages: what may follow what is data, and neither the model nor a crash gets around it."""

from __future__ import annotations

from typing import Any

import pytest
from houses import Ears, House, Worker, calls, ears, steps_done, until

from workbench import Agent, ToolContext, tool
from workbench.errors import BadInput
from workbench.models.messages import results_of
from workbench.models.script import call

STAGES = {"researching": ["writing"], "writing": ["reviewing", "researching"], "reviewing": []}


def worker(name: str, *tools: Any, turns: Any = None) -> Agent:
    return Agent(name, tools=tools, model=Ears(*(turns or (f"{name} is done.",))))


def supervisor(*turns: Any, researcher: Agent | None = None) -> Agent:
    """A supervisor of two, each with its stage, and one stage of its own."""
    first = researcher or worker("researcher")
    team = [first.as_tool(stage="researching"), worker("writer").as_tool(stage="writing")]
    return Agent("supervisor", tools=team, stages=STAGES, model=Ears(*turns, "Published."))


def ask(name: str) -> Any:
    return call(f"ask_{name}", message="Do your part.")


def told(agent: Agent, turn: int) -> tuple[str, Any]:
    """What the model of an agent was told after a turn."""
    (result,) = results_of(ears(agent).requests[turn].history[-1])
    return result.outcome, result.content


async def test_a_team_goes_the_declared_way(house: House) -> None:
    agent = supervisor(ask("researcher"), ask("writer"), call("move_to", stage="reviewing"))
    bench = await house.open(agent)
    run = bench.run(agent, "A post.", id="r1")

    assert await run == "Published."

    graph = run.view()["stages"]
    assert graph is not None
    assert (graph["path"], graph["current"]) == (["researching", "writing", "reviewing"], "reviewing")
    assert [(edge["source"], edge["target"], edge["taken"]) for edge in graph["edges"]] == [
        ("researching", "writing", 1),
        ("writing", "reviewing", 1),
        ("writing", "researching", 0),
    ]
    assert run.state["stage"] == "reviewing"
    assert told(agent, 3) == ("success", {"stage": "reviewing", "next": []})
    assert steps_done(run) == []


async def test_an_undeclared_transition_is_told_with_both_and_asks_nobody(house: House) -> None:
    agent = supervisor(ask("writer"), ask("researcher"), call("move_to", stage="reviewing"))
    bench = await house.open(agent)
    run = bench.run(agent, "A post.", id="r1")

    assert await run == "Published."

    assert told(agent, 1) == (
        "failed",
        "BadInput: run 'r1' begins at 'writing', which is not declared; agent 'supervisor' begins at 'researching'; "
        "declare it in the stages of agent 'supervisor', or go another way",
    )
    assert told(agent, 3)[0] == "failed"
    assert "run 'r1' goes from 'researching' to 'reviewing', which is not declared" in told(agent, 3)[1]
    assert ([each.agent for each in run.children], run.state["stage"]) == (["researcher"], "researching")


async def test_a_stage_is_kept_over_a_kill(house: House) -> None:
    slow = Worker(idempotent=True)
    writer = worker("writer", slow.tool, turns=(call("work"), "Written."))
    team = [worker("researcher").as_tool(stage="researching"), writer.as_tool(stage="writing")]
    turns = ask("researcher"), ask("writer"), call("move_to", stage="reviewing"), "Published."
    agent = Agent("supervisor", tools=team, stages=STAGES, model=Ears(*turns))
    bench = await house.open(agent)
    run = bench.run(agent, "A post.", id="r1")
    await until(lambda: slow.log)
    await run.kill()
    assert (run.view()["stages"] or {})["path"] == ["researching", "writing"]
    slow.go.set()

    await run.recover()

    assert await run == "Published."
    assert (run.view()["stages"] or {})["path"] == ["researching", "writing", "reviewing"]
    moves = [row["value"]["to"] for row in bench.journal("r1") if row["name"] == "@stage"]
    assert (moves, len(ears(agent).requests)) == (["researching", "writing", "reviewing"], 4)


async def test_two_moves_of_one_turn_are_one_after_the_other(house: House) -> None:
    agent = supervisor([ask("researcher"), ask("writer")], [ask("researcher"), call("move_to", stage="reviewing")])
    bench = await house.open(agent)
    run = bench.run(agent, "A post.", id="r1")

    assert await run == "Published."

    assert (run.view()["stages"] or {})["path"] == ["researching", "writing", "researching"]
    assert [row["status"] for row in calls(run)] == ["success", "success", "success", "failed"]


async def test_tools_of_ones_own_move_the_stage(house: House) -> None:
    @tool(idempotent=True)
    async def begin(ctx: ToolContext) -> str:
        """Begin."""
        return await ctx.move_to("researching")

    agent = Agent("lone", tools=[begin], stages={"researching": []}, model=Ears(call("begin"), "Done."))
    plain = Agent("plain", tools=[begin], model=Ears(call("begin"), "Done."))
    bench = await house.open(agent, plain)
    run = bench.run(agent, "Begin.")

    assert await run == "Done."
    assert (ears(agent).told[0].content, run.state["stage"]) == ("researching", "researching")
    await bench.run(plain, "Begin.")
    assert "agent 'plain' has no stages; declare them" in ears(plain).told[0].content


async def test_a_waiting_stage_is_the_current_one(room: House) -> None:
    @tool(approval=True)
    def send() -> str:
        """Send it."""
        return "sent"

    researcher = worker("researcher", send, turns=(call("send"), "Sent."))
    agent = supervisor(ask("researcher"), researcher=researcher)
    bench = await room.open(agent)
    run = bench.run(agent, "A post.", id="r1")
    request = await run.approval()
    await until(lambda: run.status == "waiting")

    assert ((run.view()["stages"] or {})["current"], run.state["stage"]) == ("researching", "researching")
    await bench.approvals.approve(request.id)
    assert await run == "Published."


def test_a_part_in_a_stage_that_is_not_declared_is_refused() -> None:
    with pytest.raises(BadInput, match="tool 'ask_w' of agent 'a' has the stage 'x'; declared are researching"):
        Agent("a", tools=[worker("w").as_tool(stage="x")], stages={"researching": []})
    with pytest.raises(BadInput, match="declared are none"):
        Agent("a", tools=[worker("w").as_tool(stage="x")])


def test_a_model_is_told_the_graph_and_what_can_be_said() -> None:
    move = supervisor().tools["move_to"]

    assert move.parameters["properties"]["stage"]["enum"] == ["researching", "writing", "reviewing"]
    assert move.description == (
        "Say which stage begins now. The first is researching; after researching: writing; "
        "after writing: reviewing, researching."
    )
