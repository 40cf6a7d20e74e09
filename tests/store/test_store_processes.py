"""Real processes on one file: killed, at once, and in each other's way."""

# ruff: noqa: ASYNC220, ASYNC222, ASYNC240 - a test may wait for the disk and for its children

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from stores import CHILD, OpenStore, Spawn, begin, line

from workbench.store.sqlite.keeper import SQLiteStore


async def test_every_acknowledged_write_outlives_sigkill(open_store: OpenStore, spawn: Spawn) -> None:
    chance = random.Random(7)
    for round_of in range(10):
        child = await spawn("work", f"round-{round_of}")
        said = [await line(child) for _ in range(4 + chance.randrange(120))]
        child.kill()
        rest, _ = await child.communicate()
        said += rest.decode().split("\n")[:-1]

        store = await open_store()
        try:
            await _holds(store, said)
        finally:
            await store.close()


async def _holds(store: SQLiteStore, said: list[str]) -> None:
    """Everything that the child was told is committed is there, and nothing is half there."""
    for key in {text.rsplit(" ", 1)[1] for text in said if text.startswith("loaded")}:
        told = {
            kind: [int(t.split()[-1]) for t in said if t.startswith(f"{kind} {key} ")]
            for kind in ("append", "step", "commit")
        }
        history = await store.history(key)
        kept = {
            kind: [entry.seq for entry in history if entry.kind == kind]
            for kind in ("message", "step", "commit", "answer")
        }
        assert kept["message"][: len(told["append"])] == told["append"]
        assert kept["step"][: len(told["step"])] == told["step"]
        assert kept["commit"][: len(told["commit"])] == told["commit"]
        assert kept["answer"] == kept["commit"]
        info = await store.key_info(key)
        assert info is not None
        assert info.cursor == len(kept["commit"])
        assert info.snapshot == (str(info.cursor) if info.cursor else None)
        assert [logged.seq for logged in await store.pending(key, info.cursor)] == kept["message"][info.cursor :]


async def test_a_killed_host_is_dead_at_once_even_as_a_zombie(open_store: OpenStore, path: Path) -> None:
    store = await open_store()
    with subprocess.Popen([sys.executable, CHILD, path, "own", "order:1"], stdin=PIPE, stdout=PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith(b"owns")
        owner = await store.claim("order:1")
        assert owner is not None
        assert owner.pid == child.pid

        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

        assert await store.claim("order:1") is None


async def test_the_dead_are_struck_off_by_who_opens_next(open_store: OpenStore, spawn: Spawn) -> None:
    child, other = await spawn("own", "order:1"), await spawn("own", "order:2")
    await line(child)
    await line(other)
    child.kill()
    await child.wait()

    store = await open_store()

    hosts = store._reader.execute("SELECT pid FROM hosts ORDER BY id").fetchall()
    assert hosts == [(other.pid,), (os.getpid(),)]
    owners = {info.key: info.owner.pid if info.owner else None for info in await store.keys()}
    assert owners == {"order:1": None, "order:2": other.pid}


async def test_a_stopped_host_keeps_its_keys(open_store: OpenStore, spawn: Spawn) -> None:
    later = 10.0**10
    store = await open_store(now=lambda: later)
    child = await spawn("own", "order:1")
    await line(child)

    os.kill(child.pid, signal.SIGSTOP)

    assert await store.claim("order:1") is not None
    os.kill(child.pid, signal.SIGCONT)


async def test_a_life_that_was_killed_is_known_as_lost(open_store: OpenStore, spawn: Spawn) -> None:
    child = await spawn("own", "order:1")
    await line(child)
    child.kill()
    await child.wait()
    store = await open_store()

    await store.claim("order:1")
    loaded = await store.load("order:1")

    assert loaded.cut_off
    assert [life.how for life in await store.activations("order:1")] == ["lost", None]


async def test_four_processes_write_at_once_and_lose_nothing(open_store: OpenStore, spawn: Spawn) -> None:
    store = await open_store()

    children = [await spawn("write", f"host {i}", 500) for i in range(4)]

    for child in children:
        assert await line(child) == "wrote"
        assert await child.wait() == 0
    shared = await store.pending("shared", 0)
    assert [logged.seq for logged in shared] == list(range(1, 2001))
    for i in range(4):
        theirs = [logged.message for logged in shared if logged.message.startswith(f"host {i} ")]
        assert theirs == [f"host {i} {n}" for n in range(500)]
        assert [logged.message for logged in await store.pending(f"host {i}", 0)] == [str(n) for n in range(500)]


async def test_four_processes_open_a_new_file_at_once(path: Path, spawn: Spawn) -> None:
    for round_of in range(3):
        path.unlink(missing_ok=True)

        children = [await spawn("touch") for _ in range(4)]

        assert [await line(child) for child in children] == ["opened"] * 4, round_of
        assert [await child.wait() for child in children] == [0] * 4
        assert sqlite3.connect(path).execute("SELECT count(*) FROM keys").fetchall() == [(1,)]


async def test_the_log_file_is_gone_after_a_clean_close(open_store: OpenStore, path: Path) -> None:
    store = await open_store()
    await begin(store, "order:1")

    await store.close()

    assert sorted(each.name for each in path.parent.iterdir()) == ["agents.db", "agents.db-hosts"]
