"""A host in a room of memory: how it joins and leaves, and what every verb of a store in memory is made of.

- A write is done when it is called; its awaitable is ready.
- Whoever watches from another host of the room is told of each write, soon, on their own turn of the loop.

Knows nothing of what the verbs promise: `workbench.store.memory` has them.
"""

from __future__ import annotations

import asyncio
import os
import uuid
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from workbench.errors import QueueError, StoreError
from workbench.loop import Home
from workbench.store.claims import Host
from workbench.store.fencing import fenced
from workbench.store.key import checked
from workbench.store.memory_conversations import MemoryConversations
from workbench.store.memory_notes import MemoryNotes
from workbench.store.memory_queue import MemoryQueues
from workbench.store.memory_schedules import MemorySchedules
from workbench.store.memory_topic import MemoryTopics
from workbench.store.memory_upkeep import MemoryUpkeep
from workbench.store.room import Line, Room, strike_off

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.store.topic import Post

__all__ = ["MemoryHost"]

T = TypeVar("T")


class MemoryHost:
    """One host of a room. Several over one `Room` are several hosts of one place, as connections to a file are."""

    queues_of: ClassVar[type[MemoryQueues]] = MemoryQueues
    topics_of: ClassVar[type[MemoryTopics]] = MemoryTopics
    schedules_of: ClassVar[type[MemorySchedules]] = MemorySchedules
    notes_of: ClassVar[type[MemoryNotes]] = MemoryNotes
    conversations_of: ClassVar[type[MemoryConversations]] = MemoryConversations

    post_now: Callable[..., int]
    """Of the store: topics and schedules post by it."""

    def __init__(self, room: Room | None = None) -> None:
        self._room = room or Room()
        self._host: Host | None = None

    @property
    def upkeep(self) -> MemoryUpkeep:
        """What who looks after the room can do."""
        return MemoryUpkeep(self._room, lambda: self.host, self._settle, self._wrote)

    @property
    def queues(self) -> MemoryQueues:
        """The queues of the room."""
        _ = self.host
        return self._queues

    @property
    def topics(self) -> MemoryTopics:
        """The topics of the room."""
        _ = self.host
        return self._topics

    @property
    def schedules(self) -> MemorySchedules:
        """The schedules of the room."""
        _ = self.host
        return self._schedules

    @property
    def conversations(self) -> MemoryConversations:
        """The conversations of the room."""
        _ = self.host
        return self._conversations

    @property
    def notes(self) -> MemoryNotes:
        """The notes of the room."""
        _ = self.host
        return self._notes

    @property
    def host(self) -> Host:
        """Who we are among the hosts of the room."""
        if self._host is None:
            raise StoreError("the store in memory is not open; await its open(...), or open its bench again")
        return self._room.hosts.get(self._host.id, self._host)

    async def open(self, *, label: str, lease: float, now: Callable[[], float]) -> None:
        """Join as a host. A host of this process lives until it closes, so `lease` is only shown."""
        if self._host is not None:
            raise StoreError("the store in memory is open already; close it first")
        self._now = now
        self._home = Home.of_running()
        self._loop = self._home.loop
        self._host = Host(uuid.uuid4().hex[:12], label, os.getpid(), now() + lease)
        self._room.hosts[self._host.id] = self._host
        self._newest_life = next(self._room.ids)
        shared = (lambda: self.host, self._room.hosts, now, self._settle, self._wrote)
        self._queues = self.queues_of(self._room.queues, *shared)
        self._topics = self.topics_of(self._room.topics, *shared, post=self._posted)
        self._conversations = self.conversations_of(self._room.talks, *shared, post=self.post_now)
        self._notes = self.notes_of(self._room.notes, *shared)
        self._schedules = self.schedules_of(self._room.schedules, self.post_now, now, self._settle)

    async def close(self) -> None:
        """Leave as a host."""
        if self._host is not None:
            del self._room.hosts[self._host.id]
            strike_off(self._room, self._now())
            self._host = None

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` on the loop soon after another store of the room wrote."""
        token = object()
        self._room.watchers[token] = (self.host.id, partial(self._loop.call_soon, changed))
        return lambda: self._room.watchers.pop(token, None) and None

    def _posted(self, post: Post) -> int:
        """Post what a topic delivers."""
        return self.post_now(post.key, post.message, wake=post.wake, definition=post.definition, args=post.args)

    def _look(self, key: str) -> Line:
        _ = self.host
        return self._room.lines.get(key) or Line(key, 0.0)

    def _make(self, key: str) -> Line:
        _ = self.host
        line = self._room.lines.get(checked(key))
        if line is None:
            epoch, last_seq = self._room.deleted.get(key, (0, 0))
            line = Line(key, self._now(), epoch, last_seq, last_seq)
            self._room.lines[key] = line
        return line

    def _wrote(self) -> int:
        """The number of a new row; whoever watches from another host is told."""
        for host, tell in list(self._room.watchers.values()):
            if host != self.host.id:
                tell()
        return next(self._room.ids)

    def _owner(self, line: Line) -> Host | None:
        return self._room.hosts.get(line.owner) if line.owner is not None else None

    def _fenced(self, key: str, epoch: int, write: Callable[[Line], T]) -> asyncio.Future[T]:
        line = self._look(key)
        if line.epoch != epoch:
            return self._failed(fenced(key, epoch, line.epoch))
        return self._settle(lambda: write(line))

    def _settle(self, write: Callable[[], T]) -> asyncio.Future[T]:
        """Write now; the future says what came of it. Raises: BadInput in a thread."""
        self._home.must_be_here("a store is written")
        try:
            return self._done(write())
        except (StoreError, QueueError) as error:
            return self._failed(error)

    def _done(self, value: T) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self._loop.create_future()
        future.set_result(value)
        return future

    def _failed(self, error: BaseException) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        future.set_exception(error)
        future.exception()  # a failure that nobody awaits is its caller's choice
        return future
