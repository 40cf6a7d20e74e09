"""Budgets through kills, cancels and other kernels: what is asked stays asked, and nothing is spent twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import House, clerk, ears, until

from workbench import Budget, tool
from workbench.errors import RunCancelled
from workbench.models.script import call


@tool(read_only=True)
def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing in {where}"


def searcher(*places: str) -> Any:
    """A clerk that looks in one place after the other, a turn each, and says so."""
    return clerk(*(call("look", where=place) for place in places), "Found nothing.", tools=[look])


async def parked(account: Any, number: int = 1) -> None:
    """Return once so many wait for more of an account."""
    await until(lambda: len(account.waiting) == number)


async def test_a_run_killed_at_its_budget_goes_on_after_the_extension(house: House) -> None:
    bench = await house.open(agent := searcher("a", "b"))
    run = bench.run(agent, "Look", id="r1", budget=Budget(requests=2))
    await parked(run.budget)

    await run.kill()
    assert (run.alive, run.status, run.reason) == (
        False, "waiting", "the budget of run 'r1' is used up, 2 of 2 requests",
    )  # fmt: skip
    await run.extend(requests=3)
    await run.recover()

    assert await run == "Found nothing."
    assert (len(ears(agent).requests), run.budget.spent["requests"], run.budget.left) == (3, 3, {"requests": 2})


async def test_a_bench_that_closes_leaves_its_stopped_run_waiting(house: House) -> None:
    first = await house.open(agent := searcher("a", "b"))
    run = first.run(agent, "Look", id="r1", budget=Budget(requests=2))
    await parked(run.budget)

    await first.close()
    bench = await house.open(agent)

    run = bench.runs["r1"]
    await until(lambda: run.status == "waiting")
    assert run.reason == "the budget of run 'r1' is used up, 2 of 2 requests"
    await run.extend(requests=1)
    assert await run == "Found nothing."
    assert (len(ears(agent).requests), run.budget.spent["requests"], run.budget.state["refused"]) == (3, 3, 1)


async def test_a_bench_that_runs_nothing_can_extend_what_another_carries_on(house: House) -> None:
    first = await house.open(agent := searcher("a", "b"))
    run = first.run(agent, "Look", id="r1", budget=Budget(requests=2))
    await parked(run.budget)
    await first.close()

    desk = await house.open(agent, worker=False)
    afar = desk.runs["r1"]
    assert (afar.status, afar.reason) == ("waiting", "the budget of run 'r1' is used up, 2 of 2 requests")
    assert await afar.extend() == {"requests": 2}

    bench = await house.open(agent)
    assert await bench.runs["r1"] == "Found nothing."
    assert afar.budget.limits == {"requests": 4}


async def test_another_host_can_extend_what_runs_here(house: House) -> None:
    bench, other = await house.open(agent := searcher("a", "b")), await house.open(agent, worker=False)
    run = bench.run(agent, "Look", id="r1", budget=Budget(requests=2))
    await parked(run.budget)

    await other.runs["r1"].extend(requests=1)

    assert await run == "Found nothing."


async def test_two_hosts_spend_one_budget(house: House) -> None:
    one, other = searcher("a"), searcher("a")
    bench = await house.open(one, budget=Budget(requests=3))
    second = await house.open(other)

    runs = [bench.run(one, "Look", id="here"), second.run(other, "Look", id="there")]
    await parked(bench.budget)

    assert len(ears(one).requests) + len(ears(other).requests) == 3
    await second.budget.extend(requests=1)
    assert [await run for run in runs] == ["Found nothing.", "Found nothing."]
    assert (bench.budget.spent["requests"], bench.budget.state["refused"]) == (4, 1)


async def test_two_runs_that_share_one_request_get_it_once(house: House) -> None:
    agent = clerk("Hello.")
    bench = await house.open(agent, budget=Budget(requests=1))

    runs = [bench.run(agent, f"Greet {number}", id=f"r{number}") for number in range(2)]
    await parked(bench.budget)
    await until(lambda: {run.status for run in runs} == {"completed", "waiting"})

    assert (len(ears(agent).requests), bench.budget.spent["requests"], bench.budget.left) == (1, 1, {"requests": 0})


async def test_a_cancelled_run_takes_nothing_of_a_later_extension(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."), budget=Budget(requests=1))
    first = bench.run(agent, "One", id="one")
    await first
    second, third = bench.run(agent, "Two", id="two"), bench.run(agent, "Three", id="three")
    await parked(bench.budget, 2)

    assert await second.cancel() == "cancelled"
    await parked(bench.budget, 1)
    await bench.budget.extend(requests=1)

    assert await third == "Hello."
    with pytest.raises(RunCancelled):
        await second
    assert (bench.budget.spent["requests"], bench.budget.waiting) == (2, [])


async def test_a_run_cancelled_while_it_is_dead_takes_nothing_of_a_later_extension(house: House) -> None:
    bench = await house.open(agent := searcher("a", "b"))
    run = bench.run(agent, "Look", id="r1", budget=Budget(requests=2))
    await parked(run.budget)
    await run.kill()

    cancelling = asyncio.ensure_future(run.cancel())
    await asyncio.sleep(0)
    await run.recover()

    assert await cancelling == "cancelled"
    await parked(run.budget, 0)
    await run.budget.extend(requests=1)
    assert (run.budget.left, len(ears(agent).requests)) == ({"requests": 1}, 2)


async def test_an_account_that_is_killed_answers_when_it_is_asked_again(house: House) -> None:
    bench = await house.open(agent := searcher("a", "b"))
    run = bench.run(agent, "Look", id="r1", budget=Budget(requests=2))
    await parked(run.budget)

    await bench.kill("@budget:run:r1")
    await run.extend(requests=1)

    assert await run == "Found nothing."
    assert run.budget.spent["requests"] == 3


async def test_many_kernels_dead_at_a_stop_make_no_dead_letter(house: House) -> None:
    agent = searcher("a", "b")
    bench = await house.open(agent)
    run = bench.run(agent, "Look", id="r1", budget=Budget(requests=2))
    await parked(run.budget)

    for _ in range(5):
        await run.kill()
        await run.recover()
        await until(lambda: run.status == "waiting")
    await run.extend()

    assert await run == "Found nothing."
    assert (len(bench.dead_letters), run.budget.state["refused"]) == (0, 1)


async def test_a_button_pressed_twice_extends_once(house: House) -> None:
    bench = await house.open(agent := searcher("a", "b", "c", "d"))
    run = bench.run(agent, "Look", id="r1", budget=Budget(requests=1))
    await parked(run.budget)
    button = next(action for action in run.view()["actions"] if action["command"] == "extend")
    assert (button["label"], run.view()["now_line"]["action"]) == ("Extend and resume", "Extend and resume")

    done = [await run.command("extend", button["args"]) for _ in range(2)]

    assert [each["extended"] for each in done] == [{"requests": 1}, {}]
    await parked(run.budget)
    assert run.budget.limits == {"requests": 2}


async def test_a_bench_budget_goes_on_when_the_bench_is_opened_again(house: House) -> None:
    first = await house.open(agent := clerk("Hello."), budget=Budget(requests=2))
    await first.run(agent, "One")
    await first.budget.extend(requests=1)
    await first.close()

    same = await house.open(agent, budget={"requests": 2})
    assert (same.budget.limits, same.budget.left) == ({"requests": 3}, {"requests": 2})
    await same.close()

    without = await house.open(agent)
    await without.run(agent, "Two")
    assert without.budget.left == {"requests": 1}
    await without.close()

    other = await house.open(agent, budget={"requests": 9})
    assert (other.budget.limits, other.budget.left) == ({"requests": 9}, {"requests": 7})
    await other.budget.limit(None)
    await other.run(agent, "Three")
    assert (other.budget.limits, other.budget.spent["requests"]) == ({}, 3)
