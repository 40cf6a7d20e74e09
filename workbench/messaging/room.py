"""The post room of a bench: its queues and topics by name, and one look at the store for everyone who waits.

- One queue and one topic per name; one watch on the store for all of them.
- Another host's write is one read here, however many wait.

Knows nothing of keys or agents.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import BadInput, StoreError
from workbench.events import Changes
from workbench.messaging.desk import Desk, Terms
from workbench.messaging.queue import Queue
from workbench.messaging.topic import Topic
from workbench.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.clock import Clock
    from workbench.loop import Home
    from workbench.process.handle import Handle
    from workbench.store.store import Store
    from workbench.store.topic import Post

__all__ = ["Durable", "PostRoom"]


class Durable(Protocol):
    """What the post room knows of durable processes: how to write to one, and to whom to say that it has post."""

    def letter(self, handle: Handle) -> Callable[[Any], Post] | None:
        """What makes a post of a message to a process; None for one that lives in memory."""
        ...

    def arrived(self, handle: Handle) -> None:
        """Posts for a process are committed."""
        ...


class PostRoom:
    """The queues and topics of one bench."""

    def __init__(self, store: Store, home: Home, clock: Clock, durable: Durable, *, worker: bool) -> None:
        self.store = store
        self.home = home
        self.clock = clock
        self.durable = durable
        self.worker = worker
        self.closed = self.ending = False
        self._queues: dict[str, Queue] = {}
        self._topics: dict[str, Topic] = {}
        self._desks: dict[str, list[Desk]] = {}
        self._changes = Changes()
        self._look_due = False
        self._unwatch: Callable[[], None] | None = None

    def queue(self, name: str) -> Queue:
        """The queue of that name. Raises: BadInput."""
        queue = self._queues.get(name) if isinstance(name, str) else None
        if queue is None:
            queue = self._queues[name] = Queue(self, name)
        return queue

    def topic(self, name: str) -> Topic:
        """The topic of that name. Raises: BadInput."""
        topic = self._topics.get(name) if isinstance(name, str) else None
        if topic is None:
            topic = self._topics[name] = Topic(self, name)
        return topic

    def queues(self) -> Table:
        """Every queue of the store with its counts, as a table."""
        store = self.store.queues
        rows = [{"queue": name, **asdict(store.stats_now(name))} for name in store.names_now()]
        return Table(rows, ("queue", "waiting", "delayed", "leased", "done", "dead", "paused"))

    def topics(self) -> Table:
        """Every topic of the store with its counts, as a table."""
        rows = [
            {"topic": info.name, "events": info.last - info.pruned, "last": info.last, "pruned": info.pruned}
            for info in self.store.topics.topics_now()
        ]
        return Table(rows, ("topic", "events", "last", "pruned"))

    def check(self) -> None:
        """Raises: StoreError when the bench is closed, BadInput in another thread."""
        if self.closed:
            raise StoreError("the bench of this queue or topic is closed; open it again and ask it for the name")
        if not self.home.here:
            raise BadInput("queues and topics are used on the loop of their bench; from a thread, hop there")

    def check_begins(self) -> None:
        """Raises: StoreError when the bench closes and nothing begins to work or listen any more; as `check` does."""
        self.check()
        if self.ending:
            raise StoreError("the bench of this queue or topic is closing; nothing begins to work or listen here")

    def desk(self, queue: str, terms: Terms) -> Desk:
        """A place where jobs of a queue are waited for."""
        desk = Desk(self.store.queues, queue, terms, self.home, self.clock, look=self.look, changed=self._changes.tell)
        self._desks.setdefault(queue, []).append(desk)
        self.watch()
        return desk

    async def forget(self, desk: Desk) -> None:
        """Nobody waits at a desk any more."""
        await desk.close()
        if desk in (known := self._desks[desk.queue]):
            known.remove(desk)

    def offer(self, queue: str, *, later: bool = False) -> None:
        """Something was put into a queue here; `later` says that some of it has to wait first."""
        self._changes.tell()
        for desk in self._desks.get(queue, ()):
            if desk.waits:
                desk.wake()
        if later:
            self.look()

    async def change(self) -> None:
        """Return after the next change of a queue, here or in another kernel."""
        self.watch()
        changed = asyncio.Event()
        stop = self._changes.subscribe(changed.set)
        try:
            await changed.wait()
        finally:
            stop()

    def look(self) -> None:
        """See what there is for those who wait, once in this turn of the loop."""
        if not self._look_due and not self.closed:
            self._look_due = True
            self.home.loop.call_soon(self._look)

    def _look(self) -> None:
        self._look_due = False
        if self.closed:
            return
        self._changes.tell()
        desks = [desk for desks in self._desks.values() for desk in desks if desk.waits]
        if desks:
            outlook = self.store.queues.outlook_now()
            for desk in desks:
                desk.consider(outlook.get(desk.queue))
        reels = {}
        for topic in self._topics.values():
            if topic.reel.waits:
                reels[topic.name] = topic.reel
            else:
                topic.reel.miss()
        if reels:
            for info in self.store.topics.topics_now():
                if info.name in reels:
                    reels[info.name].tell(info.last)

    def watch(self) -> None:
        """Hear of what other hosts write from now on."""
        if self._unwatch is None:
            self._unwatch = self.store.watch(self.look)

    async def close(self) -> None:
        """End everything that works or listens here. What else ends with the bench may still put and publish."""
        self.ending = True
        queues, topics = self._queues.values(), self._topics.values()
        await asyncio.gather(*(queue.close() for queue in queues), *(topic.close() for topic in topics))

    def shut(self) -> None:
        """Send what is on its way, and take nothing any more."""
        for queue in self._queues.values():
            queue.flush()
        self.closed = True
        self._changes.tell()
        if self._unwatch is not None:
            self._unwatch()
