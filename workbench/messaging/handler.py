"""Handlers: the user's functions that jobs and events are handed to, coroutines on the loop, plain ones in threads.

A plain function cannot be stopped. Whoever is cancelled while one runs waits `GRACE` seconds for it and then hears, by
`Cut`, whether it is still at work. Knows nothing of jobs or events.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from workbench.given import seconds
from workbench.process.spawn import GRACE

__all__ = ["LONGEST_PAUSE", "Backoff", "Cut", "Hands", "pause_after"]

LONGEST_PAUSE = 300.0
"""Seconds that a back-off grows to."""

USUAL = 1.0
"""Seconds of the first pause where nothing else is said."""

Backoff = float | Callable[[int], float]

log = logging.getLogger("workbench")


class Cut(asyncio.CancelledError):
    """Who awaited a plain function was cancelled. `work` is the function's future, perhaps not done."""

    def __init__(self, work: asyncio.Future[Any]) -> None:
        super().__init__()
        self.work = work


class Hands:
    """A handler that can be called, `at_once` times at the same time."""

    def __init__(self, function: Callable[[Any], Any], at_once: int, name: str) -> None:
        self._function = function
        self._pool: ThreadPoolExecutor | None = None
        if not _is_async(function):
            self._pool = ThreadPoolExecutor(at_once, thread_name_prefix=f"workbench-{name}")

    async def call(self, argument: Any) -> None:
        """Call the handler to its end. Raises: what it raises; Cut."""
        if self._pool is None:
            await self._function(argument)
            return
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        work = loop.run_in_executor(self._pool, context.run, _plain, self._function, argument)
        try:
            result = await asyncio.shield(work)
        except asyncio.CancelledError:
            if not work.done():
                await asyncio.wait([work], timeout=GRACE)
            if not work.done():
                work.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise Cut(work) from None
        if inspect.isawaitable(result):  # a lambda around a coroutine function
            await result

    def close(self) -> None:
        """Call nothing any more."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)


def pause_after(backoff: Backoff, attempts: int) -> float:
    """Seconds to wait after attempt number `attempts` failed: `backoff`, doubled each time, or what it says.

    A function that fails, or gives no number of seconds, is logged and takes nothing with it.
    """
    if callable(backoff):
        try:
            return seconds("what a back-off gives", max(0.0, float(backoff(attempts))))
        except BaseException:  # whatever it is: the job or event is tried again
            log.exception("a back-off failed after attempt %s; the pause doubles from %s s instead", attempts, USUAL)
            backoff = USUAL
    return min(backoff * 2.0 ** min(attempts - 1, 60), LONGEST_PAUSE)


def _plain(function: Callable[[Any], Any], argument: Any) -> Any:
    """Call a plain function in its thread."""
    try:
        return function(argument)
    except (StopIteration, GeneratorExit) as error:  # a future cannot carry one
        raise RuntimeError(f"the handler raised {type(error).__name__}") from error


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004
