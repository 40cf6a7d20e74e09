"""Retries and timeouts of steps: what is tried again, and how the last failure is kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from places import Place, settle, until

from workbench import Retry, durable
from workbench.durable.results import failed
from workbench.errors import BadInput, StepFailed


def worker(work: Any, **options: Any) -> Any:
    @durable(key="worker:{id}", name="worker")
    async def body(ctx, id: str):
        yield ctx.restored or "new"
        async for message in ctx:
            if message == "hang":
                await asyncio.Event().wait()
            try:
                yield ["done", await ctx.step("work", work, **options)]
            except StepFailed as error:
                yield ["failed", error.type, error.fields["message"], error.retryable, "work" in error.traceback]
                if message == "then hang":
                    await asyncio.Event().wait()

    return body


async def test_a_retry_waits_longer_each_time(place: Place) -> None:
    tries: list[float] = []

    async def work() -> str:
        tries.append(place.clock.now())
        if len(tries) < 3:
            raise ValueError(f"try {len(tries)}")
        return "at last"

    bench = await place.open(worker(work, retry=Retry(times=3, backoff=10.0)))
    handle = bench.lookup("worker", id="a")
    await handle.cast(1)
    await until(lambda: len(tries) == 1)
    await place.clock.advance(31)

    assert await handle.until(lambda state: state != "new") == ["done", "at last"]
    assert [later - tries[0] for later in tries] == [0, 10, 30]


async def test_the_last_failure_is_recorded_and_replayed(place: Place) -> None:
    tries = []

    def work() -> None:
        tries.append(1)
        raise ValueError("never")

    definition = worker(work, retry=Retry(times=2, backoff=0.0))
    bench = await place.open(definition)
    handle = bench.lookup("worker", id="a")
    await handle.cast("then hang")
    expected = ["failed", "ValueError", "never", True, True]
    assert await handle.until(lambda state: state != "new") == expected
    await place.crash(bench)

    again = (await place.open(definition)).lookup("worker", id="a")

    assert await again.until(lambda state: state != "new") == expected
    assert len(tries) == 2


async def test_a_failure_of_a_class_with_other_arguments_can_be_stored(place: Place) -> None:
    class Odd(Exception):
        def __init__(self, code: int, *, where: str) -> None:
            super().__init__(f"{code} at {where}")

    async def work() -> None:
        raise Odd(7, where="the door")

    handle = (await place.open(worker(work, retry=Retry(times=1)))).lookup("worker", id="a")
    handle.cast(1)

    state = await handle.until(lambda state: state != "new")
    assert state[0] == "failed"
    assert state[2] == "7 at the door"


async def test_a_timeout_names_the_step_and_its_seconds(place: Place) -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    handle = (await place.open(worker(work, timeout=0.01, retry=Retry(times=1)))).lookup("worker", id="a")
    handle.cast(1)

    state = await handle.until(lambda state: state != "new")
    assert state[:3] == [
        "failed",
        "TimeoutError",
        "step 'work' did not finish within 0.01 s; a plain function goes on in its thread, and what it gives is lost",
    ]


async def test_a_timeout_of_the_function_itself_keeps_its_words(place: Place) -> None:
    async def work() -> None:
        raise TimeoutError("the bank does not answer")

    handle = (await place.open(worker(work, timeout=60, retry=Retry(times=1)))).lookup("worker", id="a")
    handle.cast(1)

    state = await handle.until(lambda state: state != "new")
    assert state[:3] == ["failed", "TimeoutError", "the bank does not answer"]


async def test_a_result_that_cannot_be_stored_is_a_failure_that_is_not_tried_again(place: Place) -> None:
    tries = []

    def work() -> object:
        tries.append(1)
        return object()

    handle = (await place.open(worker(work, retry=Retry(times=5, backoff=0.0)))).lookup("worker", id="a")
    handle.cast(1)

    state = await handle.until(lambda state: state != "new")
    assert (state[:2], state[3], tries) == (["failed", "NotPlain"], False, [1])


class Declined(Exception):
    """A bank's last word."""

    retryable = False


def over_the_limit(error: Exception) -> bool:
    return "limit" in str(error)


