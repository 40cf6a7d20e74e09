"""The calls of one life: those that are open, who waits for them here, and what answers the next commit will hold.

- A call is known by its id and the digest of its message: asking again attaches to the open one, and the same id with
  another message is a conflict.
- What a caller hears is what is recorded: an answer is released once the commit that holds it has landed.
- A call that its handler neither answered nor parked is refused, and so never hangs its caller.

Source: PROCESSES 2.8 and B.4. Knows nothing of the log, the mailbox or who drives the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.durable.answers import answer, failure, for_caller, hear
from workbench.errors import BadInput, CallRefused
from workbench.plain import decode, digest, encode

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from workbench.store.journal import Logged
    from workbench.store.store import Store

__all__ = ["Callers", "Calls"]

Callers: TypeAlias = "dict[str, list[asyncio.Future[Any]]]"


class Calls:
    """The calls of one life. `parked` are those that the lives before this one left open."""

    __slots__ = ("_key", "_name", "_parked", "_store", "answers", "callers", "digests")

    def __init__(self, key: str, name: str, store: Store, parked: Sequence[Logged]) -> None:
        self._key = key
        self._name = name
        self._store = store
        self._parked: dict[str, None] = {}
        self.answers: dict[str, str] = {}
        """The envelopes that the next commit will hold, by id."""
        self.callers: Callers = {}
        self.digests: dict[str, str] = {call.call_id: digest(decode(call.message)) for call in parked if call.call_id}

    def knows(self, id: str) -> bool:
        """Whether a call of this id is open, or has its answer: asking again logs nothing."""
        return id in self.digests or self._store.result_now(self._key, id) is not None

    def answer(self, id: str, value: Any) -> None:
        """Record the answer of a call with the message in hand.

        Raises: CallRefused when it has one, or is none of this key.
        """
        if type(id) is not str:
            raise BadInput(
                f"a call is answered by its id, which is a text, found {id!r:.80}; keep reply.id in the state"
            )
        if id in self.answers:
            raise CallRefused(f"{self._name} answered the call {id!r} already; one call has one answer", key=self._key)
        if id not in self.digests:
            raise CallRefused(
                f"{self._key!r} has no open call {id!r}; it was answered before, or never made", key=self._key
            )
        self.answers[id] = answer(self.digests[id], encode(value, "reply"))
        self._parked.pop(id, None)

    def park(self, id: str) -> None:
        """Keep the call open past its message."""
        self._parked[id] = None

    def refuse_the_untaken(self, id: str, text: str) -> None:
        """Answer a call that its handler neither answered nor parked: the process has no case for it."""
        if id not in self.answers and id not in self._parked:
            words = f"{self._name} has no case for {decode(text)!r}; nothing was done"
            self.answers[id] = failure(self.digests[id], "refused", words)

    def hand_on(self) -> Callers:
        """Those who still wait for an answer, for the next activation to adopt."""
        callers, self.callers = self.callers, {}
        return callers

    def adopt(self, callers: Callers) -> None:
        """Have those who waited in the activation before wait here: their calls are in the log."""
        for id, waiting in callers.items():
            self.callers.setdefault(id, []).extend(waiting)

    def end_all(self, error: BaseException) -> None:
        """Fail every caller that still waits."""
        for id in list(self.callers):
            self.fail(id, error)

    def release(self, id: str, envelope: str) -> None:
        """Tell the callers of a call the answer that is in the journal."""
        mark = self.digests.pop(id, "")
        for caller in self.callers.pop(id, ()):
            if not caller.done():
                try:
                    caller.set_result(hear(envelope, mark, self._key, id, self._store))
                except Exception as error:
                    caller.set_exception(error)

    def fail(self, id: str, error: BaseException) -> None:
        """Fail the callers of a call, which is open no more."""
        self.digests.pop(id, None)
        for caller in self.callers.pop(id, ()):
            if not caller.done():
                caller.set_exception(for_caller(error, self._key))
                caller.exception()
