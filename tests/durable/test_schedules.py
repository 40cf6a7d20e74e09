"""Schedules: messages that come again, once for each instant, whoever is awake and whatever was missed."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from places import Place, until

from workbench import Agent, Workbench, durable
from workbench.errors import BadInput, NoCode, NotPlain
from workbench.testing.clock import ManualClock


def diary(heard: list[Any] | None = None) -> Any:
    @durable(key="diary:{id}", name="diary")
    async def body(ctx, id: str):
        seen = ctx.restored or []
        yield seen
        async for message in ctx:
            if heard is not None:
                heard.append(message)
            seen = [*seen, message]
            yield seen

    return body


async def later(place: Place, bench: Any, seconds: float, count: int) -> list[Any]:
    """What the diary has after `seconds`, once it has `count` messages."""
    handle = bench.lookup("diary", id="a")
    await place.clock.jump(max(0.0, seconds - 60))
    await place.clock.advance(min(seconds, 60))
    await until(lambda: len(handle.state or []) == count)
    await place.clock.idle()
    state: list[Any] = handle.state
    return state


async def test_a_message_comes_every_so_many_seconds(place: Place) -> None:
    bench = await place.open(diary())
    made = await bench.every(60, bench.lookup("diary", id="a"), {"type": "tick", "at": None}, name="pulse")
    began = place.clock.now()

    assert made.next_at == began + 60
    for count, seconds in ((1, 60), (2, 60), (3, 65)):
        seen = await later(place, bench, seconds, count)

    assert seen == [{"type": "tick", "at": began + seconds} for seconds in (60, 120, 180)]
    pulse = bench.schedules["pulse"]
    assert (pulse.last_at, pulse.next_at, pulse.fired) == (began + 180, began + 240, 3)


async def test_a_message_comes_at_the_times_of_a_cron_expression(place: Place) -> None:
    bench = await place.open(diary())
    made = await bench.every("0 9 * * *", bench.lookup("diary", id="a"), "morning", zone="Europe/Berlin")
    assert made.next is not None
    assert (made.next.isoformat(), made.name) == ("2023-11-15T09:00:00+01:00", "diary:a")

    assert made.next_at is not None
    assert await later(place, bench, made.next_at - place.clock.now(), 1) == ["morning"]
    assert await later(place, bench, 86400.0, 2) == ["morning", "morning"]
    assert bench.schedules["diary:a"].last == made.next + timedelta(days=1)


async def test_a_process_that_lives_nowhere_is_woken_for_it(place: Place) -> None:
    bench = await place.open(diary())
    handle = bench.lookup("diary", id="a")
    await bench.every(60, handle, "tick")
    await handle.dispose()

    await place.clock.advance(61)

    await until(lambda: handle.state == ["tick"])


async def test_a_schedule_survives_its_kernel(place: Place) -> None:
    bench = await place.open(diary())
    await bench.every(60, bench.lookup("diary", id="a"), "tick")
    await place.clock.advance(30)
    await place.crash(bench)

    bench = await place.open(diary())

    assert await later(place, bench, 29, 0) == []
    assert await later(place, bench, 2, 1) == ["tick"]


@pytest.mark.parametrize(("missed", "count"), [("once", 1), ("all", 10), ("skip", 0)])
async def test_what_was_missed_comes_as_the_schedule_says(place: Place, missed: Any, count: int) -> None:
    bench = await place.open(diary())
    began = place.clock.now()
    await bench.every(100, bench.lookup("diary", id="a"), {"at": None}, missed=missed)
    await place.crash(bench)
    await place.clock.jump(1070)

    bench = await place.open(diary())
    seen = await later(place, bench, 0, count)
    assert [message["at"] - began for message in seen] == [100.0 * number for number in range(11 - count, 11)]

    seen = await later(place, bench, 35, count + 1)
    assert seen[-1]["at"] - began == 1100.0


async def test_more_is_missed_than_is_posted_at_once_and_all_of_it_comes(place: Place) -> None:
    bench = await place.open(diary())
    began = place.clock.now()
    await bench.every(10, bench.lookup("diary", id="a"), {"at": None}, missed="all")
    await place.crash(bench)
    await place.clock.jump(2505)

    bench = await place.open(diary())
    seen = await later(place, bench, 0, 250)

    assert [message["at"] - began for message in seen] == [10.0 * number for number in range(1, 251)]
    assert bench.schedules["diary:a"].fired == 250


async def test_what_is_far_too_late_is_skipped(place: Place) -> None:
    bench = await place.open(diary())
    await bench.every(3600, bench.lookup("diary", id="a"), "tick", missed="skip")

    await place.clock.jump(3600 + 61)
    assert await later(place, bench, 2, 0) == []

    assert bench.schedules["diary:a"].fired == 0
    assert await later(place, bench, 3600, 1) == ["tick"]


async def test_two_schedulers_post_each_instant_once(place: Place) -> None:
    heard: list[Any] = []
    one, two = await place.open(diary(heard)), await place.open(diary(heard))
    handle = one.lookup("diary", id="a")
    began = place.clock.now()
    for number in range(5):
        await one.every(10, handle, {"n": number, "at": None}, name=f"pulse {number}")

    for _ in range(31):
        await place.clock.advance(1)
    await until(lambda: len(heard) == 15)
    await place.clock.advance(5)

    assert sorted((message["n"], message["at"] - began) for message in heard) == [
        (number, at) for number in range(5) for at in (10.0, 20.0, 30.0)
    ]
    assert [schedule.fired for schedule in two.schedules] == [3] * 5


async def test_a_clock_set_back_posts_nothing_twice(place: Place) -> None:
    bench = await place.open(diary())
    began = place.clock.now()
    await bench.every(60, bench.lookup("diary", id="a"), {"at": None})
    await later(place, bench, 61, 1)

    place.clock.set_back(3600)
    assert len(await later(place, bench, 3600, 1)) == 1

    seen = await later(place, bench, 61, 2)
    assert [message["at"] - began for message in seen] == [60.0, 120.0]


async def test_an_equal_schedule_goes_on_and_another_replaces_it(place: Place) -> None:
    bench = await place.open(diary())
    handle = bench.lookup("diary", id="a")
    first = await bench.every(60, handle, "tick")
    await place.clock.advance(30)

    assert await bench.every(60, handle, "tick") == first
    other = await bench.every(60, handle, "tock")

    assert other.next_at == place.clock.now() + 60
    assert len(bench.schedules) == 1
    assert await later(place, bench, 61, 1) == ["tock"]


async def test_a_cancelled_schedule_comes_no_more(place: Place) -> None:
    bench = await place.open(diary())
    await bench.every(60, bench.lookup("diary", id="a"), "tick", name="pulse")
    assert "pulse" in bench.schedules

    await bench.schedules.cancel("pulse")

    assert await later(place, bench, 120, 0) == []
    assert list(bench.schedules) == []
    with pytest.raises(NoCode, match=r"no schedule 'pulse' in this store, there are \[\]"):
        await bench.schedules.cancel("pulse")


async def test_schedules_are_shown_as_a_table(place: Place) -> None:
    bench = await place.open(diary())
    await bench.every("*/5 * * * *", bench.lookup("diary", id="a"), "tick", name="five")
    await bench.every(90, bench.lookup("diary", id="b"), "tick", missed="skip")

    assert repr(bench.schedules).splitlines() == [
        "name     every        zone  missed  target   next                       last  fired",
        "diary:b  90 s         UTC   skip    diary:b  2023-11-14 22:14:50+00:00        0",
        "five     */5 * * * *  UTC   once    diary:a  2023-11-14 22:15:00+00:00        0",
    ]
    assert "<td>five</td>" in bench.schedules._repr_html_()


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"when": "soon"}, "'soon' is no cron expression"),
        ({"zone": "Mars/Olympus"}, "there is no time zone 'Mars/Olympus' here"),
        ({"missed": "sometimes"}, "what was missed is posted 'once', 'all' or 'skip', found missed='sometimes'"),
        ({"name": 7}, "a schedule is a text of at least one character, found 7"),
        ({"target": 7}, "found 7"),
        ({"target": "nobody"}, "no agent 'nobody' here"),
    ],
)
async def test_what_cannot_be_scheduled_is_refused(place: Place, named: dict[str, Any], words: str) -> None:
    bench = await place.open(diary())
    asked = {"when": 60, "target": bench.lookup("diary", id="a"), "message": "tick", **named}

    with pytest.raises(BadInput) as caught:
        await bench.every(asked.pop("when"), asked.pop("target"), asked.pop("message"), **asked)

    assert words in str(caught.value)
    assert len(bench.schedules) == 0


async def test_a_message_that_the_journal_cannot_hold_is_refused_at_once(place: Place) -> None:
    bench = await place.open(diary())

    with pytest.raises(NotPlain):
        await bench.every(60, bench.lookup("diary", id="a"), object())


async def test_a_schedule_that_was_changed_by_hand_is_stopped_and_the_others_go_on(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    bench = await place.open(diary())
    await bench.every(60, bench.lookup("diary", id="a"), "tick", name="sound")
    await bench.store.schedules.put("broken", '{"every":60.0}', since=0.0, next_at=place.clock.now() + 60)

    assert await later(place, bench, 60, 1) == ["tick"]
    assert await later(place, bench, 60, 2) == ["tick", "tick"]

    (record,) = caplog.records
    assert record.getMessage() == "the schedule 'broken' cannot be read and is stopped: 'zone'"


async def test_an_agent_runs_every_so_often_and_each_run_has_its_instant_as_its_name() -> None:
    clock = ManualClock()
    agent = Agent("reporter", model="offline", instructions="You report.")
    async with Workbench.open(":memory:", agent, clock=clock) as bench:
        await bench.every(3600, agent, "Report", name="hourly")
        for count in (1, 2):
            await clock.jump(3600)
            await clock.advance(3)
            await until(lambda count=count: len(bench.runs) == count)
        runs = sorted(run.id for run in bench.runs)
        for id in runs:
            await asyncio.wait_for(bench.runs[id], 20)

        assert runs == ["hourly@2023-11-14T23:13:20Z", "hourly@2023-11-15T00:13:20Z"]
        assert [bench.runs[id].status for id in runs] == ["completed", "completed"]
        with pytest.raises(BadInput, match="a run needs a request in words, found ''"):
            await bench.every(60, agent, "")


async def test_a_host_that_runs_nothing_posts_nothing(place: Place) -> None:
    front = await place.open(diary(), worker=False)
    await front.every(60, front.lookup("diary", id="a"), "tick")
    await place.clock.advance(120)
    assert front.schedules["diary:a"].fired == 0

    worker = await place.open(diary())
    assert await later(place, worker, 1, 1) == ["tick"]
