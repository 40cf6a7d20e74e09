"""States: what a process has published, for whoever reads, waits or iterates.

- A state is kept as its text, made when it was yielded, so that later mutation by the body or a reader changes
  nothing that is shown.
- Iteration is newest wins: a slow reader misses states, never the last one.
- The end is published too: iterators then stop after the last value.
- Who subscribes, iterates or waits is a watcher; a plain read is none.

Source: PROCESSES 1.3, 1.8, 1.10 and B.4.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from workbench.events import Changes
from workbench.plain import PLAIN, Shape

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

__all__ = ["States"]

_UNREAD = object()


class States:
    """The newest state of one process, with the lifecycle changes of it."""

    __slots__ = ("_changes", "_iterating", "_value", "_waiters", "left", "over", "shape", "text", "version")

    def __init__(self, shape: Shape = PLAIN) -> None:
        self.shape = shape
        self.text: str | None = None
        self.version = 0
        self.over = False
        self.left: Callable[[], None] | None = None
        """Called when the last watcher goes."""
        self._changes: Changes | None = None
        self._iterating = 0
        self._value: Any = None
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def changes(self) -> Changes:
        """What views subscribe to; made when the first one does, because most processes have none."""
        if self._changes is None:
            self._changes = Changes(self._one_left)
        return self._changes

    @property
    def watched(self) -> bool:
        """Whether anyone subscribes, iterates or waits."""
        return bool(self._iterating or self._changes or self._waiters)

    @property
    def ready(self) -> bool:
        """Whether there is a state."""
        return self.text is not None

    def stamp(self) -> int:
        """What differs whenever the state does."""
        return self.version

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after a state or a flag changed; gives the function that stops it."""
        return self.changes.subscribe(changed)

    @property
    def value(self) -> Any:
        """The newest state, None before the first. Readers share it; treat it as immutable."""
        if self._value is _UNREAD:
            assert self.text is not None
            self._value = self.shape.decode(self.text)
        return self._value

    def publish(self, text: str) -> None:
        """Make `text` the newest state. The same text again publishes nothing."""
        if text != self.text:
            self.text = text
            self._value = _UNREAD
            self.version += 1
            self.tell()

    def tell(self) -> None:
        """Wake whoever waits: a state or a flag changed."""
        if self._waiters:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
        self.show()

    def show(self) -> None:
        """Tell the views alone: what it does has changed, and neither state nor flag that anybody waits for."""
        if self._changes is not None:
            self._changes.tell()

    def end(self) -> None:
        """No state follows. Iterators end after the last one."""
        self.over = True
        self.tell()

    async def change(self) -> None:
        """Return after the next `tell`."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:  # who waited has given up
                self._waiters.remove(waiter)

    async def __aiter__(self) -> AsyncIterator[Any]:
        seen = 0
        self._iterating += 1
        try:
            while True:
                if self.version != seen:
                    seen = self.version
                    yield self.value
                elif self.over:
                    return
                else:
                    await self.change()
        finally:
            self._iterating -= 1
            self._one_left()

    def _one_left(self) -> None:
        if self.left is not None and not self.watched:
            self.left()
