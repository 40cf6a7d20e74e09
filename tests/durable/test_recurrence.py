"""Recurrences: grids and cron expressions, and what they do on the days when the clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from workbench.durable.recurrence import Recurrence
from workbench.errors import BadInput

BERLIN = "Europe/Berlin"


def local(text: str, *, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(BERLIN), fold=fold).timestamp()


def told(expression: str, after: float, count: int, zone: str = BERLIN) -> list[str]:
    instants = islice(Recurrence.of(expression, zone).after(after, after), count)
    return [datetime.fromtimestamp(instant, ZoneInfo(zone)).isoformat() for instant in instants]


def test_a_grid_begins_one_step_after_it_was_made_and_never_drifts() -> None:
    grid = Recurrence.of(0.1 + 1.9)

    assert list(islice(grid.after(1000.0, 1000.0), 3)) == [1002.0, 1004.0, 1006.0]
    assert list(islice(grid.after(1003.9, 1000.0), 2)) == [1004.0, 1006.0]
    assert list(islice(grid.after(1004.0, 1000.0), 1)) == [1006.0]
    assert next(grid.after(1000.0 + 2e8, 1000.0)) == 1000.0 + 2e8 + 2
    assert Recurrence.of(timedelta(hours=1)) == Recurrence(3600.0)


def test_the_newest_instant_of_a_grid_is_found_without_counting() -> None:
    grid = Recurrence.of(10)

    assert grid.newest(1010.0, 1010.0, 1000.0) == 1010.0
    assert grid.newest(1010.0, 1000.0 + 1e9 + 9, 1000.0) == 1000.0 + 1e9


def test_a_cron_expression_is_local_time() -> None:
    winter, summer = local("2026-01-15T08:00"), local("2026-07-15T08:00")

    assert told("0 9 * * *", winter, 1) == ["2026-01-15T09:00:00+01:00"]
    assert told("0 9 * * *", summer, 1) == ["2026-07-15T09:00:00+02:00"]
    assert told("0 9 * * mon-fri", local("2026-07-17T09:00"), 2) == [
        "2026-07-20T09:00:00+02:00",
        "2026-07-21T09:00:00+02:00",
    ]
    assert told("0 9 * * *", winter, 1, "UTC") == ["2026-01-15T09:00:00+00:00"]


def test_a_time_that_the_clocks_skip_comes_right_after_the_gap() -> None:
    assert told("30 2 * * *", local("2026-03-28T12:00"), 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]


def test_a_time_that_comes_twice_is_the_first_one() -> None:
    assert told("30 2 * * *", local("2026-10-24T12:00"), 2) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]


def test_asked_in_the_second_hour_a_time_is_not_in_the_past() -> None:
    between = local("2026-10-25T02:10", fold=1)

    assert told("30 2 * * *", between, 1) == ["2026-10-26T02:30:00+01:00"]
    assert next(Recurrence.of("30 2 * * *", BERLIN).after(between, between)) > between


def test_what_comes_every_half_hour_follows_the_time_that_passes() -> None:
    autumn = told("*/30 * * * *", local("2026-10-25T02:00"), 4)
    spring = told("*/30 * * * *", local("2026-03-29T01:00"), 3)

    assert autumn == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T03:00:00+01:00",
    ]
    assert spring == ["2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"]


@pytest.mark.parametrize("expression", ["*/20 * * * *", "30 2 * * *", "15 */3 * * *", "0 0 1 * *"])
def test_instants_rise_over_two_years_of_changing_clocks(expression: str) -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    recurrence = Recurrence.of(expression, BERLIN)
    last = began
    for instant in islice(recurrence.after(began, began), 3000):
        assert instant > last
        last = instant
        if instant > began + 2 * 365 * 86400:
            break


@pytest.mark.parametrize("now", ["2026-03-29T12:00", "2026-10-25T12:00", "2026-07-01T09:00", "2026-07-01T09:00:30"])
def test_the_newest_instant_is_the_one_that_counting_finds(now: str) -> None:
    recurrence, at = Recurrence.of("*/30 * * * *", BERLIN), local(now)
    first = next(recurrence.after(at - 86400, 0.0))
    counted = [first, *(each for each in islice(recurrence.after(first, 0.0), 60) if each <= at)]

    assert recurrence.newest(first, at, 0.0) == counted[-1]


def test_a_date_that_never_comes_never_comes() -> None:
    assert list(islice(Recurrence.of("* * */20 * 1L", "UTC").after(1.6e9, 0.0), 1)) == []


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (0.5, "what comes again needs from 1 to 1e+11 s in between, found 0.5"),
        (float("nan"), "what comes again needs from 1 to 1e+11 s in between, found nan"),
        (float("inf"), "what comes again needs from 1 to 1e+11 s in between, found inf"),
        (True, "what comes again is told in seconds, by a timedelta or by a cron expression, found True; write e.g."),
        (None, "found None; write e.g. 3600 or '0 9 * * mon-fri'"),
        ("daily", "'daily' is no cron expression: it has 1 fields; write minute, hour, day, month and weekday"),
        ("0 0 9 * * *", "'0 0 9 * * *' is no cron expression: it has 6 fields"),
        ("61 * * * *", "'61 * * * *' is no cron expression: Bad minute"),
        ("0 0 31 2 *", "'0 0 31 2 *' is no cron expression: Bad day-of-month"),
    ],
)
def test_what_is_no_recurrence_is_refused_by_name(when: object, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        Recurrence.of(when)

    assert words in str(caught.value)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", None, 7])
def test_an_unknown_time_zone_is_refused_by_name(zone: object) -> None:
    with pytest.raises(BadInput) as caught:
        Recurrence.of(60, zone)  # type: ignore[arg-type]

    assert f"there is no time zone {zone!r} here" in str(caught.value)
