"""States: where the newest state of a key lies, and what it was before.

A small one lies in the commit that made it (`keys.last_state`), any other in `states`; what commits keep of the ones
before is the language of `workbench.store.past`. Nothing here judges what is stored: who decodes it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.store.past import OWN, Committed, Past, change, own
from workbench.store.sqlite.blobs import INLINE, unfold
from workbench.store.sqlite.sound import is_number
from workbench.store.sqlite.statements import READ_OWN_STATE, READ_STATE

if TYPE_CHECKING:
    import sqlite3

    from workbench.store.journal import Commit
    from workbench.store.sqlite.gathered import Known
    from workbench.store.sqlite.ledger import Ledger

__all__ = ["in_commit", "keep", "newest", "past", "read_state"]

NOWHERE = 1 << 62
"""The number of a message that no commit acknowledges: of a row that was changed by hand."""

PAGES = 16 * 1024
"""Characters from which the pages of a state are freed before it is written again, or the file holds it twice."""

KEY = "SELECT id, last_state FROM keys WHERE key = ?"
COMMITS = """
    WITH RECURSIVE line (id) AS (
        SELECT last_work FROM keys WHERE id = ?1
        UNION ALL
        SELECT e.prev FROM line JOIN entries e ON e.id = line.id WHERE e.prev > 0 AND e.prev < e.id
    )
    SELECT e.id, e.seq, e.at, e.epoch, e.occurrence, e.payload
    FROM line JOIN entries e ON e.id = line.id
    WHERE e.kind = 'commit' AND e.key = ?1
    ORDER BY e.id DESC
"""


def read_state(connection: sqlite3.Connection, known: Known) -> tuple[int, Any]:
    """The version and the newest state of a key, as they are in the file."""
    return newest(connection, known.id, known.last_state)


def keep(ledger: Ledger, known: Known, row: int, commit: Commit) -> str | bytes:
    """Take in the new state of a key; gives what its commit in `row` keeps."""
    state = known.state
    if state is False:
        _, found = read_state(ledger.connection, known)
        state = found if type(found) is str else None  # what is no text was changed by hand
    snapshot = known.state = commit.snapshot
    kept = change(state, snapshot, lies_in_commit=known.last_state > 0 or state is None)
    if kept[:1] == OWN:
        known.last_state = row
        return kept
    known.last_state = 0
    if snapshot is not None and len(snapshot) > PAGES:
        ledger.large.add((known.id,))
    ledger.states[known.id] = (commit.version, snapshot, known.id)
    return kept if len(kept) <= INLINE else ledger.fold(kept)


def newest(connection: sqlite3.Connection, key: int, last_state: int) -> tuple[int, Any]:
    """The version and the newest state of a key; `last_state` is the commit it lies in, 0 if it is in `states`."""
    if last_state:
        found = connection.execute(READ_OWN_STATE, (last_state,)).fetchone()
    else:
        found = connection.execute(READ_STATE, (key,)).fetchone()
    if found is None:
        return 0, None
    return in_commit(*found) if last_state else (found[0] or 0, found[1])


def in_commit(version: Any, kept: Any) -> tuple[int, Any]:
    """The version and the state of the commit that they lie in."""
    return version or 0, own(kept) if type(kept) is str else kept


def past(connection: sqlite3.Connection, key: str) -> Past:
    """The states of a key, as they are committed now."""
    connection.execute("BEGIN")
    try:
        row = connection.execute(KEY, (key,)).fetchone()
        if row is None:
            return Past(key, None, ())
        _, state = newest(connection, *row)
        rows = connection.execute(COMMITS, row[:1]).fetchall()
    finally:
        connection.execute("COMMIT")
    commits = [
        Committed(id, seq if is_number(seq) else NOWHERE, at, epoch, version or 0, kept)
        for id, seq, at, epoch, version, kept in rows
    ]
    return Past(key, state, commits, lambda column: unfold(connection, column))
