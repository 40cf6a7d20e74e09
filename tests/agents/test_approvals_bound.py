"""What a decision is bound to: the arguments that were shown, one execution, and a tool that takes them."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from houses import Desk, House, clerk
from pydantic import AfterValidator

from workbench import tool
from workbench.errors import BadInput
from workbench.models.script import call
from workbench.plain import digest, encode


@pytest.mark.parametrize("verb", ["approve", "reject", "dismiss", "answer", "always"])
async def test_case_16_a_decision_about_other_arguments_is_refused(house: House, verb: str) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()
    values = ["value"] if verb == "answer" else []

    with pytest.raises(BadInput, match="are others than those that were shown"):
        await getattr(bench.approvals, verb)(request.id, *values, digest=digest({"order_id": "A-1003"}))

    assert (len(bench.approvals.pending()), desk.ran) == (1, [])
    await bench.approvals.approve(request.id, digest=request.digest)
    assert await run == "All done."


async def test_a_button_carries_the_digest_of_what_its_card_shows(room: House) -> None:
    bench = await room.open(agent := Desk().agent())
    request = await bench.run(agent, "Cancel A-1002").approval()

    carried = {action["args"]["digest"] for action in request.actions}

    assert carried == {digest({"order_id": "A-1002"})}
    with pytest.raises(BadInput, match="are others than those that were shown"):
        await bench.approvals.command("approve", {"id": request.id, "digest": digest({})})


async def test_case_16_arguments_changed_behind_a_decision_need_a_new_one(room: House) -> None:
    desk = Desk()
    bench = await room.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002", id="r1")
    first = await run.approval()
    requests = bench._runtime.requests
    row = requests._store._room.records["request", first.id]
    changed = {**(await requests.get(first.id)).body, "digest": digest({"order_id": "A-1003"})}
    requests._store._room.records["request", first.id] = type(row)(
        row.kind, row.id, row.key, encode(changed), row.status, row.at
    )
    requests._known.pop(first.id)

    await bench.approvals.approve(first.id)
    second = await run.approval()

    assert second.id != first.id
    assert second.message == "The arguments are others than those that were approved."
    assert desk.ran == []
    await bench.approvals.approve(second.id)
    assert await run == "All done."
    assert desk.ran == [("A-1002", "")]


def even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


async def test_an_edit_that_the_tool_refuses_after_all_is_asked_about_again(house: House) -> None:
    heard: list[int] = []

    @tool(approval=True)
    def split(parts: Annotated[int, AfterValidator(even)]) -> int:
        heard.append(parts)
        return parts

    first = await house.open(agent := clerk(call("split", parts=2), "Split.", tools=[split]))
    run = first.run(agent, "Split it", id="r1")
    request = await run.approval()
    stranger = await house.open(worker=False)
    await stranger.approvals.approve(request.id, args={"parts": 3})

    await run.until(lambda state: state["status"] == "waiting" and request.id not in pending(first))
    again = await run.approval()

    assert "cannot be used" in again.message
    assert "must be even" in again.message
    assert (again.args, heard) == ({"parts": 2}, [])
    await first.approvals.approve(again.id, args={"parts": 4})
    assert await run == "Split."
    assert heard == [4]


def pending(bench: Any) -> list[str]:
    return [request.id for request in bench.approvals.pending()]


async def test_the_record_says_who_decided_what_through_what(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002", id="r1")
    request = await run.approval()
    asked_at = house.clock.now()

    before = request.record
    after = (await bench.approvals.approve(request.id, {"order_id": "A-1003"}, by="ana", via="cli")).record
    await run

    assert before == {
        "id": request.id,
        "run": "r1",
        "step": {"turn": 1, "position": 0},
        "agent": "clerk",
        "chain": ["clerk", "cancel_order"],
        "tool": "cancel_order",
        "proposed_args": {"order_id": "A-1002"},
        "shown_args": {"order_id": "A-1002"},
        "digest": digest({"order_id": "A-1002"}),
        "args_schema": desk.cancel.parameters,
        "risk": "changes",
        "message": "Cancel an order, with order_id “A-1002”.",
        "created_at": asked_at,
        "expires_at": None,
        "on_expiry": "deny",
        "status": "pending",
        "effective_args": None,
        "value": None,
        "note": None,
        "decided_by": None,
        "decider": None,
        "via": None,
        "rule_id": None,
        "decided_at": None,
    }
    assert after == {
        **before,
        "status": "edited",
        "effective_args": {"order_id": "A-1003"},
        "decided_by": "person",
        "decider": "ana",
        "via": "cli",
        "decided_at": asked_at,
    }


async def test_a_decision_of_a_test_is_marked_as_one(room: House) -> None:
    bench = await room.open(agent := Desk().agent())
    request = await bench.run(agent, "Cancel A-1002").approval()

    decided = await bench.approvals.approve(request.id, via="test")

    assert decided.record["decided_by"] == "test"


@pytest.mark.parametrize(
    ("options", "risk"), [({"read_only": True}, "read_only"), ({}, "changes"), ({"destructive": True}, "destructive")]
)
async def test_the_record_says_what_kind_of_act_it_is(room: House, options: dict[str, Any], risk: str) -> None:
    @tool(approval=True, **options)
    def act() -> str:
        return "done"

    bench = await room.open(agent := clerk(call("act"), "Done.", tools=[act]))

    assert (await bench.run(agent, "Act").approval()).record["risk"] == risk


async def test_an_approval_that_has_no_such_field_says_which_it_has(room: House) -> None:
    bench = await room.open(agent := Desk().agent())
    request = await bench.run(agent, "Cancel A-1002").approval()

    assert (request.shown_args, request.created_at) == (request.args, request.asked_at)
    with pytest.raises(AttributeError, match="an approval has no field 'colour'"):
        _ = request.colour
