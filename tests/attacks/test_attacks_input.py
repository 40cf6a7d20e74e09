"""Wrong types and names that no key can have: each is refused as bad input, nothing else happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from workbench import Agent, Workbench, models
from workbench.errors import BadInput, StoreError

AGENT = Agent("agent", model=models.scripted("Hi."))
HALF = "\ud800"
ATTACKS: dict[str, Callable[[Workbench], Any]] = {
    "a run with half of a character": lambda bench: bench.run(AGENT, "Go", id=HALF),
    "a run by number": lambda bench: bench.runs[5],  # type: ignore[index]
    "a run by nothing": lambda bench: bench.runs[None],  # type: ignore[index]
    "a lookup of a number": lambda bench: bench.lookup(5),  # type: ignore[arg-type]
    "a lookup by a number": lambda bench: bench.lookup("agent:agent", id=5),
    "a spawn of a number": lambda bench: bench.spawn(5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
async def test_what_is_no_name_is_refused(attack: Callable[[Workbench], Any]) -> None:
    async with Workbench.open(":memory:", AGENT) as bench:
        with pytest.raises(BadInput):
            attack(bench)


@pytest.mark.parametrize("id", [None, 5, [], {}])
async def test_an_approval_without_a_text_for_an_id_is_refused(id: Any) -> None:
    async with Workbench.open(":memory:", AGENT) as bench:
        with pytest.raises(BadInput):
            await bench.approvals.get(id)


async def test_a_bench_is_used_on_its_own_loop_alone() -> None:
    async with Workbench.open(":memory:", AGENT) as bench:
        with pytest.raises(BadInput, match="on the loop of its bench"):
            await asyncio.to_thread(bench.run, AGENT, "Go")
        with pytest.raises(StoreError, match="its own loop"):
            await asyncio.to_thread(lambda: asyncio.run(bench.close()))

        assert await bench.run(AGENT, "Go") == "Hi."
