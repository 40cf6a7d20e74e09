"""The book: what the world outside knows of a round, whatever happens to the hosts that do its work.

- It is written before anybody relies on what it says, one line at a time, and survives the death of whoever writes.
- In memory it is a list; with a path it is a file that several processes append to, one JSON line for each note.

Knows nothing of what the notes mean.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Book", "Note"]


@dataclass(frozen=True, slots=True)
class Note:
    """One line: in which `life` (the id of a host) it was written, what `kind` of thing, `about` what, its `value`."""

    life: str
    kind: str
    about: str
    value: Any = None


class Book:
    """Notes in the order of writing."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._notes: list[Note] = []
        self._file = None if path is None else os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, note: Note) -> None:
        """Add a note; it is there when this returns."""
        if self._file is None:
            self._notes.append(note)
        else:
            os.write(self._file, json.dumps([note.life, note.kind, note.about, note.value]).encode() + b"\n")

    def notes(self, kind: str | None = None) -> list[Note]:
        """All notes, or those of one kind, oldest first."""
        notes = self._notes if self.path is None else [Note(*json.loads(line)) for line in self._lines()]
        return [note for note in notes if kind in (None, note.kind)]

    def close(self) -> None:
        """Close the file; what was written stays."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _lines(self) -> list[str]:
        assert self.path is not None
        return self.path.read_text(encoding="utf-8").splitlines()
