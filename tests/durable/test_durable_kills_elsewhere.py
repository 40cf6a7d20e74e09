"""Kills across hosts: a life is ended where it is, once, and nobody wakes it who knows of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from counters import counter
from places import Place, until

from workbench.durable import killing
from workbench.errors import NoCode, ProcessEnded, StoreError


async def at_work(place: Place, handled: list[Any], **options: Any) -> tuple[Any, Any, Any]:
    """A bench in which a counter hangs in a message, another bench, and the counter's handle."""
    one, two = await place.open(counter(handled)), await place.open(counter(handled), **options)
    here = one.lookup("counter", id="a")
    here.cast("hang")
    await until(lambda: handled == ["hang"])
    return one, two, here


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "front"])
async def test_a_life_elsewhere_is_killed_there_and_left_alone(place: Place, worker: bool) -> None:
    handled: list[Any] = []
    one, two, here = await at_work(place, handled, worker=worker)

    await asyncio.wait_for(two.kill("counter:a", by="ana"), 20)
    await place.clock.advance(90)

    assert (here.status, here.held_by, here.activation) == ("disposed", "ana", None)
    assert [(life.how, life.by) for life in two.store.activations_now("counter:a")] == [("killed", "ana")]
    assert (handled, list(one._runtime.live), list(two._runtime.live)) == (["hang"], [], [])


async def test_a_follower_that_kills_does_not_take_over(place: Place) -> None:
    handled: list[Any] = []
    _, two, _ = await at_work(place, handled)
    there = two.lookup("counter", id="a")
    await until(lambda: there.elsewhere is not None)

    await asyncio.wait_for(two.kill("counter:a"), 20)
    await place.clock.advance(90)
    assert (handled, there.activation) == (["hang"], None)

    two.lookup("counter", id="a")
    await until(lambda: handled == ["hang", "hang"])


async def test_a_kill_here_needs_nobody_else(place: Place) -> None:
    handled: list[Any] = []
    one, _, here = await at_work(place, handled)

    await one.kill("counter:a", by="bo")

    assert (here.status, here.held_by) == ("disposed", "bo")


async def test_what_cannot_be_killed_is_refused_by_name(place: Place) -> None:
    bench = await place.open(counter())
    await bench.lookup("counter", id="a").call(1, id="x")
    await bench.lookup("counter", id="a").dispose()

    with pytest.raises(NoCode, match="no key 'counter:b' in this store"):
        await bench.kill("counter:b")
    with pytest.raises(ProcessEnded, match="'counter:a' lives nowhere now; there is nothing to kill"):
        await bench.kill("counter:a")


async def test_a_host_that_does_not_answer_is_named_and_kills_when_it_can(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    handled: list[Any] = []
    one, two, here = await at_work(place, handled)
    monkeypatch.setattr(killing, "PATIENCE", 0.05)
    one._runtime._unwatch()

    with pytest.raises(StoreError, match=r"pid \d+ was asked to kill 'counter:a' and has not yet"):
        await two.kill("counter:a")
    assert two._runtime.held == set()

    await one._runtime._look()
    await until(lambda: here.status == "disposed")
    assert await one._runtime.kills.waiting() == []
