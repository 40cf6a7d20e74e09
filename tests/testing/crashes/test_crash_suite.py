"""Hosts die after every operation, and nothing that was promised is lost; a store that loses it is found out."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from faulty import FAULTY

from workbench.store.memory import MemoryStore, Room
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.testing import crash_suite
from workbench.testing.crashes import Death, Schedule, rehearse, replay
from workbench.testing.crashes.promises import PROMISES
from workbench.testing.crashes.schedule import random_schedules


@pytest.mark.slow
async def test_a_store_in_memory_keeps_every_promise_over_two_hundred_schedules() -> None:
    report = await crash_suite(partial(MemoryStore, Room()), schedules=200, step=4)

    assert report.rounds > 225
    assert report.crashes > 300


@pytest.mark.slow
async def test_a_store_in_a_file_keeps_every_promise(tmp_path: Path) -> None:
    report = await crash_suite(partial(SQLiteStore, tmp_path / "bench.db", durability="process"), schedules=10, step=12)

    assert report.crashes > 20


@pytest.mark.parametrize(("faulty", "promise"), FAULTY.items(), ids=lambda each: getattr(each, "__name__", None))
async def test_a_faulty_store_is_found_out_by_name(faulty: type[MemoryStore], promise: str) -> None:
    report = await rehearse(partial(faulty, Room()), schedules=20, enough=1)

    assert promise in report.promises
    assert promise.replace("_", " ") in str(report)
    assert f"seed {report.seed}" in str(report)


async def test_what_broke_is_replayed_by_its_schedule() -> None:
    make_store = partial(next(iter(FAULTY)), Room())
    (broken,) = (await rehearse(make_store, schedules=0, enough=1)).broken
    (death,) = broken.schedule.deaths
    same = Schedule(deaths=(Death(after=death.after, how=death.how),), slowly=broken.schedule.slowly)
    assert repr(same) == repr(broken.schedule)

    again = await replay(make_store, same)

    assert {breach.promise for breach in again.breaches} == {breach.promise for breach in broken.breaches}


async def test_the_suite_raises_what_it_found() -> None:
    with pytest.raises(AssertionError, match="a recorded step is not repeated"):
        await crash_suite(partial(next(iter(FAULTY)), Room()), schedules=0)


def test_a_seed_gives_the_same_schedules() -> None:
    first, again, other = (list(random_schedules(seed, 20, 100)) for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert {death.how for schedule in first for death in schedule.deaths} == {"heard", "unheard", "stalled"}


def test_each_promise_says_what_it_is() -> None:
    assert [promise.__name__ for promise in PROMISES if not promise.__doc__] == []
    assert set(FAULTY.values()) <= {promise.__name__ for promise in PROMISES}