@pytest.mark.parametrize(
    ("error", "fatal"),
    [
        (ValueError("no such order"), ValueError),
        (KeyError("no such order"), (TypeError, LookupError)),
        (OSError("over the limit"), over_the_limit),
        (Declined("declined"), ()),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
async def test_what_is_fatal_is_not_tried_again(place: Place, error: Exception, fatal: Any) -> None:
    tries = []

    async def work() -> None:
        tries.append(1)
        raise error

    handle = (await place.open(worker(work, retry=Retry(times=5, backoff=0.0, fatal=fatal)))).lookup("worker", id="a")
    handle.cast(1)

    state = await handle.until(lambda state: state != "new")
    assert (state[:2], state[3], tries) == (["failed", type(error).__qualname__], False, [1])


async def test_a_kernel_killed_in_the_back_off_neither_starts_over_nor_forgets(place: Place) -> None:
    tries: list[float] = []

    async def work() -> str:
        tries.append(place.clock.now())
        if len(tries) < 4:
            raise ValueError(f"try {len(tries)}")
        return "at last"

    definition = worker(work, retry=Retry(times=4, backoff=100.0))
    bench = await place.open(definition)
    await bench.lookup("worker", id="a").cast(1)
    for count, into in ((1, 60), (2, 150)):
        await until(lambda: len(tries) == count)  # noqa: B023 - waited for in this turn
        await place.clock.advance(into)
        await place.crash(bench)
        bench = await place.open(definition)
        bench.lookup("worker", id="a")
        await settle()
        assert len(tries) == count
        await place.clock.advance(100 * count - into)
    await place.clock.advance(400)

    assert await bench.lookup("worker", id="a").until(lambda state: state != "new") == ["done", "at last"]
    assert [later - tries[0] for later in tries] == [0, 100, 300, 700]
    kinds = [entry.kind for entry in bench.store.history_now("worker:a") if entry.step is not None]
    assert kinds == ["try", "try", "try", "step"]


async def test_ten_deaths_in_the_back_off_count_nothing(place: Place) -> None:
    tries = []

    async def work() -> None:
        tries.append(1)
        raise ValueError("not now")

    definition = worker(work, retry=Retry(times=5, backoff=1_000_000.0, longest=1_000_000.0))
    for _ in range(10):
        bench = await place.open(definition)
        handle = bench.lookup("worker", id="a")
        if not tries:
            await handle.cast(1)
        await until(lambda: any(entry.kind == "try" for entry in bench.store.history_now("worker:a")))  # noqa: B023
        await settle()
        await place.crash(bench)
    bench = await place.open(definition)

    assert (len(tries), await bench.store.dead("worker:a")) == (1, [])
    assert "attempt" not in [entry.kind for entry in bench.store.history_now("worker:a")]


async def test_what_was_finished_inside_of_a_try_is_not_done_by_the_next(place: Place) -> None:
    keys: list[str] = []
    tries = []

    @durable(key="nest:{id}", name="nest")
    async def nest(ctx, id: str):
        async for _ in ctx:

            async def outer() -> str:
                await ctx.step("inner", keys.append)
                tries.append(1)
                if len(tries) < 3:
                    raise ValueError("not yet")
                return "whole"

            yield await ctx.step("outer", outer, retry=Retry(times=3, backoff=10.0))

    bench = await place.open(nest)
    await bench.lookup(nest, id="a").cast(1)
    await until(lambda: len(tries) == 1)
    await place.clock.advance(11)
    assert len(tries) == 2
    await place.crash(bench)
    bench = await place.open(nest)
    await place.clock.advance(20)

    assert await bench.lookup(nest, id="a").until(lambda state: True) == "whole"
    assert keys == ["nest:a#1#outer!0#inner#0"]


async def test_an_error_that_cannot_say_why_is_kept_all_the_same(place: Place) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    async def mute() -> None:
        raise Mute

    async def half() -> None:
        raise ValueError("half \ud800 of a character")

    bench = await place.open(worker(mute, retry=Retry(times=1)))
    handle = bench.lookup("worker", id="a")
    handle.cast(1)
    assert (await handle.until(lambda state: state != "new"))[2] == "it cannot say why: RuntimeError"
    bench.add(worker(half, retry=Retry(times=1)))
    handle = bench.lookup("worker", id="b")
    handle.cast(1)

    assert (await handle.until(lambda state: state != "new"))[2] == "half ? of a character"


def test_a_failure_knows_the_class_that_python_has_for_it() -> None:
    assert failed("work", KeyError("x"), retryable=True).builtin is KeyError
    assert failed("work", Declined("x"), retryable=False).builtin is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"times": 0}, "a whole number of times from 1, found times=0"),
        ({"times": True}, "a whole number of times from 1, found times=True"),
        ({"backoff": -1}, "a number from 0 for backoff, found backoff=-1"),
        ({"backoff": float("nan")}, "a number from 0 for backoff"),
        ({"factor": 0.5}, "a number from 1 for factor"),
        ({"longest": "1"}, "a number from 0 for longest"),
        ({"fatal": "ValueError"}, "by types of exceptions or by a function, found fatal='ValueError'"),
        ({"fatal": int}, "by types of exceptions or by a function, found fatal=<class 'int'>"),
        ({"fatal": (ValueError, 1)}, "by types of exceptions or by a function"),
    ],
    ids=str,
)
def test_a_retry_that_cannot_be_is_refused(options: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Retry(**options)


def test_a_wait_grows_by_its_factor_up_to_the_longest() -> None:
    retry = Retry(times=9, backoff=2.0, factor=3.0, longest=20.0)

    assert [retry.wait_after(number) for number in (1, 2, 3, 4, 10_000)] == [2.0, 6.0, 18.0, 20.0, 20.0]
