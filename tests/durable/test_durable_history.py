"""History: the journal shows every state that was committed, and gives it back at any message, also after a restart."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from workbench import Workbench, durable
from workbench.errors import BadInput


@durable(key="chat:{name}")
async def chat(ctx: Any, name: str) -> Any:
    """Keeps every line."""
    state = ctx.restored or {"lines": []}
    async for line in ctx:
        state = {"lines": [*state["lines"], line]}
        yield state


async def talk(place: Path, *lines: str, **options: Any) -> None:
    async with Workbench.open(place, chat, **options) as bench:
        process = bench.lookup(chat, name="a")
        await process.until(lambda state: True) if process.state else None
        for line in lines:
            await process.cast(line)
        await process.until(lambda state: state["lines"][-1] == lines[-1])


async def test_the_journal_gives_the_state_at_any_message(tmp_path: Path) -> None:
    lines = [f"line {number} " + "x" * 90 for number in range(100)]
    await talk(tmp_path / "a.db", *lines[:50])
    await talk(tmp_path / "a.db", *lines[50:])

    async with Workbench.open(tmp_path / "a.db", chat, worker=False) as bench:
        journal = bench.journal("chat:a")

        assert [journal.at(seq) for seq in (1, 2, 50, 51, 100)] == [
            {"lines": lines[:seq]} for seq in (1, 2, 50, 51, 100)
        ]
        assert journal.at(10**9) == {"lines": lines}
        assert [row["value"] for row in journal if row["kind"] == "commit"] == [
            {"lines": lines[:seq]} for seq in range(1, 101)
        ]
        assert [seq for seq, _ in journal.states()] == list(range(100, 0, -1))
        with pytest.raises(BadInput, match="has no state at message 0: what is kept begins at message 1"):
            journal.at(0)
        with pytest.raises(BadInput, match="a message has a whole number, not '3'"):
            journal.at("3")  # type: ignore[arg-type]


async def test_a_conversation_in_the_state_adds_less_than_four_times_its_content_to_an_empty_store(
    tmp_path: Path,
) -> None:
    async with Workbench.open(tmp_path / "empty.db"):
        pass
    lines = [f"{number:04d} ".ljust(98, "x") for number in range(1000)]

    await talk(tmp_path / "a.db", *lines, durability="process")

    assert (tmp_path / "a.db").stat().st_size - (tmp_path / "empty.db").stat().st_size < 4 * 100 * 1000


async def test_a_history_that_was_changed_by_hand_harms_neither_process_nor_newer_states(tmp_path: Path) -> None:
    lines = [f"{number:04d} ".ljust(98, "x") for number in range(100)]
    await talk(tmp_path / "a.db", *lines)
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("UPDATE entries SET payload = '0,99999,1|' WHERE kind = 'commit' AND seq = 50")

    async with Workbench.open(tmp_path / "a.db", chat) as bench:
        journal = bench.journal("chat:a")
        assert journal.at(50) == {"lines": lines[:50]}
        with pytest.raises(BadInput, match="before message 50 cannot be read"):
            journal.at(49)
        assert [row["value"] for row in journal if row["kind"] == "commit" and row["seq"] == 49] == [None]
        process = bench.lookup(chat, name="a")
        await process.cast("one more")
        await process.until(lambda state: state["lines"] == [*lines, "one more"])
