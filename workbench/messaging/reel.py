"""The reel: the events of one topic for everyone here who reads it.

- Whoever is at the end waits for a future; it is told by a publish here, or by one look at the store after another host
  wrote. Nobody polls.
- Those who stand at the same place share one read. Nothing is kept for a slow reader: the store is the buffer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.errors import StoreError
from workbench.messaging.event import Event

if TYPE_CHECKING:
    from workbench.loop import Home
    from workbench.store.topic import TopicStore

__all__ = ["PAGE", "Reel"]

PAGE = 100
"""Events that are read at once."""


class Reel:
    """Reads one topic."""

    def __init__(self, topics: TopicStore, topic: str, home: Home) -> None:
        self.topic = topic
        self.last = 0
        self._topics = topics
        self._home = home
        self._waiters: list[asyncio.Future[None]] = []
        self._shared: tuple[int, int, list[Event]] = (-1, -1, [])
        self._closed = self._missed = False
        self.look()

    @property
    def waits(self) -> bool:
        """Whether somebody waits for an event."""
        return bool(self._waiters)

    def look(self) -> None:
        """See what is published now."""
        self.tell(next((info.last for info in self._topics.topics_now() if info.name == self.topic), 0))

    def miss(self) -> None:
        """Somebody wrote to the store while nobody waited: who waits next looks first."""
        self._missed = True

    def tell(self, last: int) -> None:
        """There are events up to `last`."""
        if last > self.last:
            self.last = last
            self._wake()

    async def after(self, position: int) -> list[Event]:
        """The next events after a position, at least one, waited for.

        Raises: StoreError when the bench closes meanwhile; BadInput when the first cannot be read.
        """
        while not (events := self._page(position)):
            if self._closed:
                raise StoreError(f"the bench of the topic {self.topic!r} is closed; open it again to listen")
            if self._missed:
                self._missed = False
                self.look()
                continue
            waiter: asyncio.Future[None] = self._home.loop.create_future()
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                if waiter in self._waiters:  # who waited has given up
                    self._waiters.remove(waiter)
        return events

    def close(self) -> None:
        """Have nobody wait any more."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _page(self, position: int) -> list[Event]:
        if position >= self.last or self._closed:
            return []
        place, last, events = self._shared
        if (place, last) != (position, self.last):
            events = [Event.of(self.topic, row) for row in self._topics.read_now(self.topic, position, PAGE)]
            self._shared = (position, self.last, events)
        return events
