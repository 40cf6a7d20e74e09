"""The disk below: what one SQLite connection can commit on it, and whether it is a disk at all.

- The limit is one row of 100 bytes per transaction, WAL, the same connection: what a durable write costs with nothing
  above it. It is measured beside the figures it is compared with, because disks and neighbours drift.
- A file system in memory has no fsync worth the name; a durable figure from there would be a lie, so it is refused.

Knows nothing of the workbench.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

__all__ = ["NotADisk", "check_disk", "raw_commits"]

MOUNTS = Path("/proc/mounts")
IN_MEMORY = frozenset(("tmpfs", "ramfs", "devtmpfs"))


class NotADisk(Exception):
    """The directory is in memory."""


def check_disk(directory: Path) -> str:
    """The type of the file system that holds `directory`, as far as the machine tells. Raises: NotADisk."""
    kind = _kind(directory.resolve())
    if kind in IN_MEMORY:
        raise NotADisk(
            f"{str(directory)!r} is on {kind}, where a synchronous commit costs nothing and survives nothing; "
            "give --dir a directory on a disk"
        )
    return kind


def _kind(directory: Path) -> str:
    if not MOUNTS.exists():
        return "unknown"
    held = ((Path(line.split()[1]), line.split()[2]) for line in MOUNTS.read_text().splitlines())
    points = [(len(point.parts), kind) for point, kind in held if directory.is_relative_to(point)]
    return max(points)[1] if points else "unknown"


def raw_commits(directory: Path, synchronous: str, seconds: float) -> float:
    """Commits per second of one 100-byte row each, in WAL mode, on one connection."""
    connection = sqlite3.connect(directory / f"raw-{synchronous}.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {synchronous}")
    connection.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, body TEXT)")
    count, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO rows (body) VALUES (?)", ("x" * 100,))
        connection.execute("COMMIT")
        count += 1
    connection.close()
    return count / took
