"""Threads: what a bench is asked off its loop is refused in the same words, and nothing is done; reading goes on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from workbench import Agent, Workbench, durable, process
from workbench.errors import BadInput
from workbench.models.script import scripted

if TYPE_CHECKING:
    from pathlib import Path

CLERK = Agent("clerk", model=scripted("Hi."))


@process
async def counter(ctx: Any, id: str = "a") -> Any:
    count = 0
    yield count
    async for _ in ctx:
        count += 1
        yield count


@durable(key="order:{id}")
async def order(ctx: Any, id: str) -> Any:
    count = ctx.restored or 0
    yield count
    async for _ in ctx:
        count += 1
        yield count


async def refused(ask: Any) -> str:
    """What a thread is told that calls `ask`, and awaits what that gives on a loop of its own."""

    def elsewhere() -> None:
        asked = ask()
        if asyncio.iscoroutine(asked):
            asyncio.run(asked)

    with pytest.raises(BadInput, match="from a thread, hop there") as caught:
        await asyncio.to_thread(elsewhere)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_bench_asked_in_a_thread_refuses_and_does_nothing(kind: str, tmp_path: Path) -> None:
    place = ":memory:" if kind == "memory" else tmp_path / "agents.db"
    async with Workbench.open(place, CLERK, counter, order) as bench:
        plain, kept = bench.lookup(counter, id="a"), bench.lookup(order, id="a")
        for handle in (plain, kept):
            await handle.until(lambda state: state == 0)

        told = [
            await refused(ask)
            for ask in (
                lambda: plain.cast(1),
                lambda: plain.call(1),
                lambda: kept.cast(1),
                lambda: bench.lookup(counter, id="b"),
                lambda: bench.lookup(order, id="b"),
                lambda: bench.lookup(order, id="b", take=True),
                lambda: bench.spawn(counter),
                lambda: bench.add(process(name="other")(counter.body)),
                lambda: bench.add(Agent("other", model=scripted("Hi."))),
                lambda: bench.evict(counter, id="a"),
                lambda: bench.evict(order, id="a"),
                plain.dispose,
                kept.dispose,
                kept.kill,
                lambda: bench.run(CLERK, "Go"),
                lambda: bench.evaluate(CLERK, ["Go"]),
                lambda: bench.every(60, CLERK, "Go"),
                lambda: bench.notes.remember("blue"),
            )
        ]

        assert all(
            " on the loop of its bench; from a thread, hop there: loop.call_soon_thread" in each for each in told
        )
        assert (plain.status, plain.state, kept.status, kept.state) == ("running", 0, "running", 0)
        assert (len(bench.runs), [row["key"] for row in bench.keys()]) == (0, ["order:a"])
        assert (bench.definitions, bench.processes) == (["clerk", "order"], ["counter", "order"])
        assert (list(bench.schedules), list(bench.notes())) == ([], [])
        await plain.cast(1)
        assert await plain.until(lambda state: state == 1) == 1


async def test_a_thread_reads_what_a_handle_shows() -> None:
    async with Workbench.open(":memory:", counter, order) as bench:
        handles = [bench.lookup(counter, id="a"), bench.lookup(order, id="a")]
        for handle in handles:
            await handle.until(lambda state: state == 0)

        seen = await asyncio.to_thread(lambda: [(each.state, each.status, each.flags.value) for each in handles])

        assert seen == [(each.state, "running", each.flags.value) for each in handles]
