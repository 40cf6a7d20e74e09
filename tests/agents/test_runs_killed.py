"""Kill, recover, cancel: what each leaves, what each tells, and what nobody may do twice."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from houses import Desk, House, Worker, calls, clerk, ears, until

from workbench import ToolContext, tool
from workbench.errors import AlreadyDecided, RunCancelled, RunError, RunInterrupted
from workbench.models.script import call


async def at_work(house: House, worker: Worker) -> tuple[Any, Any, Any]:
    """A bench, an agent and a run whose tool is at work."""
    bench = await house.open(agent := clerk(call("work"), "Worked.", tools=[worker.tool]))
    run = bench.run(agent, "Work", id="r1")
    await until(lambda: worker.log)
    return bench, agent, run


async def test_a_killed_run_writes_nothing_more_and_keeps_its_last_status(house: House) -> None:
    worker = Worker()
    bench, _, run = await at_work(house, worker)
    before = [row["id"] for row in bench.journal("r1") if row["kind"] != "activation"]

    await run.kill(by="ana")
    worker.go.set()
    await house.clock.advance(100)

    assert worker.log == ["began", "cancelled"]
    assert (run.alive, run.status, run.process.status) == (False, "running", "disposed")
    assert [row["id"] for row in bench.journal("r1") if row["kind"] != "activation"] == before
    view = run.view()
    assert (view["alive"], view["killed_by"], view["killed_at"]) == (False, "ana", view["lives"][0]["ended_at"])
    assert (view["lives"][0]["how"], view["lives"][0]["by"]) == ("killed", "ana")


async def test_who_awaits_a_killed_run_is_told_that_it_was_interrupted(house: House) -> None:
    _, _, run = await at_work(house, Worker())
    waiting = asyncio.ensure_future(run._outcome())
    await asyncio.sleep(0)

    await run.kill()

    with pytest.raises(RunInterrupted, match=r"run 'r1' is not running, .* await run.recover\(\) carries on") as caught:
        await waiting
    assert caught.value.run == "r1"


async def test_approvals_of_a_killed_run_stay_pending(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    await run.kill()

    assert (run.alive, run.status) == (False, "waiting")
    assert [pending.id for pending in bench.approvals.pending()] == [request.id]
    assert (await run.approval()).id == request.id


async def test_a_killed_run_is_left_alone_until_it_is_recovered(house: House) -> None:
    worker = Worker(idempotent=True)
    bench, _, run = await at_work(house, worker)
    await run.kill()

    for _ in range(5):
        await house.clock.advance(60)
        await bench._runtime.tick()
    assert (run.alive, worker.log) == (False, ["began", "cancelled"])

    worker.go.set()
    await run.recover()
    assert await run == "Worked."
    assert worker.log == ["began", "cancelled", "began", "done"]


async def test_a_killed_run_goes_on_when_the_file_is_opened_again(house: House) -> None:
    worker = Worker(idempotent=True)
    bench, agent, run = await at_work(house, worker)
    await run.kill()
    await bench.close()
    worker.go.set()

    again = await house.open(agent)

    assert await again.runs["r1"] == "Worked."


async def test_recovering_a_live_run_does_nothing(house: House) -> None:
    worker = Worker()
    _, _, run = await at_work(house, worker)

    await asyncio.gather(*(run.recover() for _ in range(5)))

    assert (worker.log, len(run.view()["lives"])) == (["began"], 1)


async def test_kill_and_recover_of_an_ended_run_are_refused_by_its_status(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."))
    run = bench.run(agent, "Say hello", id="r1")
    await run

    with pytest.raises(RunError, match="run 'r1' is completed; there is nothing to kill"):
        await run.kill()
    with pytest.raises(RunError, match="run 'r1' is completed and needs no recovery"):
        await run.recover()
    assert await run.cancel() == "completed"
    assert await run == "Hello."


async def test_recovery_waits_for_a_thread_that_still_runs(house: House) -> None:
    go, log = threading.Event(), []

    @tool(idempotent=True)
    def work(ctx: ToolContext) -> str:
        log.append("began")
        go.wait(20)
        log.append("cancelled" if ctx.cancelled.is_set() else "done")
        return "worked"

    bench = await house.open(agent := clerk(call("work"), "Worked.", tools=[work]))
    run = bench.run(agent, "Work")
    await until(lambda: log)

    await run.kill()
    recovery = asyncio.ensure_future(run.recover())
    await house.clock.idle()
    assert (recovery.done(), log) == (False, ["began"])
    assert "A thread of it still runs; Recover waits for that." in run.view()["now_line"]["text"]

    go.set()
    await recovery
    assert await run == "Worked."
    assert log == ["began", "cancelled", "began", "done"]


async def test_after_a_cancel_nothing_of_the_run_is_at_work(house: House) -> None:
    worker = Worker()
    _, agent, run = await at_work(house, worker)

    assert await run.cancel(by="ana") == "cancelled"

    assert worker.log == ["began", "cancelled"]
    assert (run.status, run.alive) == ("cancelled", True)
    worker.go.set()
    await house.clock.advance(60)
    assert (run.status, len(ears(agent).requests), len(worker.log)) == ("cancelled", 1, 2)
    with pytest.raises(RunCancelled, match="run 'r1' was cancelled by ana") as caught:
        await run
    assert caught.value.run == "r1"


async def test_a_plain_tool_learns_of_a_cancel_from_its_context(house: House) -> None:
    log = []

    def work(ctx: ToolContext) -> None:
        log.append("began")
        while not ctx.cancelled.is_set():
            threading.Event().wait(0.001)
        log.append("told")

    bench = await house.open(agent := clerk(call("work"), "Worked.", tools=[work]))
    run = bench.run(agent, "Work")
    await until(lambda: log)

    assert await run.cancel() == "cancelled"

    assert log == ["began", "told"]


async def test_a_cancel_closes_the_approvals_of_its_run_only(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run, other = bench.run(agent, "Cancel A-1002"), bench.run(agent, "Cancel A-1002 too")
    request, others = await run.approval(), await other.approval()

    await run.cancel(by="ana")

    assert [pending.id for pending in bench.approvals.pending()] == [others.id]
    closed = await bench.approvals.get(request.id)
    assert (closed.status, closed.decided_by, closed.reason) == ("superseded", "ana", "the run was cancelled")
    with pytest.raises(AlreadyDecided, match="already superseded, by ana"):
        await bench.approvals.approve(request.id)
    assert desk.ran == []


async def test_cancelling_twice_is_cancelling_once(house: House) -> None:
    _, _, run = await at_work(house, Worker())

    assert await asyncio.gather(run.cancel(by="ana"), run.cancel(by="bo")) == ["cancelled", "cancelled"]

    assert run.state["cancelled_by"] == "ana"
    assert run.process.error is None


@pytest.mark.parametrize("policy", [{}, {"idempotent": True}])
async def test_a_cancel_of_a_killed_run_runs_nothing_again(house: House, policy: dict[str, bool]) -> None:
    worker = Worker(**policy)
    bench, agent, run = await at_work(house, worker)
    await run.kill()
    worker.go.set()

    assert await run.cancel() == "cancelled"

    assert worker.log == ["began", "cancelled"]
    assert len(ears(agent).requests) == 1
    (info,) = bench.store.keys_now(key="run:r1")
    assert info.wake_at is None


async def test_a_cancel_of_a_killed_run_that_waits_closes_its_approvals(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()
    await run.kill()

    assert await run.cancel() == "cancelled"

    assert bench.approvals.pending() == []
    assert (await bench.approvals.get(request.id)).status == "superseded"
    assert desk.ran == []


async def test_a_cancel_from_another_bench_stops_the_run(house: House) -> None:
    worker = Worker()
    _, _, run = await at_work(house, worker)
    other = await house.open(worker=False)

    assert await other.runs["r1"].cancel(by="ana") == "cancelled"

    assert (worker.log, run.status) == (["began", "cancelled"], "cancelled")


async def test_a_run_that_lives_elsewhere_is_killed_there(house: House) -> None:
    _, agent, run = await at_work(house, Worker())
    other = await house.open(agent)

    await asyncio.wait_for(other.runs["r1"].kill("ana"), 20)

    assert (run.alive, other.runs["r1"].alive) == (False, False)
    assert [(life.how, life.by) for life in other.store.activations_now("run:r1")] == [("killed", "ana")]
    with pytest.raises(RunInterrupted):
        await asyncio.wait_for(run, 20)


async def test_a_cancelled_run_is_cancelled_after_a_restart(house: House) -> None:
    worker = Worker(idempotent=True)
    bench, agent, run = await at_work(house, worker)
    await run.cancel(by="ana")
    await bench.close()

    again = await house.open(agent)

    with pytest.raises(RunCancelled, match="by ana"):
        await again.runs["r1"]
    assert worker.log == ["began", "cancelled"]
    assert [row["status"] for row in calls(again.runs["r1"])] == ["interrupted"]
