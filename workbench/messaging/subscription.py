"""The subscription: a process that takes the events of a topic in order and gives each to its receiver.

- Its state says how far it is, what it saw last, and how many events were forgotten before it came to them (`missed`).
- A named one belongs to one kernel at a time. Where another has it, it stands by, and takes over when that one is gone.
- An event whose receiver fails, whatever it raises, is given again after a back-off; after `max_attempts` the
  subscription crashes where it stands, and subscribing again goes on with that event. So nothing is skipped, and the
  order stays.
- Disposing it unsubscribes.

Source: PROCESSES 6.3.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.errors import Signal
from workbench.messaging.handler import Backoff, pause_after
from workbench.process.definition import Definition

if TYPE_CHECKING:
    from workbench.clock import Clock
    from workbench.messaging.event import Event
    from workbench.messaging.receiver import Mark, Receiver
    from workbench.messaging.reel import Reel
    from workbench.store.claims import Host
    from workbench.store.topic import TopicStore

__all__ = ["LOOK", "Subscription", "definition"]

LOOK = 1.0
"""Seconds between two looks at whether the kernel that has a subscriber is gone."""

SHOWN = 6
"""Events that a subscription's state remembers."""

log = logging.getLogger("workbench")


@dataclass(slots=True)
class Subscription:
    """What a subscription is made of, and where it stands.

    `mark` is there for a named one, `before` for one that replaces another of its name.
    """

    topics: TopicStore
    reel: Reel
    receiver: Receiver
    clock: Clock
    name: str | None
    position: int
    max_attempts: int
    backoff: Backoff
    mark: Mark | None
    before: Awaitable[None] | None = None
    received: int = 0
    missed: int = 0
    attempts: int = 0

    async def join(self) -> Host | None:
        """Have the subscriber here, and stand where it had got to; gives the other live host that has it."""
        if self.name is None or self.mark is None:
            return None
        if self.before is not None:
            await self.before
        joined = await self.topics.join(self.reel.topic, self.name, self.position)
        if joined.owner is None:
            self.position = joined.position
            self.mark.begin(joined.position)
        return joined.owner

    async def gone(self) -> None:
        """Return when no other live host has the subscriber any more."""
        while True:
            await self.clock.sleep_until(self.clock.now() + LOOK)
            marks = self.topics.subscribers_now(self.reel.topic)
            if all(mark.owner is None for mark in marks if mark.name == self.name):
                return

    async def part(self) -> None:
        """Have the subscriber no more."""
        self.receiver.close()
        if self.name is not None:
            try:
                await self.receiver.settled()
            finally:
                await self.topics.part(self.reel.topic, self.name)

    async def give(self, event: Event) -> float | None:
        """Have an event handled; gives None, or the seconds after which it is given again.

        Raises: what the receiver raised, when its attempts are used up.
        """
        self.missed += max(0, event.position - self.position - 1)
        self.position = max(self.position, event.position - 1)
        self.attempts += 1
        try:
            await self.receiver.give(event)
        except (asyncio.CancelledError, GeneratorExit, Signal):
            raise
        except BaseException as error:
            if self.attempts >= self.max_attempts:
                raise
            log.warning("event %s of %r failed: %r; it is given again", event.position, self.reel.topic, error)
            return pause_after(self.backoff, self.attempts)
        self.attempts, self.position = 0, event.position
        self.received += 1
        return None


async def _follow(ctx: Any, subscription: Subscription) -> AsyncGenerator[dict[str, Any], None]:
    """The body of a subscription."""
    it, last = subscription, deque[Any](maxlen=SHOWN)

    def shown(status: str, **more: Any) -> dict[str, Any]:
        where = {"topic": it.reel.topic, "subscriber": it.name, "status": status, "position": it.position}
        return {**where, "received": it.received, "missed": it.missed, "last": list(last), **more}

    try:
        while True:
            while (owner := await it.join()) is not None:
                yield shown("standby", owner=owner.label)
                await it.gone()
            yield shown("listening")
            ours = True
            while ours:
                for event in await it.reel.after(it.position):
                    while (pause := await it.give(event)) is not None:
                        yield shown("retrying", attempts=it.attempts)
                        await it.clock.sleep_until(it.clock.now() + pause)
                    last.append(event.body)
                ours = await it.receiver.settled()
                yield shown("listening")
    finally:
        await it.part()


definition = Definition(_follow, name="subscription")
"""Spawn it with `subscription=…`."""
