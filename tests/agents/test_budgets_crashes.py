"""Budgets under crash schedules: hosts die after any operations, and what is spent is what the journals say, once.

Three runs of three turns share a budget that is extended as often as all of them wait. A host that dies hears nothing
more; whether it heard of the last thing that landed is part of the schedule.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import Agent, Budget, ToolContext, Workbench, tool
from workbench.errors import StoreError
from workbench.models.model import Turn
from workbench.models.script import call, scripted
from workbench.plain import decode
from workbench.store.memory import MemoryStore, Room
from workbench.testing.clock import ManualClock
from workbench.testing.crashes.mortal import Death, Mortal

RUNS = ("r1", "r2", "r3")
LEASE = 5.0
PATIENCE = 30.0
How = Literal["heard", "unheard"]


@tool(idempotent=True)
async def search(where: str, ctx: ToolContext) -> str:
    """Search somewhere, which costs 10 seconds."""
    await ctx.spend(seconds=10)
    return f"nothing in {where}"


def agent() -> Agent:
    """One that takes three turns and two calls."""
    return Agent("clerk", tools=[search], model=scripted(call("search", where="a"), call("search", where="b"), "None."))


class Place:
    """One place in memory, on which hosts live and die."""

    def __init__(self) -> None:
        self.room = Room()
        self.clock = ManualClock()

    async def live(self, death: Death | None) -> bool:
        """One life of a host; gives whether all runs have come to their end."""
        store: Any = Mortal(MemoryStore(self.room), death)
        living = asyncio.ensure_future(self._work(store))
        dying = asyncio.ensure_future(store.gone.wait())
        await asyncio.wait([living, dying], timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        dead = store.gone.is_set()
        assert dead or living.done(), "a host neither died nor came to the end"
        if dead:
            store.bury()
        for task in (living, dying):
            task.cancel()
        await asyncio.wait([living, dying])
        if not dead:
            living.result()
        return not dead

    async def _work(self, store: Any) -> None:
        bench = await Workbench.open(
            "unused", agent(), store=store, clock=self.clock, lease=LEASE, budget=Budget(requests=2)
        )
        try:
            runs = [bench.run("clerk", "Search", id=id, budget=Budget(requests=3, seconds=30)) for id in RUNS]
            while not all(run.ended for run in runs):
                await self.clock.advance(1)
                state = bench.budget.state
                if state["waiting"] and len(state["waiting"]) == sum(not run.ended for run in runs):
                    await bench.budget.extend(requests=2, nth=state["extensions"] + 1)
        finally:
            try:
                await bench.close()
            except StoreError:
                assert store.gone.is_set()

    async def accounts(self) -> tuple[dict[str, list[dict[str, Any]]], dict[str, list[Turn]], bool]:
        """Every committed state of every account, the turns of every run, and whether one was set aside."""
        store = MemoryStore(self.room)
        await store.open(label="evidence", lease=LEASE, now=self.clock.now)
        try:
            pasts = {of: store.past_now(f"@budget:{of}") for of in ("bench", *(f"run:{id}" for id in RUNS))}
            accounts = {
                of: [decode(past.text(index) or "") for index in reversed(range(len(past.commits)))]
                for of, past in pasts.items()
            }
            turns = {
                id: [
                    Turn.from_plain(decode(e.step.payload))
                    for e in store.history_now(f"run:{id}")
                    if e.step is not None and (e.step.name, e.step.kind) == ("turn", "step")
                ]
                for id in RUNS
            }
            return accounts, turns, any([await store.dead(f"run:{id}") for id in RUNS])
        finally:
            await store.close()


async def play(deaths: Iterable[tuple[int, How]]) -> None:
    """Let hosts die as the schedule says, then one live to the end; check what was spent."""
    place = Place()
    for after, how in deaths:
        if await place.live(Death(after, how)):
            break
        await place.clock.advance(2 * LEASE)
    else:
        assert await place.live(None)
    accounts, turns, set_aside = await place.accounts()

    for states in accounts.values():
        assert all(state["spent"][unit] <= limit for state in states for unit, limit in state["limits"].items())
    if set_aside:
        return  # three hosts died in one message without a step between them, which is enough for any message
    last = {of: states[-1] for of, states in accounts.items()}
    for id in RUNS:
        spent = last[f"run:{id}"]["spent"]
        assert (spent["requests"], spent["tool_calls"], spent["seconds"]) == (len(turns[id]), 2, 20)
        assert spent["tokens"] == sum(turn.tokens or 0 for turn in turns[id])
    for unit in ("requests", "tool_calls", "tokens", "seconds"):
        assert last["bench"]["spent"][unit] == sum(last[f"run:{id}"]["spent"][unit] for id in RUNS)
    assert (last["bench"]["spent"]["requests"], last["bench"]["waiting"]) == (9, [])


async def test_an_undisturbed_place_spends_what_its_journals_say() -> None:
    await play([])


@pytest.mark.parametrize("how", ["heard", "unheard"])
@pytest.mark.parametrize("after", [5, 20, 33, 47, 60, 80, 101])
async def test_a_crash_after_any_operation_spends_nothing_twice(after: int, how: How) -> None:
    await play([(after, how)])


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 70), st.sampled_from(["heard", "unheard"])), min_size=2, max_size=5))
def test_any_schedule_of_crashes_spends_nothing_twice(deaths: list[tuple[int, How]]) -> None:
    asyncio.run(play(deaths))
