"""The tables of a store file, as SQL.

- `keys` is small and hot: one row per key, with what every write looks at (epoch, cursor, last number, wake). `states`
  is beside it, so that moving a wake never rewrites a state. A small state lies in its commit, in `last_state`
  (`workbench.store.past`).
- `entries` is the journal: messages, steps and commits of all keys, appended in the order of writing and never moved,
  so a write dirties the last page only. It has no index by key. The rows of a key are two lines, walked back in time by
  `prev`: its messages from `keys.last_message`, and its steps and commits from `keys.last_work`. What waits is at the
  end of a line; history is all of it.
- Row numbers (`id`) of entries, answers, dead letters, posts, activations, records and jobs are one series: they rise
  in the order of writing. The newest number is nowhere written down, because a counter would be one more page in every
  commit; `LAST_ID` finds it.
- A large payload lives in `blobs` by its digest, and its column then holds the digest as a BLOB instead of TEXT.

Instants are UTC seconds. Knows nothing of connections.
"""

from __future__ import annotations

__all__ = ["APPLICATION_ID", "DEAD_LETTERS", "DELETED", "LAST_ID", "NAMES", "SET", "TABLES", "WAKE_POSTED"]

APPLICATION_ID = 0x77626368
"""`PRAGMA application_id` of a store: "wbch"."""

SET = "workbench"
"""The name of our migration set in `_sqlite_migrations`."""

NAMES = (
    "0001_tables",
    "0002_queues",
    "0003_dead_letters",
    "0004_last_state",
    "0005_topics",
    "0006_schedules",
    "0007_deleted",
    "0008_code",
    "0009_conversations",
    "0010_notes",
    "0011_posts_wake",
)
"""The migrations that this code knows, in order."""

LAST_ID = """
    SELECT max(
        coalesce((SELECT max(id) FROM entries WHERE id < 4611686018427387904), 0),
        coalesce((SELECT max(id) FROM answers WHERE id < 4611686018427387904), 0),
        coalesce((SELECT max(id) FROM dead WHERE id < 4611686018427387904), 0),
        coalesce((SELECT max(id) FROM inbox WHERE id < 4611686018427387904), 0),
        coalesce((SELECT max(id) FROM activations WHERE id < 4611686018427387904), 0),
        coalesce((SELECT max(id) FROM records WHERE id < 4611686018427387904), 0),
        coalesce((SELECT max(id) FROM jobs WHERE id < 4611686018427387904), 0),
        coalesce((SELECT max(id) FROM deleted WHERE id < 4611686018427387904), 0)
    )
"""
"""The newest row number; one that nobody can have counted to was put there by hand.

What refers to an entry by its number stays right because the newest entry is never pruned.
"""

TABLES = (
    """
    CREATE TABLE hosts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        label TEXT NOT NULL,
        pid INTEGER NOT NULL,
        boot TEXT NOT NULL,
        locks INTEGER NOT NULL,
        until REAL NOT NULL
    )
    """,
    """
    CREATE TABLE keys (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        owner INTEGER,
        epoch INTEGER NOT NULL DEFAULT 0,
        cursor INTEGER NOT NULL DEFAULT 0,
        last_seq INTEGER NOT NULL DEFAULT 0,
        last_message INTEGER NOT NULL DEFAULT 0,
        last_work INTEGER NOT NULL DEFAULT 0,
        last_life INTEGER NOT NULL DEFAULT 0,
        wake_at REAL,
        definition TEXT,
        args TEXT,
        created_at REAL NOT NULL
    )
    """,
    "CREATE INDEX keys_due ON keys (wake_at) WHERE wake_at IS NOT NULL",
    "CREATE INDEX keys_owner ON keys (owner) WHERE owner IS NOT NULL",
    """
    CREATE TABLE states (
        key INTEGER PRIMARY KEY REFERENCES keys (id),
        version INTEGER NOT NULL DEFAULT 0,
        snapshot TEXT
    )
    """,
    """
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        prev INTEGER NOT NULL,
        key INTEGER NOT NULL,
        kind TEXT NOT NULL,
        seq INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        at REAL NOT NULL,
        call_id TEXT,
        branch TEXT,
        name TEXT,
        occurrence INTEGER,
        position INTEGER,
        began_at REAL,
        took REAL,
        payload TEXT
    )
    """,
    "CREATE INDEX entries_blob ON entries (payload) WHERE typeof(payload) = 'blob'",
    """
    CREATE TABLE answers (
        id INTEGER PRIMARY KEY,
        key INTEGER NOT NULL,
        call_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        message INTEGER,
        given INTEGER,
        epoch INTEGER,
        at REAL,
        payload TEXT
    )
    """,
    "CREATE UNIQUE INDEX answers_call ON answers (key, call_id)",
    "CREATE INDEX answers_open ON answers (key, message) WHERE given IS NULL",
    "CREATE INDEX answers_blob ON answers (payload) WHERE typeof(payload) = 'blob'",
    """
    CREATE TABLE dead (
        id INTEGER PRIMARY KEY,
        key INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        at REAL NOT NULL,
        call_id TEXT,
        message TEXT NOT NULL,
        error TEXT NOT NULL
    )
    """,
    "CREATE INDEX dead_key ON dead (key)",
    """
    CREATE TABLE inbox (
        id INTEGER PRIMARY KEY,
        key INTEGER NOT NULL,
        at REAL NOT NULL,
        call_id TEXT,
        message TEXT NOT NULL
    )
    """,
    "CREATE INDEX inbox_key ON inbox (key)",
    """
    CREATE TABLE activations (
        id INTEGER PRIMARY KEY,
        prev INTEGER NOT NULL,
        key INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        host TEXT NOT NULL,
        began_at REAL NOT NULL,
        ended_at REAL,
        how TEXT,
        by TEXT
    )
    """,
    """
    CREATE TABLE records (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        key TEXT NOT NULL,
        status TEXT NOT NULL,
        at REAL NOT NULL,
        body TEXT NOT NULL,
        decided_at REAL,
        decision TEXT
    )
    """,
    "CREATE UNIQUE INDEX records_name ON records (kind, name)",
    "CREATE INDEX records_status ON records (kind, status)",
    "CREATE INDEX records_key ON records (kind, key)",
    """
    CREATE TABLE blobs (
        digest BLOB PRIMARY KEY,
        body TEXT NOT NULL
    )
    """,
)

DEAD_LETTERS = (
    "ALTER TABLE dead ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE dead ADD COLUMN status TEXT NOT NULL DEFAULT 'waiting'",
    "ALTER TABLE dead ADD COLUMN decided_at REAL",
    "ALTER TABLE dead ADD COLUMN by TEXT",
    "CREATE INDEX dead_status ON dead (status)",
    "ALTER TABLE inbox ADD COLUMN dead INTEGER",
)
"""What a dead letter came to, and which letter a post is."""

DELETED = (
    """
    CREATE TABLE deleted (
        number INTEGER PRIMARY KEY,
        id INTEGER NOT NULL,
        key TEXT NOT NULL UNIQUE,
        epoch INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        at REAL NOT NULL
    )
    """,
    "CREATE INDEX deleted_id ON deleted (id)",
)
"""What is left of a deleted key: behind it, a key of that name goes on."""

WAKE_POSTED = """
    UPDATE keys SET wake_at = created_at WHERE wake_at IS NULL AND id IN (SELECT key FROM inbox)
"""
"""A key that something was posted to has a wake."""
