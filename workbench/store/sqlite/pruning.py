"""Pruning: forgetting what is older than the retention, a slice at a time.

- Only what is committed goes: open messages, calls without an answer, dead letters with the steps of those that wait,
  the newest commit and the newest life of a key stay. So does a decided request while its key has work left.
- A slice is one job of the ledger, so a large file is pruned without keeping others out for long. Rows lie in the
  order of writing, and what lies behind the first young entry is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.sqlite.blobs import sweep

if TYPE_CHECKING:
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["SLICE", "TABLES", "prune_slice", "sweep_blobs", "young"]

SLICE = 1000
"""Row numbers that one slice covers: some milliseconds."""

TABLES = {
    "entries": """
        DELETE FROM entries WHERE id > ? AND id <= ? AND at < ?
        AND id < (SELECT max(id) FROM entries)
        AND seq <= coalesce((SELECT cursor FROM keys WHERE keys.id = entries.key), seq)
        AND id NOT IN (SELECT message FROM answers WHERE given IS NULL AND message IS NOT NULL)
        AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.key = entries.key AND d.seq = entries.seq AND d.status = 'waiting')
        AND id NOT IN (SELECT last_state FROM keys WHERE keys.id = entries.key)
        AND NOT (kind = 'commit' AND seq = (SELECT cursor FROM keys WHERE keys.id = entries.key))
    """,
    "answers": "DELETE FROM answers WHERE id > ? AND id <= ? AND at < ? AND given IS NOT NULL",
    "activations": """
        DELETE FROM activations WHERE id > ? AND id <= ? AND ended_at < ?
        AND id NOT IN (SELECT last_life FROM keys WHERE keys.id = activations.key)
    """,
    "records": """
        DELETE FROM records WHERE id > ? AND id <= ? AND decided_at < ?
        AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.key = records.key AND keys.last_seq > keys.cursor)
    """,
}
"""What is forgotten of each table, by the numbers of a slice and the instant before which it was over."""

YOUNG = "SELECT id FROM entries WHERE id > ? AND at >= ? ORDER BY id LIMIT 1"
NEXT = "SELECT id FROM {} WHERE id > ? AND id < ? ORDER BY id LIMIT 1"


def young(before: float) -> Job[int]:
    """The first row number from which on nothing was written before `before`."""

    def job(ledger: Ledger) -> int:
        found = ledger.sql(YOUNG, (0, before)).fetchone()
        return found[0] if found is not None else ledger.last_id + 1

    return job


def prune_slice(table: str, after: int, end: int, before: float) -> Job[tuple[int, int | None]]:
    """Forget what was over before `before` in the slice behind row `after`, up to row `end`.

    Gives how many rows went, and behind which row the next slice is, or None when there is none.
    """

    def job(ledger: Ledger) -> tuple[int, int | None]:
        found = ledger.sql(NEXT.format(table), (after, end)).fetchone()
        if found is None:
            return 0, None
        start = found[0] - 1
        last = min(start + SLICE, end)
        return ledger.sql(TABLES[table], (start, last, before)).rowcount, last

    return job


def sweep_blobs() -> Job[None]:
    """Forget the payloads that no row holds any more."""

    def job(ledger: Ledger) -> None:
        sweep(ledger.connection)

    return job
