"""The shape: what durable messages would cost with nothing else in the way, measured beside the real ones.

A message is appended, its steps are kept one after another, its state and cursor are written: each an awaited, fenced
write on SQLite, and nothing more is done. It is a ceiling of which half is good and four fifths are excellent, and it
moves with the disk, the processor and the neighbours as the real thing does.

- `thread`: one writer thread, everything that waits shares its next transaction.
- Inline: what one turn of the loop asked for is one transaction on the loop's thread; better for one process alone
  where a commit is quick.
- Recovery: every instance is claimed, and its state, its waiting messages and their steps are read, in one transaction.

Knows nothing of the workbench.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

__all__ = ["shape_messages", "shape_recovery"]

TABLES = """
    CREATE TABLE keys (key TEXT PRIMARY KEY, epoch INT, cursor INT, last_seq INT, state TEXT) WITHOUT ROWID;
    CREATE TABLE log (key TEXT, seq INT, message TEXT, PRIMARY KEY (key, seq)) WITHOUT ROWID;
    CREATE TABLE steps (key TEXT, seq INT, place INT, result TEXT, PRIMARY KEY (key, seq, place)) WITHOUT ROWID;
"""
NEXT = "UPDATE keys SET last_seq = last_seq + 1 WHERE key = ? AND epoch = 1 RETURNING last_seq"
APPEND = "INSERT INTO log VALUES (?, ?, ?)"
EPOCH = "SELECT epoch FROM keys WHERE key = ?"
STEP = "INSERT INTO steps VALUES (?, ?, ?, ?)"
COMMIT = "UPDATE keys SET cursor = ?, state = ? WHERE key = ? AND epoch = 1"
CLAIM = "UPDATE keys SET epoch = epoch + 1 WHERE key = ? AND epoch = 1 RETURNING cursor, state"
WAITING = "SELECT seq, message FROM log WHERE key = ? AND seq > ? ORDER BY seq"
STEPS = "SELECT place, result FROM steps WHERE key = ? AND seq = ?"
DROP_MESSAGE = "DELETE FROM log WHERE key = ? AND seq <= ?"
DROP_STEPS = "DELETE FROM steps WHERE key = ? AND seq <= ?"
MESSAGE = json.dumps({"line": "x" * 90})
RESULT = json.dumps("done")
LINES = [f"{number:02d} ".ljust(90, "x") for number in range(10)]

Write = Callable[[sqlite3.Connection], Any]


def shape_messages(
    directory: Path, synchronous: str, processes: int, steps: int, seconds: float, *, thread: bool
) -> float:
    """Messages per second of `processes` at once, each message with `steps`."""
    path = directory / f"shape-{synchronous}-{processes}-{steps}-{time.monotonic_ns()}.db"
    return asyncio.run(_measure(path, synchronous, processes, steps, seconds, thread))


def shape_recovery(directory: Path, instances: int) -> float:
    """Milliseconds to claim and load `instances`, each of which has a state, a message in hand, and one step of it."""
    connection = _opened(directory / f"shape-recovery-{time.monotonic_ns()}.db", "FULL", instances)
    state = json.dumps({"count": 1, "lines": LINES})
    connection.execute("BEGIN IMMEDIATE")
    for name in map(str, range(instances)):
        _commit(name, _append(name, connection), state, connection)
        _step(name, _append(name, connection), 0, connection)
    connection.execute("COMMIT")
    began = time.perf_counter()
    connection.execute("BEGIN IMMEDIATE")
    loaded = [_take_up(str(name), connection) for name in range(instances)]
    connection.execute("COMMIT")
    took = time.perf_counter() - began
    connection.close()
    if any((state["count"], len(waiting), len(steps)) != (1, 1, 1) for state, waiting, steps in loaded):
        raise SystemExit("the shape of a recovery loaded something else than was left")
    return took * 1e3


def _take_up(key: str, sql: sqlite3.Connection) -> tuple[Any, list[Any], list[Any]]:
    cursor, state = sql.execute(CLAIM, (key,)).fetchone()
    waiting = [(seq, json.loads(message)) for seq, message in sql.execute(WAITING, (key, cursor))]
    steps = [(place, json.loads(result)) for place, result in sql.execute(STEPS, (key, waiting[0][0]))]
    return json.loads(state), waiting, steps


def _opened(path: Path, synchronous: str, processes: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.executescript(TABLES)
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany("INSERT INTO keys VALUES (?, 1, 0, 0, '')", [(str(name),) for name in range(processes)])
    connection.execute("COMMIT")
    return connection


async def _measure(path: Path, synchronous: str, processes: int, steps: int, seconds: float, thread: bool) -> float:
    connection = _opened(path, synchronous, processes)
    writer = Group(connection) if thread else Inline(connection)
    began = time.perf_counter()
    counts = await asyncio.gather(*(_process(writer, str(name), steps, began + seconds) for name in range(processes)))
    rate = sum(counts) / (time.perf_counter() - began)
    writer.close()
    connection.close()
    return rate


async def _process(writer: Inline, key: str, steps: int, until: float) -> int:
    count = 0
    while time.perf_counter() < until:
        seq = await writer.put(partial(_append, key))
        for place in range(steps):
            await writer.put(partial(_step, key, seq, place))
        count += 1
        await writer.put(partial(_commit, key, seq, json.dumps({"count": count, "lines": LINES})))
    return count


def _append(key: str, sql: sqlite3.Connection) -> int:
    (seq,) = sql.execute(NEXT, (key,)).fetchone()
    sql.execute(APPEND, (key, seq, MESSAGE))
    return int(seq)


def _step(key: str, seq: int, place: int, sql: sqlite3.Connection) -> None:
    if sql.execute(EPOCH, (key,)).fetchone() != (1,):
        raise RuntimeError(f"{key!r} belongs to another")
    sql.execute(STEP, (key, seq, place, RESULT))


def _commit(key: str, seq: int, state: str, sql: sqlite3.Connection) -> None:
    if sql.execute(COMMIT, (seq, state, key)).rowcount != 1:
        raise RuntimeError(f"{key!r} belongs to another")
    sql.execute(DROP_MESSAGE, (key, seq))
    sql.execute(DROP_STEPS, (key, seq))


class Inline:
    """Writes of one turn of the loop, in one transaction on its thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.loop = asyncio.get_running_loop()
        self.waiting: list[tuple[Write, asyncio.Future[Any]]] = []

    def put(self, write: Write) -> asyncio.Future[Any]:
        future = self.loop.create_future()
        if not self.waiting:
            self.loop.call_soon(self._turn)
        self.waiting.append((write, future))
        return future

    def close(self) -> None:
        """Nothing is left to end."""

    def _turn(self) -> None:
        waiting, self.waiting = self.waiting, []
        _tell(self._land(waiting))

    def _land(self, waiting: list[tuple[Write, asyncio.Future[Any]]]) -> list[tuple[asyncio.Future[Any], Any]]:
        self.connection.execute("BEGIN IMMEDIATE")
        landed = [(future, write(self.connection)) for write, future in waiting]
        self.connection.execute("COMMIT")
        return landed


class Group(Inline):
    """Writes that wait while the thread commits, in its next transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.queue: queue.SimpleQueue[tuple[Write, asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work)
        self.thread.start()

    def put(self, write: Write) -> asyncio.Future[Any]:
        future = self.loop.create_future()
        self.queue.put((write, future))
        return future

    def close(self) -> None:
        """End the thread."""
        self.queue.put(None)
        self.thread.join()

    def _work(self) -> None:
        while (first := self.queue.get()) is not None:
            waiting = [first]
            while not self.queue.empty() and (more := self.queue.get()) is not None:
                waiting.append(more)
            self.loop.call_soon_threadsafe(_tell, self._land(waiting))


def _tell(landed: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, value in landed:
        if not future.done():
            future.set_result(value)
