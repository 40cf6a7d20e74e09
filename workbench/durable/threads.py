"""Threads: the plain functions that still run for a process after its life was over.

A thread cannot be stopped, only waited for. What it gives is written by nobody: its activation is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable
    from concurrent.futures import Future

    from workbench.loop import Home

__all__ = ["Threads"]


class Threads:
    """The threads left over by the lives of one process."""

    __slots__ = ("_home", "_running", "awaited")

    def __init__(self, home: Home) -> None:
        self._home = home
        self._running: set[Future[Any]] = set()
        self.awaited = False

    def __len__(self) -> int:
        return sum(not thread.done() for thread in self._running)

    def add(self, threads: Iterable[Future[Any]]) -> None:
        """Remember what a life leaves running."""
        self._running.update(threads)

    async def over(self) -> None:
        """Return when all of them have finished, however they did."""
        self.awaited = True
        try:
            for thread in list(self._running):
                await self._finished(thread)
                self._running.discard(thread)
        finally:
            self.awaited = False

    async def _finished(self, thread: Future[Any]) -> None:
        finished: asyncio.Future[None] = self._home.loop.create_future()
        thread.add_done_callback(lambda _: self._home.hop(_settle, finished))
        await finished


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
