"""The command line for who looks after a store: each verb says what Python's verb gives."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench, durable
from workbench.cli import main
from workbench.process.calls import Call


@durable(key="till:{name}")
async def till(ctx: Any, name: str) -> Any:
    """Adds up."""
    state = ctx.restored or {"sum": 0}
    async for message in ctx:
        match message:
            case Call({"add": price}, reply):
                state = {"sum": state["sum"] + price}
                reply(state["sum"])
        yield state


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store in which one key was three times at work; commands run in it."""

    async def fill() -> None:
        async with Workbench.open(tmp_path / "agents.db", till) as bench:
            for number in range(3):
                await bench.lookup(till, name="a").call({"add": 1}, id=str(number))

    asyncio.run(fill())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """The exit status of a command and what it printed as JSON."""
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_keys_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, rows = said(capsys, "keys")

    assert status == 0
    assert [(row["key"], row["definition"], row["messages"]) for row in rows] == [("till:a", "till", 3)]
    assert main(["keys"]) == 0
    assert "till:a" in capsys.readouterr().out


def test_the_state_at_a_message_is_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "journal", "till:a", "--at", "2") == (0, {"sum": 2})
    assert [row["value"] for row in said(capsys, "journal", "till:a")[1] if row["kind"] == "commit"] == [
        {"sum": 1},
        {"sum": 2},
        {"sum": 3},
    ]
    assert main(["journal", "till:a", "--at", "0"]) == 1
    assert "what is kept begins at message 1" in capsys.readouterr().err


def test_a_key_goes_to_a_file_and_back_and_is_deleted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "export", "till:a", "a.jsonl") == (0, {"rows": 11, "file": "a.jsonl"})
    assert main(["import", "a.jsonl"]) == 1
    assert "the key 'till:a' is in this store already" in capsys.readouterr().err
    assert said(capsys, "delete", "till:a") == (0, {"deleted": "till:a"})
    assert said(capsys, "keys") == (0, [])
    assert said(capsys, "import", "a.jsonl", "--continue") == (0, {"key": "till:a"})
    assert said(capsys, "journal", "till:a", "--at", "3") == (0, {"sum": 3})


def test_what_is_older_than_so_many_days_is_forgotten(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "prune") == (0, {"rows": 0})
    assert said(capsys, "prune", "--days", "0") == (0, {"rows": 8})


def test_the_doctor_speaks_with_a_store_and_without(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, report = said(capsys, "doctor")
    assert (status, report["well"], report["keys"], report["quick_check"]) == (0, True, 1, ["ok"])
    assert main(["doctor"]) == 0
    assert "quick check: ok" in capsys.readouterr().out

    (folder / "empty").mkdir()
    monkeypatch.chdir(folder / "empty")

    status, report = said(capsys, "doctor")
    assert (status, set(report)) == (0, {"well", "versions", "clicks_while_a_cell_awaits", "findings"})
