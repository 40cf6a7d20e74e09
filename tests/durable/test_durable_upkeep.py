"""Upkeep: what a bench forgets and what it must not, deleted keys, the list of keys, and the doctor."""

from __future__ import annotations

import datetime as dt
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench, durable
from workbench.durable.upkeep import DAY, LEAST
from workbench.errors import BadInput, DeadLettered, NoCode, OwnedElsewhere
from workbench.process.calls import Call
from workbench.testing.clock import ManualClock

PLACES = ["file", ":memory:"]


@durable(key="till:{name}", max_attempts=1)
async def till(ctx: Any, name: str) -> Any:
    """Adds up; a call asks for the sum, a call to wait is parked, poison fails."""
    state = ctx.restored or {"sum": 0}
    yield state
    async for message in ctx:
        match message:
            case Call({"add": price}, reply):
                state = {"sum": state["sum"] + price}
                reply(state["sum"])
            case Call("wait", reply):
                state = state | {"waits": reply.id}
            case {"sleep": seconds}:
                await ctx.sleep("sleep", seconds)
            case {"pad": text}:
                state = {"sum": len(text)}
            case "poison" | Call("poison", _):
                raise ValueError("poison")
        yield state


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "a.db") if request.param == "file" else request.param


def kinds(bench: Workbench, key: str) -> list[tuple[str, int]]:
    """What the journal of a key still has, without its lives."""
    return [(row["kind"], row["seq"]) for row in bench.journal(key) if row["kind"] != "activation"]


async def test_what_is_older_than_the_retention_is_forgotten_while_the_bench_is_open(place: str) -> None:
    clock = ManualClock()
    async with Workbench.open(place, till, clock=clock, retention=dt.timedelta(days=30)) as bench:
        process = bench.lookup(till, name="a")
        for number in range(3):
            await process.call({"add": 1}, id=f"old {number}")
        await clock.jump(29 * DAY)
        await process.call({"add": 1}, id="young")
        assert len(kinds(bench, "till:a")) == 12
        await clock.jump(2 * DAY)

        clock.busy_while(lambda: not getattr(bench.store, "idle", True))
        await clock.advance(61)

        assert kinds(bench, "till:a") == [("message", 4), ("answer", 4), ("commit", 4)]
        assert bench.journal("till:a").at(4) == {"sum": 4} == process.state


async def test_a_retry_after_the_retention_is_a_new_call(place: str) -> None:
    clock = ManualClock()
    async with Workbench.open(place, till, clock=clock) as bench:
        process = bench.lookup(till, name="a")
        assert await process.call({"add": 1}, id="one") == 1
        assert await process.call({"add": 1}, id="one") == 1
        await process.call({"add": 1}, id="two")

        await clock.jump(31 * DAY)
        await bench.prune()

        assert await process.call({"add": 1}, id="one") == 3


async def test_what_is_open_uncommitted_set_aside_or_newest_is_never_pruned(place: str) -> None:
    clock = ManualClock()
    async with Workbench.open(place, till, clock=clock) as bench:
        parked, poisoned = bench.lookup(till, name="parked"), bench.lookup(till, name="poisoned")
        asleep, idle = bench.lookup(till, name="asleep"), bench.lookup(till, name="idle")
        waiting = parked.call("wait", id="wait")
        await parked.until(lambda state: "waits" in state)
        await poisoned.cast("poison")
        await idle.call({"add": 1}, id="one")
        await asleep.cast({"sleep": 100 * DAY})
        await asleep.until(lambda state: True)

        await clock.jump(40 * DAY)
        await bench.prune()
        before = {key: kinds(bench, key) for key in ("till:parked", "till:asleep", "till:idle")}
        await bench.prune(before=clock.now())

        assert ("message", 1) in before["till:parked"]
        assert before["till:asleep"][0] == ("message", 1)
        assert before["till:idle"] == [("commit", 1)]
        assert {key: kinds(bench, key) for key in before} == before
        assert idle.state == {"sum": 1}
        del waiting


async def test_dead_letters_have_a_window_of_their_own(place: str) -> None:
    clock = ManualClock()
    async with Workbench.open(place, till, clock=clock, letter_retention=90 * DAY) as bench:
        process = bench.lookup(till, name="a")
        with pytest.raises(DeadLettered, match="set message 1 aside"):
            await process.call("poison", id="one")
        store = bench.store
        await clock.jump(60 * DAY)
        await bench.prune()
        assert len(store.letters_now(key="till:a")) == 1

        await clock.jump(31 * DAY)
        await bench.prune()

        assert store.letters_now(key="till:a") == []


async def test_a_store_above_its_size_forgets_sooner_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    async with Workbench.open(tmp_path / "a.db", till, clock=clock, max_bytes=1_500_000) as bench:
        process = bench.lookup(till, name="a")
        for _ in range(20):
            await process.cast({"pad": "x" * 100_000 + str(clock.now())})
            await clock.jump(DAY)
            await bench.prune()
            assert bench.store.upkeep.used_now() < 1_700_000

        assert 0 < len([row for row in bench.journal("till:a") if row["kind"] == "message"]) < 15
        with caplog.at_level(logging.WARNING, "workbench"):
            await bench.prune()
        assert (tmp_path / "a.db").stat().st_size < 2_500_000


async def test_a_store_that_cannot_shrink_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with Workbench.open(tmp_path / "a.db", till, clock=ManualClock(), max_bytes=1000) as bench:
        await bench.lookup(till, name="a").call({"add": 1}, id="one")

        with caplog.at_level(logging.WARNING, "workbench"):
            await bench.prune()
        report = await bench.doctor()

        assert "more than max_bytes=1000" in caplog.text
        assert f"younger than {LEAST:.0f} s" in caplog.text
        assert any("max_bytes=1000" in finding.what for finding in report.findings)


