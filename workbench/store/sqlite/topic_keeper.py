"""The topics of the SQLite keeper: the verbs of the port, each queued for the writer or read at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.sqlite import topic as rows
from workbench.store.sqlite.part import Part

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from workbench.store.topic import Joined, Post, Published, Subscriber, TopicInfo

__all__ = ["SQLiteTopics"]


class SQLiteTopics(Part):
    """Implements `workbench.store.topic.TopicStore`."""

    def publish(self, topic: str, bodies: Sequence[str]) -> asyncio.Future[list[int]]:
        """Add events."""
        return self._run(rows.publish(topic, bodies))

    def join(self, topic: str, subscriber: str, position: int) -> asyncio.Future[Joined]:
        """Make a subscriber this host's."""
        return self._run(rows.join(topic, subscriber, position, self._member))

    def advance(self, topic: str, subscriber: str, expect: int, position: int) -> asyncio.Future[bool]:
        """Move a subscriber."""
        return self._run(rows.advance(topic, subscriber, expect, position, self._member))

    def deliver(self, topic: str, subscriber: str, expect: int, position: int, post: Post) -> asyncio.Future[bool]:
        """Move a subscriber and post to a durable process."""
        return self._run(rows.advance(topic, subscriber, expect, position, self._member, post))

    def part(self, topic: str, subscriber: str, *, forget: bool = False) -> asyncio.Future[bool]:
        """Have a subscriber belong to no host."""
        return self._run(rows.part(topic, subscriber, self._member, forget=forget))

    async def forget(self, topic: str, *, before: float | None = None, keep: int | None = None) -> int:
        """Forget the oldest events, in slices, so that others write in between."""
        gone = 0
        while went := await self._run(rows.forget(topic, before, keep)):
            gone += went
        return gone

    async def prune(self, before: float) -> int:
        """Forget the oldest events of every topic."""
        return sum([await self.forget(info.name, before=before) for info in self.topics_now()])

    def read_now(self, topic: str, after: int, limit: int) -> list[Published]:
        """Events after a position."""
        return rows.read(self._reader, topic, after, limit)

    def topics_now(self) -> list[TopicInfo]:
        """Every topic."""
        return rows.infos(self._reader)

    def subscribers_now(self, topic: str) -> list[Subscriber]:
        """The subscribers of a topic."""
        return rows.subscribers(self._reader, self._member, self._now(), topic)
