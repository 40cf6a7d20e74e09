"""The glance: what a store shows of its keys at once, for whoever draws or lists them.

- Verbs that end in `_now` read what is committed; they wait for nothing that is queued, and change nothing.
- What they give is a copy: rows that change later leave it as it was.

Instants are UTC seconds. Source: DESIGN rules 10 and 11. Knows nothing of how a key is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.store.claims import Host
    from workbench.store.journal import StepRecord
    from workbench.store.past import Past

__all__ = ["Activation", "Entry", "Glance", "KeyInfo", "KeyName"]


class KeyName(NamedTuple):
    """What a key is: the name of its definition and its arguments as JSON, or empty texts if not registered."""

    key: str
    definition: str
    args: str


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """What is known of a key without loading it. `owner` is there while a live host owns it.

    `damage` says why nothing else of it is to be believed: its row was changed by hand.
    """

    key: str
    definition: str
    args: str
    version: int
    cursor: int
    epoch: int
    last_seq: int
    wake_at: float | None
    owner: Host | None
    snapshot: str | None
    created_at: float
    damage: str | None = None


@dataclass(frozen=True, slots=True)
class Activation:
    """One life of a key. `how` is None while it lives, or when its host died before it could say.

    `code` is the fingerprint of the code that it ran, if that was told.
    """

    epoch: int
    host: str
    began_at: float
    ended_at: float | None
    how: str | None
    by: str | None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a key's history.

    `kind`: message, answer, commit, dead, activation, or the kind of a `StepRecord`. `id` rises with the order of
    writing. Which other fields are there depends on the kind.
    """

    id: int
    kind: str
    at: float
    seq: int = 0
    epoch: int = 0
    payload: str | None = None
    call_id: str | None = None
    step: StepRecord | None = None
    ended_at: float | None = None
    how: str | None = None
    by: str | None = None


class Glance(Protocol):
    """Reading at once, for whoever shows or lists: what is committed now, without waiting for what is queued."""

    def keys_now(self, *, definition: str | None = None, key: str | None = None) -> list[KeyInfo]:
        """Keys, oldest first: all, those of a definition, or the one of that name."""
        ...

    def names_now(self, prefix: str = "") -> list[KeyName]:
        """What the keys are that begin with `prefix`, oldest first; rows that were changed by hand are left out.

        A small part of the work of `keys_now`.
        """
        ...

    def result_now(self, key: str, call_id: str) -> str | None:
        """`Journal.result`, at once."""
        ...

    def results_now(self, key: str, call_ids: Sequence[str]) -> dict[str, str]:
        """The answers of those calls that have one, by id, in one look."""
        ...

    def message_now(self, key: str, call_id: str) -> str | None:
        """The message of a call while it is kept, answered or not; None when it is unknown or pruned."""
        ...

    def history_now(self, key: str) -> list[Entry]:
        """`Store.history`, at once."""
        ...

    def past_now(self, key: str) -> Past:
        """Every state that the key had and that is still kept."""
        ...

    def activations_now(self, key: str) -> list[Activation]:
        """`Store.activations`, at once."""
        ...
