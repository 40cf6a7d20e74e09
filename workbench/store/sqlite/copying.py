"""Copying: the rows of a key out of a file, and into another.

- A copy is read in one transaction of a connection of its own, row by row, so a long history needs little memory.
- A restored key gets its rows in the order of writing, with new numbers, in one transaction; its lines
  (`workbench.store.sqlite.schema`) are laid anew.
"""

from __future__ import annotations

import heapq
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.lines import ENTRIES_OF, LIVES_OF
from workbench.store.sqlite.states import newest
from workbench.store.upkeep import ROWS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from workbench.store.sqlite.gathered import Known
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job
    from workbench.store.upkeep import CopyRow

__all__ = ["copy", "restore"]

KEY = """
    SELECT
        id, last_state, key, coalesce(definition, ''), coalesce(args, ''), cursor, last_seq, epoch, wake_at, created_at
    FROM keys WHERE key = ?
"""
ENTRIES = f"""
    {ENTRIES_OF}
    SELECT
        e.id, e.kind, e.seq, e.epoch, e.at, e.call_id, e.branch, e.name, e.occurrence, e.position, e.began_at, e.took,
        e.payload
    FROM line JOIN entries e ON e.id = line.id
    WHERE e.key = ?1
    ORDER BY e.id
"""
CALLS = """
    SELECT coalesce(given, id) AS place, call_id, seq, message IS NOT NULL, epoch, at, payload FROM answers
    WHERE key = ? ORDER BY place
"""
LETTERS = """
    SELECT id, seq, epoch, at, call_id, message, error, attempts, status, decided_at, by FROM dead
    WHERE key = ? ORDER BY id
"""
POSTS = """
    SELECT i.id, i.at, i.call_id, i.message, d.seq FROM inbox i LEFT JOIN dead d ON d.id = i.dead
    WHERE i.key = ? ORDER BY i.id
"""
LIVES = f"""
    {LIVES_OF}
    SELECT a.id, a.epoch, a.host, a.began_at, a.ended_at, a.how, a.by FROM line JOIN activations a ON a.id = line.id
    ORDER BY a.id
"""
RECORDS = """
    SELECT id, kind, name, body, status, at, decision, decided_at FROM records WHERE key = ? ORDER BY id
"""
PLACES = {
    "entry": """
        INSERT INTO entries
            (kind, seq, epoch, at, call_id, branch, name, occurrence, position, began_at, took, payload, id, prev, key)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """,
    "call": """
        INSERT INTO answers (call_id, seq, epoch, at, payload, message, given, id, key)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """,
    "letter": """
        INSERT INTO dead (seq, epoch, at, call_id, message, error, attempts, status, decided_at, by, id, key)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """,
    "post": "INSERT INTO inbox (at, call_id, message, dead, id, key) VALUES (?, ?, ?, ?, ?, ?)",
    "life": """
        INSERT INTO activations (epoch, host, began_at, ended_at, how, by, id, prev, key)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """,
    "record": """
        INSERT INTO records (kind, name, body, status, at, decision, decided_at, id, key)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    """,
}
WRITTEN = {"entry": ENTRIES, "call": CALLS, "letter": LETTERS, "post": POSTS, "life": LIVES}
IS_THERE = "SELECT 1 FROM records WHERE kind = ? AND name = ?"
SET_KEY = """
    UPDATE keys
    SET owner = ?, epoch = ?, cursor = ?, last_seq = ?, last_message = ?, last_work = ?, last_life = ?, last_state = 0,
        wake_at = ?, definition = ?, args = ?, created_at = ?
    WHERE id = ?
"""
SET_STATE = "UPDATE states SET version = ?, snapshot = ? WHERE key = ?"


def copy(connection: sqlite3.Connection, key: str) -> Iterator[CopyRow]:
    """The rows of a key, as they are at one moment: the key, then what was written, in order, then its records."""
    connection.execute("BEGIN")
    found = connection.execute(KEY, (key,)).fetchone()
    if found is None:
        return
    id, last_state, *of_key = found
    version, snapshot = newest(connection, id, last_state)
    columns = ("key", "definition", "args", "cursor", "last_seq", "epoch", "wake_at", "created_at")
    yield {"row": "key", **dict(zip(columns, of_key, strict=True)), "version": version, "snapshot": snapshot}
    rows = (_rows(connection, row, statement, id) for row, statement in WRITTEN.items())
    for _, row in heapq.merge(*rows, key=itemgetter(0)):
        yield row
    for _, row in _rows(connection, "record", RECORDS, key):
        yield row


