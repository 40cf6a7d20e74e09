"""The context: a process from inside its body. What `ctx` is.

Iterating it gives messages one at a time, in order; a message is delivered only when the body asks for it. Source:
PROCESSES 1.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from workbench.errors import CallRefused
from workbench.process.calls import Call
from workbench.process.drive import Cancelled, Owner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from workbench.process.definition import Definition
    from workbench.process.handle import Handle
    from workbench.process.mailbox import Mailbox

__all__ = ["Context"]

M = TypeVar("M")
S = TypeVar("S")


class Context(Generic[M, S]):
    """The inside face of one instance. A restarted process gets a fresh one, with the same mailbox."""

    __slots__ = ("_in_hand", "_mailbox", "_name", "cancelled", "owner")

    def __init__(self, name: str, mailbox: Mailbox[Any]) -> None:
        self._name = name
        self._mailbox = mailbox
        self._in_hand: Any = None
        self.cancelled = Cancelled()
        self.owner = Owner()

    def __aiter__(self) -> Context[M, S]:
        return self

    async def __anext__(self) -> Any:
        self._finish()
        message = await self._mailbox.take()
        self._in_hand = message
        return message

    async def latest(self) -> AsyncIterator[Any]:
        """Iterate skipping to the newest: older casts are dropped, older calls are refused to their callers."""
        while True:
            self._finish()
            try:
                message = await self._mailbox.take()
            except StopAsyncIteration:
                return
            if len(self._mailbox):
                skipped = [message, *self._mailbox.skip_to_newest(lambda _: True)]
                message = await self._mailbox.take()
                self._refuse(skipped)
            self._in_hand = message
            yield message

    def cast(self, message: M) -> None:
        """Post a message to this process itself, behind what waits."""
        self._mailbox.post(message)

    def spawn(self, definition: Definition, /, **args: Any) -> Handle:
        """Start a process that this instance owns: it ends with it."""
        from workbench.process.spawn import spawn_for

        return spawn_for(self.owner, definition, args)

    def _finish(self) -> None:
        """The handler of the message in hand has ended: a call that nobody kept is refused."""
        done, self._in_hand = self._in_hand, None
        if type(done) is Call and not done.reply.answered and not done.kept():
            done.reply.refuse()

    def _refuse(self, skipped: list[Any]) -> None:
        for message in skipped:
            if type(message) is Call:
                message.reply.fail(
                    CallRefused(f"{self._name} skipped {message.message!r} for a newer message; nothing was done")
                )
