"""A bench that is closed: what is left of it shows itself, and says what to do when more is asked of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from workbench import Agent, Workbench, durable
from workbench.durable.process import DurableProcess
from workbench.errors import StoreError

greeter = Agent("greeter", instructions="Greet.", model="offline")


@durable(key="count:{name}")
async def count(ctx, name: str):
    total = ctx.restored or 0
    yield total
    async for message in ctx:
        total += message
        yield total


Left = dict[str, Any]


@pytest.fixture(params=["agents.db", ":memory:"])
async def left(request: pytest.FixtureRequest, tmp_path: Path) -> Left:
    """What one holds of a bench that was closed."""
    where = request.param if request.param == ":memory:" else tmp_path / request.param
    bench = await Workbench.open(where, count, greeter)
    process = bench.lookup(count, name="a")
    await process.cast(5)
    await process.until(lambda total: total == 5)
    run = bench.run(greeter, "Hello", id="hello")
    await run
    await bench.queue("mail").put("a letter")
    await bench.topic("news").publish("an event")
    await bench.every(60, process, 1)
    left = {"bench": bench, "process": process, "run": run, "runs": bench.runs, "schedules": bench.schedules}
    left |= {"queue": bench.queue("mail"), "topic": bench.topic("news"), "approvals": bench.approvals}
    await bench.close()
    return left


async def test_what_is_left_of_a_closed_bench_shows_itself(left: Left) -> None:
    place = left["bench"].place

    assert {name: repr(thing) for name, thing in left.items()} == {
        "bench": f"<Workbench {place}: closed>",
        "process": "<count:a disposed: 5>",
        "run": "<Run hello of greeter: its bench is closed>",
        "runs": "<Runs: the bench is closed>",
        "schedules": "<Schedules: the bench is closed>",
        "queue": "<Queue 'mail': the bench is closed>",
        "topic": "<Topic 'news': the bench is closed>",
        "approvals": "<Approvals: 0 pending>",
    }


@pytest.mark.parametrize("name", ["bench", "runs", "schedules", "queue", "topic"])
async def test_what_is_left_of_a_closed_bench_is_a_paragraph_in_a_cell(left: Left, name: str) -> None:
    shown = left[name]._repr_html_()

    assert shown.startswith("<p>&lt;")
    assert shown.endswith("closed&gt;</p>")


@pytest.mark.parametrize("name", ["process", "run"])
async def test_what_had_a_window_says_itself(left: Left, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    left[name]._ipython_display_()

    assert capsys.readouterr().out == f"{left[name]!r}\n"


VERBS: dict[str, Callable[[DurableProcess], Awaitable[Any]]] = {
    "cast": lambda process: process.cast(1),
    "call": lambda process: process.call(1, id="one"),
    "recover": lambda process: process.recover(),
    "Recover": lambda process: process.press("recover"),
}


@pytest.mark.parametrize("verb", VERBS)
async def test_a_process_of_a_closed_bench_says_where_to_look(
    left: Left, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(StoreError) as caught:
        await VERBS[verb](left["process"])
    await asyncio.sleep(0)

    assert str(caught.value) == "the bench of 'count:a' is closed; open it again and look 'count:a' up there"
    assert left["process"].status == "disposed"
    assert caplog.records == []


async def test_killing_and_disposing_after_the_end_do_nothing(left: Left) -> None:
    await left["process"].kill()
    await left["process"].dispose()

    assert left["process"].state == 5


ASKED: dict[str, Callable[[Workbench], Any]] = {
    "keys": lambda bench: bench.keys(),
    "journal": lambda bench: bench.journal("count:a"),
    "elsewhere": lambda bench: bench.elsewhere,
    "export": lambda bench: bench.export("count:a", "copy.jsonl"),
    "import_": lambda bench: bench.import_("copy.jsonl"),
    "prune": lambda bench: bench.prune(),
    "delete": lambda bench: bench.delete("count:a"),
    "doctor": lambda bench: bench.doctor(),
}


@pytest.mark.parametrize("verb", ASKED)
async def test_a_closed_bench_says_how_to_open_it_again_whatever_is_asked(left: Left, verb: str) -> None:
    place = left["bench"].place

    with pytest.raises(StoreError) as caught:
        await ASKED[verb](left["bench"])

    assert str(caught.value) == f"the bench on {place!r} is closed; open it again with await Workbench.open({place!r})"
