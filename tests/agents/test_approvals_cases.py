"""Approvals as people met them elsewhere: what must be so, by the numbers of the cases."""

from __future__ import annotations

from typing import Any

import pytest
from houses import Desk, House, calls, clerk, until

from workbench.agents.context import Principal
from workbench.errors import AlreadyDecided, ModelFailed, RunFailed
from workbench.models.model import Turn
from workbench.models.script import call


class Falls:
    """A model that asks for one call, and is gone when it is to hear of it."""

    name = "falls"

    def __init__(self, desk: Desk) -> None:
        self._first = clerk(call("cancel_order", order_id="A-1002"), tools=[desk.cancel]).model

    async def ask(self, request: Any, on_text: Any) -> Turn:
        if len(request.history) > 1:
            raise ModelFailed("the model is gone", kind="rejected", retryable=False)
        return await self._first.ask(request, on_text)


async def test_case_14_a_run_that_fails_after_a_decision_shows_both(house: House) -> None:
    desk = Desk()
    agent = clerk(tools=[desk.cancel])
    agent._given = agent._model = Falls(desk)
    bench = await house.open(agent)
    run = bench.run(agent, "Cancel A-1002")

    await bench.approvals.approve((await run.approval()).id, by="ana")
    with pytest.raises(RunFailed, match="the model is gone"):
        await run

    view = run.view()
    (row,) = calls(run)
    assert (view["status"], view["error"]["type"]) == ("failed", "ModelFailed")
    assert (row["approval"]["status"], row["approval"]["decided_by"], desk.ran) == ("approved", "ana", [("A-1002", "")])


async def test_case_23_a_decision_is_honoured_whoever_resumes_with_what(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1", principal=Principal("ana"), conversation="c1")
    request = await run.approval()
    await run.kill()
    await first.approvals.approve(request.id)
    await first.close()

    again = await house.open(agent := desk.agent())  # another agent object of the name, and nothing of the first

    assert (
        await again.run(agent, "Cancel A-1002", id="r1", principal=Principal("ana"), conversation="c1") == "All done."
    )
    assert desk.ran == [("A-1002", "")]
    assert len(again.approvals.all()) == 1


async def test_case_26_what_waits_says_all_that_is_needed_in_a_fresh_process(house: House) -> None:
    desk = Desk()
    desk.cancel.expires = 60.0
    first = await house.open(agent := desk.agent())
    await first.run(agent, "Cancel A-1002", id="r1").approval()
    asked_at = house.clock.now()
    await first.close()

    reader = await house.open(worker=False)  # no code of the agent

    (found,) = reader.approvals.pending()
    assert (found.run, found.key, found.chain) == ("r1", "run:r1", ["clerk", "cancel_order"])
    assert (found.tool, found.args, found.schema) == ("cancel_order", {"order_id": "A-1002"}, desk.cancel.parameters)
    assert (found.created_at, found.expires_at) == (asked_at, asked_at + 60)


@pytest.mark.parametrize("end", ["approve", "reject", "dismiss", "answer", "cancel", "expiry"])
async def test_case_27_every_end_of_a_wait_closes_the_request_in_every_view(house: House, end: str) -> None:
    desk = Desk()
    desk.cancel.expires = 60.0
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    request = await run.approval()
    second = await house.open(worker=False)
    await until(lambda: second.approvals.view()["pending"])

    if end == "cancel":
        await run.cancel()
    elif end == "expiry":
        await house.clock.advance(61)
        await first._runtime.requests.expire()
    else:
        values = ["value"] if end == "answer" else []
        await getattr(second.approvals, end)(request.id, *values)

    await until(lambda: not first.approvals.view()["pending"] and not second.approvals.view()["pending"])
    statuses = {bench.approvals.view()["decided"][0]["status"] for bench in (first, second)}
    assert len(statuses) == 1
    assert statuses <= {"approved", "rejected", "dismissed", "answered", "superseded", "expired"}
    assert calls(run)[0]["approval"]["actions"] == []


async def test_case_27_a_killed_run_keeps_its_question_which_can_be_answered(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    await run.kill()

    assert [one["id"] for one in bench.approvals.view()["pending"]] == [request.id]
    assert calls(run)[0]["approval"]["actions"] != []


async def test_case_u23_a_question_that_no_view_shows_is_listed_for_as_long_as_it_takes(room: House) -> None:
    bench = await room.open(agent := Desk().agent())
    request = await bench.run(agent, "Cancel A-1002").approval()

    await room.clock.advance(60)

    assert [one.id for one in bench.approvals.pending()] == [request.id]


async def test_case_u25_a_cancel_closes_its_questions_and_nobody_can_approve_them(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    assert await run.cancel("bo") == "cancelled"

    with pytest.raises(AlreadyDecided, match="is already superseded, by bo; the first decision stands"):
        await bench.approvals.approve(request.id)
    assert (desk.ran, bench.approvals.pending()) == ([], [])


async def test_case_u33_a_dismissed_question_holds_up_no_later_message(house: House) -> None:
    desk = Desk()
    agent = clerk(call("cancel_order", order_id="A-1002"), "Done.", "Noted.", tools=[desk.cancel])
    bench = await house.open(agent)
    first = bench.run(agent, "Cancel A-1002", conversation="c1")
    request = await first.approval()
    second = bench.run(agent, "Never mind, keep it", conversation="c1")

    await bench.approvals.dismiss(request.id)

    assert await first == "Done."
    assert calls(first)[0]["result"] == "The request was dismissed. Nothing was done."
    assert await second == "Noted."
    assert desk.ran == []
