"""Steps: done once, kept in the journal, found again by where they stand."""

from __future__ import annotations

import asyncio
import datetime as dt
import random
from dataclasses import dataclass
from decimal import Decimal

import pytest
from jobs import ask, replay, running
from places import Place
from pydantic import BaseModel

from workbench import durable
from workbench.errors import NotPlain, StepMisuse


class Receipt(BaseModel):
    number: str
    total: Decimal


@dataclass
class Parcel:
    weight: float


async def test_a_step_gets_the_key_of_its_place(place: Place) -> None:
    keys = []

    async def handler(ctx, message):
        keys.append(await ctx.step("pay", lambda key: key))
        keys.append(await ctx.step("pay", lambda key: key))
        keys.append(await ctx.step("a#b", lambda key: key))
        return keys

    assert await ask(place, handler) == ["job:a#1##pay#0", "job:a#1##pay#1", "job:a#1##a%23b#0"]


async def test_the_caller_gets_the_value_as_the_journal_holds_it(place: Place) -> None:
    when = dt.datetime(2024, 5, 1, 12, 30, tzinfo=dt.UTC)
    given = {"pair": (1, "two"), "set": {1, 2}, "when": when, "price": Decimal("9.90"), "raw": b"\x00\xff"}

    async def handler(ctx, message):
        first = await ctx.step("make", lambda: given)
        return {"same": first == given, "pair": type(first["pair"]).__name__, "new": first is not given}

    assert await ask(place, handler) == {"same": True, "pair": "tuple", "new": True}


async def test_a_replay_takes_the_journals_value_and_runs_nothing(place: Place) -> None:
    ran, ready = [], asyncio.Event()
    lives = []

    async def handler(ctx, message):
        lives.append(1)
        first = await ctx.step("first", lambda: ran.append("first") or (1, 2))
        if len(lives) == 1:
            ready.set()
            await asyncio.Event().wait()
        second = await ctx.step("second", lambda: ran.append("second") or "new")
        return [first, second]

    answer, _ = await replay(place, handler, ready)

    assert answer == [(1, 2), "new"]
    assert ran == ["first", "second"]


async def test_a_step_in_flight_runs_again_under_the_same_key(place: Place) -> None:
    keys, ready = [], asyncio.Event()

    async def handler(ctx, message):
        async def work(key):
            keys.append(key)
            if len(keys) == 1:
                ready.set()
                await asyncio.Event().wait()
            return "done"

        return await ctx.step("work", work)

    answer, _ = await replay(place, handler, ready)

    assert answer == "done"
    assert keys == ["job:a#1##work#0"] * 2


def with_annotation() -> Receipt:
    return Receipt(number="R-1", total=Decimal("9.90"))


async def test_a_model_comes_back_by_the_annotation_of_its_function(place: Place) -> None:
    lives, ready = [], asyncio.Event()

    async def handler(ctx, message):
        lives.append(1)
        receipt = await ctx.step("make", with_annotation)
        if len(lives) == 1:
            ready.set()
            await asyncio.Event().wait()
        return [type(receipt).__name__, receipt == with_annotation()]

    answer, _ = await replay(place, handler, ready)

    assert answer == ["Receipt", True]


async def test_a_dataclass_comes_back_by_returns(place: Place) -> None:
    async def handler(ctx, message):
        parcel = await ctx.step("weigh", lambda: Parcel(2.5), returns=Parcel)
        many = await ctx.step("weigh all", lambda: [Parcel(1.0), Parcel(2.0)], returns=list[Parcel])
        return [parcel == Parcel(2.5), many == [Parcel(1.0), Parcel(2.0)]]

    assert await ask(place, handler) == [True, True]


async def test_a_model_that_nothing_declares_is_refused_with_the_fix(place: Place) -> None:
    async def handler(ctx, message):
        return await ctx.step("weigh", lambda: Parcel(2.5))

    answer = await ask(place, handler)

    assert answer.startswith("NotPlain: the result of step 'weigh' is a Parcel, and nothing declares that type")
    assert "give returns=Parcel to the step" in answer


