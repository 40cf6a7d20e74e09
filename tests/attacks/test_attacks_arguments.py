"""What no name, duration or count can be: every verb refuses it in our words, and nothing is done."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench, durable, process
from workbench.errors import BadInput, CallRefused, WorkbenchError

HALF = "\ud800"
NO_NAMES = (True, 5, 2**70, math.nan, "", HALF, object(), b"x", [], {1: 2}, timedelta(1), print)
NO_NUMBERS = (True, -1, math.nan, math.inf, -math.inf, 1e308, 10**400, "1", HALF, object(), [1], timedelta.max)


@durable(key="counter:{id}")
async def counter(ctx: Any, id: str) -> Any:
    total = ctx.restored or 0
    yield total
    async for message in ctx:
        total += message
        yield total


OPENING: dict[str, Callable[[Path, Any], Any]] = {
    "lease": lambda path, given: Workbench.open(path, lease=given),
    "retention": lambda path, given: Workbench.open(path, retention=given),
    "letter_retention": lambda path, given: Workbench.open(path, letter_retention=given),
    "clock": lambda path, given: Workbench.open(path, clock=given),
    "store": lambda path, given: Workbench.open(path, store=given),
}
NAMES: dict[str, Callable[[Workbench, Any], Any]] = {
    "kill": lambda bench, given: bench.kill(given),
    "delete": lambda bench, given: bench.delete(given),
    "export": lambda bench, given: bench.export(given, "never"),
    "export to": lambda bench, given: bench.export("counter:a", 5 if given == b"x" else given),
    "import": lambda bench, given: bench.import_(given),
    "resolve": lambda bench, given: bench.resolve(given, "accepted"),
    "choice": lambda bench, given: bench.resolve("counter:a", given),
    "run": lambda bench, given: bench.runs[given],
    "approve": lambda bench, given: bench.approvals.approve(given),
    "reject": lambda bench, given: bench.approvals.reject(given),
    "queue": lambda bench, given: bench.queue(given),
    "topic": lambda bench, given: bench.topic(given),
    "schedule": lambda bench, given: bench.every(60, bench.lookup(counter, id="a"), 1, name=given),
    "cancel": lambda bench, given: bench.schedules.cancel(given),
    "name": lambda bench, given: process(name=given)(counter.body),
    "call": lambda bench, given: bench.lookup(counter, id="a").call(1, id=given),
}
NUMBERS: dict[str, Callable[[Workbench, Any], Any]] = {
    "delay": lambda bench, given: bench.queue("q").put(1, delay=given),
    "lease": lambda bench, given: bench.queue("q").take(lease=given),
    "workers": lambda bench, given: bench.queue("q").work(print, workers=given),
    "backoff": lambda bench, given: bench.queue("q").work(print, backoff=given),
    "requeue": lambda bench, given: bench.queue("q").requeue(given),
    "discard": lambda bench, given: bench.queue("q").discard(given),
    "jobs": lambda bench, given: bench.queue("q").jobs(limit=given),
    "keep_for": lambda bench, given: bench.topic("t", keep_for=given),
    "history": lambda bench, given: bench.topic("t").history(after=given),
    "after": lambda bench, given: bench.topic("t").events(after=given),
    "every": lambda bench, given: bench.every(given, bench.lookup(counter, id="a"), 1),
    "window": lambda bench, given: durable(key="x:{id}", window=given)(counter.body),
    "version": lambda bench, given: durable(key="x:{id}", version=given)(counter.body),
}


async def refused(attack: Callable[[Workbench, Any], Any], bench: Workbench, given: Any) -> bool:
    try:
        made = attack(bench, given)
        if inspect.isawaitable(made):
            await made
    except (BadInput, CallRefused):
        return True
    return False


@pytest.mark.parametrize("verb", OPENING)
@pytest.mark.parametrize("given", NO_NUMBERS, ids=lambda given: f"{given!r:.12}")
async def test_a_bench_is_not_opened_with_what_no_option_can_be(verb: str, given: Any, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=verb):
        await OPENING[verb](tmp_path / "agents.db", given)

    assert os.listdir(tmp_path) == []


async def test_what_is_no_name_does_nothing_in_any_verb(tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "agents.db", counter) as bench:
        handle = bench.lookup(counter, id="a")
        await handle.cast(1)

        for verb, attack in NAMES.items():
            for given in NO_NAMES:
                assert await refused(attack, bench, given), (verb, given)
        for verb in ("kill", "delete", "resolve"):
            assert await refused(NAMES[verb], bench, None), verb
        await handle.until(lambda total: total == 1)

        assert handle.status == "running"
        assert [row["kind"] for row in bench.journal("counter:a") if row["kind"] == "message"] == ["message"]
        assert (len(bench.schedules), len(bench.queues), len(bench.topics)) == (0, 0, 0)


async def test_what_is_no_number_does_nothing_in_any_verb(tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "agents.db", counter) as bench:
        for verb, attack in NUMBERS.items():
            for given in NO_NUMBERS:
                assert await refused(attack, bench, given), (verb, given)

        assert (len(bench.schedules), len(bench.queues), len(bench.topics)) == (0, 0, 0)


def test_a_message_stays_readable_however_long_what_it_shows() -> None:
    error = WorkbenchError(f"the name {'x' * 10_000_000!r} is too long; shorten it")

    assert len(str(error)) < 8100
    assert str(error).startswith("the name 'xxx")
    assert str(error).endswith("xxx' is too long; shorten it")
