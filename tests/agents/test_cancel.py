"""Cancelling runs: whoever comes first, the end is one and the run stays whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import Desk, House, clerk, until

from workbench import Agent, tool
from workbench.errors import AlreadyDecided, RunCancelled, RunInterrupted
from workbench.models.script import call


def attempts(run: Any) -> list[str]:
    """How often a delivery of the run was counted as failed."""
    return [entry.kind for entry in run._runtime.store.history_now(run.key) if entry.kind == "attempt"]


async def test_a_cancel_during_the_last_commit_leaves_the_run_completed(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = clerk("All done.")
    bench = await house.open(agent)
    run, commit, late = bench.run(agent, "Say it."), bench.store.commit, []

    def commits(key: str, epoch: int, what: Any) -> Any:
        landing = commit(key, epoch, what)
        if not late:
            late.append(run.process.cast({"type": "cancel", "by": "ada"}))
        return landing

    monkeypatch.setattr(bench.store, "commit", commits)

    assert await run == "All done."
    await until(lambda: bench.store.keys_now(key=run.key)[0].cursor == 2)
    assert (run.status, run.process.status) == ("completed", "running")


async def test_a_decision_in_the_middle_of_a_cancel_costs_no_attempt(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk()
    agent = desk.agent()
    bench = await house.open(agent)
    run = bench.run(agent, "Cancel order A-1002")
    asked = await run.approval()
    requests = bench._runtime.requests
    find = requests.find

    async def finds(**options: Any) -> Any:
        found = await find(**options)
        if options.get("key"):
            await bench.approvals.approve(asked.id, by="ada")
        return found

    monkeypatch.setattr(requests, "find", finds)

    assert await run.cancel() == "cancelled"
    assert (desk.ran, attempts(run)) == ([], [])
    with pytest.raises(AlreadyDecided, match="by ada"):
        await bench.approvals.reject(asked.id)


async def test_a_cancel_wins_over_the_failure_that_it_causes(house: House) -> None:
    begun = asyncio.Event()

    class Stubborn:
        name = "stubborn"

        async def ask(self, request: Any, on_text: Any) -> Any:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as error:
                raise ConnectionError("the stream broke") from error

    agent = Agent("stubborn", model=Stubborn())
    bench = await house.open(agent)
    run = bench.run(agent, "Say it.")
    await begun.wait()

    assert await run.cancel("ada") == "cancelled"
    await until(lambda: bench.store.keys_now(key=run.key)[0].cursor == 2)
    assert run.state["cancelled_by"] == "ada"


async def test_a_kill_before_the_cancel_is_in_the_journal_is_told(house: House) -> None:
    desk = Desk()
    agent = desk.agent()
    bench = await house.open(agent)
    run = bench.run(agent, "Cancel order A-1002")
    await run.approval()
    await run.kill()
    cancelling = asyncio.ensure_future(run.cancel("ada"))
    await asyncio.sleep(0)

    await run.process.kill("bob")

    with pytest.raises(RunInterrupted, match="cancel it again"):
        await asyncio.wait_for(cancelling, 10)
    assert await run.cancel("ada") == "cancelled"


async def test_a_kill_during_a_cancel_leaves_it_to_the_recovery(house: House) -> None:
    at_work, asked_to_end, begun = asyncio.Event(), asyncio.Event(), []

    @tool(idempotent=True)
    async def linger() -> None:
        """End slowly."""
        begun.append(1)
        at_work.set()
        try:
            await asyncio.Event().wait()
        finally:
            asked_to_end.set()
            await asyncio.Event().wait()

    agent = clerk(call("linger"), "Done.", tools=[linger])
    bench = await house.open(agent)
    run = bench.run(agent, "Linger.")
    await at_work.wait()
    cancelling = asyncio.ensure_future(run.cancel("ada"))
    await asked_to_end.wait()

    await run.kill()

    with pytest.raises(RunInterrupted, match=r"run\.recover"):
        await asyncio.wait_for(cancelling, 10)
    await run.recover()
    with pytest.raises(RunCancelled, match="ada"):
        await run
    assert begun == [1]
