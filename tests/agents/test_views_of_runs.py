"""What a person sees of a run while it works, and after it was cut off: each thing at its place, read once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import Desk, House, calls, clerk, until

from workbench import ToolContext, tool
from workbench.agents import run as run_module
from workbench.errors import RunError
from workbench.models.script import call


@tool(idempotent=True)
async def hold(name: str, ctx: ToolContext) -> str:
    """Begin a step and stay in it."""

    async def inner(key: str) -> str:
        return await ctx.step("in#side", stay)

    async def stay(key: str) -> str:
        await asyncio.Event().wait()
        return name

    return await ctx.step("out", inner)


def steps(row: dict[str, Any]) -> list[str]:
    """The names of the steps that a call shows."""
    return [step["name"] for step in row["steps"]]


async def test_a_step_is_shown_in_its_own_call_of_many(room: House) -> None:
    @tool(read_only=True)
    async def work(number: int, ctx: ToolContext) -> int:
        """Work on a number."""
        if number == 10:
            await ctx.step("ten", lambda key: asyncio.Event().wait())
        return number

    agent = clerk([call("work", number=number) for number in range(11)], "Done.", tools=[work])
    bench = await room.open(agent)
    run = bench.run(agent, "Work.")

    await until(lambda: len(calls(run)) == 11 and steps(calls(run)[10]))

    assert [steps(row) for row in calls(run)] == [[]] * 10 + [["ten"]]


async def test_recovery_names_the_step_that_was_cut_with_its_key(house: House) -> None:
    agent = clerk(call("hold", name="a"), "Done.", tools=[hold])
    bench = await house.open(agent)
    run = bench.run(agent, "Hold it.", id="r1")
    await until(lambda: calls(run) and len(steps(calls(run)[0])) == 2)
    key = calls(run)[0]["steps"][0]["key"]

    await run.kill()

    (group,) = [group for group in run.view()["recovery"] if group["group"] == "runs again"]
    (part,) = group["parts"]
    assert part == {"part": "hold step out", "has": "started, no result", "does": f"runs it with key …{key[-24:]}"}


async def test_the_journal_is_not_read_again_while_a_run_is_at_work(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = clerk(call("hold", name="a"), "Done.", tools=[hold])
    bench = await house.open(agent)
    run = bench.run(agent, "Hold it.")
    await until(lambda: calls(run) and steps(calls(run)[0]))
    before = run.view()

    monkeypatch.setattr(bench.store, "history_now", None)

    after = run.view()
    assert (after["request"], after["rows"]) == ("Hold it.", before["rows"])


async def test_a_run_that_is_over_is_read_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await house.open(agent := Desk(approval=False).agent())
    run = bench.run(agent, "Cancel A-1002")
    await run
    await run.process.dispose()
    before = run.view()

    monkeypatch.setattr(bench.store, "history_now", None)

    after = run.view()
    assert (after["rows"], run.status, run.request) == (before["rows"], "completed", "Cancel A-1002")


async def test_what_is_finished_of_a_run_is_made_once_for_all_its_views(house: House) -> None:
    agent = clerk([call("hold", name="a"), call("nothing")], "Done.", tools=[hold])
    bench = await house.open(agent)
    run = bench.run(agent, "Hold it.")
    await until(lambda: calls(run) and steps(calls(run)[0]) and calls(run)[1]["status"] == "retried")

    (held, failed), (held_later, failed_later) = (
        [row for row in run.view()["rows"] if row["kind"] == "call"] for _ in range(2)
    )

    assert failed is failed_later
    assert held is not held_later


async def test_who_waits_for_an_approval_hears_of_it_at_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "TICK", 1000.0)
    desk = Desk()
    agent = desk.agent()
    bench = await house.open(agent)
    run = bench.run(agent, "Cancel order A-1002")

    async with asyncio.timeout(10):
        asked = await run.approval()
        await bench.approvals.approve(asked.id)
        assert await run == "All done."


async def test_the_runs_of_a_bench_are_read_in_one_look(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = clerk("Done.")
    bench = await house.open(agent)
    for number in range(5):
        await bench.run(agent, "Do it.", id=f"r{number}")
    looks: list[tuple[str, tuple[Any, ...]]] = []

    def told(look: str) -> Any:
        looking = getattr(bench.store, look)
        return lambda *asked, **options: looks.append((look, asked)) or looking(*asked, **options)

    for look in ("names_now", "keys_now"):
        monkeypatch.setattr(bench.store, look, told(look))

    assert [run.id for run in bench.runs] == [f"r{number}" for number in range(5)]
    assert looks == [("names_now", ("run:",))]


async def test_a_bench_that_runs_nothing_refuses_to_recover(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel order A-1002", id="r1")
    await run.approval()
    await run.kill()
    front = await house.open(agent, worker=False)

    with pytest.raises(RunError, match="worker=False"):
        await front.runs["r1"].recover()

    await run.recover()
    assert run.alive
