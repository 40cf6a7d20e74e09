"""Threads: the plain functions that still run for a process after its life was over.

A thread cannot be stopped, only waited for. What it gives is written by nobody: its activation is over.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import Future

    from workbench.loop import Home

__all__ = ["Threads"]


class Threads:
    """The threads left over by the lives of one process."""

    __slots__ = ("_home", "_passed", "_running", "awaited")

    def __init__(self, home: Home) -> None:
        self._home = home
        self._running: dict[Future[Any] | asyncio.Task[Any], None] = {}
        self._passed: asyncio.Future[None] | None = None
        self.awaited = 0

    def __len__(self) -> int:
        return sum(not thread.done() for thread in self._running)

    def add(self, threads: Iterable[Future[Any] | asyncio.Task[Any]]) -> None:
        """Remember what a life leaves running; a body that swallows its end is as bad as a thread."""
        self._running.update(dict.fromkeys(threads))

    async def over(self) -> bool:
        """Return when all of them have finished, however they did; False when they were passed by before."""
        if not self._running:
            return True
        if self._passed is None:
            self._passed = self._home.loop.create_future()
        passed, self.awaited = self._passed, self.awaited + 1
        try:
            for thread in list(self._running):
                await asyncio.wait([passed, self._finished(thread)], return_when=asyncio.FIRST_COMPLETED)
                if passed.done():
                    return False
                self._running.pop(thread, None)
            return True
        finally:
            self.awaited -= 1

    def pass_by(self) -> None:
        """Have nobody wait any longer."""
        passed, self._passed = self._passed, None
        if passed is not None:
            _settle(passed)

    def _finished(self, thread: Future[Any] | asyncio.Task[Any]) -> asyncio.Future[None]:
        finished: asyncio.Future[None] = self._home.loop.create_future()
        thread.add_done_callback(lambda _: self._home.hop(_settle, finished))
        return finished


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
