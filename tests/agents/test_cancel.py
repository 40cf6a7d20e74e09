"""Cancelling runs: whoever comes first, the end is one and the run stays whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import Desk, House, clerk, until

from workbench import Agent
from workbench.errors import AlreadyDecided


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
