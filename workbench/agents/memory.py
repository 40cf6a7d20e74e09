"""Memory: notes that agents keep for the principal of their run, and find again in later runs.

- A note is kept once, however often its tool runs again; what was recalled is in the journal, so a replay recalls the
  same.
- Tools see the notes of their run's principal alone. The owner of the bench sees everybody's, by `bench.notes`.
- Notes stay until they are forgotten; no retention takes them.

Source: DESIGN 2 (`ctx.remember`). Knows nothing of how a store finds words.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.agents.context import Principal, principal_or_none
from workbench.errors import BadInput, NoCode
from workbench.given import named, several, whole
from workbench.plain import digest, encode
from workbench.store.notes import Note, words_of
from workbench.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workbench.agents.studio import Studio
    from workbench.clock import Clock
    from workbench.durable.context import DurableContext
    from workbench.store.notes import NoteStore

__all__ = ["RECALL", "REMEMBER", "Memory", "Notes"]

REMEMBER, RECALL = "@remember", "@recall"
MOST = 1_000_000
"""Characters of one note."""


class Memory:
    """What a tool has of the notes: those of the principal of its run."""

    def __init__(self, context: DurableContext[Any, Any], studio: Studio, principal: Principal) -> None:
        self._context = context
        self._notes = studio.runtime.store.notes
        self._clock = studio.clock
        self._owner = principal.account

    async def remember(self, text: str, tags: Iterable[str]) -> str:
        """Keep a note once; gives its id. Raises: BadInput."""
        sorted_tags = _checked(text, tags)

        async def put(key: str) -> str:
            note = Note(self._owner, f"note-{digest(key)[:12]}", text, sorted_tags, self._clock.now())
            await self._notes.put(note)
            return note.id

        id: str = await self._context.step(REMEMBER, put)
        return id

    async def recall(self, query: str | None, tag: str | None, limit: int) -> list[dict[str, Any]]:
        """The notes that fit, once. Raises: BadInput."""
        _check(query, tag, limit)

        async def find() -> list[dict[str, Any]]:
            words = None if query is None else words_of(query)
            found = self._notes.notes_now(self._owner, words=words, tag=tag, limit=limit)
            return [{"id": note.id, "text": note.text, "tags": list(note.tags), "at": note.at} for note in found]

        notes: list[dict[str, Any]] = await self._context.step(RECALL, find)
        return notes


class Notes:
    """The notes of a bench, as its owner has them: `bench.notes("blue", tag="colour", principal=…)`."""

    def __init__(self, notes: Callable[[], NoteStore], clock: Clock) -> None:
        self._notes = notes
        self._clock = clock

    def __call__(
        self, query: str | None = None, *, tag: str | None = None, principal: Principal | None = None, limit: int = 100
    ) -> Table:
        """The notes that have any word of the query, those that fit best first, or else all, newest first; a table.

        Those of one principal, or everybody's. Raises: BadInput.
        """
        _check(query, tag, limit)
        words = None if query is None else words_of(query)
        found = self._notes().notes_now(_account(principal), words=words, tag=tag, limit=limit)
        return Table([_row(note) for note in found], columns=("id", "principal", "text", "tags", "at"))

    async def remember(self, text: str, *, tags: Iterable[str] = (), principal: Principal | None = None) -> str:
        """Keep a note for a principal, the owner if none is named; gives its id. Raises: BadInput."""
        sorted_tags, account = _checked(text, tags), _account(principal) or Principal().account
        note = Note(account, f"note-{secrets.token_hex(6)}", text, sorted_tags, self._clock.now())
        await self._notes().put(note)
        return note.id

    async def forget(self, id: str | None = None, *, principal: Principal | None = None) -> int:
        """Forget one note of a principal, the owner if none is named, or all of theirs without an id; gives how many.

        Raises: NoCode when they have no such note.
        """
        account = _account(principal) or Principal().account
        if id is not None:
            named("the id of a note", id)
        gone = await self._notes().drop(account, id)
        if id is not None and not gone:
            raise NoCode(f"no note {id!r} here; bench.notes() lists them", name=id)
        return gone

    def export(self, path: str | os.PathLike[str], *, principal: Principal | None = None) -> int:
        """Write notes to a new file, one JSON object a line, of one principal or all; gives how many.

        Raises: BadInput for a file that is there, or cannot be written.
        """
        if not isinstance(path, (str, Path)) or not str(path):
            raise BadInput(f"notes are written to a path such as 'notes.jsonl', found {path!r:.80}")
        rows = self(principal=principal, limit=self._notes().count_now(_account(principal)) or 1)
        try:
            with Path(path).open("x", encoding="utf-8") as file:
                file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in reversed(list(rows)))
        except FileExistsError as error:
            raise BadInput(f"{os.fspath(path)!r} is there already; name a new file") from error
        except (OSError, ValueError) as error:
            raise BadInput(f"{os.fspath(path)!r} cannot be written ({error}); name another file") from error
        return len(rows)

    def __len__(self) -> int:
        return self._notes().count_now()

    def __repr__(self) -> str:
        return f"<Notes: {len(self)}; bench.notes() lists them, bench.notes('words') finds them>"


def _account(principal: Principal | None) -> str | None:
    principal_or_none(principal)
    return None if principal is None else principal.account


def _checked(text: object, tags: Iterable[str]) -> tuple[str, ...]:
    """The tags of a note in order. Raises: BadInput for what is no note."""
    if type(text) is not str or not text.strip() or len(text) > MOST:
        raise BadInput(f"a note is a text of up to {MOST} characters, found {text!r:.60}")
    given = list(several("tags", tags, '["colour"]'))
    if not all(type(tag) is str and tag for tag in given):
        raise BadInput(f"tags are texts, found {given!r}")
    encode([text, given], "the note")
    return tuple(sorted(set(given)))


def _check(query: object, tag: object, limit: object) -> None:
    for name, value in (("a query", query), ("a tag", tag)):
        if value is not None and type(value) is not str:
            raise BadInput(f"{name} is a text, or None for any, found {value!r}")
    whole("limit", limit, 1)


def _row(note: Note) -> dict[str, Any]:
    return {"id": note.id, "principal": note.owner, "text": note.text, "tags": list(note.tags), "at": note.at}
