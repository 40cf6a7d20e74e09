"""The file: how a path becomes a connection to a store, or an error that leaves it as it was.

- What is there is looked at through a read-only connection first; nothing that is not a store is ever written to.
- Four processes that open one new file at once all succeed: the switch to WAL is tried again every 10 ms, then the
  tables are made inside one BEGIN IMMEDIATE, by whoever comes first.
- A connection has `isolation_level=None`: transactions begin where the code says so.

Blocks; call it off the loop. Knows nothing of keys or hosts.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from workbench.errors import NotAStore, StoreError
from workbench.store.sqlite.schema import APPLICATION_ID, NAMES, SET

__all__ = ["PATIENCE", "connect", "gone", "identity", "is_busy", "open_file"]

PATIENCE = 30.0
"""Seconds that a transaction waits for the writers of other processes."""

RETRY = 0.01
WAL_LIMIT = 16 * 1024 * 1024
CHECKPOINT = 4000  # pages: 16 MB, in which a hot page is written many times and copied once
MAGIC = b"SQLite format 3\0"
APPLIED = "SELECT name FROM _sqlite_migrations WHERE migration_set = ?"


def open_file(path: str, durability: str) -> sqlite3.Connection:
    """A connection to the store at `path`, made or brought up to date if need be. Raises: NotAStore."""
    _look(path)
    try:
        connection = connect(path)
    except sqlite3.Error as error:
        raise _unusable(path, f"it cannot be opened ({error})", "choose a place where files can be written") from error
    try:
        _prepare(connection, path, durability)
    except BaseException:
        connection.close()
        raise
    return connection


def connect(path: str, *, timeout: float = RETRY) -> sqlite3.Connection:
    """A connection that waits `timeout` seconds for others; for one thread at a time."""
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False, cached_statements=256)


def identity(path: str) -> tuple[int, int] | None:
    """Which file is at `path` now, or None when there is none; a microsecond."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def gone(path: str) -> StoreError:
    """What a write is told once the file that was opened is not the one at `path` any more."""
    return StoreError(
        f"{path!r} was deleted, moved or replaced while it was open here; nothing more is written to what was open, "
        "put the file back or open the store again",
        path=path,
    )


def is_busy(error: BaseException) -> bool:
    """Whether another connection has the file: nothing is wrong with what was asked, and it can be asked again."""
    return isinstance(error, sqlite3.OperationalError) and (error.sqlite_errorcode & 0xFF) in (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
    )


def _look(path: str) -> None:
    """Refuse, without touching it, what is there and is no store."""
    if os.path.isdir(path):
        raise _unusable(path, "it is a directory", "name a file in it, such as 'agents.db'")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise _unusable(path, f"there is no directory {folder!r}", "make the directory first")
    try:
        with open(path, "rb") as file:
            head = file.read(len(MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unusable(
            path, f"it cannot be read ({error.strerror})", "choose a file that may be read and written"
        ) from error
    if not head:
        return
    if head != MAGIC:
        raise _unusable(
            path, "the file is no SQLite database, or a damaged one", "choose another path or restore a copy"
        )
    _look_inside(path)


def _look_inside(path: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        at_rest = _is_at_rest(path)
        reader = sqlite3.connect(_read_only(path, at_rest), uri=True, isolation_level=None, timeout=PATIENCE)
        try:
            return _judge(reader, path)
        except sqlite3.DatabaseError as error:
            moving = at_rest and not _is_at_rest(path)
            if not (moving or is_busy(error) or error.sqlite_errorcode == sqlite3.SQLITE_CANTOPEN):
                raise _unusable(
                    path, f"SQLite cannot read it ({error})", "choose another path or restore a copy"
                ) from error
            if time.monotonic() > deadline:
                raise _unusable(path, f"it stays locked ({error})", "close the program that holds it") from error
            time.sleep(RETRY)
        finally:
            reader.close()


def _is_at_rest(path: str) -> bool:
    """Whether no write-ahead log is beside the file, so that looking at it needs no shared memory beside it either."""
    try:
        return os.path.getsize(path + "-wal") == 0
    except FileNotFoundError:
        return True


def _read_only(path: str, at_rest: bool) -> str:
    return Path(path).absolute().as_uri() + ("?mode=ro&immutable=1" if at_rest else "?mode=ro")


def _judge(connection: sqlite3.Connection, path: str) -> None:
    """Refuse another program's database, and a store of a later version. An empty database is a store to be."""
    connection.execute("BEGIN")
    try:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if not tables:
            return
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        applied = _applied(connection) if "_sqlite_migrations" in tables else []
    finally:
        connection.execute("COMMIT")
    if application != APPLICATION_ID or not applied:
        shown = ", ".join(sorted(tables)[:3])
        raise _unusable(path, f"the database is another program's (it has the tables {shown})", "choose another path")
    if unknown := [name for name in applied if name not in NAMES]:
        raise _unusable(
            path, f"it was written by a later version of workbench (its schema has {unknown[0]!r})", "update workbench"
        )


def _applied(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute(APPLIED, (SET,))]


def _prepare(connection: sqlite3.Connection, path: str, durability: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            _switch_on(connection, path, durability)
            return
        except sqlite3.DatabaseError as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if not is_busy(error):
                raise _unusable(
                    path, f"it cannot be written ({error})", "choose a file that may be read and written"
                ) from error
            if time.monotonic() > deadline:
                raise _unusable(path, f"it stays locked ({error})", "close the program that holds it") from error
            time.sleep(RETRY)


def _switch_on(connection: sqlite3.Connection, path: str, durability: str) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise _unusable(
            path, f"its file system has no shared memory (journal mode {mode!r})", "choose a path on a local disk"
        )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT}")
    connection.execute("BEGIN IMMEDIATE")
    tables = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = '_sqlite_migrations'").fetchone()[0]
    if not tables or set(_applied(connection)) < set(NAMES):
        from workbench.store.sqlite.migrations import migrate  # a quarter of a second, for a new file only

        migrate(connection)
    connection.execute("COMMIT")
    if durability == "process":
        connection.execute("PRAGMA synchronous = NORMAL")


def _unusable(path: str, found: str, advice: str) -> NotAStore:
    return NotAStore(f"{path!r} is no store: {found}; {advice}", path=path)
