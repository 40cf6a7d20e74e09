"""Events: listeners hear of changes once per turn, and cannot break the source."""

from __future__ import annotations

import asyncio
import logging

import pytest

from workbench import events
from workbench.events import Changes, Shown, republish, show_with


async def test_many_changes_in_one_turn_are_told_once() -> None:
    changes, heard = Changes(), []
    changes.subscribe(lambda: heard.append("a"))
    changes.subscribe(lambda: heard.append("b"))

    for _ in range(5):
        changes.tell()
    assert heard == []
    await asyncio.sleep(0)
    changes.tell()
    await asyncio.sleep(0)

    assert heard == ["a", "b", "a", "b"]


async def test_who_stopped_hears_nothing_more() -> None:
    changes, heard = Changes(), []
    stop = changes.subscribe(lambda: heard.append(1))
    changes.tell()
    stop()
    stop()
    await asyncio.sleep(0)

    assert heard == []
    assert not changes


async def test_who_is_stopped_by_another_in_the_same_turn_is_not_told() -> None:
    changes, heard = Changes(), []
    stops = []
    changes.subscribe(lambda: stops[0]())
    stops.append(changes.subscribe(lambda: heard.append("late")))

    changes.tell()
    await asyncio.sleep(0)

    assert heard == []


async def test_a_listener_that_fails_is_logged_and_stays(caplog: pytest.LogCaptureFixture) -> None:
    changes, heard = Changes(), []

    def failing() -> None:
        heard.append("failing")
        raise ValueError("broken on purpose")

    changes.subscribe(failing)
    changes.subscribe(lambda: heard.append("other"))
    with caplog.at_level(logging.ERROR, "workbench"):
        for _ in range(2):
            changes.tell()
            await asyncio.sleep(0)

    assert heard == ["failing", "other"] * 2
    assert [record.getMessage() for record in caplog.records] == ["a listener failed"] * 2


async def test_a_change_told_while_telling_is_told_in_the_next_turn() -> None:
    changes, heard = Changes(), []

    def again() -> None:
        heard.append(len(heard))
        if len(heard) < 3:
            changes.tell()

    changes.subscribe(again)
    changes.tell()
    await asyncio.sleep(0)
    assert heard == [0]
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert heard == [0, 1, 2]


def test_telling_nobody_needs_no_loop() -> None:
    Changes().tell()


class Thing(Shown):
    def __repr__(self) -> str:
        return "<a thing>"


def test_a_thing_shows_its_repr_where_nobody_can_draw(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_show", None)
    monkeypatch.setattr(events, "_again", None)

    Thing()._ipython_display_()
    republish(Thing())

    assert capsys.readouterr().out == "<a thing>\n"


def test_who_can_draw_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_show", None)
    monkeypatch.setattr(events, "_again", None)
    shown = []
    show_with(lambda thing: shown.append(("show", thing)), lambda thing: shown.append(("again", thing)))
    thing = Thing()

    thing._ipython_display_()
    republish(thing)

    assert shown == [("show", thing), ("again", thing)]
