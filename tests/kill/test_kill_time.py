"""Time over the death of kernels: a busy cell keeps its work, a dead one's is taken up at once, deadlines stand."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import lives
import pytest
from lives import Life, lines

WORK = """
import asyncio, time
from workbench import Workbench, durable
from workbench.store.sqlite import hosts

@durable(key="work:{id}", name="work")
async def work(ctx, id: str):
    async def effect(key):
        with open("effects", "a") as file:
            print(key, file=file)
        return key
    async for message in ctx:
        await ctx.step("begin", effect)
        await ctx.sleep("nap", message)
        await ctx.step("end", effect)
        yield "done"
"""
WITHOUT_LOCKS = "hosts.LockFile._lock = lambda self, slot, *, exclusive: False"
LONG = os.environ.get("WORKBENCH_LONG") == "1"
LEASE, BUSY = (30.0, 120.0) if LONG else (1.0, 4.0)
BEGUN = ["work:a#1##begin#0"]
ENDED = [*BEGUN, "work:a#1##end#0"]


def opened(lease: float, then: str = "") -> str:
    bench = f"bench = await Workbench.open('agents.db', work, lease={lease})"
    return f"{WORK}\n{bench}\na = bench.lookup(work, id='a')\n{then}"


@pytest.mark.parametrize("locks", [True, False], ids=["locks", "lease alone"])
async def test_a_cell_that_blocks_for_four_leases_loses_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: bool
) -> None:
    """With WORKBENCH_LONG=1: two minutes under a lease of thirty seconds."""
    monkeypatch.setattr(lives, "PATIENCE", BUSY + 60)
    alone = "" if locks else WITHOUT_LOCKS
    async with Life(tmp_path) as first, Life(tmp_path) as second:
        await first.run(f"{WORK}\n{alone}")
        await second.run(f"{WORK}\n{alone}")
        await first.run(opened(LEASE, f"await a.cast({BUSY / 2})"))
        await first.reached("effects")
        await second.run(opened(LEASE, "await asyncio.sleep(0.2)\nassert a.elsewhere is not None"))

        sleeping = first.begin(f"time.sleep({BUSY})")
        seen = await second.run(
            f"ends = time.monotonic() + {BUSY} - 0.2\nowners = set()\n"
            "while time.monotonic() < ends:\n"
            "    owners.add(bench.elsewhere['work:a'].id if bench.elsewhere else None)\n"
            "    await asyncio.sleep(0.02)\n"
            "print(len(owners), None in owners, a.activation)"
        )
        await first.end_of(sleeping)
        done = await first.run(
            "async with asyncio.timeout(20):\n    print(await a.until(lambda state: state == 'done'))"
        )

        assert (seen, done) == ("1 False None", "done")
        how = await first.run("print([life.how for life in bench.store.activations_now('work:a')])")

    assert how == "[None]"
    assert lines(tmp_path / "effects") == ENDED


async def test_a_second_kernel_follows_calls_and_takes_over_within_a_second(tmp_path: Path) -> None:
    async with Life(tmp_path) as first, Life(tmp_path) as second:
        await first.run(
            opened(30.0, "await a.cast(0)\nawait a.until(lambda state: state == 'done')\nawait a.cast(3600)")
        )
        await second.run(
            f"{WORK}\nbench = await Workbench.open('agents.db', work)\n"
            "async def taken():\n"
            "    while 'work:a' not in bench._runtime.live or bench.lookup(work, id='a').activation is None:\n"
            "        await asyncio.sleep(0.005)\n"
            "    return time.time()\n"
            "a = bench.lookup(work, id='a')\nprint(await a.until(lambda state: state == 'done'))"
        )
        waiting = second.begin("async with asyncio.timeout(30):\n    print(await taken())")

        killed = await first.run("print(time.time())")
        await first.kill()
        took = float(await second.end_of(waiting)) - float(killed)

    assert took < 1.5  # half a second between two looks, and what starting takes


async def test_a_kernel_that_nobody_follows_is_taken_over_too(tmp_path: Path) -> None:
    async with Life(tmp_path) as first, Life(tmp_path) as second:
        await second.run(f"{WORK}\nbench = await Workbench.open('agents.db', work)")
        await first.run(opened(30.0, "await a.cast(3600)"))
        await first.reached("effects")

        await first.kill()
        seen = await second.run(
            "async with asyncio.timeout(30):\n"
            "    while 'work:a' not in bench._runtime.live:\n        await asyncio.sleep(0.005)\n"
            "print('taken')"
        )

    assert seen == "taken"
    assert lines(tmp_path / "effects") == BEGUN


async def test_a_deadline_stands_over_the_death_of_its_kernel(tmp_path: Path) -> None:
    async with Life(tmp_path) as first:
        await first.run(opened(30.0, "began = time.time()\nawait a.cast(2.0)"))
        await first.reached("effects")
        slept_at = float(
            await first.run(
                "while not (found := [e for e in bench.store.history_now('work:a') if e.kind == 'sleep']):\n"
                "    await asyncio.sleep(0.01)\n"
                "print(found[0].step.payload)"
            )
        )
        await first.kill()

    async with Life(tmp_path) as second:
        woke = float(
            await second.run(
                opened(30.0, "await asyncio.wait_for(a.until(lambda state: state == 'done'), 20)\nprint(time.time())")
            )
        )

    assert woke >= slept_at
    assert lines(tmp_path / "effects") == ENDED


async def test_a_kernel_paused_beyond_its_lease_is_fenced_and_says_who_took_over(tmp_path: Path) -> None:
    async with Life(tmp_path) as first, Life(tmp_path) as second:
        await first.run(f"{WORK}\n{WITHOUT_LOCKS}")
        await second.run(f"{WORK}\n{WITHOUT_LOCKS}")
        await first.run(opened(1.0, "await a.cast(3600)"))
        await first.reached("effects")
        await second.run(opened(1.0, "await asyncio.sleep(0.2)\nassert a.elsewhere is not None"))

        os.kill(first.kernel.pid, signal.SIGSTOP)
        await second.run(
            "async with asyncio.timeout(30):\n    while a.activation is None:\n        await asyncio.sleep(0.01)"
        )
        os.kill(first.kernel.pid, signal.SIGCONT)
        fenced = await first.run(
            "async with asyncio.timeout(30):\n    while a.elsewhere is None:\n        await asyncio.sleep(0.01)\n"
            "print(type(a.error).__name__, a.error, a.activation)"
        )
        how = await second.run("print([life.how for life in bench.store.activations_now('work:a')])")

        assert fenced == (
            f"OwnedElsewhere 'work:a' now belongs to pid {second.kernel.pid} (pid {second.kernel.pid}); "
            "nothing was written here None"
        )
    assert how == "['fenced', None]"
    assert lines(tmp_path / "effects") == BEGUN


async def test_two_kernels_and_a_death_post_each_instant_of_a_schedule_once(tmp_path: Path) -> None:
    beats = """
@durable(key="pulse:{id}", name="pulse")
async def pulse(ctx, id: str):
    beats = ctx.restored or []
    async for message in ctx:
        beats = [*beats, message["at"]]
        yield beats
bench = await Workbench.open("agents.db", pulse)
"""
    seen = "async with asyncio.timeout(30):\n    print(await heart.until(lambda beats: len(beats) >= {count}))"
    heart = "heart = bench.lookup(pulse, id='heart')\n"
    async with Life(tmp_path) as second:
        async with Life(tmp_path) as first:
            await first.run(f"{WORK}\n{beats}\n{heart}\nawait bench.every(1, heart, {{'at': None}}, missed='all')")
            await second.run(f"{WORK}\n{beats}\n{heart}")
            await first.run(seen.format(count=2))
            await first.kill()
        instants = json.loads(await second.run(seen.format(count=5)))

    assert instants == [instants[0] + number for number in range(len(instants))]
