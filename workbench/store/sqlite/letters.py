"""Letters: the messages that were set aside, across all keys, and what becomes of them.

Jobs of the ledger, and the read beside them. A letter is decided once, by compare-and-set. One that is requeued is
posted to its key in the same transaction and its call, if it is one, is open again; the owner collects it with the
steps that it had finished, so that none of them is done twice.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from workbench.errors import StoreError
from workbench.store.carrying import carried_over
from workbench.store.journal import DeadLetter
from workbench.store.letters import SetAside
from workbench.store.sqlite.ahead import entry
from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.replay import record

if TYPE_CHECKING:
    import sqlite3

    from workbench.store.journal import StepRecord
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["discard", "finished", "letters", "requeue"]

log = logging.getLogger("workbench")

LETTERS = """
    SELECT
        d.id, k.key, k.definition, d.at, d.status, d.decided_at, d.by,
        d.seq, d.message, d.call_id, d.error, d.attempts
    FROM dead d JOIN keys k ON k.id = d.key
"""
FIND = "SELECT k.key, d.key, d.call_id, d.message FROM dead d JOIN keys k ON k.id = d.key WHERE d.id = ?"
DECIDE = "UPDATE dead SET status = ?, by = ?, decided_at = ? WHERE id = ? AND status = 'waiting'"
REOPEN = """
    INSERT INTO answers (id, key, call_id, seq) VALUES (?, ?, ?, ?)
    ON CONFLICT (key, call_id) DO UPDATE
    SET message = NULL, given = NULL, epoch = NULL, at = NULL, payload = NULL
"""
PUT = "INSERT INTO inbox (id, key, at, call_id, message, dead) VALUES (?, ?, ?, ?, ?, ?)"
END_OF = """
    SELECT e.prev, d.seq FROM dead d JOIN entries e ON e.id > d.id AND e.key = d.key AND e.seq = d.seq
    WHERE d.id = ? AND e.kind = 'commit'
    ORDER BY e.id LIMIT 1
"""


def letters(connection: sqlite3.Connection, key: str | None, status: str | None) -> list[SetAside]:
    """What was set aside, oldest first."""
    wanted = [(column, value) for column, value in (("k.key", key), ("d.status", status)) if value is not None]
    where = " AND ".join(f"{column} = ?" for column, _ in wanted) or "TRUE"
    rows = connection.execute(f"{LETTERS} WHERE {where} ORDER BY d.id", [value for _, value in wanted]).fetchall()
    found = []
    for id, name, definition, at, state, decided_at, by, seq, message, *rest in rows:
        try:
            letter = DeadLetter(seq, unfold(connection, message), *rest)
        except StoreError as error:  # one letter that lost its message hides no other
            log.error("message %s of %r was set aside: %s", seq, name, error)
            continue
        found.append(SetAside(id, name, definition or "", at, letter, state, decided_at, by))
    return found


def discard(id: int, by: str) -> Job[bool]:
    """Decide that a letter stays where it is; gives False when it was decided before."""

    def job(ledger: Ledger) -> bool:
        return ledger.sql(DECIDE, ("discarded", by, ledger.at, id)).rowcount == 1

    return job


def requeue(id: int, by: str, message: str | None) -> Job[bool]:
    """Post a letter to its key again, as it was or as another `message`; gives False when it was decided before."""

    def job(ledger: Ledger) -> bool:
        if ledger.sql(DECIDE, ("requeued", by, ledger.at, id)).rowcount != 1:
            return False
        key, row, call_id, column = ledger.sql(FIND, (id,)).fetchone()
        known, number = ledger.make(key), ledger.next_id()
        text = column if message is None else ledger.fold(message)
        ledger.sql(PUT, (number, row, ledger.at, call_id, text, id if message is None else None))
        known.posted = True
        if call_id is not None:
            ledger.sql(REOPEN, (ledger.next_id(), row, call_id, number))
        ledger.set_wake(known, ledger.at if known.wake is None else min(known.wake, ledger.at))
        return True

    return job


def finished(ledger: Ledger, id: int) -> list[StepRecord]:
    """What the letter `id` takes along when it is delivered again, in write order. Inside a job."""
    found = ledger.sql(END_OF, (id,)).fetchone()
    if found is None:  # pruned
        return []
    number, seq = found
    records = []
    while (row := entry(ledger, number)) is not None and row.seq == seq and row.branch is not None:
        records.append(record(ledger, row.branch, row))
        number = row.prev
    return carried_over(records[::-1], seq)
