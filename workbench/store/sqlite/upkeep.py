"""Upkeep of a file: measuring, checking, deleting a key. Copies are beside it (`workbench.store.sqlite.copying`).

- What looks at everything has a connection and a thread of its own, and holds its snapshot no longer than it looks.
- A deleted key leaves a row in `deleted`: its epoch and its last number, behind which a key of that name goes on, and
  the number of its row, which no other key gets.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from workbench.errors import OwnedElsewhere
from workbench.store.claims import Host
from workbench.store.sqlite import copying
from workbench.store.sqlite.claims import live_owner
from workbench.store.sqlite.conversations import STRIKE_OFF
from workbench.store.sqlite.file import PATIENCE, connect
from workbench.store.sqlite.hosts import READER_SLOT, read_host
from workbench.store.sqlite.lines import ENTRIES_OF, LIVES_OF
from workbench.store.sqlite.sound import is_instant
from workbench.store.upkeep import Kind, Size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from workbench.store.sqlite.hosts import Member
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job
    from workbench.store.upkeep import CopyRow

__all__ = ["SQLiteUpkeep"]

USED = """
    SELECT (p.page_count - f.freelist_count) * s.page_size
    FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s
"""
FREE = "SELECT f.freelist_count * s.page_size FROM pragma_freelist_count f, pragma_page_size s"
OLDEST = "SELECT at FROM entries ORDER BY id LIMIT 1"
BY_KIND = """
    SELECT kind, count(*), coalesce(sum(octet), 0) FROM (
        SELECT
            CASE WHEN kind = 'message' THEN 'messages' WHEN kind = 'commit' THEN 'states' ELSE 'steps' END AS kind,
            length(CAST(payload AS BLOB)) AS octet
        FROM entries
        UNION ALL SELECT 'states', length(CAST(snapshot AS BLOB)) FROM states WHERE snapshot IS NOT NULL
        UNION ALL SELECT 'answers', length(CAST(payload AS BLOB)) FROM answers
        UNION ALL SELECT 'dead letters', length(CAST(message AS BLOB)) FROM dead
        UNION ALL SELECT 'posts', length(CAST(message AS BLOB)) FROM inbox
        UNION ALL SELECT 'requests', length(CAST(body AS BLOB)) FROM records
        UNION ALL SELECT 'jobs', length(CAST(body AS BLOB)) FROM jobs
        UNION ALL SELECT 'notes', length(CAST(text AS BLOB)) FROM notes
        UNION ALL SELECT 'exchanges', length(CAST(content AS BLOB)) FROM exchanges
        UNION ALL SELECT 'large payloads', length(CAST(body AS BLOB)) FROM blobs
        UNION ALL SELECT 'keys', length(CAST(args AS BLOB)) FROM keys
        UNION ALL SELECT 'lives', 0 FROM activations
    ) GROUP BY kind ORDER BY 3 DESC, kind
"""
HOSTS = "SELECT id, name, label, pid, until FROM hosts ORDER BY id"
PRUNE_LETTERS = "DELETE FROM dead WHERE at < ?"
LINES = f"""
    {ENTRIES_OF}
    DELETE FROM entries WHERE key = ?1 AND id IN (SELECT id FROM line)
"""
LIVES = f"""
    {LIVES_OF}
    DELETE FROM activations WHERE key = ?1 AND id IN (SELECT id FROM line)
"""
BURY = """
    INSERT INTO deleted (number, id, key, epoch, last_seq, at)
    SELECT id, ?, key, epoch, last_seq, ? FROM keys WHERE id = ?
    ON CONFLICT (key) DO UPDATE
    SET number = excluded.number, id = excluded.id, epoch = excluded.epoch, last_seq = excluded.last_seq,
        at = excluded.at
"""
REST = (
    "DELETE FROM answers WHERE key = ?",
    "DELETE FROM dead WHERE key = ?",
    "DELETE FROM inbox WHERE key = ?",
    "DELETE FROM states WHERE key = ?",
    "DELETE FROM keys WHERE id = ?",
)
BY_NAME = ("DELETE FROM records WHERE key = ?", *STRIKE_OFF)


class SQLiteUpkeep:
    """Implements `workbench.store.upkeep.Upkeep`. `run` queues a job of the ledger."""

    def __init__(
        self,
        run: Callable[[Any], asyncio.Future[Any]],
        reader: sqlite3.Connection,
        path: str,
        member: Member,
        now: Callable[[], float],
    ) -> None:
        self._run = run
        self._reader = reader
        self._path = path
        self._member = member
        self._now = now

    def used_now(self) -> int:
        """Bytes of the pages in use."""
        return int(self._reader.execute(USED).fetchone()[0])

    async def measure(self) -> Size:
        """What the file weighs, by kind of content."""
        return await asyncio.to_thread(_measure, self._path)

    async def check(self) -> list[str]:
        """What `PRAGMA quick_check` finds wrong."""
        return await asyncio.to_thread(_check, self._path)

    def hosts_now(self) -> list[tuple[Host, bool]]:
        """The hosts of the file, and whether each is alive."""
        now, found = self._now(), []
        for slot, name, label, pid, until in self._reader.execute(HOSTS).fetchall():
            alive = read_host(self._reader, self._member, slot, now) is not None
            found.append((Host(name, label, pid, until if is_instant(until) else 0.0), alive))
        return found

    def prune_letters(self, before: float) -> asyncio.Future[int]:
        """Forget dead letters."""
        return self._run(lambda ledger: ledger.sql(PRUNE_LETTERS, (before,)).rowcount)

    def delete(self, key: str) -> asyncio.Future[bool]:
        """Forget a key."""
        return self._run(_delete(key, self._member))

    def copy(self, key: str) -> Iterator[CopyRow]:
        """The rows of a key."""
        with closing(connect(self._path, timeout=PATIENCE)) as connection:
            yield from copying.copy(connection, key)

    def restore(self, rows: Sequence[CopyRow], *, read_only: bool) -> asyncio.Future[str | None]:
        """Bring a copy in."""
        return self._run(copying.restore(rows, READER_SLOT if read_only else None))


def _delete(key: str, member: Member) -> Job[bool]:
    def job(ledger: Ledger) -> bool | BaseException:
        known = ledger.known(key)
        if known is None:
            return False
        owner = live_owner(ledger, known, member)
        if owner is not None and owner.id != member.host.id and owner.pid:
            return OwnedElsewhere(
                f"{key!r} belongs to {owner.label!r} (pid {owner.pid}), which is alive; end it there, then delete it",
                key=key,
                owner=owner,
            )
        ledger.sql(BURY, (ledger.next_id(), ledger.at, known.id))
        for statement in (LINES, LIVES, *REST):
            ledger.sql(statement, (known.id,))
        for statement in BY_NAME:
            ledger.sql(statement, (key,))
        ledger.forget(key)
        return True

    return job


def _measure(path: str) -> Size:
    with closing(connect(path, timeout=PATIENCE)) as connection:
        kinds = {kind: Kind(rows, octets) for kind, rows, octets in connection.execute(BY_KIND).fetchall()}
        oldest = connection.execute(OLDEST).fetchone()
        (free,) = connection.execute(FREE).fetchone()
    return Size(_bytes(path), _bytes(f"{path}-wal"), free, kinds, None if oldest is None else oldest[0])


def _bytes(path: str) -> int:
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def _check(path: str) -> list[str]:
    try:
        with closing(connect(path, timeout=PATIENCE)) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check").fetchall()]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if found == ["ok"] else found
