"""Replay: what a new activation takes up, the messages that wait and the steps that they had.

Jobs of the ledger, so that a thousand keys are recovered in a few transactions. What waits is at the end of a key's
lines (`workbench.store.sqlite.schema`): a long history behind it costs nothing. The steps of the oldest waiting message
are looked for back to where it was appended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.journal import Logged, StepRecord
from workbench.store.sqlite.ahead import entry_at
from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.sound import guarded

if TYPE_CHECKING:
    from workbench.store.sqlite.ahead import Entry
    from workbench.store.sqlite.gathered import Known
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["of_message", "pending", "record", "steps", "waiting"]


def pending(key: str, cursor: int) -> Job[list[Logged]]:
    """The messages after `cursor` that are not committed, in order."""

    def job(ledger: Ledger) -> list[Logged]:
        known = ledger.known(key)
        return [] if known is None else waiting(ledger, known, cursor)

    return guarded(key, job)


def waiting(ledger: Ledger, known: Known, cursor: int) -> list[Logged]:
    """`pending`, inside a job."""
    found, row = [], known.last_message
    for number in range(known.last_seq, max(cursor, known.cursor), -1):
        message = entry_at(ledger, row)
        if message.seq != number:
            raise ValueError(f"message {number} is not where it must be, there is {message.seq!r}")
        found.append(Logged(number, unfold(ledger.connection, message.payload), message.call_id))
        row = message.prev
    return found[::-1]


def steps(key: str, seq: int) -> Job[list[StepRecord]]:
    """The records of a message that is not committed, in write order."""

    def job(ledger: Ledger) -> list[StepRecord]:
        known = ledger.known(key)
        return [] if known is None else of_message(ledger, known, seq)

    return guarded(key, job)


def of_message(ledger: Ledger, known: Known, seq: int) -> list[StepRecord]:
    """`steps`, inside a job."""
    if not known.cursor < seq <= known.last_seq:
        return []
    message, work = known.last_message, known.last_work
    for _ in range(known.last_seq - seq):
        message = entry_at(ledger, message).prev
    found = []
    while work > message:
        row = entry_at(ledger, work)
        work = row.prev
        if row.seq == seq and row.branch is not None:
            found.append(record(ledger, row.branch, row))
    return found[::-1]


def record(ledger: Ledger, branch: str, row: Entry) -> StepRecord:
    """The record that a row of a line is."""
    when = row.position, row.began_at, row.took
    return StepRecord(
        branch, row.name, row.occurrence, unfold(ledger.connection, row.payload), row.kind, *when, row.epoch
    )
