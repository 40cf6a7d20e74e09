"""The tables of the post room, as SQL.

- `jobs` has one row per job, whatever its status; the indexes are partial, so a job that is over is in none of them and
  the cost of a lease does not grow with history.
- `queues.done` counts what was ever done, so that pruning changes no figure.
- `topics.last` and `topics.pruned` say which events there are; a position is never used twice.

Row numbers of jobs belong to the one series of the file (`workbench.store.sqlite.schema`).
"""

from __future__ import annotations

__all__ = ["QUEUES", "TOPICS"]

QUEUES = (
    """
    CREATE TABLE queues (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        paused INTEGER NOT NULL DEFAULT 0,
        done INTEGER NOT NULL DEFAULT 0
    )
    """,
    """
    CREATE TABLE jobs (
        id INTEGER PRIMARY KEY,
        queue INTEGER NOT NULL,
        status TEXT NOT NULL,
        priority INTEGER NOT NULL,
        at REAL NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        number INTEGER NOT NULL DEFAULT 0,
        holder INTEGER,
        kept INTEGER NOT NULL DEFAULT 0,
        put_at REAL NOT NULL,
        key TEXT,
        error TEXT,
        body TEXT NOT NULL
    )
    """,
    "CREATE INDEX jobs_waiting ON jobs (queue, priority DESC, id) WHERE status = 'waiting'",
    "CREATE INDEX jobs_delayed ON jobs (queue, at) WHERE status = 'delayed'",
    "CREATE INDEX jobs_leased ON jobs (queue, at, holder) WHERE status = 'leased'",
    "CREATE INDEX jobs_dead ON jobs (queue) WHERE status = 'dead'",
    """
    CREATE UNIQUE INDEX jobs_key ON jobs (queue, key)
    WHERE key IS NOT NULL AND status IN ('waiting', 'delayed', 'leased')
    """,
    "CREATE INDEX jobs_blob ON jobs (body) WHERE typeof(body) = 'blob'",
)

TOPICS = (
    """
    CREATE TABLE topics (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        last INTEGER NOT NULL DEFAULT 0,
        pruned INTEGER NOT NULL DEFAULT 0
    )
    """,
    """
    CREATE TABLE events (
        topic INTEGER NOT NULL,
        position INTEGER NOT NULL,
        at REAL NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (topic, position)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX events_blob ON events (body) WHERE typeof(body) = 'blob'",
    """
    CREATE TABLE subscribers (
        topic INTEGER NOT NULL,
        name TEXT NOT NULL,
        position INTEGER NOT NULL,
        at REAL NOT NULL,
        holder INTEGER,
        PRIMARY KEY (topic, name)
    ) WITHOUT ROWID
    """,
)
