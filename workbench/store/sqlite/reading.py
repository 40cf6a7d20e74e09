"""Reading: what a store gives back, without a claim and without waiting for writers.

- Each function is one look at the file: it holds no snapshot when it returns.
- The history of a key is its two lines, walked back in time (`workbench.store.sqlite.schema`).

Knows nothing of queues; the keeper sees to it that what was queued before is there.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from workbench.errors import StoreError
from workbench.store.glance import Activation, Entry, KeyInfo, KeyName
from workbench.store.journal import DeadLetter, StepRecord
from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.hosts import Member, read_host
from workbench.store.sqlite.lines import LIVES_OF
from workbench.store.sqlite.sound import damaged, is_instant, is_number

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from workbench.store.claims import Host

__all__ = [
    "activations", "dead", "history", "keys", "message", "names", "newest_life", "posted", "result", "results", "taken",
]  # fmt: skip

ID = "SELECT id FROM keys WHERE key = ?"
RESULT = """
    SELECT payload FROM answers
    WHERE key = (SELECT id FROM keys WHERE key = ?) AND call_id = ? AND given IS NOT NULL
"""
RESULTS = """
    SELECT call_id, payload FROM answers
    WHERE key = (SELECT id FROM keys WHERE key = ?) AND given IS NOT NULL
    AND call_id IN (SELECT value FROM json_each(?))
"""
MESSAGE_OF = """
    SELECT e.payload FROM answers a JOIN entries e ON e.id = a.message
    WHERE a.key = (SELECT id FROM keys WHERE key = ?1) AND a.call_id = ?2
    UNION ALL
    SELECT message FROM inbox WHERE key = (SELECT id FROM keys WHERE key = ?1) AND call_id = ?2
"""
POSTED = "SELECT DISTINCT k.key FROM inbox i JOIN keys k ON k.id = i.key WHERE k.owner = ? ORDER BY i.id"
NEWEST_LIFE = "SELECT coalesce(max(id), 0) FROM activations"
TAKEN = """
    SELECT a.id, k.key FROM activations a JOIN keys k ON k.id = a.key WHERE a.id > ? AND a.host <> ? ORDER BY a.id
"""
KEYS = """
    SELECT
        k.key, k.definition, k.args, coalesce(e.occurrence, s.version), k.cursor, k.epoch, k.last_seq, k.wake_at,
        k.owner, coalesce(nullif(substr(e.payload, 2), ''), s.snapshot), k.created_at
    FROM keys k JOIN states s ON s.key = k.id LEFT JOIN entries e ON e.id = k.last_state
"""
NAMES = """
    SELECT key, coalesce(definition, ''), coalesce(args, '') FROM keys
    WHERE key >= ?1 AND key < ?1 || char(1114111) ORDER BY id
"""
LINE = """
    WITH RECURSIVE line (id) AS (
        SELECT last_message FROM keys WHERE id = ?1
        UNION
        SELECT last_work FROM keys WHERE id = ?1
        UNION
        SELECT message FROM answers WHERE key = ?1 AND given IS NULL AND message IS NOT NULL
        UNION
        SELECT e.prev FROM line JOIN entries e ON e.id = line.id WHERE e.prev > 0 AND e.prev < e.id AND e.key = ?1
    )
    SELECT
        e.id, e.kind, e.at, e.seq, e.epoch, e.payload, e.call_id,
        e.branch, e.name, e.occurrence, e.position, e.began_at, e.took
    FROM line JOIN entries e ON e.id = line.id WHERE e.key = ?1
"""
ANSWERS = "SELECT given, at, seq, epoch, payload, call_id FROM answers WHERE key = ? AND typeof(given) = 'integer'"
DEAD = "SELECT id, at, seq, epoch, error, call_id FROM dead WHERE key = ?"
POSTS = "SELECT id, at, message, call_id FROM inbox WHERE key = ?"
LIVES = f"""
    {LIVES_OF}
    SELECT a.id, a.epoch, a.host, a.began_at, a.ended_at, a.how, a.by, a.code
    FROM line JOIN activations a ON a.id = line.id
    ORDER BY a.epoch
"""
DEAD_LETTERS = """
    SELECT seq, message, call_id, error, attempts FROM dead WHERE key = (SELECT id FROM keys WHERE key = ?) ORDER BY id
