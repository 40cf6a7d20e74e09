"""The schedules of a file. Implements `workbench.store.schedules.ScheduleStore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.schedules import Planned
from workbench.store.sqlite import inbox

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from collections.abc import Callable, Sequence

    from workbench.store.schedules import Firing
    from workbench.store.sqlite.hosts import Member
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["SCHEDULES", "SQLiteSchedules"]

SCHEDULES = (
    """
    CREATE TABLE schedules (
        name TEXT PRIMARY KEY,
        plan TEXT NOT NULL,
        since REAL NOT NULL,
        next_at REAL,
        last_at REAL,
        fired INTEGER NOT NULL DEFAULT 0
    )
    """,
    "CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL",
)

PUT = """
    INSERT INTO schedules (name, plan, since, next_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE
    SET plan = excluded.plan, since = excluded.since, next_at = excluded.next_at, last_at = NULL, fired = 0
    WHERE plan <> excluded.plan
"""
FIRE = """
    UPDATE schedules SET next_at = ?, last_at = coalesce(?, last_at), fired = fired + ? WHERE name = ? AND next_at = ?
"""
DROP = "DELETE FROM schedules WHERE name = ?"
ALL = "SELECT name, plan, since, next_at, last_at, fired FROM schedules"
DUE = f"{ALL} WHERE next_at <= ? ORDER BY next_at, name LIMIT ?"


class SQLiteSchedules:
    """The schedules of one open store; `write` queues a job of its ledger."""

    def __init__(
        self, write: Callable[[Job[bool]], asyncio.Future[bool]], reader: sqlite3.Connection, member: Member
    ) -> None:
        self._write = write
        self._reader = reader
        self._member = member

    def put(self, name: str, plan: str, *, since: float, next_at: float | None) -> asyncio.Future[bool]:
        """Add a schedule."""
        return self._write(lambda ledger: ledger.sql(PUT, (name, plan, since, next_at)).rowcount == 1)

    def fire(
        self, name: str, *, due: float, next_at: float | None, last_at: float | None, posts: Sequence[Firing]
    ) -> asyncio.Future[bool]:
        """Post what is due."""
        member = self._member

        def job(ledger: Ledger) -> bool:
            if ledger.sql(FIRE, (next_at, last_at, len(posts), name, due)).rowcount != 1:
                return False
            for post in posts:
                inbox.post(post.key, member, post.message, post.id, ledger.at, post.definition, post.args)(ledger)
            return True

        return self._write(job)

    def drop(self, name: str) -> asyncio.Future[bool]:
        """Forget a schedule."""
        return self._write(lambda ledger: ledger.sql(DROP, (name,)).rowcount == 1)

    async def due(self, now: float, limit: int) -> list[Planned]:
        """The schedules that are due."""
        return [Planned(*row) for row in self._reader.execute(DUE, (now, limit)).fetchall()]

    def listed(self) -> list[Planned]:
        """Every schedule."""
        return [Planned(*row) for row in self._reader.execute(f"{ALL} ORDER BY name").fetchall()]
