"""The conversations of a file. Implements `workbench.store.conversations.ConversationStore`.

`over` is a number below which everything is over, so the look at what is ahead of a run is short however long the
conversation is. What an exchange left behind lies in its row, or in `blobs` when it is large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.store.conversations import ConversationInfo, Exchange
from workbench.store.sqlite import inbox
from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.part import Part

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from workbench.store.schedules import Firing
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["CONVERSATIONS", "STRIKE_OFF", "SQLiteConversations"]

CONVERSATIONS = (
    """
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY,
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        last INTEGER NOT NULL DEFAULT 0,
        over INTEGER NOT NULL DEFAULT 0,
        UNIQUE (owner, name)
    )
    """,
    """
    CREATE TABLE exchanges (
        conversation INTEGER NOT NULL,
        number INTEGER NOT NULL,
        key TEXT NOT NULL,
        at REAL NOT NULL,
        digest TEXT,
        through INTEGER,
        content TEXT,
        PRIMARY KEY (conversation, number)
    ) WITHOUT ROWID
    """,
    "CREATE UNIQUE INDEX exchanges_key ON exchanges (key)",
    "CREATE INDEX exchanges_digest ON exchanges (conversation, number) WHERE digest IS NOT NULL",
    "CREATE INDEX exchanges_blob ON exchanges (content) WHERE typeof(content) = 'blob'",
)

MAKE = "INSERT INTO conversations (owner, name) VALUES (?, ?) ON CONFLICT (owner, name) DO NOTHING"
NEXT = "UPDATE conversations SET last = last + 1 WHERE owner = ? AND name = ? RETURNING id, last"
ENTER = "INSERT INTO exchanges (conversation, number, key, at) VALUES (?, ?, ?, ?)"
PLACE = """
    SELECT c.owner, c.name, e.number, e.key, e.at FROM exchanges e JOIN conversations c ON c.id = e.conversation
    WHERE e.key = ?
"""
KEEP = """
    UPDATE exchanges SET content = ?, digest = ?, through = ? WHERE key = ? AND content IS NULL
    RETURNING conversation, number
"""
OVER = """
    UPDATE conversations SET over = coalesce((
        SELECT min(e.number) FROM exchanges e JOIN keys k ON k.key = e.key
        WHERE e.conversation = id AND e.number >= over AND e.number <= ?1 AND k.last_seq > k.cursor
    ), max(over, ?1)) WHERE id = ?2
"""
ID = "(SELECT id FROM conversations WHERE owner = ?1 AND name = ?2)"
ALL = f"""
    SELECT number, key, at, content, digest, through FROM exchanges
    WHERE conversation = {ID} AND number >= ?3 AND number < coalesce(?4, 9e18) ORDER BY number
"""
DIGEST = f"""
    SELECT number, key, at, NULL, digest, through FROM exchanges
    WHERE conversation = {ID} AND number < ?3 AND digest IS NOT NULL ORDER BY number DESC LIMIT 1
"""
AHEAD = f"""
    SELECT e.key FROM exchanges e JOIN keys k ON k.key = e.key
    WHERE e.conversation = {ID} AND e.number < ?3 AND k.last_seq > k.cursor
    AND e.number >= (SELECT over FROM conversations WHERE owner = ?1 AND name = ?2)
    ORDER BY e.number
"""
LISTED = """
    SELECT
        c.owner, c.name, count(*), min(e.at), max(e.at),
        (SELECT key FROM exchanges WHERE conversation = c.id ORDER BY number DESC LIMIT 1)
    FROM conversations c JOIN exchanges e ON e.conversation = c.id
    WHERE ?1 IS NULL OR c.owner = ?1 GROUP BY c.id ORDER BY c.id
