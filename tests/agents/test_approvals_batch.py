"""Batches and AG-UI: several decided at once, each by itself, and the same questions in another protocol's words."""

from __future__ import annotations

import pytest
from houses import Desk, House, clerk, ears, until

from workbench import Workbench
from workbench.agents.approval import Approval
from workbench.agents.questions import input_question
from workbench.agents.run import Run
from workbench.errors import AlreadyDecided, BadInput
from workbench.models.script import call
from workbench.plain import encode


async def asking(bench: Workbench, desk: Desk, count: int = 3) -> tuple[Run, list[Approval]]:
    """A run that asks about `count` orders in one turn."""
    turn = [call("cancel_order", order_id=f"A-000{number}") for number in range(count)]
    run = bench.run(clerk(turn, "All done.", tools=[desk.cancel]), "Cancel them all", id="r1")
    await until(lambda: len(bench.approvals.pending()) == count)
    return run, sorted(bench.approvals.pending(), key=lambda request: request.call)


async def test_all_that_waits_is_approved_at_once(house: House) -> None:
    bench, desk = await house.open(), Desk()
    run, requests = await asking(bench, desk)

    batch = await bench.approvals.approve_all(by="ana")

    assert {one.id for one in batch.decided} == {one.id for one in requests}
    assert {(one.status, one.decided_by) for one in batch.decided} == {("approved", "ana")}
    assert batch.undecided == {}
    assert await run == "All done."
    assert sorted(desk.ran) == [("A-0000", ""), ("A-0001", ""), ("A-0002", "")]


async def test_a_batch_says_which_were_not_decided_and_why(house: House) -> None:
    bench, desk = await house.open(), Desk()
    run, (first, second, third) = await asking(bench, desk)
    await bench.approvals.reject(second.id, by="bo")

    batch = await bench.approvals.reject_all([first.id, second.id, "ap-none"], "not today")

    assert [one.id for one in batch.decided] == [first.id]
    assert {id: str(why) for id, why in batch.undecided.items()} == {
        second.id: f"{second.id!r} is already rejected, by bo; the first decision stands",
        "ap-none": "no approval 'ap-none' in this store; bench.approvals.pending() lists the open ones",
    }
    assert repr(batch).startswith("<Batch: 1 decided, 2 not; ")
    assert [row["status"] for row in batch.table] == ["rejected", "not decided", "not decided"]
    await bench.approvals.approve(third.id)
    assert await run == "All done."
    told = [result.content for result in ears(bench.agents["clerk"]).told]
    assert told == ["A person declined this call: not today", "A person declined this call.", "A-0002 cancelled"]


async def test_a_batch_is_of_one_run_tool_or_agent(room: House) -> None:
    bench, desk = await room.open(), Desk()
    _, requests = await asking(bench, desk)

    assert (await bench.approvals.approve_all(run="another")).decided == []
    assert (await bench.approvals.approve_all(tool="another")).decided == []
    assert (await bench.approvals.approve_all(agent="another")).decided == []
    assert len((await bench.approvals.approve_all(run="r1", tool="cancel_order", agent="clerk")).decided) == 3
    with pytest.raises(BadInput, match="several approvals are a list of ids"):
        await bench.approvals.approve_all(requests[0].id)


async def test_a_batch_from_a_window_is_bound_to_what_each_card_shows(room: House) -> None:
    bench, desk = await room.open(), Desk()
    _, (first, second, third) = await asking(bench, desk)

    told = await bench.approvals.command("approve_all", {"ids": {first.id: first.digest, second.id: third.digest}})

    assert told["decided"] == [first.id]
    assert list(told["undecided"]) == [second.id]
    assert "are others than those that were shown" in told["undecided"][second.id]
    told = await bench.approvals.command("reject_all", {"ids": {third.id: third.digest}, "reason": "no"})
    assert told == {"decided": [third.id], "undecided": {}}


