"""Receivers: who a subscription gives its events to, and how far that has got in the store.

- A function is called, one event after another. Under a name, its subscriber moves on after each; a crash in between
  repeats an event, never skips one.
- A process in memory is cast each event.
- A durable process has each event posted into its log in the transaction that moves the subscriber: exactly once.

Source: PROCESSES 6.3. Knows nothing of who has the subscriber.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from workbench.messaging.handler import Cut

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from workbench.messaging.event import Event
    from workbench.messaging.handler import Hands
    from workbench.process.handle import Handle
    from workbench.store.topic import Post, TopicStore

__all__ = ["Called", "Cast", "Mark", "Posted", "Receiver", "Shown"]


class Mark:
    """How far a named subscriber has got, moved without waiting for each move."""

    def __init__(self, topics: TopicStore, topic: str, name: str) -> None:
        self._topics = topics
        self._topic = topic
        self._name = name
        self._position = 0
        self._moves: list[asyncio.Future[bool]] = []

    def begin(self, position: int) -> None:
        """Stand at a position."""
        self._position, self._moves = position, []

    def move(self, position: int, post: Post | None = None) -> None:
        """Move to a position, with a post in the same transaction if there is one."""
        topic, name, expect = self._topic, self._name, self._position
        moved: Awaitable[bool] = (
            self._topics.advance(topic, name, expect, position)
            if post is None
            else self._topics.deliver(topic, name, expect, position, post)
        )
        self._moves.append(asyncio.ensure_future(moved))
        self._position = position

    async def settled(self) -> bool:
        """Whether every move since the last time landed; False when the subscriber is another host's now."""
        moves, self._moves = self._moves, []
        return all(await asyncio.gather(*moves))


class Receiver(Protocol):
    """Takes events in order."""

    async def give(self, event: Event) -> None:
        """Have an event handled. Raises: what the handler raises; then it is given again."""
        ...

    async def settled(self) -> bool:
        """Return when what was given is safe; False when the subscriber is another host's now."""
        ...

    def close(self) -> None:
        """Nothing is given any more."""
        ...


class Shown:
    """Takes every event and does nothing: its subscription only shows them."""

    async def give(self, event: Event) -> None:
        """Nothing happens."""

    async def settled(self) -> bool:
        """Everything is safe."""
        return True

    def close(self) -> None:
        """Nothing is left."""


class Called:
    """A function."""

    def __init__(self, hands: Hands, mark: Mark | None) -> None:
        self._hands = hands
        self._mark = mark

    async def give(self, event: Event) -> None:
        """Call the function. One that ended although its subscription was disposed has handled the event."""
        try:
            await self._hands.call(event)
        except Cut as cut:
            if cut.work.done() and not cut.work.cancelled() and cut.work.exception() is None:
                self._handled(event)
            raise
        self._handled(event)

    def _handled(self, event: Event) -> None:
        if self._mark is not None:
            self._mark.move(event.position)

    async def settled(self) -> bool:
        """Whether the store knows how far it has got."""
        return self._mark is None or await self._mark.settled()

    def close(self) -> None:
        """Call it no more."""
        self._hands.close()


class Cast:
    """A process in memory."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    async def give(self, event: Event) -> None:
        """Cast the event."""
        await self._handle.cast(event.message())

    async def settled(self) -> bool:
        """A process in memory has nothing to be safe in."""
        return True

    def close(self) -> None:
        """The process lives on."""


class Posted:
    """A durable process. `letter` makes the post of a message, `arrived` says that there are posts for it."""

    def __init__(self, letter: Callable[[Any], Post], arrived: Callable[[], None], mark: Mark) -> None:
        self._letter = letter
        self._arrived = arrived
        self._mark = mark

    async def give(self, event: Event) -> None:
        """Post the event."""
        self._mark.move(event.position, self._letter(event.message()))

    async def settled(self) -> bool:
        """Whether all of it is in the log of the process, which is told."""
        settled = await self._mark.settled()
        self._arrived()
        return settled

    def close(self) -> None:
        """The process lives on."""
