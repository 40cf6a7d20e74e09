"""The pace: how often views may send, alone and together."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from workbench.widgets.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import HandTimers


def sender(times: list[float], timers: HandTimers, *, sends: bool = True) -> Callable[[], bool]:
    def send() -> bool:
        times.append(timers.time())
        return sends

    return send


def test_the_first_change_goes_out_at_once(timers: HandTimers) -> None:
    times: list[float] = []
    pace = Pace(timers)

    pace.due(sender(times, timers))
    timers.pass_to(0.0)

    assert times == [0.0]
    assert timers.armed == 0


def test_a_busy_view_sends_twenty_times_a_second(timers: HandTimers) -> None:
    times: list[float] = []
    pace = Pace(timers)
    send = sender(times, timers)

    for millisecond in range(1000):
        pace.due(send)
        timers.pass_to(millisecond / 1000)

    assert len(times) == 20
    assert all(after - before >= 0.0499 for before, after in itertools.pairwise(times))


def test_a_hundred_busy_views_send_fifty_times_a_second_in_turn(timers: HandTimers) -> None:
    times: list[list[float]] = [[] for _ in range(100)]
    pace = Pace(timers)
    senders = [sender(each, timers) for each in times]

    for millisecond in range(4000):
        for send in senders:
            pace.due(send)
        timers.pass_to(millisecond / 1000)

    assert sum(map(len, times)) in (199, 200)
    assert {len(each) for each in times} <= {1, 2}, "no view starves another"


def test_a_view_with_nothing_to_send_costs_no_turn(timers: HandTimers) -> None:
    idle: list[float] = []
    busy: list[float] = []
    pace = Pace(timers)

    pace.due(sender(idle, timers, sends=False))
    pace.due(sender(busy, timers))
    timers.pass_to(0.0)

    assert (idle, busy) == ([0.0], [0.0])


def test_a_closed_view_is_not_called_again(timers: HandTimers) -> None:
    times: list[float] = []
    pace = Pace(timers)
    send = sender(times, timers)

    pace.due(send)
    pace.forget(send)
    timers.pass_to(1.0)

    assert times == []


def test_a_view_that_fails_does_not_stop_the_others(timers: HandTimers) -> None:
    times: list[float] = []
    pace = Pace(timers)

    def broken() -> bool:
        raise ZeroDivisionError

    pace.due(broken)
    pace.due(sender(times, timers))
    try:
        timers.pass_to(0.0)
    except ZeroDivisionError:
        timers.pass_to(0.0)

    assert times == [0.0]