async def test_a_request_is_an_interrupt_of_ag_ui(room: House) -> None:
    desk = Desk()
    desk.cancel.expires = 60.0
    bench = await room.open(agent := desk.agent())
    request = await bench.run(agent, "Cancel A-1002", id="r1").approval()

    asked = request.interrupt()

    assert (asked["id"], asked["reason"], asked["toolCallId"]) == (request.id, "tool_call", "r1:t1.0")
    assert asked["message"] == "Cancel an order, with order_id “A-1002”."
    assert asked["expiresAt"] == "2023-11-14T22:14:20.000Z"
    response = asked["responseSchema"]
    assert response["required"] == ["approved"]
    assert response["properties"]["editedArgs"]["properties"] == request.schema["properties"]
    assert asked["metadata"]["workbench"]["digest"] == request.digest


@pytest.mark.parametrize(
    ("entry", "status", "ran"),
    [
        ({"status": "resolved", "payload": {"approved": True}}, "approved", [("A-1002", "")]),
        (
            {"status": "resolved", "payload": {"approved": True, "editedArgs": {"order_id": "A-1003"}}},
            "edited",
            [("A-1003", "")],
        ),
        ({"status": "resolved", "payload": {"approved": False, "note": "no"}}, "rejected", []),
        ({"status": "cancelled"}, "dismissed", []),
    ],
)
async def test_an_entry_of_a_resume_decides_once_however_often_it_is_sent(
    house: House, entry: dict[str, object], status: str, ran: list[object]
) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    first = await bench.approvals.resume({"interruptId": request.id, **entry})
    second = await bench.approvals.resume({"interruptId": request.id, **entry})

    assert (first.status, second.status, second.via) == (status, status, "ag-ui")
    assert await run == "All done."
    assert desk.ran == ran
    with pytest.raises(AlreadyDecided):
        await bench.approvals.resume(
            {"interruptId": request.id, "status": "resolved", "payload": {"approved": False, "note": "late"}}
        )


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"status": "maybe"}, "is 'resolved' or 'cancelled', found 'maybe'"),
        ({"status": "resolved", "payload": {}}, "approved is missing, expected a value"),
        ({"status": "resolved", "payload": {"approved": "yes"}}, "approved is 'yes', expected a value of type boolean"),
        (
            {"status": "resolved", "payload": {"approved": True, "editedArgs": {"order_id": "B-1"}}},
            "editedArgs.order_id is 'B-1', expected pattern",
        ),
    ],
)
async def test_an_entry_that_does_not_fit_decides_nothing(room: House, entry: dict[str, object], words: str) -> None:
    bench = await room.open(agent := Desk().agent())
    request = await bench.run(agent, "Cancel A-1002").approval()

    with pytest.raises(BadInput, match=words):
        await bench.approvals.resume({"interruptId": request.id, **entry})

    assert len(bench.approvals.pending()) == 1


AGE = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}, "required": ["age"]}


async def asked_for_an_age(bench: Workbench) -> str:
    """A question for a value, and its id."""
    body = input_question("How old?", AGE, run="r1", agent="clerk", tool="greet", call="t1.0", chain=[])
    request_id = "ap-age"
    await bench.store.put_record("request", request_id, "run:r1", encode(body), status="pending", at=1.0)
    await bench._runtime.requests.find()
    return request_id


async def test_a_question_for_a_value_takes_one_that_fits_and_no_yes(house: House) -> None:
    bench = await house.open()
    id = await asked_for_an_age(bench)

    with pytest.raises(BadInput, match="asks for a value"):
        await bench.approvals.approve(id)
    with pytest.raises(BadInput, match="does not fit: age is -1, expected minimum 0"):
        await bench.approvals.answer(id, {"age": -1})
    asked = (await bench.approvals.get(id)).interrupt()
    answered = await bench.approvals.answer(id, {"age": 7})

    assert (asked["reason"], asked["message"], asked["responseSchema"]) == ("input_required", "How old?", AGE)
    assert (answered.status, answered.value) == ("answered", {"age": 7})
    assert [action["label"] for action in answered.actions] == []


async def test_a_question_for_a_value_is_left_out_of_approve_all(room: House) -> None:
    bench = await room.open()
    id = await asked_for_an_age(bench)

    assert (await bench.approvals.approve_all()).decided == []
    assert [one.id for one in (await bench.approvals.reject_all()).decided] == [id]
