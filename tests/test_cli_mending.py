"""The command line for what went wrong: dead letters and keys that wait for a choice, decided in another process."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench, durable
from workbench.cli import main


def till(*steps: str, broken: bool = False) -> Any:
    @durable(key="till:{name}", name="till", max_attempts=1)
    async def body(ctx: Any, name: str) -> Any:
        state = ctx.restored or []
        yield state
        async for message in ctx:
            for step in steps:
                await ctx.step(step, lambda step=step: step)
            if message == "hang":
                await asyncio.Event().wait()
            if broken and message != "mended":
                raise ValueError("no paper")
            state = [*state, message]
            yield state

    return body


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store in which one message is set aside; commands run in it."""

    async def fill() -> None:
        async with Workbench.open(tmp_path / "agents.db", till(broken=True)) as bench:
            bench.lookup("till", name="a").cast({"sell": 1})
            async with asyncio.timeout(20):
                while not bench.dead_letters:
                    await asyncio.sleep(0.001)

    asyncio.run(fill())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def state_after(folder: Path, definition: Any, expected: Any) -> Any:
    """The state of the till once a bench has carried on to `expected`."""

    async def carry_on() -> Any:
        async with Workbench.open(folder / "agents.db", definition) as bench, asyncio.timeout(20):
            return await bench.lookup("till", name="a").until(lambda state: state == expected)

    return asyncio.run(carry_on())


def test_a_dead_letter_is_listed_and_requeued(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (letter,) = printed(capsys, "dead")
    assert (letter["key"], letter["message"], letter["error"]) == ("till:a", {"sell": 1}, "ValueError: no paper")

    assert main(["requeue", str(letter["id"]), "--by", "ana"]) == 0
    assert capsys.readouterr().out == f"{letter['id']} requeued: message 1 of till:a\n"

    assert state_after(folder, till(), [{"sell": 1}]) == [{"sell": 1}]
    assert printed(capsys, "dead") == []
    assert [(one["status"], one["by"]) for one in printed(capsys, "dead", "--all")] == [("requeued", "ana")]


def test_a_dead_letter_is_requeued_with_another_message(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (letter,) = printed(capsys, "dead")
    assert main(["requeue", str(letter["id"]), "--message", "{mended"]) == 1
    assert capsys.readouterr().err.startswith("workbench: --message is JSON, found '{mended'")

    printed(capsys, "requeue", str(letter["id"]), "--message", '"mended"')

    assert state_after(folder, till(broken=True), ["mended"]) == ["mended"]


def test_a_dead_letter_is_discarded_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (letter,) = printed(capsys, "dead")

    assert printed(capsys, "discard", str(letter["id"]), "--by", "ana")["status"] == "discarded"

    assert main(["requeue", str(letter["id"])]) == 1
    assert "is already discarded, by ana; the first decision stands" in capsys.readouterr().err
    assert main(["discard", "12345"]) == 1
    assert "no dead letter 12345 in this store" in capsys.readouterr().err


def test_a_key_whose_steps_are_at_odds_is_listed_and_resolved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def drift() -> None:
        async with Workbench.open(folder / "agents.db", till("charge")) as bench, asyncio.timeout(20):
            await bench.lookup("till", name="b").cast("hang")
            while not [entry for entry in bench.store.history_now("till:b") if entry.kind == "step"]:
                await asyncio.sleep(0.001)
        async with Workbench.open(folder / "agents.db", till("bill")) as bench, asyncio.timeout(20):
            while "till:b" not in bench.blocked:
                await asyncio.sleep(0.001)

    asyncio.run(drift())
    (row,) = printed(capsys, "blocked")
    assert row["key"] == "till:b"
    assert "recorded the step 'charge' and asks for step 'bill' now" in row["reason"]

    assert printed(capsys, "resolve", "till:b", "set-aside", "--by", "ana")["choice"] == "set aside"

    assert printed(capsys, "blocked") == []
    assert main(["resolve", "till:b", "accept"]) == 1
    assert "is already set aside, by ana; the first decision stands" in capsys.readouterr().err
