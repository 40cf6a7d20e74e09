"""The conversations: what a store promises to runs that continue one another, as a protocol.

- A conversation belongs to an owner; two owners' conversations of one name are two. Its exchanges are numbered from 1
  in the order in which they were entered, whoever entered them, and no number is used twice.
- Entering is one transaction with the message that begins the run, so there is no run without its place, and no place
  without its run.
- What an exchange left behind is kept once; what is kept first stays. It is a payload, never looked into.

Instants are UTC seconds. Source: DESIGN rules 6 and 8, CASES 34. Knows nothing of agents or messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from workbench.store.schedules import Firing

__all__ = ["ConversationInfo", "ConversationStore", "Exchange"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One exchange of a conversation: the run whose key it is, and what that left behind, once it was kept.

    `digest` stands for every exchange up to the number `through`, where somebody made that on the way.
    """

    owner: str
    name: str
    number: int
    key: str
    at: float
    content: str | None = None
    digest: str | None = None
    through: int | None = None


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """One conversation: how many exchanges there are, when the first and the last came in, the key of the last."""

    owner: str
    name: str
    exchanges: int
    first_at: float
    last_at: float
    newest: str


class ConversationStore(Protocol):
    """The conversations of a store. Verbs that end in `_now` read what is committed, or are committed at once."""

    def enter_now(self, owner: str, name: str, post: Firing, *, wake: float) -> int:
        """Post the message that begins a run, and give the run the next place in the conversation; gives its number.

        A post that was made before, by its id, changes nothing and gives the number that it got then.
        """
        ...

    def keep(self, key: str, content: str, *, digest: str | None = None, through: int | None = None) -> Awaitable[bool]:
        """Keep what an exchange left behind; False, and nothing changed, when something is kept or it is unknown."""
        ...

    def exchange_now(self, key: str) -> Exchange | None:
        """The place of a run, without what it left behind; None when it is in no conversation."""
        ...

    def exchanges_now(self, owner: str, name: str, *, first: int = 1, before: int | None = None) -> list[Exchange]:
        """The exchanges in order, with what they left behind: from the number `first` on, and below `before`."""
        ...

    def digest_now(self, owner: str, name: str, *, before: int) -> Exchange | None:
        """The newest exchange below the number `before` that has a digest, without what it left behind."""
        ...

    def ahead_now(self, owner: str, name: str, before: int) -> list[str]:
        """The keys of the exchanges below the number `before` that have a message not acknowledged yet, in order."""
        ...

    def conversations_now(self, owner: str | None = None) -> list[ConversationInfo]:
        """Every conversation, or those of an owner, in the order in which they began."""
        ...

    def forget(self, owner: str, name: str) -> Awaitable[bool]:
        """Forget a conversation and what was left behind in it, not its runs; False when there is none."""
        ...