"""
FORGET = (
    f"DELETE FROM exchanges WHERE conversation = {ID}",
    "DELETE FROM conversations WHERE owner = ? AND name = ?",
)
STRIKE_OFF = (
    """
    UPDATE exchanges SET digest = NULL, through = NULL FROM exchanges gone
    WHERE gone.key = ? AND exchanges.conversation = gone.conversation AND exchanges.through >= gone.number
    """,
    "DELETE FROM exchanges WHERE key = ?",
)
"""A deleted run leaves nothing in its conversation, nor in what was made of that."""

PRUNE = (
    """
    DELETE FROM exchanges WHERE conversation NOT IN (
        SELECT e.conversation FROM exchanges e LEFT JOIN keys k ON k.key = e.key
        WHERE e.at >= ? OR k.last_seq > k.cursor
    )
    """,
    "DELETE FROM conversations WHERE id NOT IN (SELECT conversation FROM exchanges)",
)


class SQLiteConversations(Part):
    """The conversations of one open store; `at_once` commits a job before it returns."""

    def __init__(self, *shared: Any, at_once: Callable[[Job[int]], int]) -> None:
        super().__init__(*shared)
        self._at_once = at_once

    def enter_now(self, owner: str, name: str, post: Firing, *, wake: float) -> int:
        """Give a run its place."""
        first = inbox.post(post.key, self._member, post.message, post.id, wake, post.definition, post.args)

        def job(ledger: Ledger) -> int | BaseException:
            posted = first(ledger)
            if isinstance(posted, BaseException):
                return posted
            known = ledger.sql(PLACE, (post.key,)).fetchone()
            if known is not None:
                return int(known[2])
            ledger.sql(MAKE, (owner, name))
            id, number = ledger.sql(NEXT, (owner, name)).fetchone()
            ledger.sql(ENTER, (id, number, post.key, ledger.at))
            return int(number)

        return self._at_once(job)

    def keep(
        self, key: str, content: str, *, digest: str | None = None, through: int | None = None
    ) -> asyncio.Future[bool]:
        """Keep what an exchange left behind."""

        def job(ledger: Ledger) -> bool:
            kept = ledger.sql(KEEP, (ledger.fold(content), digest, through, key)).fetchone()
            if kept is not None:
                ledger.sql(OVER, (kept[1], kept[0]))
            return kept is not None

        return self._run(job)

    def exchange_now(self, key: str) -> Exchange | None:
        """The place of a run."""
        row = self._reader.execute(PLACE, (key,)).fetchone()
        return None if row is None else Exchange(*row)

    def exchanges_now(self, owner: str, name: str, *, first: int = 1, before: int | None = None) -> list[Exchange]:
        """The exchanges in order."""
        rows = self._reader.execute(ALL, (owner, name, first, before)).fetchall()
        return [
            Exchange(owner, name, number, key, at, self._whole(content), digest, through)
            for number, key, at, content, digest, through in rows
        ]

    def digest_now(self, owner: str, name: str, *, before: int) -> Exchange | None:
        """The newest that has a digest."""
        row = self._reader.execute(DIGEST, (owner, name, before)).fetchone()
        return None if row is None else Exchange(owner, name, *row)

    def _whole(self, column: str | bytes | None) -> str | None:
        return None if column is None else unfold(self._reader, column)

    def ahead_now(self, owner: str, name: str, before: int) -> list[str]:
        """The keys that are not over."""
        return [key for (key,) in self._reader.execute(AHEAD, (owner, name, before)).fetchall()]

    def conversations_now(self, owner: str | None = None) -> list[ConversationInfo]:
        """Every conversation."""
        return [ConversationInfo(*row) for row in self._reader.execute(LISTED, (owner,)).fetchall()]

    def forget(self, owner: str, name: str) -> asyncio.Future[bool]:
        """Forget a conversation."""

        def job(ledger: Ledger) -> bool:
            return [ledger.sql(statement, (owner, name)) for statement in FORGET][-1].rowcount == 1

        return self._run(job)

    def prune(self, before: float) -> asyncio.Future[int]:
        """Forget conversations in which nothing was entered since `before` and nothing is left to do."""

        def job(ledger: Ledger) -> int:
            gone = ledger.sql(PRUNE[0], (before,)).rowcount
            ledger.sql(PRUNE[1])
            return gone

        return self._run(job)
