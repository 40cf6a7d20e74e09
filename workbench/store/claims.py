"""Claims: what a store promises of who owns a key, beside the journal.

- A key lives on one host at a time; a host owns its keys for as long as it renews its lease.
- `load` is called only under a claim: no epoch begins on a key that another live host has.
- `begin` is the whole beginning of a life in one transaction: whoever reads it sees no half of it.

Instants are UTC seconds. Source: DESIGN rules 3 to 5, PROCESSES B.4. Knows nothing of how a keeper knows the dead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from workbench.store.journal import Loaded, Logged, StepRecord

__all__ = ["Begun", "Claims", "Host"]


@dataclass(frozen=True, slots=True)
class Host:
    """One running bench: who owns keys.

    `until` is the end of its lease; a host of this machine may be known dead before.
    """

    id: str
    label: str
    pid: int
    until: float


@dataclass(frozen=True, slots=True)
class Begun:
    """How a life begins: all that register, claim, load, pending, collect and steps say, in one transaction.

    `definition` and `args` are what the key is stored as. Where they differ from what was asked, or another live host
    is the `owner`, nothing was changed and there is nothing else. `waiting` are the messages to handle, `head` the
    records of the first of them; `asks` is whether a record of the key is pending.
    """

    definition: str
    args: str
    owner: Host | None = None
    loaded: Loaded | None = None
    waiting: tuple[Logged, ...] = ()
    head: tuple[StepRecord, ...] = ()
    asks: bool = False


class Claims(Protocol):
    """Who owns a key. `load` is called only under a claim."""

    def begin(
        self, key: str, definition: str, args: str, *, force: bool = False, code: str | None = None
    ) -> Awaitable[Begun]:
        """Register the key, claim it and begin a life of it, with what it has to do, in one transaction.

        `force` takes it from another live host. `code` is kept with the life.
        """
        ...

    def register(self, key: str, definition: str, args: str) -> Awaitable[tuple[str, str]]:
        """Store what the key is, unless it is known; gives the stored `(definition, args)`."""
        ...

    def claim(self, key: str, *, force: bool = False) -> Awaitable[Host | None]:
        """Make this host the owner; gives None, or the other live host that owns the key (then nothing changed).

        `force` takes it.
        """
        ...

    def taken(self) -> Awaitable[list[str]]:
        """The keys in which another host began a life since this was asked last, in that order.

        A read of what is committed; it waits for nothing.
        """
        ...

    def renew(self, until: float) -> Awaitable[None]:
        """Extend this host's lease; one write for any number of keys."""
        ...

    def release(self, key: str, epoch: int, how: str, by: str) -> Awaitable[None]:
        """End the activation `epoch` in the record of lives and own the key no more.

        `how` is done, crashed, disposed, replaced, killed, fenced or closed. What a closed life had unfinished is due
        at once: its host leaves.
        """
        ...
