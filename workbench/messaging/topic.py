"""The topic: events by name. What `bench.topic("orders")` gives.

- A publish that was awaited is in the store; it gives the position of the event, which rises by one.
- Everyone who listens gets every event in order, here and in other kernels on the store: from now on, from a position,
  or, under a name, from where it had got to.
- Old events are forgotten by age and by count, if the topic is told to; how many went is shown.

Source: PROCESSES 6.3. Knows nothing of how events are stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput
from workbench.given import named, seconds, whole
from workbench.messaging.handler import Backoff, Hands
from workbench.messaging.receiver import Called, Cast, Mark, Posted, Receiver, Shown
from workbench.messaging.reel import Reel
from workbench.messaging.subscription import Subscription, definition
from workbench.plain import decode, encode
from workbench.process.handle import ENDED, Handle
from workbench.process.spawn import spawn
from workbench.store.topic import TopicInfo
from workbench.table import Table, in_html

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from workbench.messaging.event import Event
    from workbench.messaging.room import PostRoom

__all__ = ["Topic"]

OFTEN = 100
"""Publishes between two looks at what is to be forgotten."""

COLUMNS = ("topic", "events", "last", "pruned", "subscribers", "here")

log = logging.getLogger("workbench")


class Topic:
    """One topic of a bench's store. Shows itself as a table of its counts and subscribers."""

    def __init__(self, room: PostRoom, name: str) -> None:
        self.name = named("a topic", name)
        self.reel = Reel(room.store.topics, self.name, room.home)
        self._room = room
        self._keep: int | None = None
        self._keep_for: float | None = None
        self._published = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._feed: Handle | None = None
        self._named: dict[str, Handle] = {}
        self._here: list[Handle] = []

    # Publishing.

    def publish(self, event: Any) -> Awaitable[int]:
        """Add an event; await its position to have it in the store. Raises: NotPlain, BadInput at once."""
        self._room.check()
        write = asyncio.ensure_future(self._room.store.topics.publish(self.name, [encode(event, "event")]))
        told: asyncio.Future[int] = self._room.home.loop.create_future()
        write.add_done_callback(lambda done: self._were_published(done, told))
        return told

    def _were_published(self, done: asyncio.Future[list[int]], told: asyncio.Future[int]) -> None:
        error = asyncio.CancelledError() if done.cancelled() else done.exception()
        if error is not None:
            if not told.done():
                told.set_exception(error)
                told.exception()  # a failure that nobody awaits is its caller's choice
            return
        (position,) = done.result()
        if not told.done():
            told.set_result(position)
        self.reel.tell(position)
        self._published += 1
        if self._published % OFTEN == 0 and not self._room.ending:
            self._tidy()

    # Listening.

    def events(self, *, after: int | None = None) -> AsyncIterator[Event]:
        """Every event after a position, in order, and then those to come; None begins with the next one.

        Raises: BadInput.
        """
        position = self._start(after)
        self._room.watch()
        return self._events(position)

    async def _events(self, position: int) -> AsyncIterator[Event]:
        while True:
            for event in await self.reel.after(position):
                position = event.position
                yield event

    def feed(self) -> Handle:
        """A process that listens from now on and shows the last events as its state; the same one for everybody."""
        self._room.check()
        if self._feed is None or self._feed.status in ENDED:
            self._feed = self._spawn(Shown(), None, self._start(None))
        return self._feed

    def subscribe(
        self,
        to: Callable[[Event], Any] | Handle,
        *,
        name: str | None = None,
        after: int | None = None,
        max_attempts: int = 3,
        backoff: Backoff = 1.0,
    ) -> Handle:
        """Give every event to a function or a process; the handle's `dispose()` unsubscribes.

        It begins after position `after`, or with the next event. Under a `name` it goes on where that name had got to,
        after a crash too, in one kernel at a time; the same name again replaces it here. A durable process always has a
        name, its key unless given, and has each event in its log exactly once; a function under a name has it at least
        once. A function that fails is tried `max_attempts` times, `backoff` seconds apart and doubling.

        Raises: BadInput.
        """
        self._room.check()
        start = self._start(after)
        whole("max_attempts", max_attempts, 1)
        if not callable(backoff):
            seconds("backoff", backoff)
        if name is not None:
            named("a subscriber", name)
        if isinstance(to, Handle):
            letter = self._room.durable.letter(to)
            if letter is None and name is not None:
                raise BadInput(
                    f"{to.name!r} lives in memory and forgets, so it cannot go on as {name!r} after a crash; "
                    "subscribe a durable process or a function under a name"
                )
            if letter is None:
                return self._spawn(Cast(to), None, start)
            name = name or to.name
            mark = Mark(self._room.store.topics, self.name, name)
            return self._spawn(Posted(letter, lambda: self._room.durable.arrived(to), mark), name, start, mark=mark)
        if not callable(to):
            raise BadInput(f"a topic is subscribed by a function of an event or a process, found {to!r}")
        marked = None if name is None else Mark(self._room.store.topics, self.name, name)
        called = Called(Hands(to, 1, self.name), marked)
        return self._spawn(called, name, start, mark=marked, max_attempts=max_attempts, backoff=backoff)

    def _spawn(
        self,
        receiver: Receiver,
        name: str | None,
        position: int,
        *,
        mark: Mark | None = None,
        max_attempts: int = 3,
        backoff: Backoff = 1.0,
    ) -> Handle:
        room = self._room
        subscription = Subscription(
            room.store.topics, self.reel, receiver, room.clock, name, position, max_attempts, backoff, mark
        )
        if name is not None and (before := self._named.get(name)) is not None:
            subscription.before = before.dispose()
        handle = spawn(definition, subscription=subscription)
        self._here = [*self.here, handle]
        if name is not None:
            self._named[name] = handle
        room.watch()
        return handle

    def _start(self, after: int | None) -> int:
        """The position to begin after."""
        self._room.check_begins()
        if after is None:
            self.reel.look()
            return self.reel.last
        whole("after", after, 0)
        return after

    # Seeing to it.

    @property
    def here(self) -> list[Handle]:
        """The subscriptions that live in this bench."""
        return [handle for handle in self._here if handle.status not in ENDED]

    @property
    def info(self) -> TopicInfo:
        """The newest position (`last`), and how many events were forgotten (`pruned`)."""
        self._room.check()
        infos = self._room.store.topics.topics_now()
        return next((info for info in infos if info.name == self.name), TopicInfo(self.name, 0, 0))

    def history(self, *, after: int = 0, limit: int = 100) -> Table:
        """Events after a position, as a table."""
        self._room.check()
        whole("after", after, 0)
        whole("limit", limit, 0)
        rows = self._room.store.topics.read_now(self.name, after, limit)
        return Table(
            [{"position": row.position, "at": row.at, "body": decode(row.body)} for row in rows],
            ("position", "at", "body"),
        )

    def subscribers(self) -> Table:
        """The named subscribers, how far each has got, and the kernel that it belongs to, as a table."""
        last = self.info.last
        return Table(
            [
                {
                    "subscriber": mark.name,
                    "position": mark.position,
                    "behind": max(0, last - mark.position),
                    "owner": None if mark.owner is None else mark.owner.label,
                }
                for mark in self._room.store.topics.subscribers_now(self.name)
            ],
            ("subscriber", "position", "behind", "owner"),
        )

    async def forget(self, name: str) -> None:
        """Forget how far a subscriber had got, and end it here. Raises: BadInput when it lives in another kernel."""
        self._room.check()
        if (handle := self._named.pop(named("a subscriber", name), None)) is not None:
            await handle.dispose()
        if not await self._room.store.topics.part(self.name, name, forget=True):
            raise BadInput(f"the subscriber {name!r} of {self.name!r} lives in another kernel; dispose it there first")

    def retain(self, *, keep: int | None = None, keep_for: float | None = None) -> None:
        """Forget all but the newest `keep` events, and those older than `keep_for` seconds, from time to time.

        It is looked at now and every hundred publishes. Raises: BadInput.
        """
        self._room.check()
        if keep is not None:
            whole("keep", keep, 0)
        if keep_for is not None:
            seconds("keep_for", keep_for)
        self._keep, self._keep_for = keep, keep_for
        self._tidy()

    async def prune(self, *, keep: int | None = None, older_than: float | None = None) -> int:
        """Forget all but the newest `keep` events, and those older than `older_than` seconds; gives how many went.

        Raises: BadInput.
        """
        self._room.check()
        if keep is not None:
            whole("keep", keep, 0)
        if older_than is not None:
            seconds("older_than", older_than)
        before = None if older_than is None else self._room.clock.now() - older_than
        return await self._room.store.topics.forget(self.name, before=before, keep=keep)

    def _tidy(self) -> None:
        if (self._keep is not None or self._keep_for is not None) and not self._tasks:
            task = self._room.home.start(self._retain(), name=f"prune the topic {self.name}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _retain(self) -> None:
        gone = await self.prune(keep=self._keep, older_than=self._keep_for)
        if gone:
            log.info("%s events of %r were forgotten", gone, self.name)

    async def close(self) -> None:
        """End every subscription here."""
        await asyncio.gather(*(handle.dispose() for handle in self._here), *self._tasks)
        self.reel.close()

    def _rows(self) -> Table:
        info, marks = self.info, self._room.store.topics.subscribers_now(self.name)
        counts = {"events": info.last - info.pruned, "last": info.last, "pruned": info.pruned}
        return Table([{"topic": self.name, **counts, "subscribers": len(marks), "here": len(self.here)}], COLUMNS)

    def __repr__(self) -> str:
        return f"<Topic {self.name!r}: the bench is closed>" if self._room.closed else repr(self._rows())

    def _repr_html_(self) -> str:
        if self._room.closed:
            return in_html(self)
        subscribers = self.subscribers()
        return self._rows()._repr_html_() + (subscribers._repr_html_() if subscribers else "")
