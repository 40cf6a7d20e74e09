"""Crash schedules: a host dies after any number of store operations, and the end is as if it had not.

A host that dies hears nothing any more; what its last turn had asked for has landed (`heard` tells whether it knew).
The sender sends again what was not answered, under the same ids.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import Place

from workbench import Call, durable
from workbench.errors import ProcessEnded

MESSAGES = [
    ({"type": "add", "price": 30}, "add-1"),
    ({"type": "add", "price": 12}, "add-2"),
    ({"type": "checkout"}, "checkout-1"),
    ({"type": "checkout"}, "checkout-2"),
]


class Effects(Counter[str]):
    """How often each step had its effect, and how often those had that a dead host had recorded."""

    recorded: dict[str, int] = {}  # noqa: RUF012 - replaced, never changed


def order(effects: Effects) -> Any:
    """The order of the design page: it adds up, charges and mails once, and cools off after a message to itself."""

    async def effect(key: str) -> str:
        effects[key] += 1
        await asyncio.sleep(0)
        return f"receipt {key}"

    @durable(key="order:{id}", name="order", max_attempts=1000)
    async def body(ctx, id: str):
        state = ctx.restored or {"status": "open", "total": 0, "cooled": 0}
        yield state
        async for message in ctx:
            match message:
                case Call({"type": "add", "price": price}, reply):
                    state = state | {"total": state["total"] + price}
                    reply(state["total"])
                case Call({"type": "checkout"}, reply) if state["status"] == "open":
                    charged, _ = await asyncio.gather(ctx.step("charge", effect), ctx.step("note", effect))
                    await ctx.step("mail", effect)
                    state = state | {"status": "charged", "receipt": charged}
                    reply(charged)
                    ctx.cast({"type": "cool off"})
                case Call({"type": "checkout"}, reply):
                    reply({"refused": state["status"]})
                case {"type": "cool off"}:
                    await ctx.sleep("cool-off", 60)
                    await ctx.step("ship", effect)
                    state = state | {"status": "shipped", "cooled": state["cooled"] + 1}
            yield state

    return body


async def send(place: Place, handle: Any, answers: dict[str, set[str]]) -> None:
    for message, id in MESSAGES:
        answers.setdefault(id, set()).add(repr(await handle.call(message, id=id)))


async def life(place: Place, effects: Effects, answers: dict[str, set[str]], after: int | None, heard: bool) -> Any:
    """One life of a host: gives the final state, or None when it died before."""
    definition = order(effects)
    bench = await place.open(definition, after=after, heard=heard)
    handle = bench.lookup(definition, id="a")

    async def carry_out() -> Any:
        sending = asyncio.ensure_future(send(place, handle, answers))
        try:
            while not sending.done() or handle.state["status"] != "shipped":
                await place.clock.advance(30)
            await sending
            return handle.state
        finally:
            sending.cancel()

    work = asyncio.ensure_future(carry_out())
    died = asyncio.ensure_future(bench.store.gone.wait())
    async with asyncio.timeout(30):
        await asyncio.wait([work, died], return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
        await asyncio.wait([work])
        done = {
            step.name for entry in bench.store.history_now("order:a") if (step := entry.step) and step.kind == "step"
        }
        await place.crash(bench)
        effects.recorded = {key: count for key, count in effects.items() if key.split("#")[3] in done}
        return None
    died.cancel()
    try:
        return work.result()
    except ProcessEnded:
        return None
    finally:
        await bench.close()
        place.benches.remove(bench)


async def undisturbed(place: Place) -> tuple[Any, Effects, dict[str, set[str]]]:
    effects: Effects = Effects()
    answers: dict[str, set[str]] = {}
    state = await life(place, effects, answers, None, True)
    return state, effects, answers


CLEAN = {
    "order:a#3##charge#0": 1,
    "order:a#3##note#0": 1,
    "order:a#3##mail#0": 1,
    "order:a#4##ship#0": 1,
}


async def test_the_undisturbed_run_is_what_it_should_be(place: Place) -> None:
    state, effects, answers = await undisturbed(place)

    assert state == {"status": "shipped", "total": 42, "cooled": 1, "receipt": "receipt order:a#3##charge#0"}
    assert effects == CLEAN
    assert answers["checkout-2"] == {"{'refused': 'shipped'}"}


@pytest.mark.parametrize("heard", [True, False], ids=["heard", "unheard"])
@pytest.mark.parametrize("after", range(1, 21))
async def test_a_crash_after_any_operation_changes_nothing_in_the_end(place: Place, after: int, heard: bool) -> None:
    effects: Effects = Effects()
    answers: dict[str, set[str]] = {}

    state = await life(place, effects, answers, after, heard)
    crashes = int(state is None)
    if state is None:
        state = await life(place, effects, answers, None, True)

    _is_right(state, effects, answers, crashes)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schedule=st.lists(st.tuples(st.integers(1, 24), st.booleans()), min_size=2, max_size=4))
async def test_several_crashes_change_nothing_in_the_end(tmp_path: Any, schedule: list[tuple[int, bool]]) -> None:
    place = Place("memory", tmp_path)
    effects: Effects = Effects()
    answers: dict[str, set[str]] = {}
    crashes, state = 0, None

    for after, heard in schedule:
        state = await life(place, effects, answers, after, heard)
        crashes += state is None
        if state is not None:
            break
    if state is None:
        state = await life(place, effects, answers, None, True)

    _is_right(state, effects, answers, crashes)


def _is_right(state: Any, effects: Effects, answers: dict[str, set[str]], crashes: int) -> None:
    assert {**state, "receipt": ""} == {"status": "shipped", "total": 42, "cooled": 1, "receipt": ""}
    assert sorted(key.split("#")[3] for key in effects) == ["charge", "mail", "note", "ship"]
    assert max(effects.values()) <= 1 + crashes
    assert {key: effects[key] for key in effects.recorded} == effects.recorded
    assert {id: len(heard) for id, heard in answers.items()} == {id: 1 for _, id in MESSAGES}
