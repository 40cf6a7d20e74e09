"""Lives that begin together read ahead; each begins exactly as it would alone."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import StoreError
from workbench.store.claims import Begun
from workbench.store.journal import Commit, StepRecord
from workbench.store.sqlite import ahead
from workbench.store.sqlite.keeper import SQLiteStore

LARGE = '"' + "x" * 100_000 + '"'
KEYS = [
    *("new", "said", "many", "stepped", "parked", "posted", "asked", "kept", "apart", "large", "ended", "closed"),
    *("another", "twice", "twice"),
]
TABLES = {
    "keys": "key, owner, epoch, cursor, last_seq, last_message, last_work, last_life, wake_at, definition, args",
    "activations": "id, prev, key, epoch, began_at, ended_at, how, by, code",
    "entries": "*",
}


async def opened(path: Path, at: float) -> SQLiteStore:
    store = SQLiteStore(path)
    await store.open(label="test", lease=30.0, now=lambda: at)
    return store


async def left_behind(path: Path) -> None:
    """Every kind of key that a host can leave: it goes without a word of how its lives ended, but for two."""
    store = await opened(path, 100.0)
    for key in dict.fromkeys(KEYS[1:]):
        await store.begin(key, "one", "{}", code="before")
    for key in ("said", "many", "many", "stepped", "kept", "apart", "large", "ended", "closed", "twice", "asked"):
        await store.append(key, 1, f'"to {key}"', None, 150.0)
    await store.append("parked", 1, '"a call"', "c-1", 150.0)
    await store.append("large", 1, LARGE, "c-2", 150.0)
    for name in ("first", "second"):
        await store.put_step("stepped", 1, 1, StepRecord("t1.0", name, 0, '"done"', began_at=99.0, took=1.0))
    await store.commit("parked", 1, Commit('"state"', 3, 1))
    await store.commit("kept", 1, Commit('"short"', 1, 1))
    await store.append("kept", 1, '"behind it"', None, 150.0)
    await store.commit("apart", 1, Commit('["' + "a" * 50 + '"]', 1, 1))
    await store.append("apart", 1, '"next"', None, 150.0)
    await store.commit("apart", 1, Commit('["' + "a" * 50 + 'b"]', 2, 2))
    await store.commit("large", 1, Commit(LARGE, 1, 1))
    await store.put_record("approval", "ap-1", "asked", "{}", status="pending", at=100.0)
    await store.release("ended", 1, "disposed", "")
    await store.release("closed", 1, "closed", "")
    await store.close()
    other = await opened(path, 120.0)
    await other.post("posted", '"from afar"', id="c-3", wake=120.0)
    await other.close()


async def begun(path: Path, *, together: bool) -> tuple[list[Begun | BaseException], dict[str, list[Any]]]:
    """How the keys begin in a copy of the file, and what is in it then."""
    store = await opened(path, 200.0)
    begins = [(key, "other" if key == "another" else "one", "{}") for key in KEYS]
    if together:
        lives: list[Any] = await asyncio.gather(*(store.begin(*what) for what in begins), return_exceptions=True)
    else:
        lives = [(await asyncio.gather(store.begin(*what), return_exceptions=True))[0] for what in begins]
    await store.close()
    with sqlite3.connect(path) as connection:
        rows = {
            table: connection.execute(f"SELECT {columns} FROM {table} ORDER BY id").fetchall()
            for table, columns in TABLES.items()
        }
    connection.close()
    return lives, rows


@pytest.fixture
async def copies(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "together.db", tmp_path / "apart.db"
    await left_behind(first)
    shutil.copy(first, second)
    return first, second


async def test_lives_that_begin_together_begin_as_they_would_alone(
    copies: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    reads = ahead.read_ahead
    monkeypatch.setattr(
        "workbench.store.sqlite.ledger.read_ahead", lambda ledger, keys: read.append(len(keys)) or reads(ledger, keys)
    )

    together, rows = await begun(copies[0], together=True)
    alone, same_rows = await begun(copies[1], together=False)

    assert read == [len(KEYS), *[1] * len(KEYS)]
    assert dict(zip(KEYS, together, strict=True)) == dict(zip(KEYS, alone, strict=True))
    assert rows == same_rows
    lives = {key: life for key, life in zip(KEYS, together, strict=True) if isinstance(life, Begun)}
    assert len(lives["many"].waiting) == 2
    assert [record.name for record in lives["stepped"].head] == ["first", "second"]
    assert lives["large"].loaded is not None
    assert lives["large"].loaded.snapshot == LARGE
    assert lives["apart"].loaded is not None
    assert lives["apart"].loaded.version == 2
    assert lives["another"].definition == "one"
    assert [entry.call_id for entry in lives["posted"].waiting] == ["c-3"]
    assert lives["asked"].asks


async def test_a_damaged_key_fails_alone_among_those_that_begin_together(copies: tuple[Path, Path]) -> None:
    for path in copies:
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE keys SET last_message = 'x' WHERE key = 'many'")
            connection.execute(
                "UPDATE entries SET prev = id + 1 WHERE key = (SELECT id FROM keys WHERE key = 'stepped')"
            )
        connection.close()

    together, _ = await begun(copies[0], together=True)
    alone, _ = await begun(copies[1], together=False)

    failed = {key for key, life in zip(KEYS, together, strict=True) if isinstance(life, StoreError)}
    assert failed == {"many", "stepped"}
    assert [repr(life) for life in together] == [repr(life) for life in alone]
