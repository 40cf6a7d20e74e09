"""Dead letters: the messages that were set aside, as a table that can decide about them.

- A letter is decided once, from any host: requeued as it was, requeued with another message, or discarded.
- One that is requeued as it was keeps the steps that it had finished, and the keys of those that it had not: nothing is
  done twice. One with another message begins anew, under keys of its own.
- The caller of a letter has the failure as its answer; requeueing takes it back, so a retry hears how it ended now.

Source: PROCESSES B.2 (4) and B.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.errors import AlreadyDecided, BadInput, NoCode
from workbench.plain import decode, encode
from workbench.table import Table

if TYPE_CHECKING:
    from workbench.durable.runtime import Runtime
    from workbench.store.letters import SetAside

__all__ = ["DeadLetters", "Letter"]

COLUMNS = ("id", "key", "seq", "message", "error", "attempts", "at")
AS_IT_WAS = object()


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that was set aside. `status` is waiting, requeued or discarded; `at` is an instant in UTC seconds."""

    id: int
    key: str
    seq: int
    message: Any
    error: str
    attempts: int
    at: float
    call_id: str | None
    definition: str
    status: str = "waiting"
    by: str | None = None


class DeadLetters(Table):
    """The letters that wait to be decided, oldest first; `key` narrows them to one process."""

    def __init__(self, runtime: Runtime, key: str | None = None, *, status: str | None = "waiting") -> None:
        super().__init__([_letter(found) for found in runtime.store.letters_now(key=key, status=status)], COLUMNS)
        self._runtime = runtime
        self._key = key

    def all(self) -> DeadLetters:
        """The decided ones too."""
        return DeadLetters(self._runtime, self._key, status=None)

    async def requeue(self, id: int, message: Any = AS_IT_WAS, *, by: str = "you") -> Letter:
        """Deliver a letter again, as it was or as another `message`; gives what it is now.

        Raises: NoCode for an id that there is not, AlreadyDecided, NotPlain.
        """
        letter = self._find(id)
        text = None if message is AS_IT_WAS else self._encode(letter, message)
        decided = await self._runtime.store.requeue_letter(id, by=by, message=text)
        if decided:
            self._runtime.attend(letter.key)
        return self._now(id, decided)

    async def discard(self, id: int, *, by: str = "you") -> Letter:
        """Give a letter up: it stays in the journal, its caller keeps the failure. Raises: NoCode, AlreadyDecided."""
        self._find(id)
        return self._now(id, await self._runtime.store.discard_letter(id, by=by))

    def _find(self, id: int) -> Letter:
        for found in self._runtime.store.letters_now(key=self._key):
            if found.id == id and type(id) is int:
                return _letter(found)
        raise NoCode(f"no dead letter {id!r} in this store; bench.dead_letters lists those that wait", name=id)

    def _now(self, id: int, decided: bool) -> Letter:
        """The letter as it is now. Raises: AlreadyDecided when it was not us who decided."""
        now = self._find(id)
        if not decided:
            raise AlreadyDecided(
                f"dead letter {now.id} of {now.key!r} is already {now.status}, by {now.by}; the first decision stands",
                id=now.id,
                status=now.status,
                by=now.by,
            )
        return now

    def _encode(self, letter: Letter, message: Any) -> str:
        definition = self._runtime.definitions.get(letter.definition)
        return encode(message, "message") if definition is None else definition.shapes[0].encode(message, "message")


def _letter(found: SetAside) -> Letter:
    letter = found.letter
    try:
        message = decode(letter.message)
    except BadInput:  # a row that was changed by hand is shown as it is
        message = letter.message
    return Letter(
        found.id,
        found.key,
        letter.seq,
        message,
        letter.error,
        letter.attempts,
        found.at,
        letter.call_id,
        found.definition,
        found.status,
        found.by,
    )
