"""Parallel steps: whatever the order in which they finish, the journal is one and a replay asks for nothing else."""

from __future__ import annotations

import asyncio
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from jobs import running
from places import Place, settle, until

BRANCHES = "abcd"
PASSES = 3


class Gates:
    """Lets each of the parallel steps finish when it is told to, and counts what ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self._gates: dict[str, asyncio.Event] = {}

    def begin_life(self) -> None:
        self._gates = {name: asyncio.Event() for name in BRANCHES}

    def open(self, names: str | tuple[str, ...]) -> None:
        for name in names:
            self._gates[name].set()

    async def work(self, name: str) -> str:
        await self._gates[name].wait()
        self.ran.append(name)
        return name.upper()

    async def gathered(self, ctx: Any, message: Any) -> list[str]:
        """Steps on one branch, all asked for at once."""
        return await asyncio.gather(*(ctx.step("work", lambda name=name: self.work(name)) for name in BRANCHES))

    async def branched(self, ctx: Any, message: Any) -> list[str]:
        """Steps of one name, each on a branch of a task of its own."""

        async def line(name: str) -> str:
            async with ctx.branch(f"line {name}"):
                done = await ctx.step("work", lambda: self.work(name))
                return await ctx.step("after", lambda: f"{done}.")

        return await asyncio.gather(*(line(name) for name in BRANCHES))


def records(bench: Any) -> set[tuple[str, str, int, int, str]]:
    steps = [entry.step for entry in bench.store.history_now("job:a") if entry.kind == "step"]
    return {(step.branch, step.name, step.occurrence, step.position, step.payload) for step in steps}


async def finish_one_by_one(gates: Gates, order: tuple[str, ...]) -> None:
    for name in order:
        gates.open(name)
        await settle()


@pytest.mark.parametrize("shape", ["gathered", "branched"])
@pytest.mark.parametrize("finished", range(len(BRANCHES) + 1))
async def test_branches_that_finish_in_every_order_leave_one_journal(tmp_path: Path, shape: str, finished: int) -> None:
    journals, answers = set(), []
    orders = list(permutations(BRANCHES))
    for order, then in zip(orders, reversed(orders), strict=True):
        place, gates = Place("memory", tmp_path), Gates()
        definition = running(getattr(gates, shape))
        bench = await place.open(definition)
        gates.begin_life()
        lost = bench.lookup("job", id="a").call("go", id="1")
        await settle()
        await finish_one_by_one(gates, order[:finished])
        if finished == len(BRANCHES):
            assert len(await lost) == finished
        await place.crash(bench)
        lost.cancel()

        bench = await place.open(definition)
        gates.begin_life()
        answered = bench.lookup("job", id="a").call("go", id="1")
        await settle()
        await finish_one_by_one(gates, then)

        answers.append(tuple(await answered))
        journals.add(frozenset(records(bench)))
        assert sorted(gates.ran) == list(BRANCHES)
        await place.close()

    assert len(journals) == 1
    assert set(answers) == {tuple("ABCD") if shape == "gathered" else ("A.", "B.", "C.", "D.")}


async def test_a_step_asked_for_in_a_thread_says_what_to_write(place: Place) -> None:
    async def handler(ctx: Any, message: Any) -> str:
        return await asyncio.to_thread(lambda: ctx.step("inner", lambda: 1))

    bench = await place.open(running(handler))
    answer = await bench.lookup("job", id="a").call("go", id="1")

    assert answer == (
        "StepMisuse: step 'inner' is asked for in a thread, where nothing can be awaited; "
        "write the function that asks for it as async def"
    )


async def test_a_plain_step_that_asks_for_a_step_says_what_to_write(place: Place) -> None:
    async def handler(ctx: Any, message: Any) -> str:
        return await ctx.step("outer", lambda: ctx.step("inner", lambda: 1))

    bench = await place.open(running(handler))
    answer = await bench.lookup("job", id="a").call("go", id="1")

    assert answer.startswith("StepMisuse: step 'inner' is asked for in a thread")
    assert [entry for entry in bench.store.history_now("job:a") if entry.kind == "step"] == []


async def test_the_place_of_a_wait_is_kept_while_another_process_is_asked(place: Place) -> None:
    """A caller that waits for another process is at rest: ten deaths of its host set nothing aside."""

    async def never(ctx: Any, message: Any) -> None:
        await ctx.sleep("long", 10_000_000)

    async def asks(ctx: Any, message: Any) -> Any:
        return await ctx.call("ask", place.benches[-1].lookup("job", id="b"), "wait")

    async def handler(ctx: Any, message: Any) -> Any:
        return await (asks if message == "ask" else never)(ctx, message)

    for life in range(10):
        bench = await place.open(running(handler))
        handle = bench.lookup("job", id="a")
        if life == 0:
            lost = handle.call("ask", id="1")
        await until(lambda: any(entry.kind == "sleep" for entry in bench.store.history_now("job:b")))  # noqa: B023
        await settle()
        await place.crash(bench)
    lost.cancel()
    bench = await place.open(running(handler))

    kinds = [entry.kind for entry in bench.store.history_now("job:a")]
    assert (kinds.count("wait"), kinds.count("attempt"), kinds.count("dead")) == (1, 0, 0)