@pytest.mark.parametrize(
    "options",
    [{"retention": 0}, {"retention": "30 days"}, {"letter_retention": -1}, {"max_bytes": 0}, {"max_bytes": 1.5}],
    ids=str,
)
async def test_a_retention_that_is_none_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=next(iter(options))):
        Workbench.open(":memory:", **options)


@pytest.mark.parametrize("before", ["yesterday", True, float("nan"), dt.datetime(2026, 1, 1)])
async def test_an_instant_that_is_none_is_refused(before: Any) -> None:
    async with Workbench.open(":memory:") as bench:
        with pytest.raises(BadInput, match="before is an instant in UTC seconds or a datetime with a time zone"):
            await bench.prune(before=before)


async def test_keys_are_listed_with_what_they_are_and_have_left(place: str) -> None:
    clock = ManualClock()
    async with Workbench.open(place, till, clock=clock) as bench:
        await bench.lookup(till, name="a").call({"add": 1}, id="one")
        asleep = bench.lookup(till, name="b")
        await asleep.cast({"sleep": 60})
        await asleep.until(lambda state: True)

        first, second = bench.keys()

        assert (first["key"], first["definition"], first["args"], first["pending"]) == (
            "till:a",
            "till",
            {"name": "a"},
            0,
        )
        assert (second["messages"], second["pending"]) == (1, 1)
        assert "till:a" in repr(bench.keys())


async def test_a_deleted_key_is_gone_and_begins_anew_behind_its_old_numbers(place: str) -> None:
    async with Workbench.open(place, till) as bench:
        other = bench.lookup(till, name="other")
        await other.call({"add": 5}, id="one")
        process = bench.lookup(till, name="a")
        await process.call({"add": 1}, id="one")
        epoch = process.epoch
        await process.dispose()

        await bench.delete("till:a")

        assert [row["key"] for row in bench.keys()] == ["till:other"]
        with pytest.raises(NoCode, match="no key or run 'till:a' in this store"):
            bench.journal("till:a")
        again = bench.lookup(till, name="a")
        assert await again.call({"add": 7}, id="one") == 7
        assert again.epoch > epoch
        assert kinds(bench, "till:a")[0] == ("message", 2)
        assert await other.call({"add": 1}, id="two") == 6


async def test_a_key_that_is_alive_or_has_work_left_is_not_deleted(place: str) -> None:
    async with Workbench.open(place, till, clock=ManualClock()) as bench:
        process = bench.lookup(till, name="a")
        await process.cast({"sleep": 60})
        await process.until(lambda state: True)
        with pytest.raises(BadInput, match="'till:a' is alive here; dispose it"):
            await bench.delete("till:a")
        await process.dispose()
        with pytest.raises(BadInput, match="'till:a' has work left: 1 messages wait"):
            await bench.delete("till:a")

        await bench.delete("till:a", unfinished=True)

        assert list(bench.keys()) == []
        with pytest.raises(NoCode):
            await bench.delete("till:a")


async def test_a_key_of_another_host_is_not_deleted(tmp_path: Path) -> None:
    from workbench.store.sqlite.keeper import SQLiteStore

    async with Workbench.open(tmp_path / "a.db", till) as bench:
        await bench.lookup(till, name="a").call({"add": 1}, id="one")
        async with Workbench.open("unused", till, store=SQLiteStore(tmp_path / "a.db")) as second:
            with pytest.raises(OwnedElsewhere, match="'till:a' belongs to"):
                await second.delete("till:a")
            with pytest.raises(OwnedElsewhere, match="'till:a' belongs to"):
                await second.store.upkeep.delete("till:a")


async def test_the_doctor_says_what_is_so(tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "a.db", till, retention=7 * DAY) as bench:
        await bench.lookup(till, name="a").call({"add": 1}, id="one")

        report = await bench.doctor()

        facts = report.to_plain()
        assert facts["well"]
        assert facts["quick_check"] == ["ok"]
        assert facts["file_bytes"] > 0
        assert facts["bytes_by_kind"]["messages"] == {"rows": 1, "bytes": len('{"add":1}')}
        assert facts["retention"]["seconds"] == 7 * DAY
        assert [(host["alive"], host["keys"], host["here"]) for host in facts["hosts"]] == [(True, 1, True)]
        assert set(facts["versions"]) == {"workbench", "python", "sqlite", "ipykernel"}
        assert "quick check: ok" in repr(report)


async def test_the_doctor_names_damage_blocked_keys_and_dead_letters(tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "a.db", till) as bench:
        process = bench.lookup(till, name="a")
        with pytest.raises(DeadLettered, match="aside"):
            await process.call("poison", id="one")
        await process.dispose()
        await bench.store.post("lost:1", '"go"', wake=0.0, definition="lost", args="{}")
    async with Workbench.open(tmp_path / "a.db") as bench:
        report = await bench.doctor()

        assert report.well
        words = repr(report)
        assert "'lost:1' has work left and cannot run here: no code for 'lost'" in words
        assert "1 messages were set aside" in words
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'jobs_dead'").fetchone()
    with (tmp_path / "a.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    async with Workbench.open(tmp_path / "a.db", worker=False) as bench:
        report = await bench.doctor()

        assert not report.well
        assert report.findings[0].what.startswith("the file is damaged: ")
