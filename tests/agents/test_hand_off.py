"""A hand-off: another agent takes the run over, with what it was told and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from houses import Desk, Ears, House, Worker, calls, ears, until

from workbench import Agent, ToolContext, tool
from workbench.errors import BadInput, RunFailed
from workbench.models.messages import user_text
from workbench.models.script import call


def reviewer(*turns: Any, **options: Any) -> Agent:
    return Agent("reviewer", model=Ears(*(turns or ("Reviewed.",))), **options)


def hands_over(to: Agent, *before: Any, **options: Any) -> Agent:
    """An agent that hands its run over to another."""
    turns = [*before, call(f"hand_off_to_{to.name}", message="Review: a draft.")]
    return Agent("writer", model=Ears(*turns), handoffs=[to], **options)


def speakers(run: Any) -> list[str]:
    """Who said what the panel shows, in order."""
    return [row["who"] for row in run.view()["rows"] if row["kind"] == "message"]


async def test_the_next_agent_sees_the_message_and_nothing_else(house: House) -> None:
    @tool
    def secret() -> str:
        """Something of the first one's history."""
        return "secret"

    last = reviewer(instructions="You review.")
    agent = hands_over(last, call("secret"), tools=[secret], instructions="You write.")
    bench = await house.open(agent)
    run = bench.run(agent, "Write a post.", id="r1")

    assert await run == "Reviewed."

    (request,) = ears(last).requests
    assert [user_text(message) for message in request.history] == ["Review: a draft."]
    assert (request.instructions, request.tools) == ("You review.", [])
    assert (run.agent, run.state["holder"], len(bench.runs)) == ("writer", "reviewer", 1)


async def test_the_panel_shows_who_has_the_run(house: House) -> None:
    slow = Worker(idempotent=True)
    agent = hands_over(reviewer(call("work"), "Reviewed.", tools=[slow.tool]))
    bench = await house.open(agent)
    run = bench.run(agent, "Write a post.", id="r1")
    await until(lambda: slow.log)

    assert (run.view()["agent"], run.view()["holder"], speakers(run)) == (
        "writer",
        "reviewer",
        ["you", "writer", "reviewer"],
    )
    assert calls(run)[0]["result"] == "reviewer takes over"
    await run.kill()
    assert run.view()["holder"] == "reviewer"
    slow.go.set()
    await run.recover()
    assert await run == "Reviewed."
    assert [len(ears(each).requests) for each in (agent, bench.agents["reviewer"])] == [1, 2]
    assert (speakers(run), run.view()["now_line"]["text"]) == (
        ["you", "writer", "reviewer", "reviewer"],
        "after 1 kill. No finished turn and no finished step was repeated.",
    )


async def test_the_first_hand_off_of_a_turn_decides(house: House) -> None:
    first, second = reviewer(), Agent("editor", model=Ears("Edited."))
    turn = [call("hand_off_to_editor", message="Edit."), call("hand_off_to_reviewer", message="Review.")]
    agent = Agent("writer", model=Ears(turn), handoffs=[first, second])
    bench = await house.open(agent)

    assert await bench.run(agent, "Write.") == "Edited."
    assert (len(ears(first).requests), len(ears(second).requests)) == (0, 1)


async def test_a_hand_off_that_a_person_declines_hands_nothing_over(house: House) -> None:
    last = reviewer()
    agent = Agent("writer", model=Ears(call("to_reviewer", message="Review."), "Then I say it myself."))
    agent.tools["to_reviewer"] = last.as_handoff(name="to_reviewer", approval=True)
    bench = await house.open(agent, last)
    run = bench.run(agent, "Write.")

    await bench.approvals.reject((await run.approval()).id, "Not yet.")

    assert await run == "Then I say it myself."
    assert (ears(last).requests, run.view()["holder"]) == ([], "writer")


async def test_each_agent_has_its_own_turns_to_use(room: House) -> None:
    desk = Desk(approval=False)
    last = reviewer(call("cancel_order", order_id="A-1002"), "Reviewed.", tools=[desk.cancel], max_turns=2)
    agent = hands_over(last, max_turns=1)
    bench = await room.open(agent)

    assert await bench.run(agent, "Write.") == "Reviewed."
    assert desk.ran == [("A-1002", "")]


async def test_a_run_that_is_handed_around_in_a_circle_ends(house: House) -> None:
    @tool
    def pass_on(ctx: ToolContext) -> str:
        """Have somebody else do it."""
        turn = int(ctx.call_id.rpartition("#t")[2].partition(".")[0])
        ctx.hand_off("bob" if turn % 2 else "ann", "Do it.")
        return "passed on"

    ann, bob = (Agent(name, tools=[pass_on], model=Ears(call("pass_on")), max_turns=3) for name in ("ann", "bob"))
    bench = await house.open(ann, bob)

    with pytest.raises(RunFailed, match="used all of its 3 model turns without an answer; raise max_turns of 'ann'"):
        await bench.run(ann, "Do it.")

    assert (len(ears(ann).requests), len(ears(bob).requests)) == (3, 3)


async def test_an_approval_after_a_hand_off_names_who_asks(room: House) -> None:
    desk = Desk()
    agent = hands_over(reviewer(call("cancel_order", order_id="A-1002"), "Reviewed.", tools=[desk.cancel]))
    bench = await room.open(agent)
    run = bench.run(agent, "Write.", id="r1")

    asked = await run.approval()

    assert (asked.agent, asked.chain) == ("reviewer", ["reviewer", "cancel_order"])
    await bench.approvals.approve(asked.id, {"order_id": "A-1002", "reason": "edited"})
    assert await run == "Reviewed."
    assert desk.ran == [("A-1002", "edited")]


async def test_a_tool_of_ones_own_may_hand_the_run_over(house: House) -> None:
    @tool
    def decide(urgent: bool, ctx: ToolContext) -> str:
        """Send what is urgent to the reviewer."""
        if urgent:
            ctx.hand_off("reviewer", "It is urgent.")
        return "decided"

    last = reviewer()
    agent = Agent("writer", tools=[decide], model=Ears(call("decide", urgent=False), call("decide", urgent=True)))
    bench = await house.open(agent, last)
    run = bench.run(agent, "Decide.")

    assert await run == "Reviewed."
    await until(lambda: len(ears(agent).requests) == 2)
    assert [user_text(message) for message in ears(last).requests[0].history] == ["It is urgent."]


def test_an_agent_but_with_another_team_has_that_team_alone() -> None:
    first, second = reviewer(), Agent("editor", model=Ears("Edited."))
    agent = hands_over(first)

    other = agent.but(tools=[], handoffs=[second])

    assert (list(agent.team), list(other.team)) == (["reviewer"], ["editor"])
    assert list(other.tools) == ["hand_off_to_editor"]
    with pytest.raises(BadInput, match="agent 'writer' with other handoffs or stages needs its tools said too"):
        agent.but(stages={"writing": []})
