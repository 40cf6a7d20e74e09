"""The channel: a context that belongs to no process, for driving a body by hand.

- In a test: hand it to a body, script its messages, read what it yields. In a body that wraps another one: the inner
  body's context.
- It ends when it is closed or disposed; what was spawned through it ends with it. Nothing evicts it, so its `busy()`
  holds nothing back.

Source: PROCESSES 1.2 and 7.3.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from workbench.errors import CallRefused, ProcessEnded
from workbench.loop import Home
from workbench.process.calls import Call, OpenCalls, Reply, fail
from workbench.process.context import Context
from workbench.process.drive import SYSTEM, current_owner
from workbench.process.mailbox import Mailbox

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import TracebackType

    from workbench.clock import Clock
    from workbench.process.definition import Definition

__all__ = ["Channel"]


class Channel(Context[Any, Any]):
    """A free-standing context: `definition.body(channel, …)` gives the body to drive. Leave it with `async with`."""

    __slots__ = ("_calls", "_last")

    def __init__(self, name: str = "channel", *, mailbox: int | None = None, clock: Clock = SYSTEM) -> None:
        super().__init__(name, Mailbox(mailbox, self._dropped), lambda working: None, clock)
        self._calls: OpenCalls = {}
        self._last = False

    def call(self, message: Any) -> asyncio.Future[Any]:
        """Post a message and await its answer.

        Raises: ProcessEnded when the channel ends first, CallRefused when no case takes the message.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._mailbox.post(Call(message, Reply(future, self._name, message, self._calls)))
        return future

    def close(self) -> None:
        """Say that no message follows: the iteration ends once what waits has been taken."""
        self._last = True
        if self._mailbox.parked:
            self._mailbox.interrupt()

    def dispose(self) -> Awaitable[None]:
        """End it now: the iteration ends, open calls fail, children are disposed. Await it to wait for those."""
        self.cancelled.set()
        self._mailbox.close()
        for future in list(self._calls):
            fail(future, self._ended())
        return Home.of_running().start(self.owner.end(), name=f"end of {self._name}")

    async def transcript(self, definition: Definition, /, *messages: Any, **args: Any) -> list[Any]:
        """Every state that the body yields when it is sent these messages and then no more.

        Raises: what the body raises, BadInput for arguments that do not fit.
        """
        for message in messages:
            self.cast(message)
        self.close()
        token = current_owner.set(self.owner)
        try:
            return [state async for state in definition.body(self, **definition.bind(args))]
        finally:
            current_owner.reset(token)

    async def __aenter__(self) -> Channel:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.dispose()

    async def _wait(self) -> Any:
        if self._last and not len(self._mailbox):
            self._mailbox.interrupt()
        return await super()._wait()

    def _dropped(self, message: Any) -> None:
        if type(message) is Call:
            full = CallRefused(f"{self._name} dropped {message.message!r}: its mailbox is full")
            message.reply.fail(self._ended() if self._mailbox.closed else full)

    def _ended(self) -> ProcessEnded:
        return ProcessEnded(f"{self._name} ended before it answered", name=self._name, status="disposed")
