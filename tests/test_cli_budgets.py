"""Budgets on the command line: what is left, and a run that stopped goes on, in whichever process it lives."""

from __future__ import annotations

import asyncio
import json

from workbench import Budget, Workbench, tool
from workbench.agents.agent import Agent
from workbench.cli import main
from workbench.models.script import call, scripted


@tool(read_only=True)
def look(where: str) -> str:
    """Look somewhere."""
    return f"nothing in {where}"


def searcher() -> Agent:
    """An agent that takes three turns."""
    turns = call("look", where="a"), call("look", where="b"), "Found nothing."
    return Agent("searcher", tools=[look], model=scripted(*turns))


async def stopped(folder, **options):
    """A store in which a run waits at its budget, and no process runs it."""
    store = folder / "agents.db"
    async with Workbench.open(store, agent := searcher(), **options) as bench:
        run = bench.run(agent, "Look around", id="r1", budget=Budget(requests=2))
        async with asyncio.timeout(20):
            while not run.budget.waiting:
                await asyncio.sleep(0.01)
    return str(store)


def command(capsys, *words):
    """Run a command here, in a loop of its own; gives exit status, output, errors."""
    status = main(words)
    said = capsys.readouterr()
    return status, said.out, said.err


async def on_the_line(capsys, *words):
    """The same from a test that is in a loop itself."""
    return await asyncio.to_thread(command, capsys, *words)


async def test_a_stopped_run_goes_on_after_an_extension_on_the_command_line(tmp_path, capsys) -> None:
    store = await stopped(tmp_path)

    listed = await on_the_line(capsys, "budget", "--store", store)
    extended = await on_the_line(capsys, "extend", "r1", "--requests", "5", "--by", "ana", "--store", store)

    assert listed[:2] == (0, "of  unit      limit  spent  left  waiting\nr1  requests  2      2      0     1\n")
    assert extended == (0, "r1 extended: 5 requests\n", "")
    async with Workbench.open(store, searcher()) as bench:
        assert await bench.runs["r1"] == "Found nothing."
        assert bench.runs["r1"].budget.left == {"requests": 4}


async def test_an_extension_without_amounts_is_as_much_again(tmp_path, capsys) -> None:
    store = await stopped(tmp_path, budget={"requests": 9})

    status, out, _ = await on_the_line(capsys, "extend", "r1", "--json", "--store", store)
    bench = await on_the_line(capsys, "extend", "bench", "--store", store)

    assert (status, json.loads(out)) == (0, {"id": "r1", "extended": {"requests": 2}})
    assert bench == (0, "bench extended: 9 requests\n", "")


async def test_a_budget_that_there_is_not_is_named(tmp_path, capsys) -> None:
    store = await stopped(tmp_path)

    refused = [
        await on_the_line(capsys, "extend", "r2", "--store", store),
        await on_the_line(capsys, "budget", "bench", "--store", store),
        await on_the_line(capsys, "extend", "r1", "--tokens", "5", "--store", store),
    ]

    words = "no run and no budget {!r} in this store; workbench budget lists the budgets\n"
    assert refused == [
        (1, "", f"workbench: {words.format('r2')}"),
        (1, "", f"workbench: {words.format('bench')}"),
        (1, "", "workbench: the budget of run 'r1' limits requests, and not tokens; extend what it limits\n"),
    ]


async def test_budgets_are_told_as_json(tmp_path, capsys) -> None:
    store = await stopped(tmp_path)

    status, out, _ = await on_the_line(capsys, "budget", "r1", "--json", "--store", store)

    (state,) = json.loads(out)
    assert (status, state["of"], state["limits"], state["left"]) == (0, "run:r1", {"requests": 2}, {"requests": 0})
    assert [(waits["run"], waits["agent"]) for waits in state["waiting"]] == [("r1", "searcher")]
