"""Opening: which keeper serves a place, and what is refused without being touched."""

# ruff: noqa: ASYNC240 - a test may wait for the disk and for its children

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from stores import OpenStore, begin

from workbench.errors import BadInput, NotAStore, StoreError
from workbench.store.journal import Commit
from workbench.store.memory import MemoryStore
from workbench.store.opening import store_for
from workbench.store.sqlite.keeper import SQLiteStore


async def refused(path: Path) -> str:
    """The words with which opening `path` is refused; checks that nothing there changed."""
    before = {each: each.read_bytes() for each in path.parent.rglob("*") if each.is_file()}
    store = SQLiteStore(path)
    with pytest.raises(NotAStore) as caught:
        await store.open(label="test", lease=30.0, now=time.time)
    assert caught.value.fields == {"path": str(path)}
    assert {each: each.read_bytes() for each in path.parent.rglob("*") if each.is_file()} == before
    return str(caught.value).removeprefix(f"{str(path)!r} is no store: ")


def test_memory_and_files_have_their_keepers(path: Path) -> None:
    assert isinstance(store_for(":memory:"), MemoryStore)
    assert isinstance(store_for(str(path)), SQLiteStore)
    assert isinstance(store_for(path, durability="process"), SQLiteStore)


def test_a_place_without_a_keeper_is_refused() -> None:
    with pytest.raises(BadInput, match="the PostgreSQL keeper is not in this version; name a file"):
        store_for("postgresql://localhost/agents")
    with pytest.raises(BadInput, match="an empty path names no store"):
        store_for("")
    with pytest.raises(BadInput, match="durability 'fast' is not known; use 'full' or 'process'"):
        store_for("agents.db", durability="fast")  # type: ignore[arg-type]


def test_a_constructor_does_not_touch_the_file(path: Path) -> None:
    SQLiteStore(path)

    assert list(path.parent.iterdir()) == []


async def test_a_directory_is_refused(path: Path) -> None:
    path.mkdir()

    assert await refused(path) == "it is a directory; name a file in it, such as 'agents.db'"


async def test_a_missing_directory_is_named(path: Path) -> None:
    assert await refused(path / "deep" / "agents.db") == (
        f"there is no directory {str(path / 'deep')!r}; make the directory first"
    )


async def test_a_text_file_is_refused(path: Path) -> None:
    path.write_text("# my notes\n" * 100)

    assert await refused(path) == (
        "the file is no SQLite database, or a damaged one; choose another path or restore a copy"
    )


async def test_a_damaged_database_is_refused(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + os.urandom(8192))

    assert "SQLite cannot read it (" in await refused(path)


@pytest.mark.parametrize("mode", ["delete", "wal"])
async def test_another_programs_database_is_refused(path: Path, mode: str) -> None:
    theirs = sqlite3.connect(path)
    theirs.execute(f"PRAGMA journal_mode = {mode}")
    theirs.execute("CREATE TABLE photos (id INTEGER)")
    theirs.commit()
    theirs.close()

    assert await refused(path) == "the database is another program's (it has the tables photos); choose another path"


async def test_a_store_of_a_later_version_is_refused(open_store: OpenStore, path: Path) -> None:
    await (await open_store()).close()
    later = sqlite3.connect(path)
    later.execute("INSERT INTO _sqlite_migrations (migration_set, name) VALUES ('workbench', '0999_later')")
    later.commit()
    later.close()

    assert await refused(path) == (
        "it was written by a later version of workbench (its schema has '0999_later'); update workbench"
    )


async def test_an_empty_file_becomes_a_store(open_store: OpenStore, path: Path) -> None:
    path.touch()

    store = await open_store()

    assert await store.keys() == []


async def test_a_store_is_opened_once_and_used_while_open(open_store: OpenStore, path: Path) -> None:
    store = await open_store()
    with pytest.raises(StoreError, match="is open already; close it first"):
        await store.open(label="test", lease=30.0, now=time.time)

    await asyncio.gather(store.close(), store.close())
    await store.close()

    with pytest.raises(StoreError, match="is not open; await its open"):
        await store.key_info("order:1")
    await store.open(label="again", lease=30.0, now=time.time)
    assert store.host.label == "again"


async def test_durability_decides_what_a_commit_survives(open_store: OpenStore) -> None:
    full, process = await open_store(), await open_store(durability="process")

    assert full._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert process._connection.execute("PRAGMA synchronous").fetchone() == (1,)
    assert full._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_decision_is_fully_durable_whatever_the_store(open_store: OpenStore) -> None:
    store = await open_store(durability="process")
    statements: list[str] = []
    store._connection.set_trace_callback(statements.append)

    await store.put_record("approval", "a1", "run:1", "{}", status="pending", at=1.0)
    await store.decide_record("approval", "a1", expect="pending", status="approved", decision="1", at=2.0)
    await store.register("order:1", "order", "{}")

    marks = [each for each in statements if each in ("BEGIN IMMEDIATE", "COMMIT") or "synchronous" in each]
    full = ["PRAGMA synchronous = FULL", "BEGIN IMMEDIATE", "COMMIT", "PRAGMA synchronous = NORMAL"]
    assert marks == [*full, *full, "BEGIN IMMEDIATE", "COMMIT"]


async def test_a_file_without_a_history_of_states_is_brought_up_to_date(open_store: OpenStore, path: Path) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    states = ["[" + "1," * 2000 + f"{number}]" for number in range(3)]
    for seq, state in enumerate(states, 1):
        await store.commit("order:1", epoch, Commit(state, 7, seq))
    await store.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("ALTER TABLE keys DROP COLUMN last_state")
        connection.execute("UPDATE entries SET payload = NULL, occurrence = NULL WHERE kind = 'commit'")
        connection.execute("DELETE FROM _sqlite_migrations WHERE name = '0004_last_state'")

    again = await open_store()

    loaded = await again.load("order:1")
    assert (loaded.snapshot, loaded.version) == (states[2], 7)
    await again.commit("order:1", loaded.epoch, Commit("9", 7, 4))
    past = again.past_now("order:1")
    assert [past.text(index) for index in (0, 1)] == ["9", states[2]]
    with pytest.raises(BadInput, match="written by a version that kept none"):
        past.text(2)


async def test_what_an_older_version_left_in_an_inbox_is_due(open_store: OpenStore, path: Path) -> None:
    ours, theirs = await open_store(), await open_store()
    for key in ("order:1", "order:2"):
        await begin(ours, key)
    await theirs.post("order:1", '"theirs"', wake=1.0)
    await ours.close()
    await theirs.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE keys SET wake_at = NULL")
        connection.execute("DELETE FROM _sqlite_migrations WHERE name = '0011_posts_wake'")

    again = await open_store()

    now = time.time()
    assert await again.due(now, now + 60, 10) == ["order:1"]
