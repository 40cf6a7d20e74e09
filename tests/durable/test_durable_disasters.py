"""Disasters of the disk: a clear error ends the activation, what was acknowledged stays, and work goes on after."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from disks import disk, fill, relieve, remount
from places import until

from workbench import Call, Workbench, durable
from workbench.errors import NotAStore, ProcessEnded, StoreBroken, StoreError, WorkbenchError
from workbench.store.sqlite import ledger

__all__ = ["disk"]

NOTHING: Callable[[], None] = lambda: None  # noqa: E731


def shop(effects: Counter[str], inside: Callable[[], None] = NOTHING, before: Callable[[], None] = NOTHING) -> Any:
    """Adds and charges. `inside` is called within the step, `before` between the step and the commit."""

    @durable(key="shop:{id}", name="shop")
    async def body(ctx, id: str):
        total = ctx.restored or 0
        yield total
        async for message in ctx:
            plain = message.message if type(message) is Call else message

            def charge(key: str) -> int:
                effects[key] += 1
                inside()
                return 1

            if type(message) is Call:
                await ctx.step("charge", charge)
                before()
                message.reply(total)
            total += plain
            yield total

    return body


def once(what: Callable[[], None]) -> Callable[[], None]:
    """`what`, the first time only."""
    left = [what]
    return lambda: left.pop()() if left else None


async def carries_on(bench: Any, key: str = "shop:a") -> Any:
    """The handle, once the scheduler has brought the key back to life and nothing is unfinished."""
    await until(lambda: bench.store.keys_now(key=key)[0].wake_at is None)
    return bench.lookup("shop", id="a")


async def test_a_full_disk_refuses_a_message_and_loses_none_that_it_took(disk: Path) -> None:
    effects: Counter[str] = Counter()
    async with Workbench.open(disk / "agents.db", shop(effects), lease=1.0) as bench:
        handle = bench.lookup("shop", id="a")
        for number in (1, 2, 3):
            await handle.cast(number)
        await handle.until(lambda total: total == 6)

        fill(disk)
        with pytest.raises(WorkbenchError, match="database or disk is full"):
            await handle.cast(100)
        await until(lambda: handle.status == "crashed")
        assert isinstance(handle.error, (StoreBroken, StoreError))  # the second is the scheduler's next attempt
        with pytest.raises(WorkbenchError):
            await asyncio.wait_for(handle.cast(1000), 20)

        relieve(disk)
        await handle.cast(4)
        assert await asyncio.wait_for(handle.until(lambda total: total == 10), 20) == 10

    async with Workbench.open(disk / "agents.db", shop(effects)) as bench:
        assert await bench.lookup("shop", id="a").call(0, id="total") == 10
        assert bench.store.activations_now("shop:a")[-1].how is None


async def test_a_disk_that_fills_inside_a_step_runs_it_again_under_its_key(disk: Path) -> None:
    effects: Counter[str] = Counter()
    full = once(lambda: fill(disk))
    async with Workbench.open(disk / "agents.db", shop(effects, inside=full), lease=1.0) as bench:
        handle = bench.lookup("shop", id="a")
        with pytest.raises((ProcessEnded, StoreError), match="database or disk is full"):
            await asyncio.wait_for(handle.call(5, id="x"), 20)
        assert effects == {"shop:a#1##charge#0": 1}
        relieve(disk)

        await carries_on(bench)

        assert await handle.call(5, id="x") == 0
        assert effects == {"shop:a#1##charge#0": 2}
        assert await bench.store.dead("shop:a") == []


async def test_a_disk_that_fills_before_a_commit_withholds_the_answer_and_repeats_no_step(disk: Path) -> None:
    effects: Counter[str] = Counter()
    full = once(lambda: fill(disk))
    async with Workbench.open(disk / "agents.db", shop(effects, before=full), lease=1.0) as bench:
        handle = bench.lookup("shop", id="a")
        with pytest.raises((ProcessEnded, StoreError), match="database or disk is full"):
            await asyncio.wait_for(handle.call(5, id="x"), 20)
        assert bench.store.result_now("shop:a", "x") is None
        relieve(disk)

        await carries_on(bench)

        assert await handle.call(5, id="x") == 0
        assert effects == {"shop:a#1##charge#0": 1}


async def test_a_file_that_stays_locked_ends_what_writes_and_is_written_again_when_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects: Counter[str] = Counter()
    async with Workbench.open(tmp_path / "agents.db", shop(effects), lease=1.0) as bench:
        handle = bench.lookup("shop", id="a")
        await handle.cast(1)
        await handle.until(lambda total: total == 1)
        monkeypatch.setattr(ledger, "PATIENCE", 0.3)
        other = sqlite3.connect(tmp_path / "agents.db", isolation_level=None, timeout=20)
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(WorkbenchError, match="database is locked"):
            await asyncio.wait_for(handle.cast(2), 20)
        await until(lambda: handle.status == "crashed")
        assert isinstance(handle.error, (StoreBroken, StoreError))

        other.execute("COMMIT")
        other.close()
        await handle.cast(3)
        assert await asyncio.wait_for(handle.until(lambda total: total == 4), 20) == 4


@pytest.mark.parametrize("replaced", [False, True], ids=["deleted", "replaced"])
async def test_a_file_that_was_taken_away_takes_no_write_until_it_is_back(tmp_path: Path, replaced: bool) -> None:
    effects: Counter[str] = Counter()
    path, aside = tmp_path / "agents.db", tmp_path / "aside.db"
    async with Workbench.open(path, shop(effects), lease=1.0) as bench:
        handle = bench.lookup("shop", id="a")
        await handle.cast(1)
        await handle.until(lambda total: total == 1)

        path.rename(aside)
        if replaced:
            path.write_bytes(b"somebody else's")
        with pytest.raises(
            WorkbenchError, match=r"'.*agents.db' was deleted, moved or replaced while it was open here"
        ):
            await asyncio.wait_for(handle.cast(2), 20)
        await until(lambda: handle.status == "crashed")

        os.replace(aside, path)
        await handle.cast(3)
        assert await asyncio.wait_for(handle.until(lambda total: total == 4), 20) == 4
        assert await bench.store.pending("shop:a", 0) == []


async def test_a_disk_that_may_only_be_read_is_refused_at_opening_and_left_as_it_was(disk: Path) -> None:
    effects: Counter[str] = Counter()
    async with Workbench.open(disk / "agents.db", shop(effects)) as bench:
        await bench.lookup("shop", id="a").cast(1)
    before = (disk / "agents.db").read_bytes()
    remount(disk, "ro")

    with pytest.raises(NotAStore, match=r"agents.db' is no store: it cannot be written \(.*\); choose a file"):
        await Workbench.open(disk / "agents.db", shop(effects))

    assert (disk / "agents.db").read_bytes() == before
    remount(disk, "rw")
    async with Workbench.open(disk / "agents.db", shop(effects)) as bench:
        assert await bench.lookup("shop", id="a").call(0, id="total") == 1
