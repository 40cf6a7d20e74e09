"""The store: everything that a bench needs of a keeper, as one protocol.

- A keeper's constructor does no I/O; `open` connects and joins as a host, `close` finishes what is queued and leaves.
- Each part is a protocol in a file of its own, with its laws in `workbench.testing.conformance`; here are only those
  verbs that look after all of them.

Source: PROCESSES 2.11 to 2.13, STYLE "A storage protocol". Knows no keeper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from workbench.store.claims import Claims
from workbench.store.glance import Glance
from workbench.store.inbox import Inbox
from workbench.store.journal import Journal
from workbench.store.letters import Letters
from workbench.store.records import Records

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from workbench.store.claims import Host
    from workbench.store.conversations import ConversationStore
    from workbench.store.glance import Activation, Entry, KeyInfo
    from workbench.store.journal import DeadLetter
    from workbench.store.notes import NoteStore
    from workbench.store.queue import QueueStore
    from workbench.store.schedules import ScheduleStore
    from workbench.store.topic import TopicStore
    from workbench.store.upkeep import Upkeep

__all__ = ["Store"]


class Store(Journal, Claims, Inbox, Records, Letters, Glance, Protocol):
    """What a bench needs of a keeper: the protocols of keys, those of the post room, and the housekeeping below."""

    @property
    def queues(self) -> QueueStore:
        """Leased work (`workbench.store.queue`)."""
        ...

    @property
    def topics(self) -> TopicStore:
        """Published events (`workbench.store.topic`)."""
        ...

    @property
    def schedules(self) -> ScheduleStore:
        """Work that comes again (`workbench.store.schedules`)."""
        ...

    @property
    def conversations(self) -> ConversationStore:
        """Runs that continue one another (`workbench.store.conversations`)."""
        ...

    @property
    def notes(self) -> NoteStore:
        """Texts that are kept for someone, and found by their words (`workbench.store.notes`)."""
        ...

    @property
    def upkeep(self) -> Upkeep:
        """Measuring, checking, deleting, copies (`workbench.store.upkeep`)."""
        ...

    @property
    def host(self) -> Host:
        """Who this store is among the hosts of its place."""
        ...

    def open(self, *, label: str, lease: float, now: Callable[[], float]) -> Awaitable[None]:
        """Connect, make or migrate the schema, join as a host.

        A keeper's constructor does no I/O. Raises: NotAStore.
        """
        ...

    def close(self) -> Awaitable[None]:
        """Finish what is queued, leave as a host, and disconnect."""
        ...

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` on the loop soon after another host wrote; gives the function that stops it."""
        ...

    def keys(self, *, definition: str | None = None) -> Awaitable[list[KeyInfo]]:
        """Every key, oldest first."""
        ...

    def key_info(self, key: str) -> Awaitable[KeyInfo | None]:
        """One key, or None when it is unknown."""
        ...

    def history(self, key: str) -> Awaitable[list[Entry]]:
        """Everything that was written for the key, in order of writing, posts that wait included."""
        ...

    def activations(self, key: str) -> Awaitable[list[Activation]]:
        """The lives of the key, oldest first."""
        ...

    def dead(self, key: str) -> Awaitable[list[DeadLetter]]:
        """What was set aside, oldest first."""
        ...

    def prune(self, before: float) -> Awaitable[int]:
        """Forget answers, committed messages, steps, finished jobs and events that are older than `before`.

        Gives how many rows went.
        """
        ...
