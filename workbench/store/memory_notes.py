"""The notes of the memory keepers of one place: the rules that the SQLite keeper has in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.memory_part import MemoryPart
from workbench.store.notes import Note, ranked
from workbench.store.room import text

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

__all__ = ["MemoryNotes"]


class MemoryNotes(MemoryPart[dict[tuple[str, str], Note]]):
    """Implements `workbench.store.notes.NoteStore` for one host of a room."""

    def put(self, note: Note) -> asyncio.Future[bool]:
        """Keep a note."""

        def put() -> bool:
            text(note.text)
            return self._room.setdefault((note.owner, note.id), note) is note

        return self._write(put)

    def notes_now(
        self, owner: str | None = None, *, words: Sequence[str] | None = None, tag: str | None = None, limit: int = 100
    ) -> list[Note]:
        """The notes that fit."""
        mine = [note for note in self._room.values() if owner in (None, note.owner)]
        found = [note for note in mine if tag is None or tag in note.tags]
        if words is not None:
            return ranked(found, words, len(mine))[:limit]
        return sorted(found, key=lambda note: note.at)[::-1][:limit]

    def count_now(self, owner: str | None = None) -> int:
        """How many there are."""
        return sum(1 for note in self._room.values() if owner in (None, note.owner))

    def drop(self, owner: str, id: str | None = None) -> asyncio.Future[int]:
        """Forget."""

        def drop() -> int:
            gone = [key for key in self._room if key[0] == owner and id in (None, key[1])]
            for key in gone:
                del self._room[key]
            return len(gone)

        return self._write(drop)
