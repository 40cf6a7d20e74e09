"""The topics: what a store promises to those who publish and to those who read, as a protocol.

- A topic numbers its events 1, 2, 3 …; a position is never used twice, also when old events are forgotten.
- A subscriber is a name with the position that it has got to. It belongs to one live host; another takes it over when
  that one is gone.
- A subscriber moves by compare-and-set, so whoever was given up moves nothing. `deliver` moves it in the transaction
  that posts the event to a durable process: the event is in that log exactly once.

Bodies are payloads (`workbench.store.journal`), instants those of the store's clock. Source: PROCESSES 6.3. Knows
nothing of who listens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from workbench.store.claims import Host

__all__ = ["Joined", "Post", "Published", "Subscriber", "TopicInfo", "TopicStore"]


@dataclass(slots=True, unsafe_hash=True)  # never changed; a frozen one takes longer to make than its row to read
class Published:
    """One event of a topic."""

    position: int
    at: float
    body: str


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic. `last` is its newest position, 0 while it is empty; the first `pruned` events are forgotten."""

    name: str
    last: int
    pruned: int


@dataclass(frozen=True, slots=True)
class Subscriber:
    """How far a subscriber has got, since when, and the live host that it belongs to."""

    name: str
    position: int
    at: float
    owner: Host | None


@dataclass(frozen=True, slots=True)
class Joined:
    """What a host that joins hears: the position to go on after, or the other live host that has the subscriber."""

    position: int
    owner: Host | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """A message for a durable process, as `workbench.store.inbox.Inbox.post` takes it."""

    key: str
    message: str
    wake: float | None = None
    definition: str | None = None
    args: str | None = None


class TopicStore(Protocol):
    """The verbs; those that end in `_now` read what is committed, without waiting for what is queued."""

    def publish(self, topic: str, bodies: Sequence[str]) -> Awaitable[list[int]]:
        """Add events in order, in one transaction; gives their positions."""
        ...

    def join(self, topic: str, subscriber: str, position: int) -> Awaitable[Joined]:
        """Make a subscriber this host's. One that is new begins after `position`."""
        ...

    def advance(self, topic: str, subscriber: str, expect: int, position: int) -> Awaitable[bool]:
        """Move a subscriber of this host from `expect` to `position`; False, and nothing moved, if it is not there."""
        ...

    def deliver(self, topic: str, subscriber: str, expect: int, position: int, post: Post) -> Awaitable[bool]:
        """`advance`, and post a message to a durable process in the same transaction if it moved."""
        ...

    def part(self, topic: str, subscriber: str, *, forget: bool = False) -> Awaitable[bool]:
        """Have a subscriber belong to no host, or `forget` how far it had got; False when another live host has it."""
        ...

    def forget(self, topic: str, *, before: float | None = None, keep: int | None = None) -> Awaitable[int]:
        """Forget the oldest events: those published before `before`, and all but the newest `keep`; gives how many."""
        ...

    def prune(self, before: float) -> Awaitable[int]:
        """`forget` for every topic."""
        ...

    def read_now(self, topic: str, after: int, limit: int) -> list[Published]:
        """At most `limit` events after a position, in order."""
        ...

    def topics_now(self) -> list[TopicInfo]:
        """Every topic, oldest first."""
        ...

    def subscribers_now(self, topic: str) -> list[Subscriber]:
        """The subscribers of a topic by name."""
        ...