"""


def result(connection: sqlite3.Connection, key: str, call_id: str) -> str | None:
    """The answer of a call, or None."""
    row = connection.execute(RESULT, (key, call_id)).fetchone()
    return None if row is None else unfold(connection, row[0])


def results(connection: sqlite3.Connection, key: str, call_ids: Sequence[str]) -> dict[str, str]:
    """The answers of those calls that have one."""
    rows = connection.execute(RESULTS, (key, json.dumps(list(call_ids)))).fetchall()
    return {call_id: unfold(connection, payload) for call_id, payload in rows}


def message(connection: sqlite3.Connection, key: str, call_id: str) -> str | None:
    """The message of a call, from the log or from what was posted."""
    row = connection.execute(MESSAGE_OF, (key, call_id)).fetchone()
    return None if row is None else unfold(connection, row[0])


def posted(connection: sqlite3.Connection, member: Member) -> list[str]:
    """The keys that `member` owns and that have posts waiting."""
    return [key for (key,) in connection.execute(POSTED, (member.slot,)).fetchall()]


def newest_life(connection: sqlite3.Connection) -> int:
    """The number of the life that began last, or 0."""
    number: int = connection.execute(NEWEST_LIFE).fetchone()[0]
    return number


def taken(connection: sqlite3.Connection, member: Member, after: int) -> list[tuple[int, str]]:
    """The lives that other hosts began after the one of the number `after`: their numbers and keys."""
    return connection.execute(TAKEN, (after, member.host.id)).fetchall()


def keys(
    connection: sqlite3.Connection, member: Member, now: float, *, definition: str | None = None, key: str | None = None
) -> list[KeyInfo]:
    """What is known of keys, oldest first."""
    if key is not None:
        rows = connection.execute(f"{KEYS} WHERE k.key = ?", (key,)).fetchall()
    elif definition is not None:
        rows = connection.execute(f"{KEYS} WHERE k.definition = ? ORDER BY k.id", (definition,)).fetchall()
    else:
        rows = connection.execute(f"{KEYS} ORDER BY k.id").fetchall()
    hosts = {slot: read_host(connection, member, slot, now) for slot in {row[8] for row in rows} if slot is not None}
    return [_info(row, hosts.get(row[8])) for row in rows]


def names(connection: sqlite3.Connection, prefix: str) -> list[KeyName]:
    """What the keys are that begin with a text, oldest first."""
    rows = connection.execute(NAMES, (prefix,)).fetchall()
    return [KeyName(*row) for row in rows if {*map(type, row)} == {str}]


def _info(row: tuple[Any, ...], owner: Host | None) -> KeyInfo:
    name, what, args, version, cursor, epoch, last_seq, wake_at, _, snapshot, created_at = row
    numbers, instants = (version, cursor, epoch, last_seq), (created_at, 0.0 if wake_at is None else wake_at)
    texts = (what or "", args or "")
    if not all(map(is_number, numbers)) or not all(map(is_instant, instants)) or {*map(type, texts)} != {str}:
        return KeyInfo(str(name), str(what), "", 0, 0, 0, 0, 0.0, owner, None, 0.0, str(damaged(name, "its numbers")))
    return KeyInfo(name, what or "", args or "", version, cursor, epoch, last_seq, wake_at, owner, snapshot, created_at)


def history(connection: sqlite3.Connection, key: str) -> list[Entry]:
    """Everything that was written for a key, in order of writing."""
    row = connection.execute(ID, (key,)).fetchone()
    if row is None:
        return []
    connection.execute("BEGIN")
    try:
        return sorted(_entries(connection, row[0]), key=lambda entry: entry.id)
    finally:
        connection.execute("COMMIT")


def _entries(connection: sqlite3.Connection, key: int) -> Iterator[Entry]:
    sql = connection.execute
    for row in sql(LINE, (key,)).fetchall():
        yield _entry(connection, row)
    for given, at, seq, epoch, payload, call_id in sql(ANSWERS, (key,)).fetchall():
        yield Entry(given, "answer", at, seq, epoch, _shown(connection, payload), call_id)
    for id, at, seq, epoch, error, call_id in sql(DEAD, (key,)).fetchall():
        yield Entry(id, "dead", at, seq, epoch, error, call_id)
    for id, at, message, call_id in sql(POSTS, (key,)).fetchall():
        yield Entry(id, "message", at, 0, 0, _shown(connection, message), call_id)
    for id, epoch, _, began_at, ended_at, how, by, _ in sql(LIVES, (key,)).fetchall():
        yield Entry(id, "activation", began_at, 0, epoch, ended_at=ended_at, how=how, by=by)


def _shown(connection: sqlite3.Connection, column: str | bytes | None) -> str | None:
    """A payload for who looks; None for one that the file lost: what is left of the history is shown all the same."""
    try:
        return None if column is None else unfold(connection, column)
    except StoreError:
        return None


def _entry(connection: sqlite3.Connection, row: tuple[Any, ...]) -> Entry:
    id, kind, at, seq, epoch, column, call_id, branch, name, occurrence, position, began_at, took = row
    payload = None if kind == "commit" else _shown(connection, column)
    if branch is None:
        return Entry(id, kind, at, seq, epoch, payload, call_id)
    step = StepRecord(branch, name, occurrence, payload or "", kind, position, began_at, took, epoch)
    return Entry(id, kind, at, seq, epoch, step=step)


def activations(connection: sqlite3.Connection, key: str) -> list[Activation]:
    """The lives of a key, oldest first."""
    row = connection.execute(ID, (key,)).fetchone()
    return [] if row is None else [Activation(*life[1:]) for life in connection.execute(LIVES, row).fetchall()]


def dead(connection: sqlite3.Connection, key: str) -> list[DeadLetter]:
    """What was set aside, oldest first."""
    rows = connection.execute(DEAD_LETTERS, (key,)).fetchall()
    return [DeadLetter(seq, unfold(connection, message), *rest) for seq, message, *rest in rows]
