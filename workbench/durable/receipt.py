"""The receipt of a cast: the message is posted at once, the receipt says when it is in the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

from workbench.errors import BadInput
from workbench.loop import Home

__all__ = ["Receipt"]


class Receipt:
    """Await it for the message's number, once it is in the journal. Ignoring it is fine: the message is on its way all the same."""

    __slots__ = ("_future", "_home")

    def __init__(self, future: asyncio.Future[int], home: Home) -> None:
        self._future = future
        self._home = home

    def __await__(self) -> Generator[Any, None, int]:
        return self._future.__await__() if self._future.done() else asyncio.shield(self._future).__await__()

    def result(self, timeout: float | None = None) -> int:
        """The number, waited for by a thread for at most `timeout` seconds. Raises: BadInput on the kernel's own thread, TimeoutError."""
        if self._home.here:
            raise BadInput("a receipt cannot be waited for on the kernel's thread; write: await receipt")
        return asyncio.run_coroutine_threadsafe(_outcome(self._future), self._home.loop).result(timeout)

    def __repr__(self) -> str:
        if not self._future.done():
            return "<Receipt: on its way>"
        error = self._future.exception() if not self._future.cancelled() else "cancelled"
        return f"<Receipt: not in the journal: {error}>" if error else f"<Receipt: in the journal as {self._future.result()}>"


async def _outcome(future: asyncio.Future[int]) -> int:
    return await asyncio.shield(future)
