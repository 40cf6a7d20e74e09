"""Agents of Pydantic AI as they are, run by their own loop on our journal."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import House, calls, until
from pydantic import BaseModel
from pydantic_ai import Agent as LibraryAgent
from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from workbench import Agent, durable_agent, models
from workbench.agents.policy import Policy, Rule
from workbench.errors import BadInput, RunFailed


class Story:
    """A library agent with tools that count what they do, whose model plays turns and keeps what it was sent."""

    def __init__(self, *turns: Any, **options: Any) -> None:
        self.turns = turns
        self.asked: list[list[ModelMessage]] = []
        self.done: list[str] = []
        self.agent: LibraryAgent[Any, Any] = LibraryAgent(FunctionModel(self._model), name="clerk", **options)
        self.gate = asyncio.Event()
        self.gate.set()
        self._add_tools()

    def _model(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.asked.append(messages)
        turn = self.turns[sum(isinstance(message, ModelResponse) for message in messages)]
        parts = turn if isinstance(turn, list) else [turn]
        return ModelResponse(parts=[TextPart(part) if isinstance(part, str) else part for part in parts])

    def _add_tools(self) -> None:
        @self.agent.tool_plain
        async def look_up(order_id: str) -> str:
            self.done.append(f"look up {order_id}")
            await self.gate.wait()
            return f"{order_id} is paid"

        @self.agent.tool_plain(metadata={"workbench": {"idempotent": True}})
        async def note(text: str) -> str:
            self.done.append(f"note {text}")
            await self.gate.wait()
            return "noted"

        @self.agent.tool_plain(requires_approval=True)
        def refund(order_id: str, amount: int = 1) -> str:
            self.done.append(f"refund {order_id} {amount}")
            return f"{order_id} refunded"

        @self.agent.tool
        def pay(ctx: RunContext[Any], amount: int) -> str:
            if amount > 10 and not ctx.tool_call_approved:
                raise ApprovalRequired
            if amount < 0:
                raise ModelRetry("amount must be positive")
            self.done.append(f"pay {amount}")
            return f"{amount} paid"

        @self.agent.tool_plain
        def ask_bank(question: str) -> str:
            raise CallDeferred

        @self.agent.tool_plain
        def broken() -> str:
            raise OSError("disk full")

    def told(self) -> list[Any]:
        """What the model was told last, of its calls."""
        last = self.asked[-1][-1]
        assert isinstance(last, ModelRequest)
        return [part.content for part in last.parts if isinstance(part, ToolReturnPart)]


def use(tool: str, /, **args: Any) -> ToolCallPart:
    """A call of a tool."""
    return ToolCallPart(tool, args)


async def test_a_library_agent_runs_as_it_is_and_shows_as_any_run(house: House) -> None:
    story = Story(["Let me see.", use("look_up", order_id="A-1"), use("pay", amount=3)], "Paid.")
    bench = await house.open()

    run = bench.run(durable_agent(story.agent), "Pay A-1")

    assert await run == "Paid."
    view = run.view()
    assert [row.get("text") or row.get("tool") for row in view["rows"]] == [
        "Pay A-1",
        "Let me see.",
        "look_up",
        "pay",
        "Paid.",
    ]
    assert [(row["status"], row["result"]) for row in calls(run)] == [("success", "A-1 is paid"), ("success", "3 paid")]
    assert view["usage"]["model_calls"] == 2
    assert (view["usage"]["input_tokens"] or 0) > 0
    assert sorted(story.done) == ["look up A-1", "pay 3"]


async def test_what_was_recorded_is_not_done_again_after_a_kill(house: House) -> None:
    story = Story([use("pay", amount=3), use("note", text="x"), use("look_up", order_id="A-1")], "Paid.")
    bench = await house.open(agent := durable_agent(story.agent))
    story.gate.clear()
    run = bench.run(agent, "Pay A-1")
    await until(lambda: len(story.done) == 3 and calls(run)[0]["status"] == "success")

    await run.kill()
    story.gate.set()
    await run.recover()

    assert await run == "Paid."
    assert sorted(story.done) == ["look up A-1", "note x", "note x", "pay 3"]  # only what may be done twice is
    assert len(story.asked) == 2
    assert [row["status"] for row in calls(run)] == ["success", "success", "interrupted"]
    assert story.told() == [
        "3 paid",
        "noted",
        "This call was interrupted. It may or may not have happened. Look before you repeat it, or ask.",
    ]


async def test_calls_that_need_a_person_wait_in_the_inbox_through_a_kill(house: House) -> None:
    story = Story(
        [use("refund", order_id="A-1"), use("pay", amount=50), *(use("refund", order_id=f"A-{n}") for n in (2, 3))],
        "Done.",
    )
    bench = await house.open(agent := durable_agent(story.agent))
    run = bench.run(agent, "Refund both")
    await until(lambda: len(bench.approvals.pending()) == 4)
    ids = {request.args.get("order_id", "pay"): request.id for request in bench.approvals.pending()}

    await bench.approvals.approve(ids["A-1"], args={"order_id": "A-1", "amount": 5})
    await run.kill()
    await bench.approvals.reject(ids["A-2"], reason="not this one")
    await bench.approvals.answer(ids["A-3"], "refunded by hand")
    await run.recover()
    await bench.approvals.approve(ids["pay"])

    assert await run == "Done."
    assert sorted(story.done) == ["pay 50", "refund A-1 5"]
    assert story.told() == [
        "A-1 refunded",
        "50 paid",
        "A person declined this call: not this one",
        "refunded by hand",
    ]
    assert [row["status"] for row in calls(run)] == ["success", "success", "denied", "success"]
    assert len(story.asked) == 2


async def test_a_call_whose_result_comes_from_elsewhere_is_answered_in_the_inbox(room: House) -> None:
    story = Story([use("ask_bank", question="Is it open?")], "It is.")
    bench = await room.open(agent := durable_agent(story.agent))
    run = bench.run(agent, "Is the bank open?")

    await bench.approvals.answer((await run.approval()).id, {"open": True})

    assert await run == "It is."
    assert story.told() == [{"open": True}]


async def test_a_retry_is_the_librarys_and_a_raise_fails_the_run(house: House) -> None:
    story = Story(use("pay", amount=-1), use("pay", amount=1), use("broken"), "Never.")
    bench = await house.open(agent := durable_agent(story.agent))

    run = bench.run(agent, "Pay")
    with pytest.raises(RunFailed, match="disk full"):
        await run

    assert [(row["tool"], row["status"]) for row in calls(run)] == [
        ("pay", "retried"),
        ("pay", "success"),
        ("broken", "failed"),
    ]
    assert story.done == ["pay 1"]


async def test_a_typed_output_is_kept_as_plain_data(room: House) -> None:
    class Refund(BaseModel):
        order_id: str
        amount: int

    story = Story(use("final_result", order_id="A-1", amount=3), output_type=Refund)
    bench = await room.open(agent := durable_agent(story.agent))

    assert await bench.run(agent, "Refund A-1") == {"order_id": "A-1", "amount": 3}


async def test_a_library_agent_is_forked_and_spends_a_budget_like_any(house: House) -> None:
    story = Story(use("pay", amount=3), "Paid.")
    bench = await house.open(agent := durable_agent(story.agent))
    run = bench.run(agent, "Pay", budget={"requests": 2, "tool_calls": 1})
    await run
    story.asked.clear()
    story.done.clear()

    fork = await run.fork(before=2)

    assert await fork == "Paid."
    assert (len(story.asked), story.done) == (1, [])
    assert run.budget.spent["requests"] == 2
    assert fork.budget.spent["requests"] == 1


async def test_cancel_ends_the_library_too(room: House) -> None:
    story = Story(use("look_up", order_id="A-1"), "Never.")
    bench = await room.open(agent := durable_agent(story.agent))
    story.gate.clear()
    run = bench.run(agent, "Look")
    await until(lambda: story.done)

    assert await run.cancel() == "cancelled"
    assert len(story.asked) == 1


def test_what_cannot_be_made_durable_is_refused() -> None:
    with pytest.raises(BadInput, match="durable_agent takes an agent of pydantic-ai, found <Agent clerk"):
        durable_agent(Agent("clerk", model=models.scripted("Hi.")))
    with pytest.raises(BadInput, match=r"an agent needs a name .* durable_agent\(agent, name=…\)"):
        durable_agent(LibraryAgent())
    with pytest.raises(BadInput, match="'run_id' is what a durable run has of its own"):
        durable_agent(LibraryAgent(), name="clerk", run_id="x")


async def test_what_is_the_librarys_business_is_not_edited_here(room: House) -> None:
    story = Story(use("pay", amount=3), "Paid.")
    bench = await room.open(agent := durable_agent(story.agent))
    run = bench.run(agent, "Pay")
    await run

    with pytest.raises(BadInput, match="'instructions' of 'clerk' is the business of its own library"):
        await run.fork(edit={"instructions": "Be brief."})
    with pytest.raises(BadInput, match="is run by its own library; script its model there"):
        run.to_test()
    assert len(bench.runs) == 1


async def test_a_policy_speaks_of_the_tools_of_a_library_agent(room: House) -> None:
    story = Story([use("pay", amount=3), use("note", text="x")], "Done.")
    policy = Policy([Rule("deny", "pay", reason="not today"), Rule("ask", "note")])
    bench = await room.open(agent := durable_agent(story.agent), policy=policy)
    run = bench.run(agent, "Pay")

    await bench.approvals.approve((await run.approval()).id)

    assert await run == "Done."
    assert story.done == ["note x"]
    assert story.told() == ["The policy denies this call: not today", "noted"]


async def test_a_conversation_goes_on_with_a_library_agent(house: House) -> None:
    story = Story([use("pay", amount=3), use("pay", amount=-1)], "Paid.", "You are welcome.")
    bench = await house.open(agent := durable_agent(story.agent))
    await bench.run(agent, "Pay 3", conversation="desk")
    story.asked.clear()

    assert await bench.run(agent, "Thank you", conversation="desk") == "You are welcome."

    said = [part.content for message in story.asked[0] for part in message.parts if hasattr(part, "content")]
    assert said == ["Pay 3", "3 paid", "amount must be positive", "Paid.", "Thank you"]


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()], ids=repr)
async def test_what_ends_programs_ends_no_more_than_its_call(room: House, raised: BaseException) -> None:
    story = Story(use("leave"), "Never.")

    @story.agent.tool_plain
    async def leave() -> str:
        raise raised

    bench = await room.open(agent := durable_agent(story.agent))
    run = bench.run(agent, "Leave")
    with pytest.raises(RunFailed, match=rf"'leave' failed with {type(raised).__name__}"):
        await asyncio.wait_for(run, 10)

    assert [(row["status"], row["error"]["type"]) for row in calls(run)] == [("failed", type(raised).__name__)]
