"""The context: a process from inside its body. What `ctx` is.

Iterating it gives messages one at a time, in order; a message is delivered only when the body asks for it. Source:
PROCESSES 1.2.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from workbench.errors import CallRefused, Disposed
from workbench.process.calls import Call
from workbench.process.drive import SYSTEM, Cancelled, Owner
from workbench.process.holds import Holding
from workbench.process.mailbox import PAUSE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from workbench.clock import Clock
    from workbench.process.definition import Definition
    from workbench.process.handle import Handle
    from workbench.process.mailbox import Mailbox

__all__ = ["Context"]

M = TypeVar("M")
S = TypeVar("S")


class Context(Holding, Generic[M, S]):
    """The inside face of one instance. A restarted process gets a fresh one, with the same mailbox.

    `works` hears whether the body is at work on a message or waits for one.
    """

    __slots__ = ("_mailbox", "_name", "_over", "_works", "cancelled", "in_hand", "owner")

    def __init__(self, name: str, mailbox: Mailbox[Any], works: Callable[[bool], None], clock: Clock = SYSTEM) -> None:
        super().__init__()
        self._name = name
        self._mailbox = mailbox
        self._works = works
        self._over = False
        self.in_hand: Any = None
        self.cancelled = Cancelled()
        self.owner = Owner(clock)

    def __aiter__(self) -> Context[M, S]:
        return self

    async def __anext__(self) -> Any:
        self._finish()
        ready = self._mailbox.ready and not self._over
        message = self.in_hand = self._mailbox.pop() if ready else await self._wait()
        self._works(True)
        return message

    async def latest(self) -> AsyncIterator[Any]:
        """Iterate skipping to the newest: older casts are dropped, older calls are refused to their callers."""
        while True:
            self._finish()
            try:
                message = await self._wait()
            except StopAsyncIteration:
                return
            if len(self._mailbox):
                skipped = [message, *self._mailbox.skip_to_newest(lambda _: True)]
                message = await self._mailbox.take()
                self._refuse(skipped)
            self.in_hand = message
            self._works(True)
            yield message

    async def _wait(self) -> Any:
        """The next message, waited for.

        Raises: StopAsyncIteration at the end of this instance; Disposed, each time later, for who asks on, so that a
        body that begins its iteration again and again ends and does not take the loop with it.
        """
        if self._over:
            await asyncio.sleep(PAUSE)
            raise Disposed("the instance has ended, and its body asks on")
        if not len(self._mailbox):
            self._works(False)
        try:
            return await self._mailbox.take()
        except StopAsyncIteration:
            self._over = True
            raise

    def cast(self, message: M) -> None:
        """Post a message to this process itself, behind what waits."""
        self._mailbox.post(message)

    def spawn(self, definition: Definition, /, **args: Any) -> Handle:
        """Start a process that this instance owns: it ends with it."""
        from workbench.process.spawn import spawn_for

        return spawn_for(self.owner, definition, args)

    def _finish(self) -> None:
        """The handler of the message in hand has ended: a call that nobody kept is refused."""
        done, self.in_hand = self.in_hand, None
        if type(done) is Call and not done.reply.answered and not done.kept():
            done.reply.refuse()

    def _refuse(self, skipped: list[Any]) -> None:
        for message in skipped:
            if type(message) is Call:
                message.reply.fail(
                    CallRefused(f"{self._name} skipped {message.message!r} for a newer message; nothing was done")
                )
