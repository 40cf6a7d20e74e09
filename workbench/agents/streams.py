"""Streams: tools that yield while they work, plain generators in their thread and async ones on the loop.

- A yielded text is a line of progress at once; any other value becomes one when the next comes after it.
- The result is what a generator returns, else the last value that it yielded. An async generator cannot return one.
- A generator whose call is over is closed, so that its `finally` runs.

Knows nothing of tools or runs.
"""

from __future__ import annotations

from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Never

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

__all__ = ["drained", "drained_async"]

SHOWN = 200
"""Characters of a value that a line of progress shows."""


def drained(generator: Generator[Any, Never, Any], say: Callable[[str], None], stopped: Callable[[], bool]) -> Any:
    """The result of a plain generator, read to its end or until it is `stopped`; `say` hears its progress."""
    progress = _Progress(say)
    with closing(generator):
        while not stopped():
            try:
                progress.comes(next(generator))
            except StopIteration as end:
                return progress.last if end.value is None else end.value
    return progress.last


async def drained_async(generator: AsyncGenerator[Any, Never], say: Callable[[str], None]) -> Any:
    """The result of an async generator, read to its end."""
    progress = _Progress(say)
    async with aclosing(generator):
        async for item in generator:
            progress.comes(item)
    return progress.last


class _Progress:
    """What was yielded so far."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.last: Any = None

    def comes(self, item: Any) -> None:
        if self.last is not None and not isinstance(self.last, str):
            text = repr(self.last)
            self._say(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")
        if isinstance(item, str):
            self._say(item)
        self.last = item
