"""Budgets: a run stops with a reason when one is used up, and carries on exactly there when it is extended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from houses import Ears, House, clerk, ears, until

from workbench import Agent, Budget, ToolContext, tool
from workbench.agents.run_view import run_view
from workbench.errors import BadInput, BudgetSpent
from workbench.models.script import call
from workbench.widgets import static_twin


@tool(read_only=True)
def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing in {where}"


def searcher(*places: str, **options: Any) -> Any:
    """A clerk that looks in one place after the other, a turn each, and says so."""
    return clerk(*(call("look", where=place) for place in places), "Found nothing.", tools=[look], **options)


async def stopped(run: Any) -> str:
    """The reason for which a run waits."""
    await until(lambda: run.reason and run.status == "waiting")
    return str(run.reason)


async def test_a_used_up_budget_stops_the_run_with_a_reason(house: House) -> None:
    bench = await house.open(agent := searcher("a", "b", "c"))

    run = bench.run(agent, "Look around", id="r1", budget=Budget(requests=2))

    assert await stopped(run) == "the budget of run 'r1' is used up, 2 of 2 requests"
    assert (run.alive, len(ears(agent).requests)) == (True, 2)
    assert run.budget.left == {"requests": 0}
    await until(lambda: run.budget.waiting)
    assert [(waits["run"], waits["agent"], waits["asked"]) for waits in run.budget.waiting] == [
        ("r1", "clerk", {"requests": 1})
    ]


async def test_an_extended_run_carries_on_where_it_stopped(house: House) -> None:
    bench = await house.open(agent := searcher("a", "b", "c"))
    run = bench.run(agent, "Look around", budget={"requests": 2})
    await stopped(run)

    assert await run.extend(requests=1) == {"requests": 1}
    await until(lambda: run.budget.state["refused"] == 2)
    assert await stopped(run) == f"the budget of run '{run.id}' is used up, 3 of 3 requests"
    assert await run.extend() == {"requests": 2}

    assert await run == "Found nothing."
    assert len(ears(agent).requests) == 4
    assert (run.budget.spent["requests"], run.budget.limits, run.budget.waiting) == (4, {"requests": 5}, [])
    assert run.reason is None


async def test_a_run_without_a_budget_takes_no_step_for_it(house: House) -> None:
    bench = await house.open(agent := searcher("a"))

    run = bench.run(agent, "Look around")
    await run

    assert [row["name"] for row in bench.journal(run.id) if row["kind"] == "step"] == [
        "turn", "@intent", "@outcome", "turn",
    ]  # fmt: skip
    assert [row["key"] for row in bench.keys()] == [run.key]
    assert (run.budget, run.reason, list(bench.budgets)) == (None, None, [])


async def test_every_tool_call_is_counted_before_it_runs(house: House) -> None:
    agent = clerk([call("look", where=place) for place in "abc"], "Found nothing.", tools=[look])
    bench = await house.open(agent)

    run = bench.run(agent, "Look around", id="r1", budget=Budget(tool_calls=2))

    assert await stopped(run) == "the budget of run 'r1' is used up, 2 of 2 tool calls"
    assert sorted(row["status"] for row in run.view()["rows"] if row["kind"] == "call") == [
        "success", "success", "waiting",
    ]  # fmt: skip
    await run.extend()
    assert await run == "Found nothing."
    assert run.budget.spent["tool_calls"] == 3


async def test_tokens_stop_the_turn_after_the_one_that_passed_the_limit(house: House) -> None:
    bench = await house.open(agent := searcher("a", "b"))

    run = bench.run(agent, "Look around", id="r1", budget=Budget(tokens=3))

    assert await stopped(run) == "the budget of run 'r1' is used up, 4 of 3 tokens"
    await run.extend(tokens=100)
    await run
    usage = run.state["usage"]
    spent = run.budget.spent
    assert (spent["input_tokens"], spent["output_tokens"]) == (usage["input_tokens"], usage["output_tokens"])
    assert spent["tokens"] == usage["input_tokens"] + usage["output_tokens"]


async def test_a_call_without_a_price_stops_what_a_budget_of_money_governs(house: House) -> None:
    bench = await house.open(agent := searcher("a", "b"))

    run = bench.run(agent, "Look around", id="r1", budget=Budget(dollars="0.50"))

    reason = "a model call of run 'r1' had no known price, so its budget of 0.50 dollars cannot count it"
    assert await stopped(run) == reason
    await run.extend(uncounted=True)
    assert await run == "Found nothing."
    assert (run.budget.state["uncounted"], run.budget.spent["microdollars"]) == ({"microdollars": 3}, 0)
    assert run.budget.limits == {"microdollars": 500_000}


async def test_all_runs_of_a_bench_spend_its_budget(house: House) -> None:
    bench = await house.open(agent := searcher("a"), budget=Budget(requests=3))

    first, second = bench.run(agent, "One", id="one"), bench.run(agent, "Two", id="two")
    await until(lambda: bench.budget.waiting)

    waiting = {waits["run"] for waits in bench.budget.waiting}
    assert len(waiting) == 1
    held = bench.runs[waiting.pop()]
    assert await stopped(held) == "the budget of the bench is used up, 3 of 3 requests"
    await bench.budget.extend(requests=1)
    assert (await first, await second) == ("Found nothing.", "Found nothing.")
    assert (bench.budget.spent["requests"], bench.budget.by["clerk"]["requests"]) == (4, 4)


async def test_a_tool_spends_all_that_it_asks_for_or_nothing(house: House) -> None:
    @tool
    async def write(ctx: ToolContext, seconds: int) -> str:
        """Write something."""
        await ctx.spend(seconds=seconds)
        return "written"

    agent = clerk(call("write", seconds=110), call("write", seconds=60), "Done.", tools=[write])
    bench = await house.open(agent)

    run = bench.run(agent, "Write", id="r1", budget=Budget(seconds=150))
    await run

    refused = "the budget of run 'r1' is 150 seconds, clerk asks for 60 and 40 are left"
    told = ears(agent).told[0]
    assert (told.outcome, told.content) == (
        "failed", f"BudgetSpent: {refused}; extend it with bench.budget.extend(…) or run.extend(…)",
    )  # fmt: skip
    assert (run.budget.left, run.budget.state["refused"]) == ({"seconds": 40}, 1)


async def test_a_plain_tool_is_told_that_it_cannot_spend(room: House) -> None:
    @tool
    def write(ctx: ToolContext) -> str:
        """Write something."""
        ctx.spend(tokens=1)
        return "written"

    bench = await room.open(agent := clerk(call("write"), "Done.", tools=[write]))

    await bench.run(agent, "Write", budget=Budget(tokens=150))

    assert "StepMisuse: a budget is spent from a plain tool; write the tool as async def" in ears(agent).told[0].content


async def test_a_refusal_that_was_changed_by_hand_harms_no_view(room: House) -> None:
    bench = await room.open(agent := searcher("a"))
    run = bench.run(agent, "Look around", id="r1", budget=Budget(requests=1))
    await stopped(run)
    facts = run.facts()
    asked = next(index for index, record in enumerate(facts.records) if '"granted":false' in record.payload)

    for payload in (
        '{"granted":false}',
        '["granted", {"granted":false}]',
        '{"granted":false',
        '{"granted":false,"refused":{}}',
    ):
        facts.records[asked] = replace(facts.records[asked], payload=payload)
        facts._stops = None
        assert (facts.stop, run_view(facts)["now_line"]["strong"]) == (None, "clerk is thinking.")


async def test_spending_by_hand_happens_once_under_one_id(house: House) -> None:
    bench = await house.open(budget=Budget(tokens=150))

    for _ in range(2):
        assert await bench.budget.spend(tokens=120, agent="researcher", id="research-1") == {"tokens": 30}
    with pytest.raises(BudgetSpent, match="is 150 tokens, writer asks for 60 and 30 are left") as caught:
        await bench.budget.spend(tokens=60, agent="writer")

    assert (caught.value.of, caught.value.unit, caught.value.asked, caught.value.left) == ("bench", "tokens", 60, 30)
    assert (bench.budget.spent["tokens"], bench.budget.by) == (120, {"researcher": {"tokens": 120}})


async def test_what_can_be_no_budget_is_refused(room: House) -> None:
    bench = await room.open(agent := searcher("a"))

    for given, words in (
        ({}, "a budget limits at least one of"),
        ({"calls": 3}, "a budget has no unit 'calls'; it has requests"),
        ({"requests": -1}, "requests of a budget is a whole number from 0, found -1"),
        ({"dollars": "much"}, "dollars of a budget are money of at most 6 decimals, found 'much'"),
        (17, "a budget is a Budget or a mapping of limits, found 17"),
    ):
        with pytest.raises(BadInput, match=words):
            bench.run(agent, "Look around", budget=given)
    assert len(bench.runs) == 0


async def test_a_stopped_run_says_so_to_people(house: House) -> None:
    bench = await house.open(agent := searcher("a", "b"))
    run = bench.run(agent, "Look around", id="r1", budget=Budget(requests=2, tokens=500))
    await stopped(run)
    await until(lambda: run.budget.waiting)

    view = run.view()

    assert view["now_line"] == {
        "tone": "amber", "shape": "waiting", "strong": "Budget used up:", "text": "2 of 2 requests.",
        "action": "Extend and resume",
    }  # fmt: skip
    assert view["budget"] == {"used": 2, "limit": 2, "unit": "requests", "of": "r1"}
    told = static_twin.text(dict(view))
    assert "budget 2 of 2 requests" in told.lower()
    assert 'await bench.runs["r1"].extend()' in told
    assert "workbench extend r1" in told
    left = f"{500 - run.budget.spent['tokens']} tokens left of 500"
    assert repr(run.budget) == f"<Budget of run 'r1': 0 requests left of 2, {left}; 1 wait for more>"


async def test_money_is_counted_to_the_micro_dollar(house: House) -> None:
    class Dear(Ears):
        async def ask(self, request: Any, on_text: Any) -> Any:
            return replace(await super().ask(request, on_text), cost_microdollars=120_001)

    agent = Agent("clerk", model=Dear(call("look", where="a"), call("look", where="b"), "Done."), tools=[look])
    bench = await house.open(agent)

    run = bench.run(agent, "Look", id="r1", budget=Budget(dollars="0.24"))

    assert await stopped(run) == "the budget of run 'r1' is used up, 0.240002 of 0.24 dollars"
    await run.extend(dollars="0.10")
    assert await run == "Done."
    assert (run.budget.spent["microdollars"], run.budget.limits) == (360_003, {"microdollars": 340_000})
    assert run.budget.left == {"microdollars": 0}


async def test_time_at_work_is_counted_and_waiting_for_a_person_is_not(house: House) -> None:
    begun: list[int] = []

    @tool(approval=True)
    async def think(seconds: int) -> str:
        """Think for a while."""
        begun.append(seconds)
        await house.clock.sleep_until(house.clock.now() + seconds)
        return "thought"

    agent = clerk([call("think", seconds=30), call("think", seconds=20)], "Done.", tools=[think])
    bench = await house.open(agent)
    run = bench.run(agent, "Think", id="r1", budget=Budget(seconds=25))
    await until(lambda: len(bench.approvals.pending()) == 2)

    await house.clock.advance(3600)
    for request in bench.approvals.pending():
        await bench.approvals.approve(request.id)
    await until(lambda: len(begun) == 2)
    await house.clock.advance(30)

    assert await stopped(run) == "the budget of run 'r1' is used up, 30 of 25 seconds"
    await run.extend()
    assert await run == "Done."
    assert (run.budget.spent["seconds"], run.budget.limits) == (30, {"seconds": 50})


async def test_a_scheduled_run_spends_the_budget_of_its_bench(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."), budget=Budget(requests=1))
    await bench.every(60, agent, "Greet", name="morning")

    for _ in range(2):
        await house.clock.advance(60)
        await bench._runtime.tick()
    await until(lambda: bench.budget.waiting)

    assert (bench.budget.spent["requests"], len(bench.runs)) == (1, 2)


async def test_budgets_are_a_table_of_all_of_them(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."), budget=Budget(dollars=2, requests=10))

    await bench.run(agent, "Greet", id="r1", budget=Budget(tokens=100))

    rows = [(row["of"], row["unit"], row["limit"], row["spent"], row["left"]) for row in bench.budgets.table()]
    assert sorted(rows) == [
        ("bench", "dollars", "2.00", "0.00", "2.00"), ("bench", "requests", 10, 1, 9), ("r1", "tokens", 100, 2, 98),
    ]  # fmt: skip
    assert repr(bench.budget) == "<Budget of the bench: 9 requests left of 10, 2.00 dollars left of 2.00>"


async def test_the_time_of_a_team_is_that_of_those_who_work(house: House) -> None:
    @tool
    async def write(seconds: int) -> str:
        """Write for a while."""
        begun.append(seconds)
        await house.clock.sleep_until(house.clock.now() + seconds)
        return "written"

    begun: list[int] = []
    writer = Agent("writer", tools=[write], model=Ears(call("write", seconds=40), "Done."))
    boss = Agent("boss", tools=[writer], model=Ears(call("ask_writer", message="Write."), "All done."))
    bench = await house.open(boss)
    run = bench.run(boss, "A post.", id="r1", budget=Budget(seconds=100))
    await until(lambda: begun)

    await house.clock.advance(40)

    assert await run == "All done."
    assert run.budget is not None
    assert (run.budget.spent["seconds"], run.budget.by["writer"]["seconds"]) == (40, 40)
