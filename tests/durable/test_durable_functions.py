"""What a step may be given: plain and async functions, with a key or without, and what cannot work."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from jobs import ask, running
from places import Place, until

from workbench import Retry
from workbench.errors import BadInput, ProcessEnded, StepFailed


async def test_functions_without_a_key_are_called_without_one(place: Place) -> None:
    def plain() -> int:
        return 1

    async def asynchronous() -> int:
        return 2

    class Service:
        def __init__(self) -> None:
            self.heard: list[str] = []

        def pay(self, key: str) -> str:
            self.heard.append(key)
            return "paid"

        async def mail(self) -> str:
            return "mailed"

    service = Service()

    async def handler(ctx, message):
        return [
            await ctx.step("plain", plain),
            await ctx.step("async", asynchronous),
            await ctx.step("method", service.pay),
            await ctx.step("async method", service.mail),
            [await ctx.step(f"default {i}", lambda i=i: i * 10) for i in range(3)],
            await ctx.step("named key", lambda key=None: key),
            await ctx.step("only by name", lambda *, idempotency_key: idempotency_key),
            await ctx.step("a builtin", dict),
        ]

    answer = await ask(place, handler)

    assert answer == [
        *(1, 2, "paid", "mailed", [0, 10, 20]),
        *("job:a#1##named key#0", "job:a#1##only by name#0", {}),
    ]
    assert service.heard == ["job:a#1##method#0"]


async def test_plain_functions_run_in_a_thread_and_coroutines_on_the_loop(place: Place) -> None:
    async def on_loop() -> int:
        return threading.get_ident()

    async def handler(ctx, message):
        here = threading.get_ident()
        return [await ctx.step("plain", threading.get_ident) == here, await ctx.step("async", on_loop) == here]

    assert await ask(place, handler) == [False, True]


async def test_a_lambda_that_gives_a_coroutine_is_awaited(place: Place) -> None:
    async def fetch(word: str) -> str:
        await asyncio.sleep(0)
        return word.upper()

    async def handler(ctx, message):
        return await ctx.step("fetch", lambda key: fetch("done"))

    assert await ask(place, handler) == "DONE"


async def test_a_coroutine_that_a_thread_gives_after_a_kill_is_closed_unseen(place: Place) -> None:
    gate, began, made = threading.Event(), threading.Event(), []

    async def work() -> int:
        return 1

    def given() -> Any:
        began.set()
        gate.wait(20)
        made.append(work())
        return made[0]

    async def handler(ctx, message):
        return await ctx.step("work", lambda: given())

    bench = await place.open(running(handler))
    handle = bench.lookup("job", id="a")
    await handle.cast("not a call")
    answer = handle.call("go", id="1")
    await until(began.is_set)
    await handle.kill()
    gate.set()
    await until(lambda: made and made[0].cr_frame is None)

    with pytest.raises(ProcessEnded):
        await answer


async def test_a_lambda_that_makes_a_task_is_told_to_be_async(place: Place) -> None:
    async def fetch() -> int:
        return 1

    async def handler(ctx, message):
        def wrong():
            work = fetch()
            try:
                return asyncio.create_task(work)
            finally:
                work.close()

        return await ctx.step("fetch", wrong)

    answer = await ask(place, handler)

    assert answer == (
        "StepMisuse: step 'fetch' needs the event loop, and a plain function runs in a thread; write it as async def"
    )


async def test_stop_iteration_in_a_plain_function_is_an_error_that_says_so(place: Place) -> None:
    async def handler(ctx, message):
        return await ctx.step("next", lambda: next(iter(())))

    assert (await ask(place, handler)).startswith("StepMisuse: step 'next' raised StopIteration")


class Outside(BaseException):
    """What a library of tests fails with."""


@pytest.mark.parametrize("error", [SystemExit(3), Outside("no")], ids=repr)
@pytest.mark.parametrize("on_loop", [True, False], ids=["on the loop", "in a thread"])
@pytest.mark.parametrize("retry", [None, Retry(times=2, backoff=0.0)], ids=["once", "twice"])
async def test_what_ends_a_kernel_elsewhere_fails_its_step_alone(
    place: Place, error: BaseException, on_loop: bool, retry: Retry | None
) -> None:
    tries = []

    def plain() -> None:
        tries.append(1)
        raise error

    async def asynchronous() -> None:
        plain()

    async def one(ctx, name):
        async with ctx.branch(name):
            return await ctx.step("leave", asynchronous if on_loop else plain, retry=retry)

    async def handler(ctx, message):
        found = await asyncio.gather(one(ctx, "left"), one(ctx, "right"), return_exceptions=True)
        assert all(type(each) is StepFailed for each in found)
        return [[each.type, each.fields["message"], each.retryable] for each in found]

    assert await ask(place, handler) == [[type(error).__name__, str(error), True]] * 2
    assert len(tries) == (2 if retry is None else 4)


async def test_an_interrupt_in_a_thread_is_an_error_that_says_so(place: Place) -> None:
    def plain() -> None:
        raise KeyboardInterrupt

    async def one(ctx):
        async with ctx.branch("side"):
            await ctx.step("leave", plain)

    async def handler(ctx, message):
        await asyncio.create_task(one(ctx))

    assert (await ask(place, handler)).startswith("StepMisuse: step 'leave' raised KeyboardInterrupt")


async def test_a_group_with_a_cancellation_in_it_is_no_failure_of_its_step(place: Place) -> None:
    async def asynchronous() -> None:
        raise BaseExceptionGroup("both", [ValueError("no"), asyncio.CancelledError()])

    async def handler(ctx, message):
        try:
            await ctx.step("leave", asynchronous, retry=Retry(times=2, backoff=0.0))
        except BaseExceptionGroup as group:
            return [type(each).__name__ for each in group.exceptions]

    assert await ask(place, handler) == ["ValueError", "CancelledError"]


async def test_a_step_needs_a_function_and_a_name(place: Place) -> None:
    async def handler(ctx, message):
        found = []
        for name, function in (("pay", 3), ("", lambda: 1), (None, lambda: 1)):
            try:
                await ctx.step(name, function)
            except BadInput as error:
                found.append(str(error))
        return found

    answer = await ask(place, handler)

    assert len(answer) == 3
    assert answer[0].startswith("step 'pay' needs a function to call, found 3")
