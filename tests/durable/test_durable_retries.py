"""Retries and timeouts of steps: what is tried again, and how the last failure is kept."""

from __future__ import annotations

import asyncio
from typing import Any

from places import Place, settle, until

from workbench import Retry, durable
from workbench.errors import StepFailed


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
    expected = ["failed", "ValueError", "never", False, True]
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


async def test_a_timeout_is_a_failure_of_the_step(place: Place) -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    handle = (await place.open(worker(work, timeout=0.01, retry=Retry(times=1)))).lookup("worker", id="a")
    handle.cast(1)

    state = await handle.until(lambda state: state != "new")
    assert state[:2] == ["failed", "TimeoutError"]


async def test_a_step_that_cannot_be_stored_is_not_tried_again(place: Place) -> None:
    tries = []

    def work() -> object:
        tries.append(1)
        return object()

    bench = await place.open(worker(work, retry=Retry(times=5, backoff=0.0)))
    await bench.lookup("worker", id="a").cast(1)
    await until(lambda: len(bench.store.history_now("worker:a")) > 3)
    await settle()

    assert len(tries) <= 3