async def test_a_value_of_another_type_than_declared_is_refused(place: Place) -> None:
    async def handler(ctx, message):
        return await ctx.step("weigh", lambda: {"weight": "heavy"}, returns=Parcel)

    assert (await ask(place, handler)).startswith("NotPlain: the result of step 'weigh' is a dict")


async def test_a_value_that_cannot_be_stored_is_named_by_its_path(place: Place) -> None:
    caught = []

    async def handler(ctx, message):
        try:
            await ctx.step("list", lambda: {"orders": [1, object()]})
        except NotPlain as error:
            caught.append(error.path)
        return caught

    assert await ask(place, handler) == ["the result of step 'list'.orders[1]"]


async def test_a_step_outside_any_message_is_refused(place: Place) -> None:
    caught = []

    @durable(key="early:{id}", name="early")
    async def early(ctx, id: str):
        try:
            await ctx.step("setup", lambda: 1)
        except StepMisuse as error:
            caught.append(str(error))
        yield 0

    handle = (await place.open(early)).lookup(early, id="a")
    await handle.until(lambda state: True)

    assert caught == [
        "step 'setup' is asked for outside any message and would run again in every activation; move it into a handler"
    ]


async def test_steps_that_are_gathered_finish_in_any_order(place: Place) -> None:
    lives, ready, ran = [], asyncio.Event(), []

    async def handler(ctx, message):
        lives.append(1)

        async def work(name, naps):
            ran.append(name)
            for _ in range(naps):
                await asyncio.sleep(0)
            return name

        naps = [5, 1, 3] if len(lives) == 1 else [1, 5, 2]
        values = await asyncio.gather(
            *(ctx.step(name, lambda name=name, n=n: work(name, n)) for name, n in zip("abc", naps, strict=True))
        )
        if len(lives) == 1:
            ready.set()
            await asyncio.Event().wait()
        return values

    answer, _ = await replay(place, handler, ready)

    assert answer == ["a", "b", "c"]
    assert sorted(ran) == ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(12))
async def test_parallel_branches_never_swap_their_results(place: Place, seed: int) -> None:
    dice = random.Random(seed)
    lives, ran = [], []
    ready = asyncio.Event()

    async def nap() -> None:
        for _ in range(dice.randrange(6)):
            await asyncio.sleep(0)

    async def handler(ctx, message):
        lives.append(1)

        async def line(which: int) -> list[str]:
            found = []
            async with ctx.branch("line"):
                await nap()
                for turn in range(3):

                    async def work(which=which, turn=turn) -> str:
                        ran.append((which, turn))
                        await nap()
                        inner = await ctx.step("inner", lambda: f"{which}.{turn}")
                        return f"outer of {inner}"

                    found.append(await ctx.step("work", work))
                    await nap()
            return found

        tasks = []
        for which in range(4):
            tasks.append(asyncio.create_task(line(which)))
            await asyncio.sleep(0)
        if len(lives) == 1:
            for _ in range(dice.randrange(10, 60)):
                await asyncio.sleep(0)
            ready.set()
            await asyncio.Event().wait()
        return [await task for task in tasks]

    answer, _ = await replay(place, handler, ready)

    assert answer == [[f"outer of {which}.{turn}" for turn in range(3)] for which in range(4)]
    assert max(ran.count(one) for one in ran) <= 2


async def test_a_step_in_a_task_without_a_branch_is_refused(place: Place) -> None:
    async def handler(ctx, message):
        async def line() -> int:
            return await ctx.step("work", lambda: 1)

        return await asyncio.create_task(line())

    answer = await ask(place, handler)

    assert answer == (
        "StepMisuse: step 'work' is asked for in a task that has no branch of its own; "
        'give the task a branch: async with ctx.branch("…")'
    )


