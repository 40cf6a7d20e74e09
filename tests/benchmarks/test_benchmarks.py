"""What the benchmarks promise of themselves, and the costs of a message that can be counted instead of timed."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench import Call, Workbench
from workbench.durable.definition import durable
from workbench.store.sqlite.ledger import Ledger
from workbench.store.sqlite.write import JOB

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MEMORY = Path("/dev/shm")


@durable(key="adder:{name}")
async def adder(ctx: Any, name: str) -> AsyncGenerator[int, None]:
    total = ctx.restored or 0
    yield total
    async for message in ctx:
        match message:
            case Call(_, reply):
                total += await ctx.step("number", one)
                reply(total)
            case _:
                total += await ctx.step("number", one)
        yield total


async def one(key: str) -> int:
    return 1


@pytest.fixture
def kept() -> Iterator[list[Any]]:
    """What only the garbage collector could free, gathered by the next collection."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


async def test_a_message_leaves_nothing_for_the_garbage_collector(tmp_path: Path, kept: list[Any]) -> None:
    async with Workbench.open(tmp_path / "bench.db", adder) as bench:
        process = bench.lookup(adder, name="a")
        await process.call("add", id="first")
        gc.collect()
        kept.clear()

        for number in range(20):
            await process.cast("add")
            await process.call("add", id=f"call {number}")

        gc.collect()
        assert [thing for thing in kept if type(thing).__module__.startswith("workbench")] == []


async def test_a_message_with_one_step_takes_two_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[int] = []
    transaction = Ledger._transaction

    def counted(ledger: Ledger, writes: Any) -> list[object]:
        if messages := sum(write[0] != JOB for write in writes):  # the scheduler looks in between
            batches.append(messages)
        return transaction(ledger, writes)

    async with Workbench.open(tmp_path / "bench.db", adder) as bench:
        process = bench.lookup(adder, name="a")
        await process.call("add", id="first")
        monkeypatch.setattr(Ledger, "_transaction", counted)

        for _ in range(100):
            await process.cast("add")
        await process.until(lambda total: total == 101)

        assert sum(batches) >= 299
        assert len(batches) <= 205  # every third write rides with another


def test_the_benchmark_refuses_a_disk_that_is_none() -> None:
    mounts = Path("/proc/mounts")
    if not mounts.exists() or f"tmpfs {MEMORY} tmpfs" not in mounts.read_text():
        pytest.skip("this machine has no file system in memory")

    ran = subprocess.run(
        [sys.executable, BENCHMARKS / "durable.py", "--dir", MEMORY], capture_output=True, text=True, timeout=60
    )

    assert ran.returncode == 1
    assert "where a synchronous commit costs nothing and survives nothing" in ran.stderr


def test_a_verdict_says_how_far_a_bar_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    from report import Bar, Figure, as_table

    figure = Figure("casts", "msg/s", "FULL", Bar(1_000), shape=2_000)
    for rate in (400, 500, 900):
        figure.add(rate, raw=250, shape=800, cpu=20)

    assert (Bar(1_000).verdict(500), Bar(1_000).verdict(1_000)) == ("0.50 of the bar", "met")
    assert Bar(5, at_most=True).verdict(10) == "0.50 of the bar"
    assert as_table([figure]).splitlines()[-1].split() == [
        *("casts", "500", "400", "900", "msg/s", ">=", "1,000", "0.50", "of", "the", "bar"),
        *("2.00", "x", ">=", "0.11", "x", "met", "0.62", "x", ">=", "0.50", "x", "met", "20"),
    ]


def test_a_peer_is_measured_as_a_ratio_of_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    from ratio import Ratio, ratios_as_table
    from report import Bar

    line = Ratio("put to done, FULL", "job/s", "huey", Bar(5.0))
    for ours, theirs in ((900, 100), (5_000, 1_000), (400, 100)):
        line.add(ours, theirs)

    assert line.ratio == 5.0
    assert ratios_as_table([line]).splitlines()[-1].split() == [
        *("put", "to", "done,", "FULL", "job/s", "900", "100", "huey", "5.0", "x", ">=", "5", "x", "met"),
    ]


def test_a_conversation_weighs_less_than_five_times_its_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    import weight

    growth, _ = asyncio.run(weight.on_disk(tmp_path))

    assert 2 < growth < 5


def test_every_benchmark_of_the_whole_says_what_it_does() -> None:
    for part in ("store", "durable", "weight", "beside", "queues", "waiting", "run_all"):
        ran = subprocess.run([sys.executable, BENCHMARKS / f"{part}.py", "--help"], capture_output=True, text=True)

        assert (ran.returncode, ran.stderr) == (0, "")
