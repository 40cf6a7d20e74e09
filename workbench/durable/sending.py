"""Sending: messages on their way to a process that does not live here yet, and whoever waits to hear of them.

Knows nothing of where they go.
"""

from __future__ import annotations

import asyncio
from typing import Any

from workbench.errors import ProcessEnded

__all__ = ["Sent", "link"]


class Sent:
    """A message on its way. `id` is there for calls."""

    __slots__ = ("future", "id", "message", "text")

    def __init__(self, text: str, message: Any = None, id: str | None = None) -> None:
        self.text = text
        self.message = message
        self.id = id
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


def link(source: asyncio.Future[Any], target: asyncio.Future[Any]) -> None:
    """Give `target` the outcome of `source`; a signal becomes an error that its sender can catch."""

    def settle(done: asyncio.Future[Any]) -> None:
        if target.done():
            return
        if done.cancelled():
            target.cancel()
        elif (error := done.exception()) is not None:
            target.set_exception(error if isinstance(error, Exception) else ProcessEnded(str(error)))
            target.exception()
        else:
            target.set_result(done.result())

    source.add_done_callback(settle)