async def test_a_nested_step_of_a_gathered_step_needs_a_branch(place: Place) -> None:
    async def handler(ctx, message):
        async def outer() -> int:
            return await ctx.step("inner", lambda: 1)

        return await asyncio.gather(ctx.step("a", outer), ctx.step("b", outer))

    assert (await ask(place, handler)).startswith("StepMisuse: step 'inner' is asked for in a task")


async def test_nested_steps_are_kept_inside_theirs(place: Place) -> None:
    keys, lives, ready = [], [], asyncio.Event()

    async def handler(ctx, message):
        lives.append(1)

        async def outer(key: str) -> str:
            keys.append(key)
            keys.append(await ctx.step("inner", lambda key: key))
            if len(lives) == 1:
                ready.set()
                await asyncio.Event().wait()
            return "whole"

        return await ctx.step("outer", outer)

    answer, _ = await replay(place, handler, ready)

    assert answer == "whole"
    assert keys == ["job:a#1##outer#0", "job:a#1#outer!0#inner#0"] * 2


async def test_a_recorded_outer_step_needs_none_of_its_inner_ones(place: Place) -> None:
    ran, lives, ready = [], [], asyncio.Event()

    async def handler(ctx, message):
        lives.append(1)

        async def outer() -> str:
            ran.append("outer")
            await ctx.step("inner", lambda: ran.append("inner"))
            return "whole"

        value = await ctx.step("outer", outer)
        if len(lives) == 1:
            ready.set()
            await asyncio.Event().wait()
        return value

    answer, _ = await replay(place, handler, ready)

    assert (answer, ran) == ("whole", ["outer", "inner"])


async def test_a_failed_step_without_a_retry_is_not_recorded(place: Place) -> None:
    tries = []

    async def handler(ctx, message):
        def work():
            tries.append(1)
            if len(tries) == 1:
                raise ValueError("not yet")
            return "done"

        try:
            await ctx.step("work", work)
        except ValueError:
            return await ctx.step("work again", work)

    assert await ask(place, handler) == "done"
    bench = await place.open(worker=False)
    steps = [entry.step.name for entry in await bench.store.history("job:a") if entry.kind == "step"]
    assert steps == ["work again"]


async def test_fifty_megabytes_are_a_result_like_any_other(place: Place) -> None:
    async def handler(ctx, message):
        return len(await ctx.step("large", lambda: "x" * 50_000_000))

    assert await ask(place, handler) == 50_000_000


async def test_a_result_over_the_limit_is_refused_by_its_size(place: Place) -> None:
    async def handler(ctx, message):
        return await ctx.step("too large", lambda: "x" * (64 * 1024 * 1024))

    assert (await ask(place, handler)).startswith("NotPlain: the result of step 'too large' is 67108866 bytes")


async def test_a_step_that_outlives_its_message_touches_no_other(place: Place) -> None:
    gate, stray, unstarted = asyncio.Event(), [], []

    async def handler(ctx, message):
        if message == "leave":
            stray.append(asyncio.ensure_future(ctx.step("slow", gate.wait)))
            unstarted.append(ctx.step("never begun", lambda: 1))
            await asyncio.sleep(0)
            return "left"
        gate.set()
        found = []
        for step in (stray[0], unstarted[0]):
            try:
                await step
            except StepMisuse as error:
                found.append(str(error))
        return found

    bench = await place.open(running(handler))
    handle = bench.lookup("job", id="a")
    assert await handle.call("leave", id="1") == "left"

    assert await handle.call("look", id="2") == [
        "step 'slow' of message 1 of 'job:a' finished after its message had ended; "
        "its result is lost, await the step in its handler",
        "step 'never begun' of message 1 is awaited after its message has ended; await it in its handler",
    ]
    assert [entry for entry in await bench.store.history("job:a") if entry.kind == "step"] == []