def _rows(connection: sqlite3.Connection, row: str, statement: str, key: int | str) -> Iterator[tuple[int, CopyRow]]:
    """Rows of one kind with their numbers; a payload that is out of line is brought in."""
    for id, *values in connection.execute(statement, (key,)):
        full = [unfold(connection, value) if isinstance(value, bytes) else value for value in values]
        named: CopyRow = dict(zip(ROWS[row], full, strict=True))
        if row == "call":
            named["logged"] = bool(named["logged"])
        yield id, {"row": row, **named}


def restore(rows: Sequence[CopyRow], owner: int | None) -> Job[str | None]:
    """Bring a copy in for `owner`; gives None, or the name of what is there already."""

    def job(ledger: Ledger) -> str | None:
        of_key = rows[0]
        if ledger.known(of_key["key"]) is not None:
            return f"the key {of_key['key']!r}"
        for row in rows:
            if row["row"] == "record" and ledger.sql(IS_THERE, (row["kind"], row["id"])).fetchone():
                return f"the {row['kind']} {row['id']!r}"
        _Restoring(ledger, ledger.make(of_key["key"]), of_key).bring_in(rows[1:], owner)
        return None

    return job


class _Restoring:
    """One copy on its way into a file."""

    def __init__(self, ledger: Ledger, known: Known, of_key: CopyRow) -> None:
        self.ledger = ledger
        self.known = known
        self.of_key = of_key
        self.last = {"message": 0, "work": 0, "life": 0}
        self.messages: dict[str, int] = {}
        self.letters: dict[int, int] = {}

    def bring_in(self, rows: Sequence[CopyRow], owner: int | None) -> None:
        """Write every row, and the key last."""
        for row in rows:
            getattr(self, f"_{row['row']}")(row)
        of_key, last, known = self.of_key, self.last, self.known
        wake_at = of_key["wake_at"]
        if wake_at is None and (of_key["last_seq"] > of_key["cursor"] or any(row["row"] == "post" for row in rows)):
            wake_at = self.ledger.at
        values = (owner, max(of_key["epoch"], known.epoch), of_key["cursor"], of_key["last_seq"], *last.values())
        what = (wake_at, of_key["definition"] or None, of_key["args"] or None, of_key["created_at"])
        self.ledger.sql(SET_KEY, (*values, *what, known.id))
        self.ledger.sql(SET_STATE, (of_key["version"], of_key["snapshot"], known.id))
        self.ledger.forget(of_key["key"])

    def _put(self, row: str, *values: Any) -> None:
        self.ledger.sql(PLACES[row], values)

    def _entry(self, row: CopyRow) -> None:
        id, line = self.ledger.next_id(), "message" if row["kind"] == "message" else "work"
        *values, payload = (row[column] for column in ROWS["entry"])
        self._put("entry", *values, self._fold(payload), id, self.last[line], self.known.id)
        self.last[line] = id
        if line == "message" and row["call_id"] is not None:
            self.messages[row["call_id"]] = id

    def _call(self, row: CopyRow) -> None:
        id, payload = self.ledger.next_id(), self._fold(row["payload"])
        given = None if payload is None else id
        message = self.messages.get(row["call_id"]) if row["logged"] else None
        values = (row["call_id"], row["seq"], row["epoch"], row["at"], payload)
        self._put("call", *values, message, given, id, self.known.id)

    def _letter(self, row: CopyRow) -> None:
        id = self.letters[row["seq"]] = self.ledger.next_id()
        values = {**row, "message": self._fold(row["message"])}
        self._put("letter", *(values[column] for column in ROWS["letter"]), id, self.known.id)

    def _post(self, row: CopyRow) -> None:
        letter = self.letters.get(row["letter"]) if row["letter"] is not None else None
        message, id = self._fold(row["message"]), self.ledger.next_id()
        self._put("post", row["at"], row["call_id"], message, letter, id, self.known.id)

    def _life(self, row: CopyRow) -> None:
        id = self.ledger.next_id()
        self._put("life", *(row[column] for column in ROWS["life"]), id, self.last["life"], self.known.id)
        self.last["life"] = id

    def _record(self, row: CopyRow) -> None:
        body, decision, id = self._fold(row["body"]), self._fold(row["decision"]), self.ledger.next_id()
        values = (row["kind"], row["id"], body, row["status"], row["at"], decision, row["decided_at"])
        self._put("record", *values, id, self.of_key["key"])

    def _fold(self, payload: str | None) -> str | bytes | None:
        return None if payload is None else self.ledger.fold(payload)
