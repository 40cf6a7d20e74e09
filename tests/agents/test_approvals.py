"""Approvals: what waits for a person, what each decision does, and what the model is told of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import Desk, House, calls, clerk, ears, until

from workbench import Agent, tool
from workbench.agents.tools import Tool
from workbench.errors import AlreadyDecided, NoSuchApproval, RunError, ToolArgumentsInvalid
from workbench.models.messages import calls_of
from workbench.models.script import call


async def test_a_request_has_all_that_is_needed_to_decide_it(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent(reason="late"))
    run = bench.run(agent, "Cancel A-1002", id="r1")

    request = await run.approval()

    assert (request.run, request.key, request.agent, request.tool) == ("r1", "run:r1", "clerk", "cancel_order")
    assert request.args == {"order_id": "A-1002", "reason": "late"}
    assert request.sentence == "Cancel an order, with order_id “A-1002” and reason “late”."
    assert request.act == "Changes data."
    assert request.schema["properties"]["order_id"]["pattern"] == r"^A-\d{4}$"
    assert (request.status, request.asked_at, request.expires_at) == ("pending", house.clock.now(), None)
    assert [pending.id for pending in bench.approvals.pending()] == [request.id]
    assert (run.status, desk.ran) == ("waiting", [])


async def test_an_approved_call_runs_once_with_the_arguments_shown(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    decided = await bench.approvals.approve(request.id)

    assert await run == "All done."
    assert desk.ran == [("A-1002", "")]
    assert (decided.status, decided.decided_by, decided.via) == ("approved", "you", "notebook")
    assert decided.effective_args == {"order_id": "A-1002"}
    assert [result.content for result in ears(agent).told] == ["A-1002 cancelled"]
    assert calls(run)[0]["note"] == "approved by you"
    assert bench.approvals.pending() == []


@pytest.mark.parametrize(("shown", "edited"), [({"flag": 1}, {"flag": True}), ({"flag": 1}, {})])
async def test_an_edit_is_one_however_alike_the_arguments_look(room: House, shown: Any, edited: Any) -> None:
    heard = []

    @tool(approval=True)
    def switch(flag: int | bool = 0) -> str:
        heard.append(flag)
        return "switched"

    bench = await room.open(agent := clerk(call("switch", **shown), "Done.", tools=[switch]))
    run = bench.run(agent, "Switch it")
    request = await run.approval()

    decided = await bench.approvals.approve(request.id, args=edited)

    assert await run == "Done."
    assert (decided.status, decided.effective_args) == ("edited", edited)
    assert [repr(flag) for flag in heard] == [repr(edited.get("flag", 0))]


async def test_case_u28_an_edit_keeps_the_models_own_call_and_tells_what_changed(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    decided = await bench.approvals.approve(request.id, args={"order_id": "A-1003"})

    assert await run == "All done."
    assert desk.ran == [("A-1003", "")]
    assert (decided.status, decided.args["order_id"]) == ("edited", "A-1002")
    assert decided.effective_args == {"order_id": "A-1003"}
    history = ears(agent).requests[-1].history
    assert [asked.args for asked in calls_of(history[1])] == [{"order_id": "A-1002"}]
    (result,) = ears(agent).told
    assert result.content["result"] == "A-1003 cancelled"
    assert result.content["note"].endswith("to {'order_id': 'A-1003'}.")
    assert "A person changed the arguments" in result.content["note"]


async def test_an_edit_that_does_not_fit_is_refused_and_the_request_stays(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    with pytest.raises(ToolArgumentsInvalid) as caught:
        await bench.approvals.approve(request.id, args={"order_id": "B-7"})
    with pytest.raises(ToolArgumentsInvalid):
        await bench.approvals.approve(request.id, args={})

    assert (caught.value.tool, caught.value.parameter) == ("cancel_order", "order_id")
    assert [pending.id for pending in bench.approvals.pending()] == [request.id]
    assert desk.ran == []


async def test_the_same_arguments_again_are_no_edit(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    assert (await bench.approvals.approve(request.id, args=dict(request.args))).status == "approved"
    await run


async def test_a_rejected_call_does_not_run_and_its_reason_is_told_verbatim(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    decided = await bench.approvals.reject(request.id, reason="the customer changed his mind")

    assert await run == "All done."
    assert desk.ran == []
    assert (decided.status, decided.reason) == ("rejected", "the customer changed his mind")
    (result,) = ears(agent).told
    assert (result.content, result.outcome) == ("A person declined this call: the customer changed his mind", "denied")
    assert calls(run)[0]["status"] == "denied"


async def test_an_answer_stands_in_for_the_tool(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    await bench.approvals.answer(request.id, {"cancelled": "by phone"})

    assert await run == "All done."
    assert desk.ran == []
    (result,) = ears(agent).told
    assert (result.content, result.outcome) == ({"cancelled": "by phone"}, "success")


async def test_a_dismissed_request_lets_the_run_go_on_without_it(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    await bench.approvals.dismiss(request.id)

    assert await run == "All done."
    assert desk.ran == []
    (result,) = ears(agent).told
    assert (result.content, result.outcome) == ("The request was dismissed. Nothing was done.", "denied")


async def test_case_20_u26_of_twenty_decisions_at_once_exactly_one_stands(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    decisions = await asyncio.gather(
        *(bench.approvals.approve(request.id, by=f"person {number}") for number in range(20)), return_exceptions=True
    )
    await run

    won = [decision for decision in decisions if not isinstance(decision, BaseException)]
    lost = [decision for decision in decisions if isinstance(decision, AlreadyDecided)]
    assert (len(won), len(lost), desk.ran) == (1, 19, [("A-1002", "")])
    heard = {(error.id, error.status, error.by, error.at) for error in lost}
    assert heard == {(request.id, "approved", won[0].decided_by, won[0].decided_at)}
    assert all(f"is already approved, by {won[0].decided_by}; the first decision stands" in str(e) for e in lost)


async def test_the_first_decision_stands_and_the_second_hears_whose_it_was(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()
    await bench.approvals.reject(request.id, by="ana")

    with pytest.raises(AlreadyDecided, match="is already rejected, by ana; the first decision stands") as caught:
        await bench.approvals.approve(request.id)

    assert (caught.value.id, caught.value.status, caught.value.by) == (request.id, "rejected", "ana")
    assert caught.value.at == house.clock.now()
    assert await run == "All done."
    assert desk.ran == []


@pytest.mark.parametrize("verb", ["approve", "reject", "dismiss", "answer"])
async def test_case_u10_an_unknown_id_is_a_lookup_error(house: House, verb: str) -> None:
    bench = await house.open()
    values = ["value"] if verb == "answer" else []

    with pytest.raises(LookupError, match="no approval 'ap-none' in this store") as caught:
        await getattr(bench.approvals, verb)("ap-none", *values)

    assert isinstance(caught.value, NoSuchApproval)
    assert caught.value.id == "ap-none"


def refuses(args: dict[str, Any]) -> bool:
    raise KeyError("amount")


def leaves(args: dict[str, Any]) -> bool:
    raise SystemExit(1)


@pytest.mark.parametrize(
    ("approval", "asks"),
    [
        (refuses, True),
        (leaves, True),
        (lambda args: None, True),
        (lambda args: "no", True),
        (lambda args: args["order_id"] == "A-1002", True),
        (lambda args: args["order_id"] != "A-1002", False),
        (False, False),
    ],
)
async def test_a_predicate_lets_a_call_pass_only_by_saying_false(room: House, approval: Any, asks: bool) -> None:
    desk = Desk(approval)
    bench = await room.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")

    await until(lambda: run.status in ("waiting", "completed"))

    assert run.status == ("waiting" if asks else "completed")
    assert len(desk.ran) == (0 if asks else 1)


async def test_a_predicate_that_changes_its_mind_is_not_asked_again(house: House) -> None:
    asked: list[str] = []

    def first_time(args: dict[str, Any]) -> bool:
        asked.append(args["order_id"])
        return len(asked) > 1

    go = asyncio.Event()

    async def wait() -> str:
        await go.wait()
        return "ok"

    desk = Desk(first_time)
    slow = tool(idempotent=True, name="wait")(wait)
    agent = clerk([call("cancel_order", order_id="A-1002"), call("wait")], "Done.", tools=[desk.cancel, slow])
    bench = await house.open(agent)
    run = bench.run(agent, "Cancel A-1002 and wait")
    await until(lambda: desk.ran)

    await run.kill()
    go.set()
    await run.recover()

    assert await run == "Done."
    assert (asked, desk.ran) == (["A-1002"], [("A-1002", "")])


def three(*desks: Desk) -> Agent:
    """An agent that cancels three orders in one turn."""
    return clerk(
        [call("cancel_order", order_id=f"A-000{number}") for number in (1, 2, 3)], "All done.", tools=[desks[0].cancel]
    )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
async def test_case_17_calls_that_ask_at_once_are_decided_in_any_order(house: House, order: tuple[int, ...]) -> None:
    desk = Desk()
    bench = await house.open(agent := three(desk))
    run = bench.run(agent, "Cancel all three")
    await until(lambda: len(bench.approvals.pending()) == 3)
    ids = [request.id for request in sorted(bench.approvals.pending(), key=lambda request: request.call)]

    for left, position in zip((3, 2, 1), order, strict=True):
        await run.until(lambda state: state["status"] == "waiting")
        assert len(bench.approvals.pending()) == left
        await bench.approvals.approve(ids[position])
        await until(lambda: len(desk.ran) > 3 - left)  # noqa: B023 - awaited within the turn

    assert await run == "All done."
    assert len(set(ids)) == 3
    assert desk.ran == [(f"A-000{position + 1}", "") for position in order]
    assert [result.content for result in ears(agent).told] == [f"A-000{number} cancelled" for number in (1, 2, 3)]


async def test_case_19_the_second_question_is_visible_as_soon_as_the_first_is_answered(house: House) -> None:
    desk = Desk()
    agent = clerk(
        call("cancel_order", order_id="A-0001"), call("cancel_order", order_id="A-0002"), "Both.", tools=[desk.cancel]
    )
    bench = await house.open(agent)
    run = bench.run(agent, "Cancel both")
    first = await run.approval()
    await bench.approvals.approve(first.id)

    await until(lambda: desk.ran)
    second = await run.approval()

    assert second.id != first.id
    assert (run.status, second.args) == ("waiting", {"order_id": "A-0002"})
    await bench.approvals.approve(second.id)
    assert await run == "Both."


async def test_the_inbox_is_a_handle_that_can_be_watched(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    assert bench.approvals.state == []
    run = bench.run(agent, "Cancel A-1002")

    (waiting,) = await bench.approvals.until(lambda state: len(state) == 1)

    await bench.approvals.approve(waiting["id"])
    await bench.approvals.until(lambda state: state == [])
    assert await run == "All done."


async def test_a_run_that_ends_without_asking_says_so(room: House) -> None:
    bench = await room.open(agent := clerk("Nothing to ask."))
    run = bench.run(agent, "Hello", id="r1")

    with pytest.raises(RunError, match="run 'r1' is completed and asks for nothing"):
        await run.approval()


async def test_a_tool_without_approval_that_only_reads_says_so(room: House) -> None:
    @tool(read_only=True, approval=True)
    def look(what: str) -> str:
        """Look at something."""
        return what

    assert isinstance(look, Tool)
    bench = await room.open(agent := clerk(call("look", what="it"), "Seen.", tools=[look]))
    request = await bench.run(agent, "Look").approval()

    assert request.act == "Reads only."
