"""Notes that are broken in one way each: the negative controls of their laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.store.memory import MemoryStore
from workbench.store.memory_notes import MemoryNotes
from workbench.store.notes import Note


def keeper(notes: type[MemoryNotes]) -> type[MemoryStore]:
    """The memory keeper with these notes."""
    return type("Keeper", (MemoryStore,), {"notes_of": notes})


class KeepsTheLast(MemoryNotes):
    def put(self, note: Note) -> Any:
        known = self._room.get((note.owner, note.id))
        kept = super().put(note)
        if known is not None:
            self._room[note.owner, note.id] = replace(known, text=note.text)
        return kept


class OldestFirst(MemoryNotes):
    def notes_now(
        self, owner: str | None = None, *, words: Any = None, tag: Any = None, limit: int = 100
    ) -> list[Note]:
        found = super().notes_now(owner, words=words, tag=tag, limit=10**6)
        return (found if words is not None or len(found) < 4 else found[::-1])[:limit]


class MindsAccents(MemoryNotes):
    def notes_now(
        self, owner: str | None = None, *, words: Any = None, tag: Any = None, limit: int = 100
    ) -> list[Note]:
        found = super().notes_now(owner, words=words, tag=tag, limit=limit)
        wanted = None if words is None else set(words)
        return [note for note in found if wanted is None or wanted & set(note.text.casefold().split())]


class NewestFitsBest(MemoryNotes):
    def notes_now(
        self, owner: str | None = None, *, words: Sequence[str] | None = None, tag: Any = None, limit: int = 100
    ) -> list[Note]:
        found = super().notes_now(owner, words=words, tag=tag, limit=10**6)
        if words is not None and len(words) == 2 and "rare" in words:
            found.sort(key=lambda note: -note.at)
        return found[:limit]


class ReadsAStarAsAll(MemoryNotes):
    def notes_now(
        self, owner: str | None = None, *, words: Any = None, tag: Any = None, limit: int = 100
    ) -> list[Note]:
        if words and "*" in words[0]:
            return list(self._room.values())
        return super().notes_now(owner, words=words, tag=tag, limit=limit)


class CountsEverybodys(MemoryNotes):
    def count_now(self, owner: str | None = None) -> int:
        return super().count_now()


class MatchesTheBeginningOfATag(MemoryNotes):
    def notes_now(
        self, owner: str | None = None, *, words: Any = None, tag: Any = None, limit: int = 100
    ) -> list[Note]:
        found = super().notes_now(owner, words=words, limit=limit)
        return [note for note in found if tag is None or any(each.startswith(tag) for each in note.tags)]


class DropsByIdAlone(MemoryNotes):
    def drop(self, owner: str, id: str | None = None) -> Any:
        owners = {key[0] for key in self._room}
        if id is not None:
            for each in owners - {owner}:
                super().drop(each, id)
        return super().drop(owner, id)


class PrunesNotes(MemoryNotes):
    def __init__(self, *shared: Any) -> None:
        super().__init__(*shared)
        room = self._room
        store: Any = self._settle.__self__  # type: ignore[attr-defined]
        prune = store.prune

        async def prune_all(before: float) -> int:
            room.clear()
            return await prune(before)

        store.prune = prune_all


BROKEN_NOTES: dict[type[MemoryNotes], str] = {
    KeepsTheLast: "a_note_is_kept_once_for_its_id",
    OldestFirst: "notes_come_newest_first_and_at_most_limit",
    MindsAccents: "a_note_is_found_by_any_of_the_words_whatever_their_case_and_accents",
    NewestFitsBest: "notes_that_fit_best_come_first",
    ReadsAStarAsAll: "what_is_asked_for_is_never_a_query",
    CountsEverybodys: "a_search_for_one_owner_sees_nothing_of_another",
    MatchesTheBeginningOfATag: "a_tag_is_matched_whole",
    DropsByIdAlone: "a_dropped_note_is_found_no_more",
    PrunesNotes: "pruning_leaves_notes_alone",
}
