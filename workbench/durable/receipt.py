"""The receipt of a cast: the message is posted at once, the receipt says when it is in the journal.

It is told once, and tells everyone who waits for it. Whoever stops waiting stops waiting: the message is on its way all
the same.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput, ProcessEnded
from workbench.given import seconds

if TYPE_CHECKING:
    from collections.abc import Generator

    from workbench.loop import Home

__all__ = ["Receipt"]


class Receipt:
    """Await it for the message's number, once it is in the journal. Ignoring it is fine."""

    __slots__ = ("_error", "_home", "_number", "_waiters")

    def __init__(self, home: Home) -> None:
        self._home = home
        self._number = 0
        self._error: Exception | None = None
        self._waiters: list[asyncio.Future[None]] = []

    def tell(self, posted: asyncio.Future[int]) -> None:
        """Say how the post ended. A signal becomes an error that its sender can catch."""
        error = asyncio.CancelledError("the post was cancelled") if posted.cancelled() else posted.exception()
        if error is None:
            self._number = posted.result()
        else:
            self._error = error if isinstance(error, Exception) else _for_sender(error)
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters = []

    def __await__(self) -> Generator[Any, None, int]:
        if not self._number and self._error is None:
            waiter = self._home.loop.create_future()
            self._waiters.append(waiter)
            yield from waiter
        if self._error is not None:
            raise self._error
        return self._number

    def result(self, timeout: float | None = None) -> int:
        """The number, waited for by a thread for at most `timeout` seconds.

        Raises: BadInput on the kernel's own thread, TimeoutError.
        """
        if timeout is not None:
            seconds("timeout", timeout)
        if self._home.here:
            raise BadInput("a receipt cannot be waited for on the kernel's thread; write: await receipt")
        return asyncio.run_coroutine_threadsafe(_outcome(self), self._home.loop).result(timeout)

    def __repr__(self) -> str:
        if self._error is not None:
            return f"<Receipt: not in the journal: {self._error}>"
        return f"<Receipt: in the journal as {self._number}>" if self._number else "<Receipt: on its way>"


async def _outcome(receipt: Receipt) -> int:
    return await receipt


def _for_sender(error: BaseException) -> ProcessEnded:
    failed = ProcessEnded(f"the message is not in the journal: {error}; send it again")
    failed.__cause__ = error
    return failed
