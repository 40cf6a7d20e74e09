"""Pruning: forgetting what is older than the retention, a slice at a time.

- Only what is committed goes: open messages, calls without an answer, dead letters with the steps of those that wait,
  states and lives stay.
- A slice is one job of the ledger, so a large file is pruned without keeping other writers out for long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.sqlite.blobs import sweep

if TYPE_CHECKING:
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["SLICE", "prune_answers", "prune_entries", "sweep_blobs"]

SLICE = 20_000
"""Row numbers that one slice covers."""

ENTRIES = """
    DELETE FROM entries WHERE id > ? AND id <= ? AND at < ?
    AND id < (SELECT max(id) FROM entries) AND seq <= (SELECT cursor FROM keys WHERE keys.id = entries.key)
    AND id NOT IN (SELECT message FROM answers WHERE given IS NULL AND message IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.key = entries.key AND d.seq = entries.seq AND d.status = 'waiting')
    AND id NOT IN (SELECT last_state FROM keys WHERE keys.id = entries.key)
    AND NOT (kind = 'commit' AND seq = (SELECT cursor FROM keys WHERE keys.id = entries.key))
"""
ANSWERS = "DELETE FROM answers WHERE id > ? AND id <= ? AND at < ? AND given IS NOT NULL"


def prune_entries(after: int, before: float) -> Job[int | None]:
    """Forget the entries of a slice that were written before `before`; gives how many went, or None past the end."""
    return _slice(ENTRIES, after, before)


def prune_answers(after: int, before: float) -> Job[int | None]:
    """Forget the answers of a slice that were given before `before`; gives how many went, or None past the end."""
    return _slice(ANSWERS, after, before)


def _slice(statement: str, after: int, before: float) -> Job[int | None]:
    def job(ledger: Ledger) -> int | None:
        if after >= ledger.last_id:
            return None
        return ledger.sql(statement, (after, after + SLICE, before)).rowcount

    return job


def sweep_blobs() -> Job[None]:
    """Forget the payloads that no row holds any more."""

    def job(ledger: Ledger) -> None:
        sweep(ledger.connection)

    return job
