"""What is read of the queues of a store file: counts, jobs and what there is to lease, as they are committed now."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from workbench.store.queue import JobRecord, JobStatus, Outlook, QueueStats
from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.hosts import read_host

if TYPE_CHECKING:
    import sqlite3

    from workbench.store.sqlite.hosts import Member

__all__ = ["job", "jobs", "names", "outlook", "stats"]

NAMES = "SELECT name FROM queues ORDER BY id"
STATS = """
    SELECT
        (SELECT count(*) FROM jobs WHERE queue = q.id AND status = 'waiting')
            + (SELECT count(*) FROM jobs WHERE queue = q.id AND status = 'delayed' AND at <= ?2),
        (SELECT count(*) FROM jobs WHERE queue = q.id AND status = 'delayed' AND at > ?2),
        (SELECT count(*) FROM jobs WHERE queue = q.id AND status = 'leased'),
        q.done,
        (SELECT count(*) FROM jobs WHERE queue = q.id AND status = 'dead'),
        q.paused
    FROM queues q WHERE q.name = ?1
"""
JOBS = """
    SELECT
        j.id, j.body, j.status, j.priority, j.attempts, j.number, j.key, j.at, j.put_at, h.name, j.error
    FROM jobs j LEFT JOIN hosts h ON h.id = j.holder
    WHERE j.queue = (SELECT id FROM queues WHERE name = ?)
"""
WITH_STATUS = {status: f"AND j.status = '{status}'" for status in typing.get_args(JobStatus)}
"""Written out, because a partial index is not found by a parameter."""

OUTLOOK = """
    SELECT
        q.id, q.name,
        EXISTS (SELECT 1 FROM jobs WHERE queue = q.id AND status = 'waiting')
            OR EXISTS (SELECT 1 FROM jobs WHERE queue = q.id AND status = 'delayed' AND at <= ?1)
            OR EXISTS (
                SELECT 1 FROM jobs WHERE queue = q.id AND status = 'leased' AND at <= ?1 AND (NOT kept OR holder = ?2)
            ),
        (SELECT min(at) FROM jobs WHERE queue = q.id AND status = 'delayed' AND at > ?1),
        (SELECT min(at) FROM jobs WHERE queue = q.id AND status = 'leased' AND at > ?1)
    FROM queues q WHERE NOT q.paused
"""
HOLDERS = "SELECT DISTINCT queue, holder FROM jobs WHERE status = 'leased' AND holder <> ?"


def names(connection: sqlite3.Connection) -> list[str]:
    """Every queue, oldest first."""
    return [name for (name,) in connection.execute(NAMES).fetchall()]


def stats(connection: sqlite3.Connection, queue: str, now: float) -> QueueStats:
    """The counts of a queue."""
    row = connection.execute(STATS, (queue, now)).fetchone()
    if row is None:
        return QueueStats()
    waiting, delayed, leased, done, dead, paused = row
    return QueueStats(waiting, delayed, leased, done, dead, bool(paused))


def jobs(connection: sqlite3.Connection, queue: str, status: JobStatus | None, limit: int) -> list[JobRecord]:
    """Jobs in the order in which they were put."""
    which = "" if status is None else WITH_STATUS[status]
    rows = connection.execute(f"{JOBS} {which} ORDER BY j.id LIMIT ?", (queue, limit)).fetchall()
    return [_record(connection, row) for row in rows]


def job(connection: sqlite3.Connection, queue: str, id: int) -> JobRecord | None:
    """One job."""
    row = connection.execute(f"{JOBS} AND j.id = ?", (queue, id)).fetchone()
    return None if row is None else _record(connection, row)


def _record(connection: sqlite3.Connection, row: tuple[Any, ...]) -> JobRecord:
    return JobRecord(row[0], unfold(connection, row[1]), *row[2:])


def outlook(connection: sqlite3.Connection, member: Member, now: float) -> dict[str, Outlook]:
    """What each queue that is not paused has to lease."""
    away: dict[int, list[int]] = {}
    for place, holder in connection.execute(HOLDERS, (member.slot,)).fetchall():
        away.setdefault(place, []).append(holder)
    alive = {slot: read_host(connection, member, slot, now) for slots in away.values() for slot in slots}
    found = {}
    for place, name, waits, *instants in connection.execute(OUTLOOK, (now, member.slot)).fetchall():
        orphaned = any(alive[slot] is None for slot in away.get(place, ()))
        coming = min((at for at in instants if at is not None), default=None)
        found[name] = Outlook(bool(waits) or orphaned, coming, place in away)
    return found
