"""The topics of the memory keepers of one place: the rules that the SQLite keeper has in SQL, on dataclasses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.store.memory_part import MemoryPart
from workbench.store.room import text
from workbench.store.topic import Joined, Published, Subscriber, TopicInfo
from workbench.store.topic_room import Mark, TopicLine, TopicRoom

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from workbench.store.claims import Host
    from workbench.store.topic import Post

__all__ = ["MemoryTopics"]


class MemoryTopics(MemoryPart[TopicRoom]):
    """Implements `workbench.store.topic.TopicStore` for one host of a room. `post` posts to a key."""

    def __init__(self, *part: Any, post: Callable[[Post], object]) -> None:
        super().__init__(*part)
        self._post = post

    def publish(self, topic: str, bodies: Sequence[str]) -> asyncio.Future[list[int]]:
        """Add events."""

        def publish() -> list[int]:
            texts, line = [text(body) for body in bodies], self._make(topic)
            return [self._publish(line, body) for body in texts]

        return self._write(publish)

    def _publish(self, line: TopicLine, body: str) -> int:
        line.last += 1
        line.events.append(Published(line.last, self._now(), body))
        return line.last

    def join(self, topic: str, subscriber: str, position: int) -> asyncio.Future[Joined]:
        """Make a subscriber this host's."""

        def join() -> Joined:
            mark = self._make(topic).marks.setdefault(subscriber, Mark(position, self._now(), None))
            owner = self._owner(mark)
            if owner is not None and owner.id != self._host().id:
                return Joined(mark.position, owner)
            mark.holder = self._host().id
            return Joined(mark.position)

        return self._write(join)

    def advance(self, topic: str, subscriber: str, expect: int, position: int) -> asyncio.Future[bool]:
        """Move a subscriber."""
        return self._write(lambda: self._advance(topic, subscriber, expect, position))

    def deliver(self, topic: str, subscriber: str, expect: int, position: int, post: Post) -> asyncio.Future[bool]:
        """Move a subscriber and post to a durable process."""

        def deliver() -> bool:
            text(post.message)
            moved = self._advance(topic, subscriber, expect, position)
            if moved:
                self._post(post)
            return moved

        return self._write(deliver)

    def _advance(self, topic: str, subscriber: str, expect: int, position: int) -> bool:
        mark = self._look(topic).marks.get(subscriber)
        if mark is None or mark.position != expect or mark.holder != self._host().id:
            return False
        mark.position, mark.at = position, self._now()
        return True

    def part(self, topic: str, subscriber: str, *, forget: bool = False) -> asyncio.Future[bool]:
        """Have a subscriber belong to no host."""

        def part() -> bool:
            marks = self._look(topic).marks
            mark = marks.get(subscriber)
            if mark is None:
                return True
            owner = self._owner(mark)
            if owner is not None and owner.id != self._host().id:
                return False
            mark.holder = None
            if forget:
                del marks[subscriber]
            return True

        return self._write(part)

    async def forget(self, topic: str, *, before: float | None = None, keep: int | None = None) -> int:
        """Forget the oldest events."""
        line = self._look(topic)
        cut = line.pruned if keep is None else max(line.pruned, line.last - keep)
        if before is not None:
            since = next((event.position for event in line.events if event.at >= before), line.last + 1)
            cut = max(cut, since - 1)
        gone, line.pruned = cut - line.pruned, cut
        line.events = line.events[gone:]
        return gone

    async def prune(self, before: float) -> int:
        """Forget the oldest events of every topic."""
        return sum([await self.forget(topic, before=before) for topic in self._room.lines])

    def read_now(self, topic: str, after: int, limit: int) -> list[Published]:
        """Events after a position."""
        line = self._look(topic)
        start = max(0, after - line.pruned)
        return line.events[start : start + limit]

    def topics_now(self) -> list[TopicInfo]:
        """Every topic."""
        return [TopicInfo(name, line.last, line.pruned) for name, line in self._room.lines.items()]

    def subscribers_now(self, topic: str) -> list[Subscriber]:
        """The subscribers of a topic."""
        marks = sorted(self._look(topic).marks.items())
        return [Subscriber(name, mark.position, mark.at, self._owner(mark)) for name, mark in marks]

    # What the verbs are made of.

    def _look(self, topic: str) -> TopicLine:
        return self._room.lines.get(topic) or TopicLine()

    def _make(self, topic: str) -> TopicLine:
        return self._room.lines.setdefault(topic, TopicLine())

    def _owner(self, mark: Mark) -> Host | None:
        return None if mark.holder is None else self._hosts.get(mark.holder)
