"""The topics of a store file: events and how far their subscribers have got, as jobs of the ledger.

Keeps `workbench.store.topic.TopicStore`. A subscriber's holder counts while its host is alive, as the owner of a key
does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.hosts import read_host
from workbench.store.sqlite.inbox import post as post_to_key
from workbench.store.topic import Joined, Published, Subscriber, TopicInfo

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from workbench.store.sqlite.hosts import Member
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job
    from workbench.store.topic import Post

__all__ = ["advance", "forget", "infos", "join", "part", "publish", "read", "subscribers"]

SLICE = 10_000
"""Events that one transaction of a pruning forgets at most."""

TOPIC = "SELECT id, last FROM topics WHERE name = ?"
MAKE = "INSERT INTO topics (name) VALUES (?)"
PUT = "INSERT INTO events (topic, position, at, body) VALUES (?, ?, ?, ?)"
LAST = "UPDATE topics SET last = ? WHERE id = ?"
WHERE = "SELECT position, holder FROM subscribers WHERE topic = ? AND name = ?"
BEGIN = "INSERT INTO subscribers (topic, name, position, at, holder) VALUES (?, ?, ?, ?, ?)"
HOLD = "UPDATE subscribers SET holder = ? WHERE topic = ? AND name = ?"
MOVE = """
    UPDATE subscribers SET position = ?, at = ? WHERE topic = ? AND name = ? AND position = ? AND holder = ?
"""
DROP = "DELETE FROM subscribers WHERE topic = ? AND name = ?"
BOUNDS = "SELECT id, last, pruned FROM topics WHERE name = ?"
SINCE = "SELECT position FROM events WHERE topic = ? AND at >= ? ORDER BY position LIMIT 1"
DELETE = "DELETE FROM events WHERE topic = ? AND position <= ?"
PRUNED = "UPDATE topics SET pruned = ? WHERE id = ?"

INFOS = "SELECT name, last, pruned FROM topics ORDER BY id"
READ = """
    SELECT position, at, body FROM events
    WHERE topic = (SELECT id FROM topics WHERE name = ?) AND position > ? ORDER BY position LIMIT ?
"""
SUBSCRIBERS = """
    SELECT name, position, at, holder FROM subscribers
    WHERE topic = (SELECT id FROM topics WHERE name = ?) ORDER BY name
"""


def publish(topic: str, bodies: Sequence[str]) -> Job[list[int]]:
    """Add events."""

    def job(ledger: Ledger) -> list[int]:
        place, last = _make(ledger, topic)
        positions = list(range(last + 1, last + 1 + len(bodies)))
        rows = [
            (place, position, ledger.at, ledger.fold(body)) for position, body in zip(positions, bodies, strict=True)
        ]
        ledger.connection.executemany(PUT, rows)
        ledger.sql(LAST, (last + len(bodies), place))
        return positions

    return job


def join(topic: str, subscriber: str, position: int, member: Member) -> Job[Joined]:
    """Make a subscriber this host's."""

    def job(ledger: Ledger) -> Joined:
        place, _ = _make(ledger, topic)
        found = ledger.sql(WHERE, (place, subscriber)).fetchone()
        if found is None:
            ledger.sql(BEGIN, (place, subscriber, position, ledger.at, member.slot))
            return Joined(position)
        position_now, holder = found
        if holder not in (None, member.slot) and (host := read_host(ledger.connection, member, holder, ledger.at)):
            return Joined(position_now, host)
        ledger.sql(HOLD, (member.slot, place, subscriber))
        return Joined(position_now)

    return job


def advance(
    topic: str, subscriber: str, expect: int, position: int, member: Member, post: Post | None = None
) -> Job[bool]:
    """Move a subscriber, with a post to a durable process if there is one."""

    def job(ledger: Ledger) -> bool:
        row = (position, ledger.at, _place(ledger, topic), subscriber, expect, member.slot)
        if ledger.sql(MOVE, row).rowcount != 1:
            return False
        if post is not None:
            post_to_key(post.key, member, post.message, None, post.wake, post.definition, post.args)(ledger)
        return True

    return job


def part(topic: str, subscriber: str, member: Member, *, forget: bool) -> Job[bool]:
    """Have a subscriber belong to no host."""

    def job(ledger: Ledger) -> bool:
        place = _place(ledger, topic)
        found = ledger.sql(WHERE, (place, subscriber)).fetchone()
        if found is None:
            return True
        holder = found[1]
        if holder not in (None, member.slot) and read_host(ledger.connection, member, holder, ledger.at):
            return False
        if forget:
            ledger.sql(DROP, (place, subscriber))
        else:
            ledger.sql(HOLD, (None, place, subscriber))
        return True

    return job


def forget(topic: str, before: float | None, keep: int | None) -> Job[int]:
    """Forget the oldest events, at most `SLICE` of them; gives how many went."""

    def job(ledger: Ledger) -> int:
        found = ledger.sql(BOUNDS, (topic,)).fetchone()
        if found is None:
            return 0
        place, last, pruned = found
        cut = pruned if keep is None else max(pruned, last - keep)
        if before is not None:
            since = ledger.sql(SINCE, (place, before)).fetchone()
            cut = max(cut, last if since is None else since[0] - 1)
        cut = min(cut, pruned + SLICE)
        if cut > pruned:
            ledger.sql(DELETE, (place, cut))
            ledger.sql(PRUNED, (cut, place))
        gone: int = cut - pruned
        return gone

    return job


def infos(connection: sqlite3.Connection) -> list[TopicInfo]:
    """Every topic."""
    return [TopicInfo(*row) for row in connection.execute(INFOS).fetchall()]


def read(connection: sqlite3.Connection, topic: str, after: int, limit: int) -> list[Published]:
    """Events after a position."""
    rows = connection.execute(READ, (topic, after, limit)).fetchall()
    return [Published(position, at, unfold(connection, body)) for position, at, body in rows]


def subscribers(connection: sqlite3.Connection, member: Member, now: float, topic: str) -> list[Subscriber]:
    """The subscribers of a topic."""
    found = []
    for name, position, at, holder in connection.execute(SUBSCRIBERS, (topic,)).fetchall():
        owner = None if holder is None else read_host(connection, member, holder, now)
        found.append(Subscriber(name, position, at, owner))
    return found


def _place(ledger: Ledger, topic: str) -> int:
    """The row of a topic, or 0 when there is none."""
    found = ledger.sql(TOPIC, (topic,)).fetchone()
    return found[0] if found is not None else 0


def _make(ledger: Ledger, topic: str) -> tuple[int, int]:
    """The row of a topic, which is made when there is none, and its newest position."""
    found = ledger.sql(TOPIC, (topic,)).fetchone()
    if found is None:
        return ledger.sql(MAKE, (topic,)).lastrowid or 0, 0
    return found[0], found[1]
