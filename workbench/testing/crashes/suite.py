"""The crash suite: a mixed workload on any store, with hosts that die after every operation, and what it must keep.

    from workbench.testing import crash_suite

    async def test_the_store_survives_crashes() -> None:
        await crash_suite(partial(MyStore, place))

- `make_store()` gives a keeper that is not open yet; each call gives one more host of the same place, as for the laws.
- Hosts die in this process here: nothing of theirs lands any more, and a new one opens the place. Deaths by SIGKILL are
  in `workbench.testing.crashes.killing`.
- What breaks is reported with its schedule; `replay(make_store, schedule)` plays that one again.

It needs no test framework. Source: PROCESSES section 4, PERFORMANCE "Consequences" 14.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from workbench.testing.crashes.report import Played, Report
from workbench.testing.crashes.schedule import Schedule, every_operation, random_schedules
from workbench.testing.crashes.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workbench.testing.conformance.law import MakeStore

__all__ = ["crash_suite", "rehearse", "replay"]


async def crash_suite(make_store: MakeStore, *, seed: int = 0, schedules: int = 200, step: int = 1) -> Report:
    """Play one death after every `step`-th operation, then `schedules` random ones of several; gives the report.

    Raises: AssertionError with the report when a promise was broken.
    """
    report = await rehearse(make_store, seed=seed, schedules=schedules, step=step)
    if report.broken:
        raise AssertionError(str(report))
    return report


async def rehearse(
    make_store: MakeStore, *, seed: int = 0, schedules: int = 200, step: int = 1, enough: int = 3
) -> Report:
    """`crash_suite`, which gives its report also when promises were broken; ends after `enough` broken rounds."""
    stage, report = Stage(make_store), Report(seed)
    with _silence():
        undisturbed, clean, operations = await stage.undisturbed()
        report.add(undisturbed, 0)
        for schedule in [*every_operation(operations, step=step), *random_schedules(seed, schedules, operations)]:
            if len(report.broken) >= enough:
                break
            report.add(*await stage.play(schedule, clean))
    return report


async def replay(make_store: MakeStore, schedule: Schedule) -> Played:
    """Play one schedule again, beside an undisturbed run on the same place; what the hosts log is not silenced."""
    stage = Stage(make_store)
    _, clean, _ = await stage.undisturbed()
    played, _ = await stage.play(schedule, clean)
    return played


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what hosts that die say to themselves."""
    log = logging.getLogger("workbench")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
