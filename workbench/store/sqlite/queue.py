"""The queues of a store file: leased work, as jobs of the ledger.

- Many jobs are put, leased, extended or finished by one statement run with all of their rows.
- What makes a job free again (its delay or its lease is over, its host is dead) is seen to inside the transaction that
  leases, so nothing has to run for it to happen.
- A lease is compared by its number; a stale one changes no row and is told who has the job.

Keeps `workbench.store.queue.Queues`. What is only read is in `workbench.store.sqlite.queue_reading`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.leases import DIED, RAN_OUT, lease_lost
from workbench.store.queue import JobRecord, Put
from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.hosts import read_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.errors import LeaseLost
    from workbench.store.queue import Hold, NewJob
    from workbench.store.sqlite.hosts import Member
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["bury", "discard", "extend", "finish", "lease", "pause", "prune", "put", "release", "requeue"]

SLICE = 20_000
"""Row numbers that one slice of a pruning covers."""

QUEUE = "SELECT id, paused FROM queues WHERE name = ?"
MAKE = "INSERT INTO queues (name) VALUES (?)"
PUT = """
    INSERT INTO jobs (id, queue, status, priority, at, put_at, key, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
SAME_KEY = """
    SELECT id, body FROM jobs
    WHERE queue = ? AND key = ? AND key IS NOT NULL AND status IN ('waiting', 'delayed', 'leased')
"""
RIPE = "UPDATE jobs SET status = 'waiting' WHERE queue = ? AND status = 'delayed' AND at <= ?"
LAPSED = """
    UPDATE jobs SET status = 'waiting', at = ?2, holder = NULL, error = ?4
    WHERE queue = ?1 AND status = 'leased' AND at <= ?2 AND (NOT kept OR holder = ?3)
"""
HOLDERS = "SELECT DISTINCT holder FROM jobs WHERE queue = ? AND status = 'leased' AND holder <> ?"
ORPHANED = """
    UPDATE jobs SET status = 'waiting', at = ?, holder = NULL, error = ?
    WHERE queue = ? AND status = 'leased' AND holder = ?
"""
NEXT = """
    SELECT id, body, priority, attempts, number, key, put_at, error FROM jobs
    WHERE queue = ? AND status = 'waiting' ORDER BY priority DESC, id LIMIT ?
"""
LEASE = """
    UPDATE jobs SET status = 'leased', at = ?, attempts = attempts + 1, number = number + 1, holder = ?, kept = ?
    WHERE id = ?
"""
EXTEND = "UPDATE jobs SET at = ? WHERE id = ? AND number = ? AND queue = ? AND status = 'leased'"
FINISH = """
    UPDATE jobs SET status = 'done', at = ?, holder = NULL, error = NULL
    WHERE id = ? AND number = ? AND queue = ? AND status = 'leased'
"""
COUNT = "UPDATE queues SET done = done + ? WHERE id = ?"
RELEASE = """
    UPDATE jobs SET status = ?, at = ?, attempts = attempts - ?, holder = NULL, error = coalesce(?, error)
    WHERE id = ? AND number = ? AND queue = ? AND status = 'leased'
"""
BURY = """
    UPDATE jobs SET status = 'dead', at = ?, holder = NULL, error = ?
    WHERE id = ? AND number = ? AND queue = ? AND status = 'leased'
"""
POISON = "UPDATE jobs SET status = 'dead', at = ?, error = ? WHERE id = ?"
FOUND = "SELECT status, number FROM jobs WHERE id = ? AND queue = ?"
DEAD = "SELECT key, body FROM jobs WHERE id = ? AND queue = ? AND status = 'dead'"
REQUEUE = "UPDATE jobs SET status = 'waiting', at = ?, attempts = 0, body = coalesce(?, body) WHERE id = ?"
DISCARD = "UPDATE jobs SET status = 'discarded', at = ? WHERE id = ? AND queue = ? AND status = 'dead'"
PAUSE = "UPDATE queues SET paused = ? WHERE id = ?"
BEHIND = "SELECT id FROM jobs WHERE id > ? ORDER BY id LIMIT 1"
PRUNE = """
    DELETE FROM jobs WHERE id > ? AND id <= ? AND at < ? AND status IN ('done', 'discarded')
    AND id < (SELECT max(id) FROM jobs)
"""


def put(queue: str, jobs: Sequence[NewJob]) -> Job[list[Put]]:
    """Add jobs, but for those whose key is at work already."""

    def job(ledger: Ledger) -> list[Put]:
        place, at = _make(ledger, queue), ledger.at
        rows, outcomes = [], []
        for new in jobs:
            if new.key is not None and (same := ledger.sql(SAME_KEY, (place, new.key)).fetchone()):
                outcomes.append(Put(same[0], False, unfold(ledger.connection, same[1])))
                continue
            status, row = "delayed" if new.delay > 0 else "waiting", ledger.next_id()
            values = (row, place, status, new.priority, at + new.delay, at, new.key, ledger.fold(new.body))
            if new.key is None:
                rows.append(values)
            else:  # the next one of the batch may have the same key
                ledger.sql(PUT, values)
            outcomes.append(Put(row, True, new.body))
        if rows:
            ledger.connection.executemany(PUT, rows)
        return outcomes

    return job


def lease(
    queue: str, limit: int, member: Member, seconds: float, max_attempts: int, kept: bool
) -> Job[list[JobRecord]]:
    """Take the best jobs that are free."""

    def job(ledger: Ledger) -> list[JobRecord]:
        found = ledger.sql(QUEUE, (queue,)).fetchone()
        if found is None or found[1]:
            return []
        _free(ledger, found[0], member)
        until, taken = ledger.at + seconds, _take(ledger, found[0], limit, max_attempts)
        ledger.connection.executemany(LEASE, [(until, member.slot, kept, row[0]) for row in taken])
        holder = member.host.id
        return [
            JobRecord(
                id, unfold(ledger.connection, body), "leased", priority, attempts + 1, number + 1, key, until, put_at,
                holder, error,
            )
            for id, body, priority, attempts, number, key, put_at, error in taken
        ]  # fmt: skip

    return job


def _free(ledger: Ledger, place: int, member: Member) -> None:
    """Have everything wait again that is free at this instant."""
    at = ledger.at
    ledger.sql(RIPE, (place, at))
    ledger.sql(LAPSED, (place, at, member.slot, RAN_OUT))
    for (holder,) in ledger.sql(HOLDERS, (place, member.slot)).fetchall():
        if read_host(ledger.connection, member, holder, at) is None:
            ledger.sql(ORPHANED, (at, DIED, place, holder))


def _take(
    ledger: Ledger, place: int, limit: int, max_attempts: int
) -> list[tuple[int, str, int, int, int, str, float, str]]:
    """The rows to lease; those without an attempt left are set aside."""
    while True:
        rows = ledger.sql(NEXT, (place, limit)).fetchall()
        spent = [row for row in rows if row[3] >= max_attempts]
        if not spent:
            return rows
        ledger.connection.executemany(
            POISON, [(ledger.at, f"{row[7] or RAN_OUT}, {row[3]} times", row[0]) for row in spent]
        )


def extend(queue: str, holds: Sequence[Hold], seconds: float) -> Job[dict[int, Exception]]:
    """Move the end of leases."""

    def job(ledger: Ledger) -> dict[int, Exception]:
        place, until = _place(ledger, queue), ledger.at + seconds
        rows = [(until, id, number, place) for id, number in holds]
        if ledger.connection.executemany(EXTEND, rows).rowcount == len(rows):
            return {}
        return _lost(ledger, queue, place, holds, "leased")

    return job


def finish(queue: str, holds: Sequence[Hold]) -> Job[dict[int, Exception]]:
    """Mark jobs done."""

    def job(ledger: Ledger) -> dict[int, Exception]:
        place, at = _place(ledger, queue), ledger.at
        rows = [(at, id, number, place) for id, number in holds]
        count = ledger.connection.executemany(FINISH, rows).rowcount
        ledger.sql(COUNT, (count, place))
        return {} if count == len(rows) else _lost(ledger, queue, place, holds, "done")

    return job


def release(queue: str, hold: Hold, *, delay: float, error: str | None, counted: bool) -> Job[None]:
    """Give a job back."""

    def job(ledger: Ledger) -> LeaseLost | None:
        place, status = _place(ledger, queue), "delayed" if delay > 0 else "waiting"
        row = (status, ledger.at + delay, not counted, error, *hold, place)
        return None if ledger.sql(RELEASE, row).rowcount else _refusal(ledger, queue, place, hold)

    return job


def bury(queue: str, hold: Hold, error: str) -> Job[None]:
    """Set a job aside."""

    def job(ledger: Ledger) -> LeaseLost | None:
        place = _place(ledger, queue)
        buried = ledger.sql(BURY, (ledger.at, error, *hold, place)).rowcount
        return None if buried else _refusal(ledger, queue, place, hold)

    return job


def requeue(queue: str, id: int, body: str | None) -> Job[Put | None]:
    """Have a dead job wait again."""

    def job(ledger: Ledger) -> Put | None:
        place = _place(ledger, queue)
        found = ledger.sql(DEAD, (id, place)).fetchone()
        if found is None:
            return None
        if found[0] is not None and (same := ledger.sql(SAME_KEY, (place, found[0])).fetchone()):
            return Put(same[0], False, unfold(ledger.connection, same[1]))
        ledger.sql(REQUEUE, (ledger.at, None if body is None else ledger.fold(body), id))
        return Put(id, True, unfold(ledger.connection, found[1]) if body is None else body)

    return job


def discard(queue: str, id: int) -> Job[bool]:
    """Give a dead job up."""

    def job(ledger: Ledger) -> bool:
        return ledger.sql(DISCARD, (ledger.at, id, _place(ledger, queue))).rowcount == 1

    return job


def pause(queue: str, paused: bool) -> Job[None]:
    """Lease nothing from a queue, or go on."""

    def job(ledger: Ledger) -> None:
        ledger.sql(PAUSE, (paused, _make(ledger, queue)))

    return job


def prune(after: int, before: float) -> Job[tuple[int, int | None]]:
    """Forget the jobs that were over before `before` in the slice behind row `after`.

    Gives how many went, and behind which row the next slice is, or None when there is none.
    """

    def job(ledger: Ledger) -> tuple[int, int | None]:
        found = ledger.sql(BEHIND, (after,)).fetchone()
        if found is None:
            return 0, None
        last = found[0] + SLICE
        return ledger.sql(PRUNE, (after, last, before)).rowcount, last

    return job


def _place(ledger: Ledger, queue: str) -> int:
    """The row of a queue, or 0 when there is none."""
    found = ledger.sql(QUEUE, (queue,)).fetchone()
    return found[0] if found is not None else 0


def _make(ledger: Ledger, queue: str) -> int:
    """The row of a queue, which is made when there is none."""
    return _place(ledger, queue) or ledger.sql(MAKE, (queue,)).lastrowid or 0


def _refusal(ledger: Ledger, queue: str, place: int, hold: Hold) -> LeaseLost:
    status, newest = ledger.sql(FOUND, (hold[0], place)).fetchone() or (None, 0)
    return lease_lost(queue, *hold, status, newest)


def _lost(ledger: Ledger, queue: str, place: int, holds: Sequence[Hold], wanted: str) -> dict[int, Exception]:
    """A refusal for each of `holds` that is not under its number with the status that it was to have."""
    lost: dict[int, Exception] = {}
    for id, number in holds:
        if ledger.sql(FOUND, (id, place)).fetchone() != (wanted, number):
            lost[id] = _refusal(ledger, queue, place, (id, number))
    return lost
