"""Numbers that no float or row can hold are refused like any other, wherever a number is given."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from nbformat.v4 import new_notebook

from workbench import Budget, Retry, Workbench, durable, process, tool
from workbench.durable.recurrence import Recurrence
from workbench.durable.requests import Request
from workbench.durable.upkeep import instant
from workbench.errors import BadInput
from workbench.testing import Notebook

if TYPE_CHECKING:
    from collections.abc import Callable

HUGE = {"no float": 10**400, "below": -(10**400), "no text": 10**5000, "endless": float("inf")}


async def body(ctx: Any) -> Any:
    yield 1


def fetch() -> str:
    return "it"


GIVEN: dict[str, Callable[[Any], object]] = {
    "times": lambda huge: Retry(times=huge),
    "backoff": lambda huge: Retry(backoff=huge),
    "factor": lambda huge: Retry(factor=huge),
    "longest": lambda huge: Retry(longest=huge),
    "window": lambda huge: process(window=huge)(body),
    "pause": lambda huge: process(backoff=huge)(body),
    "evict": lambda huge: process(evict=huge)(body),
    "evict of a durable one": lambda huge: durable(key="body", evict=huge)(body),
    "version": lambda huge: durable(key="body", version=huge)(body),
    "tool": lambda huge: tool(timeout=huge)(fetch),
    "dollars": lambda huge: Budget(dollars=huge),
    "seconds": lambda huge: Budget(seconds=huge),
    "requests": lambda huge: Budget(requests=huge),
    "instant": lambda huge: instant(huge, "before"),
    "recurrence": Recurrence.of,
    "notebook": lambda huge: Notebook(new_notebook(), timeout=huge),
}


@pytest.mark.parametrize("huge", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("give", GIVEN.values(), ids=GIVEN)
def test_a_number_beyond_every_float_is_bad_input(give: Callable[[Any], object], huge: float) -> None:
    with pytest.raises(BadInput, match="found"):
        give(huge)


@pytest.mark.parametrize("huge", HUGE.values(), ids=HUGE)
async def test_a_bench_refuses_numbers_beyond_every_float(huge: float) -> None:
    with pytest.raises(BadInput, match="lease is a number of seconds"):
        Workbench.open(":memory:", lease=huge)
    async with Workbench.open(":memory:") as bench:
        for give in (
            lambda: bench.queue("jobs").put(1, delay=huge),
            lambda: bench.queue("jobs").jobs(limit=huge),
            lambda: bench.topic("news").history(after=huge),
            lambda: bench.notes(limit=huge),
        ):
            with pytest.raises(BadInput, match="found"):
                give()


def test_an_error_may_ask_for_a_wait_beyond_every_float() -> None:
    error = ConnectionError("busy")
    error.retry_after = 10**400

    assert Retry(longest=60.0).wait_after(1, error) == 60.0


def test_a_request_that_expires_beyond_every_float_never_does() -> None:
    assert Request("ask", "job:a", {"expires_at": 10**400}, 0.0).expires_at is None


async def test_a_thread_waits_for_a_receipt_no_longer_than_a_float_can_say() -> None:
    @durable(key="job")
    async def job(ctx: Any) -> Any:
        async for _ in ctx:
            yield 1

    async with Workbench.open(":memory:", job) as bench:
        receipt = bench.lookup("job").cast(1)

        with pytest.raises(BadInput, match="timeout is a number of seconds"):
            await asyncio.to_thread(receipt.result, 10**400)
