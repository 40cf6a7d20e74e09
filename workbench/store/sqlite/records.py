"""Records: rows that are found by what they hold, and change their status once, by compare-and-set.

Jobs of the ledger, and the reads beside them. A decision wakes the key of its row in the same transaction, so a decided
approval is never left without somebody to act on it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from workbench.errors import StoreError
from workbench.store.records import Record
from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.sound import is_instant

if TYPE_CHECKING:
    import sqlite3

    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["decide", "find", "get", "put"]

log = logging.getLogger("workbench")

PUT = """
    INSERT INTO records (id, kind, name, key, status, at, body) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (kind, name) DO NOTHING
"""
DECIDE = "UPDATE records SET status = ?, decision = ?, decided_at = ? WHERE kind = ? AND name = ? AND status = ?"
KEY = "SELECT key FROM records WHERE kind = ? AND name = ?"
COLUMNS = "SELECT kind, name, key, body, status, at, decision, decided_at FROM records"


def put(kind: str, id: str, key: str, body: str, status: str, at: float) -> Job[bool]:
    """Add a row; gives False when its id is there already."""

    def job(ledger: Ledger) -> bool:
        row = (ledger.next_id(), kind, id, key, status, at, ledger.fold(body))
        return ledger.sql(PUT, row).rowcount == 1

    return job


def decide(kind: str, id: str, expect: str, status: str, decision: str, at: float) -> Job[bool]:
    """Move the status of a row from `expect` and wake its key at `at` or sooner; gives False when it had moved."""

    def job(ledger: Ledger) -> bool:
        if ledger.sql(DECIDE, (status, ledger.fold(decision), at, kind, id, expect)).rowcount != 1:
            return False
        (key,) = ledger.sql(KEY, (kind, id)).fetchone()
        known = ledger.known(key)
        if known is not None:
            ledger.set_wake(known, at if known.wake is None else min(known.wake, at))
        return True

    return job


def get(connection: sqlite3.Connection, kind: str, id: str) -> Record | None:
    """One row, or None."""
    row = connection.execute(f"{COLUMNS} WHERE kind = ? AND name = ?", (kind, id)).fetchone()
    return None if row is None else _record(connection, row)


def find(connection: sqlite3.Connection, kind: str, key: str | None, status: str | None) -> list[Record]:
    """Rows oldest first."""
    where, values = "kind = ?", [kind]
    if key is not None:
        where, values = where + " AND key = ?", [*values, key]
    if status is not None:
        where, values = where + " AND status = ?", [*values, status]
    rows = connection.execute(f"{COLUMNS} WHERE {where} ORDER BY at, id", values).fetchall()
    found = []
    for row in rows:
        try:
            found.append(_record(connection, row))
        except StoreError as error:  # one row that lost its payload hides no other
            log.error("%s of %r: %s", row[1], row[2], error)
    return found


def _record(connection: sqlite3.Connection, row: tuple[Any, ...]) -> Record:
    kind, name, key, body, status, at, decision, decided_at = row
    instants = (at, 0.0 if decided_at is None else decided_at)
    if not all(map(is_instant, instants)) or {*map(type, (kind, name, key, status))} != {str}:
        raise StoreError(f"the row {name!r} is no {kind!r}; the file was changed by hand, restore it from a copy")
    decided = None if decision is None else unfold(connection, decision)
    return Record(kind, name, key, unfold(connection, body), status, at, decided, decided_at)
