"""Lines: steps of tasks that are not ours, each taken on a branch of the task that the branch belongs to.

A step belongs to the task of its branch, and a loop of somebody else runs what it likes in tasks of its own. A line
has one task that stands on the branch and takes the steps; what a step does runs in the task that asked for it, with
that task's own context.

Knows nothing of agents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

__all__ = ["Line", "is_cancelled"]

Body = Callable[[], Awaitable[Any]]
Take = Callable[[Body], Awaitable[Any]]


class Line:
    """Takes what is asked for, one after the other, in the task that serves it."""

    def __init__(self) -> None:
        self._asked: asyncio.Queue[_Asked] = asyncio.Queue()

    async def ask(self, take: Take, body: Body) -> Any:
        """What `take(run)` gives in the serving task; where it awaits `run()`, `body` runs here.

        Raises: what either of them raises.
        """
        asked = _Asked(take)
        self._asked.put_nowait(asked)
        try:
            await asyncio.wait([asked.begun, asked.end], return_when=asyncio.FIRST_COMPLETED)
            if asked.begun.done() and not asked.end.done():
                await asked.carry_out(body)
            return await asked.end
        finally:
            asked.give_up()

    async def serve(self, until: asyncio.Task[Any] | None = None) -> None:
        """Take what is asked for until that task is done, or until cancelled.

        Raises: signals of the runtime, which who asked gets as well.
        """
        while until is None or not until.done():
            getting = asyncio.ensure_future(self._asked.get())
            try:
                await asyncio.wait(
                    [getting, *([until] if until is not None else [])], return_when=asyncio.FIRST_COMPLETED
                )
            finally:
                if not getting.done():
                    getting.cancel()
            if getting.done() and not getting.cancelled():
                await self._take(getting.result())

    async def _take(self, asked: _Asked) -> None:
        try:
            value = await asked.take(asked.run)
        except Exception as error:
            asked.fail(error)
        except BaseException as signal:
            asked.fail(signal)
            raise
        else:
            if not asked.end.done():
                asked.end.set_result(value)


class _Asked:
    """One thing that is asked for, between two tasks."""

    def __init__(self, take: Take) -> None:
        loop = asyncio.get_running_loop()
        self.take = take
        self.begun: asyncio.Future[None] = loop.create_future()
        self.end: asyncio.Future[Any] = loop.create_future()
        self._done: asyncio.Future[Any] = loop.create_future()

    async def run(self) -> Any:
        """In the serving task: have the body carried out by who asked, and wait for it."""
        if not self.begun.done():
            self.begun.set_result(None)
        return await self._done

    async def carry_out(self, body: Body) -> None:
        """In the asking task: do it, and hand over what came of it, whatever that is, unless this task is cancelled."""
        try:
            value = await body()
        except GeneratorExit:
            raise
        except BaseException as error:
            if is_cancelled():
                raise
            if not self._done.done():
                self._done.set_exception(error)
        else:
            if not self._done.done():
                self._done.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Tell who asked. A cancelled server leaves its asker cancelled."""
        if not self.end.done():
            if isinstance(error, asyncio.CancelledError):
                self.end.cancel()
            else:
                self.end.set_exception(error)

    def give_up(self) -> None:
        """Nobody waits any more: leave nothing that complains of it."""
        for future in (self.begun, self.end, self._done):
            if not future.done():
                future.cancel()
            elif not future.cancelled():
                future.exception()


def is_cancelled() -> bool:
    """Whether the current task itself is cancelled, and not something that it awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
