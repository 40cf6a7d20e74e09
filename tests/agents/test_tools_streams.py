"""Tools that yield, print, raise signals of others, or do not listen: what is kept of them, and what is said."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest
from houses import House, calls, clerk, ears, until
from pydantic import BaseModel

from workbench import ToolContext, tool
from workbench.agents import loop as loop_module
from workbench.agents import run as run_module
from workbench.agents.printed import LENGTH
from workbench.agents.progress import LINES
from workbench.errors import Disposed, Fenced
from workbench.models.script import call


class Report(BaseModel):
    pages: int


async def outcome_of(house: House, function: Any, **args: Any) -> dict[str, Any]:
    """The row of a call of the tool, carried out by the loop."""
    made = tool(function)
    agent = clerk(call(made.name, **args), "Done.", tools=[made])
    bench = await house.open(agent)
    run = bench.run(agent, "Do it")
    assert await run == "Done."
    (row,) = calls(run)
    return row


def returning(n: int) -> Generator[str, None, int]:
    for number in range(n):
        yield f"{number} of {n}"
    return n * 10


def yielding(n: int) -> Iterator[str | dict[str, int]]:
    yield "begun"
    yield {"pages": 1}
    yield {"pages": n}


async def yielding_later(n: int) -> AsyncIterator[str | Report]:
    yield "begun"
    yield Report(pages=n)


def nothing() -> Iterator[str]:
    yield from ()


def given(n: int) -> Any:
    return returning(n)


def given_later(n: int) -> Any:
    return yielding_later(n)


@pytest.mark.parametrize(
    ("function", "args", "result", "progress"),
    [
        (returning, {"n": 2}, 20, ["0 of 2", "1 of 2"]),
        (yielding, {"n": 2}, {"pages": 2}, ["begun", "{'pages': 1}"]),
        (yielding_later, {"n": 3}, {"pages": 3}, ["begun"]),
        (nothing, {}, None, []),
        (given, {"n": 1}, 10, ["0 of 1"]),
        (given_later, {"n": 1}, {"pages": 1}, ["begun"]),
    ],
)
async def test_what_yields_tells_its_progress_and_gives_its_last(
    room: House, function: Any, args: dict[str, Any], result: Any, progress: list[str]
) -> None:
    if function is given_later:
        function.__annotations__["return"] = AsyncIterator[str | Report]

    row = await outcome_of(room, function, **args)

    assert (row["status"], row["result"], row["progress"]) == ("success", result, progress)


async def test_progress_is_seen_before_the_next_item_comes(room: House) -> None:
    go = threading.Event()

    def work() -> Iterator[str]:
        yield "half way"
        go.wait(20)
        yield "done"

    agent = clerk(call("work"), "Done.", tools=[work])
    bench = await room.open(agent)
    run = bench.run(agent, "Work")

    await until(lambda: calls(run) and calls(run)[0]["progress"] == ["half way"])
    go.set()

    assert await run == "Done."


async def test_a_flood_of_lines_wakes_the_loop_a_few_times(room: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def flood() -> Iterator[str]:
        for number in range(20_000):
            print(number)
            yield str(number)

    bench = await room.open(agent := clerk(call("flood"), "Done.", tools=[flood]))
    hops, hop = [], bench._runtime.home.hop
    monkeypatch.setattr(bench._runtime.home, "hop", lambda *what: hops.append(what) or hop(*what))
    run = bench.run(agent, "Flood")
    await run

    (row,) = calls(run)
    assert (row["progress"][0], len(row["progress"])) == ("… 19801 earlier lines were cut …", LINES)
    assert (row["progress"][-1], row["result"]) == ("19999", "19999")
    assert len(hops) < 5_000


async def test_a_generator_that_fails_or_is_cancelled_is_closed(room: House) -> None:
    log = []

    def broken() -> Iterator[str]:
        yield "begun"
        raise ValueError("torn")

    def endless(ctx: ToolContext) -> Iterator[str]:
        try:
            while True:
                yield "again"
        finally:
            log.append("closed")

    row = await outcome_of(room, broken)
    assert (row["status"], row["error"]["message"], row["progress"]) == ("failed", "torn", ["begun"])

    agent = clerk(call("endless"), "Done.", tools=[endless])
    bench = await room.open(agent)
    run = bench.run(agent, "Go on")
    await until(lambda: calls(run) and len(calls(run)[0]["progress"]) == LINES)
    assert calls(run)[0]["progress"][0].endswith("earlier lines were cut …")
    assert await run.cancel() == "cancelled"
    assert (log, run.at_work) == (["closed"], [])


async def test_what_tools_print_at_once_is_not_mixed(room: House, capsys: pytest.CaptureFixture[str]) -> None:
    both, met = threading.Barrier(2, timeout=20), []

    def plain(name: str) -> str:
        for _ in range(3):
            both.wait()
            print("plain", name)
        print("to the side", file=sys.stderr)
        return name

    async def later(name: str) -> str:
        for number in range(3):
            print("later", name, number)
            await asyncio.sleep(0)
        met.append(name)
        while len(met) < 2:
            await asyncio.sleep(0)
        return name

    turn = [call("plain", name="a"), call("plain", name="b"), call("later", name="c"), call("later", name="d")]
    agent = clerk(turn, "Done.", tools=[plain, later])
    bench = await room.open(agent)
    before = sys.stdout, sys.stderr
    run = bench.run(agent, "Print")
    print("the cell's own")
    await run

    printed = [row.get("stdout") for row in calls(run)]
    assert printed[:2] == [f"plain {name}\n" * 3 + "to the side\n" for name in "ab"]
    assert printed[2:] == ["".join(f"later {name} {number}\n" for number in range(3)) for name in "cd"]
    assert run.view()["output"][0] == "plain: plain a"
    assert (sys.stdout, sys.stderr) == before
    assert capsys.readouterr() == ("the cell's own\n", "")
    assert sum("later c 2" in repr(row) for row in bench.journal(run.id)) == 1


async def test_what_is_printed_is_bounded_and_kept_with_a_failure(room: House) -> None:
    def chatty() -> None:
        print("first")
        print("x" * 3 * LENGTH)
        print("last")
        raise ValueError("enough")

    row = await outcome_of(room, chatty)

    assert (row["status"], row["error"]["message"]) == ("failed", "enough")
    assert row["stdout"].startswith("first\nxxx")
    assert row["stdout"].endswith("xxx\nlast\n")
    assert f"… {2 * LENGTH + 12} characters were cut here …" in row["stdout"]
    assert len(row["stdout"]) < LENGTH + 100


async def test_a_coroutine_that_a_plain_tool_gives_is_its_work_too(room: House) -> None:
    async def later(n: int) -> dict[str, Any]:
        print("later")
        return {"n": n}

    def give(n: int) -> Any:
        return later(n)

    row = await outcome_of(room, give, n=1)

    assert (row["status"], row["result"], row["stdout"]) == ("success", {"n": 1}, "later\n")


async def test_a_result_that_holds_itself_fails_in_words(room: House) -> None:
    def ring() -> Any:
        made: list[Any] = []
        made.append(made)
        return made

    row = await outcome_of(room, ring)

    assert (row["status"], row["error"]["type"]) == ("failed", "NotPlain")


async def test_a_tool_that_prints_nothing_keeps_nothing(room: House) -> None:
    row = await outcome_of(room, given, n=1)

    assert "stdout" not in row


@pytest.mark.parametrize("signal", [Disposed("of another process"), Fenced("of another key")])
@pytest.mark.parametrize("grouped", [False, True])
async def test_a_signal_that_is_not_of_this_run_is_a_failure(room: House, signal: Any, grouped: bool) -> None:
    async def careless() -> None:
        raise BaseExceptionGroup("two", [signal]) if grouped else signal

    agent = clerk(call("careless"), "It failed.", tools=[careless])
    bench = await room.open(agent)
    run = bench.run(agent, "Be careless")

    assert await run == "It failed."
    (row,) = calls(run)
    assert (row["status"], ears(agent).told[0].outcome) == ("failed", "failed")
    assert row["error"]["type"] == ("BaseExceptionGroup" if grouped else type(signal).__name__)


@pytest.mark.parametrize(("is_async", "lives"), [(False, 1), (True, 2)])
async def test_a_tool_that_does_not_listen_to_a_cancel_is_named(
    room: House, monkeypatch: pytest.MonkeyPatch, is_async: bool, lives: int
) -> None:
    go, log = threading.Event(), []

    def deaf() -> None:
        log.append("began")
        go.wait(20)
        log.append("ended")

    async def deaf_later() -> None:
        log.append("began")
        while not go.is_set():
            try:
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                continue
        log.append("ended")

    monkeypatch.setattr(loop_module, "HEARING", 0.05)
    monkeypatch.setattr(run_module, "PATIENCE", 0.1 if is_async else 20)
    made = tool(name="deaf")(deaf_later if is_async else deaf)
    agent = clerk(call("deaf"), "Done.", tools=[made])
    bench = await room.open(agent)
    run = bench.run(agent, "Work")
    await until(lambda: log)

    assert await run.cancel() == "cancelled"

    assert (run.at_work, run.state["left_at_work"], log) == (["deaf"], ["deaf"], ["began"])
    assert len(run.view()["lives"]) == lives
    assert "deaf did not listen and still executes; what comes of that is dropped." in run.view()["now_line"]["text"]
    go.set()
    await until(lambda: not run.at_work)
    assert "still executes" not in run.view()["now_line"]["text"]
    assert calls(run)[0]["status"] == "interrupted"
