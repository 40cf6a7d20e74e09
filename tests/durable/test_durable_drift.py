"""Drift: code that asks for other steps than the journal has runs none of them and says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from places import Place, settle, until

from workbench import durable
from workbench.errors import Drift


def shop(handler: Any, **options: Any) -> Any:
    @durable(key="shop:{id}", name="shop", **options)
    async def shop(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            await handler(ctx)
            yield message

    return shop


async def drifted(place: Place, before: Any, after: Any, recorded: int, **options: Any) -> Any:
    """The handle of a process whose host died after `recorded` steps of `before`, and which is replayed as `after`."""
    bench = await place.open(shop(before))
    await bench.lookup("shop", id="a").cast(1)
    await until(lambda: sum(entry.kind == "step" for entry in bench.store.history_now("shop:a")) >= recorded)
    await settle()
    await place.crash(bench)
    bench = await place.open(shop(after, **options))
    return bench.lookup("shop", id="a")


def steps(ran: list[str], *names: str, hang: bool = False) -> Any:
    async def handler(ctx) -> None:
        for name in names:
            await ctx.step(name, lambda name=name: ran.append(name))
        if hang:
            await asyncio.Event().wait()

    return handler


async def test_a_renamed_step_does_not_run(place: Place) -> None:
    ran: list[str] = []
    handle = await drifted(place, steps(ran, "charge", hang=True), steps(ran, "bill"), recorded=1, max_attempts=1)
    await until(lambda: handle.status == "crashed")

    assert ran == ["charge"]
    assert isinstance(handle.error, Drift)
    error = handle.error
    assert (error.key, error.seq, error.asked, error.recorded) == ("shop:a", 1, "bill", "charge")
    assert "recorded the step 'charge' and asks for step 'bill' now" in str(error)


async def test_a_step_put_in_before_a_recorded_one_does_not_run(place: Place) -> None:
    ran: list[str] = []
    handle = await drifted(place, steps(ran, "charge", hang=True), steps(ran, "check", "charge"), recorded=1)
    await until(lambda: handle.status == "crashed")

    assert ran == ["charge"]
    assert (handle.error.asked, handle.error.recorded) == ("check", "charge")


async def test_steps_after_the_last_record_are_free(place: Place) -> None:
    ran: list[str] = []
    handle = await drifted(place, steps(ran, "charge", hang=True), steps(ran, "charge", "check", "mail"), recorded=1)

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["charge", "check", "mail"]


async def test_a_recorded_step_that_is_left_out_stops_before_the_commit(place: Place) -> None:
    ran: list[str] = []
    handle = await drifted(place, steps(ran, "charge", "mail", hang=True), steps(ran, "charge"), recorded=2)
    await until(lambda: handle.status == "crashed")

    assert isinstance(handle.error, Drift)
    assert (handle.error.asked, handle.error.recorded) == (None, "mail")
    assert (await handle._runtime.store.key_info("shop:a")).cursor == 0


async def test_swapped_steps_are_found_by_name(place: Place) -> None:
    ran: list[str] = []
    handle = await drifted(place, steps(ran, "a", "b", hang=True), steps(ran, "b", "a"), recorded=2)

    assert await handle.until(lambda state: state == 1) == 1
    assert ran == ["a", "b"]


async def test_drift_is_no_attempt_and_sets_nothing_aside(place: Place) -> None:
    ran: list[str] = []
    handle = await drifted(place, steps(ran, "charge", hang=True), steps(ran, "bill"), recorded=1, max_attempts=1)
    await until(lambda: handle.status == "crashed")
    store = handle._runtime.store

    assert await store.dead("shop:a") == []
    assert [record.kind for record in await store.steps("shop:a", 1)] == [
        "step",
        "attempt",
        "drift",
    ]


async def test_a_body_that_swallows_drift_commits_nothing(place: Place) -> None:
    ran: list[str] = []

    async def careless(ctx) -> None:
        try:
            await ctx.step("bill", lambda: ran.append("bill"))
        except Exception:
            ran.append("swallowed")

    handle = await drifted(place, steps(ran, "charge", hang=True), careless, recorded=1)
    await until(lambda: handle.status == "crashed")

    assert ran == ["charge", "swallowed"]
    assert isinstance(handle.error, Drift)
    assert (await handle._runtime.store.key_info("shop:a")).cursor == 0


async def test_bringing_the_code_back_carries_on(place: Place) -> None:
    ran: list[str] = []
    handle = await drifted(place, steps(ran, "charge", hang=True), steps(ran, "bill"), recorded=1)
    await until(lambda: handle.status == "crashed")
    bench = place.benches[-1]

    bench.add(shop(steps(ran, "charge", "mail")))
    again = bench.lookup("shop", id="a")

    assert await again.until(lambda state: state == 1) == 1
    assert ran == ["charge", "mail"]


async def test_only_the_drifting_process_stops(place: Place) -> None:
    ran: list[str] = []
    handle = await drifted(place, steps(ran, "charge", hang=True), steps(ran, "bill"), recorded=1)
    await until(lambda: handle.status == "crashed")

    other = place.benches[-1].lookup("shop", id="b")
    other.cast(2)

    assert await other.until(lambda state: state == 2) == 2


@pytest.mark.parametrize("kind", ["gather", "bare except"])
async def test_a_swallowed_signal_ends_the_activation_all_the_same(place: Place, kind: str) -> None:
    after = []

    async def handler(ctx) -> None:
        if kind == "gather":
            await asyncio.gather(ctx.step("work", lambda: 1), return_exceptions=True)
        else:
            try:
                await ctx.step("work", lambda: 1)
            except BaseException:
                after.append("swallowed")
        after.append("went on")

    bench = await place.open(shop(handler))
    handle = bench.lookup("shop", id="a")
    await handle.until(lambda state: True)
    bench.store.failing = lambda name, args: OSError("the disk is gone") if name == "put_step" else None

    handle.cast(1)
    await until(lambda: handle.status == "crashed")

    assert after in ([], ["swallowed", "went on"])
    assert "the disk is gone" in str(handle.error)
    bench.store.failing = lambda name, args: None
    info = await bench.store.key_info("shop:a")
    assert (info.cursor, info.last_seq) == (0, 1)
