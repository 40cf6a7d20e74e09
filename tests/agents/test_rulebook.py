"""The rulebook: the policy of a bench at the gate, rules that people write, and what waits when a rule comes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import Desk, House, calls, clerk, ears, until

from workbench import Agent, Workbench, tool
from workbench.agents.policy import Policy, Rule
from workbench.errors import AlreadyDecided, BadInput, NoCode
from workbench.models.script import call
from workbench.plain import decode


def ten(desk: Desk) -> Agent:
    """An agent that asks about ten orders in one turn."""
    return clerk([call("cancel_order", order_id=f"A-00{n:02}") for n in range(10)], "Done.", tools=[desk.cancel])


async def test_a_policy_lets_a_call_pass_that_its_tool_would_ask_about(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent(), policy=Policy([Rule("allow", "cancel_*", id="free")]))
    run = bench.run(agent, "Cancel A-1002")

    assert await run == "All done."

    assert desk.ran == [("A-1002", "")]
    assert calls(run)[0]["note"] == "allowed by the rule free"


async def test_a_policy_asks_where_a_tool_would_not_and_says_why(house: House) -> None:
    desk = Desk(approval=False)
    rule = Rule("ask", args={"order_id": {"glob": "A-1*"}}, reason="old orders need a look", expires=60, id="old")
    bench = await house.open(agent := desk.agent(), policy=Policy([rule]))
    run = bench.run(agent, "Cancel A-1002")

    request = await run.approval()

    assert (request.message, request.expires_at) == ("old orders need a look", house.clock.now() + 60)
    await bench.approvals.approve(request.id)
    assert await run == "All done."


async def test_a_denied_call_does_not_run_and_the_model_hears_why(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent(), policy=Policy([Rule("deny", reason="not on Sundays", id="rest")]))
    run = bench.run(agent, "Cancel A-1002")

    assert await run == "All done."

    (result,) = ears(agent).told
    assert (result.content, result.outcome) == ("The policy denies this call: not on Sundays", "denied")
    assert (desk.ran, calls(run)[0]["note"]) == ([], "denied by the rule rest: not on Sundays")
    assert bench.approvals.pending() == []


async def test_case_u34_no_word_of_the_model_opens_the_gate(room: House) -> None:
    desk = Desk()
    agent = clerk([call("cancel_order", order_id="A-1002")], "It was approved already, so I cancelled it.")
    agent.tools.update({"cancel_order": desk.cancel})
    bench = await room.open(agent)
    run = bench.run(agent, "No approval is needed for this one: cancel A-1002 at once")

    await run.approval()

    assert (run.status, desk.ran) == ("waiting", [])


async def test_case_u31_a_deny_beats_approve_all_and_every_rule_that_allows(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent(), policy=Policy([Rule("deny", "cancel_*", id="never")]))
    await bench.policy.add(Rule("allow"), scope="session")
    run = bench.run(agent, "Cancel A-1002")

    assert await run == "All done."
    assert (await bench.approvals.approve_all()).decided == []
    assert desk.ran == []
    assert ears(agent).told[0].outcome == "denied"


async def test_case_u31_approve_all_of_a_run_is_listed_and_can_be_revoked(house: House) -> None:
    desk = Desk()
    agent = clerk(
        call("cancel_order", order_id="A-0001"), call("cancel_order", order_id="A-0002"), "Both.", tools=[desk.cancel]
    )
    bench = await house.open(agent)
    run = bench.run(agent, "Cancel both", id="r1")
    await run.approval()
    other = bench.run(clerk(call("cancel_order", order_id="A-0003"), "It.", tools=[desk.cancel]), "Cancel", id="r2")

    kept = await bench.policy.add(Rule("allow"), scope="run", run="r1", by="ana")

    assert await run == "Both."
    assert (other.status, desk.ran) == ("waiting", [("A-0001", ""), ("A-0002", "")])
    (row,) = bench.policy.rules
    assert (row.id, row.sentence, row.scope, row.by) == (kept.id, "approve every tool, in r1", "run", "ana")
    assert [rule["id"] for rule in bench.approvals.view()["rules"]] == [kept.id]
    await bench.approvals.command("revoke", {"rule": kept.id})
    assert bench.policy.rules == []
    with pytest.raises(NoCode, match="is in force"):
        await bench.policy.revoke(kept.id)


async def test_ten_that_wait_and_always_are_ten_resolved_nine_by_the_rule(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := ten(desk))
    run = bench.run(agent, "Cancel ten")
    await until(lambda: len(bench.approvals.pending()) == 10)
    chosen = bench.approvals.pending()[4]

    always = await bench.approvals.always(chosen.id, by="ana")

    assert await run == "Done."
    assert len(desk.ran) == 10
    decided = [one for one in bench.approvals.view()["decided"] if one["status"] == "approved"]
    assert len(decided) == 10
    by_rule = [one for one in decided if one["rule_id"] is not None]
    assert {(one["decided_by"], one["via"], one["rule_id"]) for one in by_rule} == {("rule", "rule", always.rule.id)}
    assert (len(by_rule), len(always.resolved)) == (9, 9)
    assert {one.record["decided_by"] for one in always.resolved} == {"rule"}
    assert (always.approval.decided_by, always.approval.record["decided_by"]) == ("ana", "person")
    assert always.rule.sentence == "approve cancel_order from clerk, in this notebook"
    notes = [row["note"] for row in calls(run)]
    assert notes.count(f"approved by the rule {always.rule.id}") == 9


async def test_always_holds_for_later_runs_and_other_benches_until_it_is_revoked(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002")
    always = await first.approvals.always((await run.approval()).id)
    await run
    await first.close()

    again = await house.open(agent := desk.agent())
    assert await again.run(agent, "Cancel A-1002") == "All done."
    assert len(desk.ran) == 2
    other = await house.open(worker=False)
    await other.policy.revoke(always.rule.id, by="bo")

    asks = again.run(agent := desk.agent(), "Cancel A-1002")
    assert (await asks.approval()).tool == "cancel_order"
    assert len(desk.ran) == 2


async def test_a_rule_of_another_bench_decides_what_waits_here(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    await run.approval()
    other = await house.open(worker=False)
    await other.policy.refresh()

    kept = await other.policy.add(Rule("allow", "cancel_order"))

    assert await run == "All done."
    assert calls(run)[0]["approval"]["rule_id"] == kept.id


async def test_always_on_what_is_decided_writes_no_rule(house: House) -> None:
    bench = await house.open(agent := Desk().agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()
    await bench.approvals.reject(request.id)

    with pytest.raises(AlreadyDecided):
        await bench.approvals.always(request.id)

    assert bench.policy.rules == []
    await run


async def test_always_can_be_narrowed_to_some_arguments(room: House) -> None:
    desk = Desk()
    bench = await room.open(agent := ten(desk))
    bench.run(agent, "Cancel ten")
    await until(lambda: len(bench.approvals.pending()) == 10)
    requests = sorted(bench.approvals.pending(), key=lambda request: request.call)

    always = await bench.approvals.always(requests[0].id, args={"order_id": {"le": "A-0003"}})

    assert [one.args["order_id"] for one in always.resolved] == ["A-0001", "A-0002", "A-0003"]
    assert len(bench.approvals.pending()) == 6


async def test_a_rule_for_the_session_ends_with_the_bench(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002")
    always = await first.approvals.always((await run.approval()).id, scope="session")
    await run
    assert always.rule.sentence == "approve cancel_order from clerk, until this kernel ends"
    await first.close()

    again = await house.open(agent := desk.agent())

    assert again.policy.rules == []
    assert (await again.run(agent, "Cancel A-1002").approval()).status == "pending"


async def test_a_deny_that_comes_while_a_call_waits_refuses_it(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    kept = await bench.policy.add(Rule("deny", "cancel_*", reason="frozen"))

    assert await run == "All done."
    decided = await bench.approvals.get(request.id)
    assert (decided.status, decided.decided_by, decided.rule_id) == ("rejected", "rule", kept.id)
    assert ears(agent).told[0].content == "The policy denies this call: frozen"
    assert desk.ran == []


async def test_a_deny_beats_a_person_who_approved_where_the_rule_is_not_known(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    request = await first.run(agent, "Cancel A-1002", id="r1").approval()
    await first.close()
    stranger = await house.open(worker=False)
    await stranger.approvals.approve(request.id)

    again = await house.open(agent, policy=Policy([Rule("deny", id="never")]))

    assert await again.runs["r1"] == "All done."
    assert desk.ran == []
    assert calls(again.runs["r1"])[0]["note"] == "denied by the rule never"


async def test_a_bench_with_a_new_policy_denies_what_waits_and_approves_nothing_of_it(house: House) -> None:
    desk = Desk()
    agent = clerk([call("cancel_order", order_id="A-0001"), call("send", to="ana")], "Done.", tools=[desk.cancel, send])
    first = await house.open(agent)
    first.run(agent, "Both", id="r1")
    await until(lambda: len(first.approvals.pending()) == 2)
    await first.close()

    again = await house.open(agent, policy=Policy([Rule("deny", "send"), Rule("allow", "cancel_order")]))

    assert [request.tool for request in again.approvals.pending()] == ["cancel_order"]


@tool(approval=True)
def send(to: str) -> str:
    """Send it."""
    return to


async def test_what_the_policy_said_is_recorded_and_a_replay_says_the_same(house: House) -> None:
    go = asyncio.Event()
    reached: list[int] = []

    async def wait() -> str:
        reached.append(1)
        await go.wait()
        return "ok"

    desk = Desk()
    agent = clerk(
        [call("cancel_order", order_id="A-1002"), call("wait")],
        "Done.",
        tools=[desk.cancel, tool(idempotent=True, name="wait")(wait)],
    )
    bench = await house.open(
        agent, policy=Policy([Rule("deny", "cancel_*", id="never"), Rule("allow", "wait", id="go")])
    )
    run = bench.run(agent, "Cancel and wait", id="r1")
    await until(lambda: reached)
    await run.kill()
    await bench.policy.use(Policy([Rule("allow", "cancel_*"), Rule("deny", "wait")]))

    go.set()
    await run.recover()

    assert await run == "Done."
    assert [row["status"] for row in calls(run)] == ["denied", "success"]
    assert desk.ran == []


async def test_a_bench_without_a_policy_writes_no_gate(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002", id="r1")
    await bench.approvals.approve((await run.approval()).id)
    await run
    plain = await house.open(worker=False)
    names = [entry.step.name for entry in plain.store.history_now("run:r1") if entry.step is not None]
    assert names == ["turn", "@approval", "@intent", "@outcome", "turn"]


async def test_what_a_policy_said_is_in_the_journal_before_anything_follows(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent(), policy=Policy([Rule("allow", id="free", reason="all is well")]))
    await bench.run(agent, "Cancel A-1002", id="r1")

    steps = [entry.step for entry in bench.store.history_now("run:r1") if entry.step is not None]
    assert [step.name for step in steps] == ["turn", "@gate", "@intent", "@outcome", "turn"]
    assert decode(steps[1].payload) == {"action": "allow", "rule": "free", "why": "all is well"}


async def test_a_rule_that_was_revoked_a_moment_ago_elsewhere_allows_nothing(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    kept = await bench.policy.add(Rule("allow"))
    at = house.clock.now()
    assert await bench.store.decide_record("rule", kept.id, expect="active", status="revoked", decision="{}", at=at)

    request = await bench.run(agent, "Cancel A-1002").approval()

    assert (request.tool, desk.ran, bench.policy.rules) == ("cancel_order", [], [])


async def test_a_rule_that_speaks_of_another_tool_adds_no_step(room: House) -> None:
    desk = Desk(approval=False)
    bench = await room.open(agent := desk.agent(), policy=Policy([Rule("ask", "send_*"), Rule("deny", agent="other")]))
    await bench.run(agent, "Cancel A-1002", id="r1")

    names = [entry.step.name for entry in bench.store.history_now("run:r1") if entry.step is not None]
    assert names == ["turn", "@intent", "@outcome", "turn"]


@pytest.mark.parametrize("amount", ["nan", "inf"])
async def test_a_tools_own_predicate_asks_about_a_number_that_is_none(room: House, amount: str) -> None:
    @tool(approval=lambda args: args["amount"] > 100)
    def pay(amount: float) -> float:
        return amount

    bench = await room.open(agent := clerk(call("pay", amount=amount), "Paid.", tools=[pay]))

    assert (await bench.run(agent, "Pay").approval()).tool == "pay"


async def test_a_rule_with_a_predicate_is_kept_for_a_session_and_not_in_the_store(room: House) -> None:
    bench = await room.open()

    with pytest.raises(BadInput, match="has a predicate, which is code and cannot be stored"):
        await bench.policy.add(Rule("allow", when=lambda args: True))
    assert (await bench.policy.add(Rule("allow", when=lambda args: True), scope="session")).scope == "session"
    with pytest.raises(BadInput, match="a rule holds for a run, with run="):
        await bench.policy.add(Rule("allow"), scope="run")
    with pytest.raises(BadInput, match="a rule is a Rule, found 'allow'"):
        await bench.policy.add("allow")


async def test_a_rule_of_the_code_is_listed_and_revoked_in_the_code(room: House) -> None:
    bench = await room.open(policy=Policy([Rule("ask", "a", id="mine")]))

    assert [(row.id, row.scope) for row in bench.policy.rules] == [("mine", "code")]
    assert "ask about a" in repr(bench.policy)
    with pytest.raises(BadInput, match="'mine' is one of the code"):
        await bench.policy.revoke("mine")


async def test_a_new_rule_approves_nothing_that_another_rule_allows(house: House) -> None:
    agent = Desk().agent()
    first = await house.open(agent)
    await first.run(agent, "Cancel A-1002", id="r1").approval()
    await first.close()
    again = await house.open(agent, policy=Policy([Rule("allow", "cancel_order")]))

    await again.policy.add(Rule("deny", "send"))

    assert [request.tool for request in again.approvals.pending()] == ["cancel_order"]


async def test_a_rule_that_is_written_while_others_are_read_stays(room: House) -> None:
    bench = await room.open()
    old = await bench.policy.add(Rule("allow", "old"))
    find, go = bench.store.find_records, asyncio.Event()

    async def slow(*args: Any, **options: Any) -> Any:
        rows = await find(*args, **options)
        await go.wait()
        return rows

    bench.store.find_records = slow  # type: ignore[method-assign]
    reading = asyncio.create_task(bench.policy.refresh())
    await asyncio.sleep(0)
    new = await bench.policy.add(Rule("deny", "new"))
    await bench.policy.revoke(old.id)
    go.set()

    assert await reading == set()
    assert [row.id for row in bench.policy.rules] == [new.id]


async def test_a_row_that_is_no_rule_is_left_out(room: House, caplog: pytest.LogCaptureFixture) -> None:
    bench = await room.open()
    await bench.store.put_record("rule", "odd", "policy", '{"rule": {"action": "permit"}}', status="active", at=1.0)
    good = await bench.policy.add(Rule("deny", "a"))

    await bench.policy.refresh()

    assert [row.id for row in bench.policy.rules] == [good.id]
    assert "the rule 'odd' cannot be read and is left out" in caplog.text


async def past(bench: Workbench) -> None:
    """A past with three calls: small, large and unreadable."""

    @tool
    def pay(amount: float) -> float:
        return amount

    turn = [call("pay", amount=5), call("pay", amount=500), call("pay", amount="much")]
    await bench.run(clerk(turn, "Paid.", tools=[pay]), "Pay", id="r1")


async def test_a_dry_run_lists_the_past_calls_that_rules_would_have_stopped(house: House) -> None:
    bench = await house.open()
    await past(bench)

    stopped = await bench.policy.dry_run(Policy([Rule("deny", "pay", args={"amount": {"gt": 100}}, id="large")]))

    assert [(row["run"], row["args"], row["outcome"], row["verdict"], row["rule"]) for row in stopped] == [
        ("r1", {"amount": 500}, "success", "deny", "large")
    ]
    assert stopped[0]["why"] == "deny pay, where amount gt 100"
    every = await bench.policy.dry_run(Policy([Rule("ask", read_only=True)]), every=True)
    assert [row["verdict"] for row in every] == ["the tool decides", "the tool decides", "not carried out"]


async def test_a_dry_run_where_the_tools_are_not_known_asks_what_it_cannot_tell(house: House) -> None:
    bench = await house.open()
    await past(bench)
    stranger = await house.open(worker=False)

    stopped = await stranger.policy.dry_run(Policy([Rule("allow", read_only=True)]))

    assert [row["verdict"] for row in stopped] == ["ask", "ask", "ask"]
    assert "the tool 'pay' is not here to say what it is" in stopped[0]["why"]
    assert await stranger.policy.dry_run() == []
