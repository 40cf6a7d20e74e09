"""The home loop: the one event loop on which a bench's processes live, and the only door to it from other threads.

- Every task is held strongly until it ends (asyncio keeps weak references only) and every failure reaches `on_error`.
- A front-end callback or a thread does exactly one thing: `home.hop(function, …)`. Nothing else is touched off the
  loop.

Source: DESIGN rule 1.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from workbench.errors import BadInput

__all__ = ["Home"]

T = TypeVar("T")
log = logging.getLogger("workbench")


class Home:
    """One event loop with the tasks that live on it. `Home.of_running()` gives the one of the caller's loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.thread = threading.get_ident()
        self._tasks: set[asyncio.Task[Any]] = set()

    @classmethod
    def of_running(cls) -> Home:
        """The home of the running loop, one per loop.

        Raises: RuntimeError when no loop is running (asyncio's own words).
        """
        loop = asyncio.get_running_loop()
        home = _homes.get(loop)
        if home is None:
            for gone in [known for known in _homes if known.is_closed()]:
                del _homes[gone]
            home = _homes[loop] = cls(loop)
        return home

    @property
    def here(self) -> bool:
        """Whether the caller is on the home loop's thread."""
        return threading.get_ident() == self.thread

    def must_be_here(self, what: str) -> None:
        """Raises: BadInput in another thread, which says that `what` belongs here."""
        if threading.get_ident() != self.thread:
            raise BadInput(f"{what} on the loop of its bench; from a thread, hop there: loop.call_soon_threadsafe(…)")

    def start(self, work: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Run `work` as a task that is kept until it ends; a failure that nobody awaits is logged with its name.

        Raises: BadInput in another thread.
        """
        if threading.get_ident() != self.thread:
            work.close()
            self.must_be_here(f"{name} is started")
        task = self.loop.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def hop(self, function: Callable[..., object], *args: object) -> None:
        """Call `function(*args)` on the home loop soon; from any thread. Does nothing once the loop is closed."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(function, *args)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task %r failed", task.get_name(), exc_info=error)


_homes: dict[asyncio.AbstractEventLoop, Home] = {}
