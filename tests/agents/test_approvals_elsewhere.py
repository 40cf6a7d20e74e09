"""Approvals across kills, kernels and programs: the same request everywhere, one decision, one execution."""

from __future__ import annotations

import asyncio

import pytest
from houses import Desk, House, calls, clerk, ears, until

from workbench.errors import AlreadyDecided, ToolArgumentsInvalid
from workbench.models.script import call


async def test_case_13_26_a_reopened_bench_lists_the_same_request_and_can_answer_it(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    request = await first.run(agent, "Cancel A-1002", id="r1").approval()
    await first.close()

    again = await house.open(agent)
    (found,) = again.approvals.pending()

    assert found.view == request.view
    await again.approvals.approve(found.id)
    assert await again.runs["r1"] == "All done."
    assert desk.ran == [("A-1002", "")]
    assert len(ears(agent).requests) == 2


async def test_a_decision_on_a_killed_run_is_honoured_when_it_recovers(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    await run.kill()
    assert [pending.id for pending in bench.approvals.pending()] == [request.id]
    await bench.approvals.approve(request.id)
    await until(lambda: not bench.approvals.pending())
    assert (run.alive, desk.ran) == (False, [])

    await run.recover()
    assert await run == "All done."
    assert desk.ran == [("A-1002", "")]


async def test_case_25_a_reason_given_before_a_restart_is_told_after_it(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    request = await run.approval()
    await run.kill()
    await first.approvals.reject(request.id, reason="not before Monday")
    await first.close()

    again = await house.open(agent)

    assert await again.runs["r1"] == "All done."
    assert ears(agent).told[0].content == "A person declined this call: not before Monday"


async def test_case_16_one_decision_is_one_execution_however_often_the_run_is_killed(house: House) -> None:
    began, go = [], asyncio.Event()

    async def wait() -> str:
        began.append(1)
        await go.wait()
        return "ok"

    desk = Desk()
    agent = clerk([call("cancel_order", order_id="A-1002")], call("wait"), "Done.", tools=[desk.cancel, wait])
    bench = await house.open(agent)
    run = bench.run(agent, "Cancel A-1002, then wait")
    await bench.approvals.approve((await run.approval()).id)
    await until(lambda: began)

    for _ in range(3):
        await run.kill()
        await run.recover()
    go.set()
    await run

    assert (desk.ran, began) == ([("A-1002", "")], [1])
    assert [row["status"] for row in calls(run)] == ["success", "interrupted"]


async def test_a_decision_of_another_bench_wakes_the_run(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    request = await run.approval()
    second = await house.open(worker=False)
    assert [pending.id for pending in second.approvals.pending()] == [request.id]

    await second.approvals.approve(request.id, by="ana", via="cli")

    assert await run == "All done."
    (row,) = calls(run)
    assert (row["approval"]["decided_by"], row["approval"]["via"]) == ("ana", "cli")
    with pytest.raises(AlreadyDecided, match="already approved, by ana"):
        await first.approvals.approve(request.id)


async def test_decisions_of_two_benches_at_once_are_one(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    request = await run.approval()
    second = await house.open(worker=False)

    outcomes = await asyncio.gather(
        *(bench.approvals.approve(request.id) for bench in (first, second) for _ in range(5)), return_exceptions=True
    )
    await run

    assert sum(not isinstance(outcome, BaseException) for outcome in outcomes) == 1
    assert desk.ran == [("A-1002", "")]


async def test_an_edit_where_the_tool_is_not_known_is_checked_by_its_schema(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    request = await run.approval()
    second = await house.open(worker=False)

    with pytest.raises(ToolArgumentsInvalid, match="order_id is 'B-1003', expected pattern"):
        await second.approvals.approve(request.id, args={"order_id": "B-1003"})
    with pytest.raises(ToolArgumentsInvalid, match="order_id is missing, expected a value"):
        await second.approvals.approve(request.id, args={})
    assert [pending.id for pending in second.approvals.pending()] == [request.id]
    await second.approvals.approve(request.id, args={"order_id": "A-1003"})

    assert await run == "All done."
    assert desk.ran == [("A-1003", "")]


async def test_commands_of_a_window_say_what_the_verbs_say(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002", id="r1")
    request = await run.approval()
    actions = {action["command"]: action["args"] for action in calls(run)[0]["approval"]["actions"]}

    assert set(actions) == {"approve", "edit", "reject", "answer", "always", "dismiss"}
    with pytest.raises(ValueError, match="have no command 'explode'"):
        await bench.approvals.command("explode", {})
    done = await run.command("edit", {**actions["edit"], "args": {"order_id": "A-1003"}})

    assert done == {"id": request.id, "status": "edited"}
    assert await run == "All done."
    assert desk.ran == [("A-1003", "")]
    with pytest.raises(AlreadyDecided):
        await run.command("approve", actions["approve"])


async def test_a_run_hears_of_a_decision_whoever_read_it_first(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    request = await run.approval()
    second = await house.open(worker=False)
    await second.approvals.approve(request.id)

    with pytest.raises(AlreadyDecided):
        await first.approvals.approve(request.id)

    assert await run == "All done."
    assert first.approvals.pending() == []
