"""The notes: what a store promises of texts that are kept for someone and found by their words, as a protocol.

- A note belongs to one owner; a search for one owner sees no other's, neither in what it finds nor in its order.
- A search takes plain words, not a query language: whatever they are, they are words. Notes with any of them are
  found, those that fit best first (`ranked`); which index a keeper uses for that is its own affair.
- A note is put once for its id, so a tool that runs again keeps it once.

Instants are UTC seconds. Source: DESIGN 2 (`remember`). Knows nothing of agents.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Sequence

__all__ = ["Note", "NoteStore", "ranked", "words_of"]

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Note:
    """One note. `tags` are sorted, each once."""

    owner: str
    id: str
    text: str
    tags: tuple[str, ...]
    at: float


class NoteStore(Protocol):
    """The notes of a store."""

    def put(self, note: Note) -> Awaitable[bool]:
        """Keep a note; False, and nothing changed, when its owner has one of that id."""
        ...

    def notes_now(
        self, owner: str | None = None, *, words: Sequence[str] | None = None, tag: str | None = None, limit: int = 100
    ) -> list[Note]:
        """The notes of an owner, or of all: newest first, or with `words` those that fit best first; at most `limit`.

        No words at all (an empty sequence) find nothing.
        """
        ...

    def count_now(self, owner: str | None = None) -> int:
        """How many notes an owner has, or all have."""
        ...

    def drop(self, owner: str, id: str | None = None) -> Awaitable[int]:
        """Forget a note of an owner, or all of theirs; gives how many went."""
        ...


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared: without case and accents, in order."""
    plain = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
    return _WORD.findall(plain.casefold())


def ranked(found: Iterable[Note], words: Sequence[str], total: int) -> list[Note]:
    """Notes that have any of the words, those that fit best first, of `total` notes in all; newest first among equals.

    Source: Okapi BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza 2009), over one owner's notes alone.
    """
    wanted = set(words)
    texts = [(note, words_of(note.text)) for note in found]
    counts = [(note, len(text), Counter(word for word in text if word in wanted)) for note, text in texts]
    counts = [each for each in counts if each[2]]
    have = Counter(word for _, _, of_note in counts for word in of_note)
    rarity = {word: math.log(1 + (total - count + 0.5) / (count + 0.5)) for word, count in have.items()}
    average = sum(length for _, length, _ in counts) / len(counts) if counts else 1.0

    def score(length: int, of_note: Counter[str]) -> float:
        long = 1.2 * (0.25 + 0.75 * length / average)
        return sum(rarity[word] * count * 2.2 / (count + long) for word, count in of_note.items())

    return [note for note, *of in sorted(counts, key=lambda each: (-score(*each[1:]), -each[0].at, each[0].id))]
