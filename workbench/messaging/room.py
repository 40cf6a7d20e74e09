"""The post room of a bench: its queues and topics by name, and one look at the store for everyone who waits.

- One queue and one topic per name; one watch on the store for all of them.
- Another host's write is one read here, however many wait.

Knows nothing of keys or agents.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.errors import BadInput, StoreError
from workbench.messaging.desk import Desk, Terms
from workbench.messaging.queue import Queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.clock import Clock
    from workbench.loop import Home
    from workbench.store.journal import Store

__all__ = ["PostRoom"]


class PostRoom:
    """The queues and topics of one bench."""

    def __init__(self, store: Store, home: Home, clock: Clock, *, worker: bool) -> None:
        self.store = store
        self.home = home
        self.clock = clock
        self.worker = worker
        self.closed = False
        self._queues: dict[str, Queue] = {}
        self._desks: dict[str, list[Desk]] = {}
        self._look_due = False
        self._unwatch: Callable[[], None] | None = None

    def queue(self, name: str) -> Queue:
        """The queue of that name. Raises: BadInput."""
        queue = self._queues.get(name) if isinstance(name, str) else None
        if queue is None:
            queue = self._queues[name] = Queue(self, name)
        return queue

    def check(self) -> None:
        """Raises: StoreError when the bench is closed, BadInput in another thread."""
        if self.closed:
            raise StoreError("the bench of this queue or topic is closed; open it again and ask it for the name")
        if not self.home.here:
            raise BadInput("queues and topics are used on the loop of their bench; from a thread, hop there")

    def desk(self, queue: str, terms: Terms) -> Desk:
        """A place where jobs of a queue are waited for."""
        desk = Desk(self.store.queues, queue, terms, self.home, self.clock, self.look)
        self._desks.setdefault(queue, []).append(desk)
        self._watch()
        return desk

    async def forget(self, desk: Desk) -> None:
        """Nobody waits at a desk any more."""
        await desk.close()
        self._desks[desk.queue].remove(desk)

    def offer(self, queue: str, *, later: bool = False) -> None:
        """Something was put into a queue here; `later` says that some of it has to wait first."""
        for desk in self._desks.get(queue, ()):
            if desk.waits:
                desk.wake()
        if later:
            self.look()

    def look(self) -> None:
        """See what there is for those who wait, once in this turn of the loop."""
        if not self._look_due and not self.closed:
            self._look_due = True
            self.home.loop.call_soon(self._look)

    def _look(self) -> None:
        self._look_due = False
        waiting = [desk for desks in self._desks.values() for desk in desks if desk.waits]
        if waiting and not self.closed:
            outlook = self.store.queues.outlook_now()
            for desk in waiting:
                desk.consider(outlook.get(desk.queue))

    def _watch(self) -> None:
        if self._unwatch is None:
            self._unwatch = self.store.watch(self.look)

    async def close(self) -> None:
        """End everything that works or listens here, and send what is on its way."""
        await asyncio.gather(*(queue.close() for queue in self._queues.values()))
        self.closed = True
        if self._unwatch is not None:
            self._unwatch()
