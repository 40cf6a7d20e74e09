"""The evidence: what is left of a round when all of its hosts are gone, from the store and from the book.

Read through the store's own verbs by one more host of its place, so it works with any keeper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.plain import decode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.store.glance import Activation, Entry, KeyInfo
    from workbench.store.journal import DeadLetter
    from workbench.store.records import Record
    from workbench.store.store import Store
    from workbench.testing.crashes.book import Book, Note

__all__ = ["Evidence", "Line", "gather"]


@dataclass(frozen=True, slots=True)
class Line:
    """Everything that the store has of one key."""

    key: str
    info: KeyInfo | None
    state: Any
    history: Sequence[Entry]
    lives: Sequence[Activation]
    dead: Sequence[DeadLetter]
    answers: Mapping[str, Any]
    requests: Sequence[Record]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One round: its lines by the name that each key has in every round, its notes, and how often a host died."""

    lines: Mapping[str, Line]
    notes: Sequence[Note]
    crashes: int

    def about(self, kind: str) -> dict[str, list[Any]]:
        """The values of the notes of one kind, by what they are about."""
        found: dict[str, list[Any]] = {}
        for note in self.notes:
            if note.kind == kind:
                found.setdefault(note.about, []).append(note.value)
        return found

    @property
    def lives(self) -> list[str]:
        """The hosts of the round, in the order in which they began."""
        return [note.life for note in self.notes if note.kind == "life"]


async def gather(store: Store, keys: Mapping[str, str], book: Book, crashes: int) -> Evidence:
    """Read the lines of `keys` from an open store."""
    return Evidence({name: await _line(store, key) for name, key in keys.items()}, book.notes(), crashes)


async def _line(store: Store, key: str) -> Line:
    info = await store.key_info(key)
    history = await store.history(key)
    calls = {entry.call_id for entry in history if entry.kind == "message" and entry.call_id is not None}
    answers = {id: await store.result(key, id) for id in sorted(calls)}
    return Line(
        key,
        info,
        None if info is None or info.snapshot is None else decode(info.snapshot),
        history,
        await store.activations(key),
        await store.dead(key),
        {id: None if answer is None else decode(answer) for id, answer in answers.items()},
        await store.find_records("request", key=key),
    )
