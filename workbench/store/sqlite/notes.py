"""The notes of a file. Implements `workbench.store.notes.NoteStore`.

An FTS5 index beside the table finds the notes that have any of the words; triggers keep it equal to the table. The
order is made from the owner's notes alone, because the index counts everybody's. A word reaches the index between
quotes, as a parameter, so it is never read as a query.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from workbench.store.notes import Note, ranked
from workbench.store.sqlite.part import Part

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from workbench.store.sqlite.ledger import Ledger

__all__ = ["NOTES", "SQLiteNotes"]

NOTES = (
    """
    CREATE TABLE notes (
        id INTEGER PRIMARY KEY,
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        at REAL NOT NULL,
        tags TEXT NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (owner, name)
    )
    """,
    "CREATE INDEX notes_at ON notes (owner, at)",
    """
    CREATE VIRTUAL TABLE notes_text USING fts5(
        text, content = 'notes', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
    )
    """,
    """
    CREATE TRIGGER notes_put AFTER INSERT ON notes BEGIN
        INSERT INTO notes_text (rowid, text) VALUES (new.id, new.text);
    END
    """,
    """
    CREATE TRIGGER notes_gone AFTER DELETE ON notes BEGIN
        INSERT INTO notes_text (notes_text, rowid, text) VALUES ('delete', old.id, old.text);
    END
    """,
    """
    CREATE TRIGGER notes_changed AFTER UPDATE OF text ON notes BEGIN
        INSERT INTO notes_text (notes_text, rowid, text) VALUES ('delete', old.id, old.text);
        INSERT INTO notes_text (rowid, text) VALUES (new.id, new.text);
    END
    """,
)

PUT = "INSERT INTO notes (owner, name, at, tags, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT (owner, name) DO NOTHING"
WHERE = "(?1 IS NULL OR owner = ?1) AND (?2 IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?2))"
NEWEST = f"SELECT owner, name, text, tags, at FROM notes WHERE {WHERE} ORDER BY at DESC, id DESC LIMIT ?3"
FOUND = f"""
    SELECT owner, name, text, tags, at FROM notes
    WHERE id IN (SELECT rowid FROM notes_text WHERE notes_text MATCH ?3) AND {WHERE}
"""
COUNT = "SELECT count(*) FROM notes WHERE ?1 IS NULL OR owner = ?1"
DROP = "DELETE FROM notes WHERE owner = ?1 AND (?2 IS NULL OR name = ?2)"


class SQLiteNotes(Part):
    """The notes of one open store."""

    def put(self, note: Note) -> asyncio.Future[bool]:
        """Keep a note."""
        row = (note.owner, note.id, note.at, json.dumps(note.tags, ensure_ascii=False), note.text)

        def job(ledger: Ledger) -> bool:
            return ledger.sql(PUT, row).rowcount == 1

        return self._run(job)

    def notes_now(
        self, owner: str | None = None, *, words: Sequence[str] | None = None, tag: str | None = None, limit: int = 100
    ) -> list[Note]:
        """The notes that fit."""
        if words is None:
            rows = self._reader.execute(NEWEST, (owner, tag, limit)).fetchall()
            return [_note(*row) for row in rows]
        if not words:
            return []
        any_of = " OR ".join('"{}"'.format(word.replace("\0", " ").replace('"', '""')) for word in words)
        rows = self._reader.execute(FOUND, (owner, tag, any_of)).fetchall()
        return ranked([_note(*row) for row in rows], words, self.count_now(owner))[:limit]

    def count_now(self, owner: str | None = None) -> int:
        """How many there are."""
        return int(self._reader.execute(COUNT, (owner,)).fetchone()[0])

    def drop(self, owner: str, id: str | None = None) -> asyncio.Future[int]:
        """Forget."""

        def job(ledger: Ledger) -> int:
            return ledger.sql(DROP, (owner, id)).rowcount

        return self._run(job)


def _note(owner: str, name: str, text: str, tags: str, at: float) -> Note:
    return Note(owner, name, text, tuple(json.loads(tags)), at)
