"""Driving a body: one async generator inside one task, from its first line to how it ended.

- The task is cancelled, the generator never closed from outside: `aclose` cannot reach a body that awaits.
- A body parked on its mailbox ends because its iteration ends; anything else is cancelled, and its `finally` may await.
- Nothing of a body escapes: KeyboardInterrupt and SystemExit end this body, not the kernel.

Source: RECIPES "Processes and the API", PROCESSES B.1 and 1.7.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.clock import Clock, SystemClock
from workbench.errors import Disposed, Signal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from workbench.process.handle import Handle

__all__ = ["SYSTEM", "Cancelled", "Outcome", "Owner", "current_owner", "drive"]

SYSTEM = SystemClock()
MANY = 16


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a body ended: `how` is done, crashed, disposed or signalled; `error` is what it raised."""

    how: str
    error: BaseException | None = None


class Cancelled:
    """Whether an instance was told to end; safe to read from any thread, and nothing waits for it."""

    __slots__ = ("_set",)

    def __init__(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        """Whether the instance is ending."""
        return self._set

    def set(self) -> None:
        """Say that the instance is ending."""
        self._set = True


class Owner:
    """What owns children: one instance of a process. They end when it ends, after its own `finally`.

    They live by its clock.
    """

    __slots__ = ("_children", "_look_at", "clock", "ended")

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self.clock = clock
        self.ended = False
        self._children: list[Handle] | None = None
        self._look_at = MANY

    def adopt(self, child: Handle) -> None:
        """Own `child`; one that comes after the end is disposed at once."""
        if self.ended:
            child.dispose()
            return
        if self._children is None:
            self._children = []
        self._children.append(child)
        if len(self._children) >= self._look_at:  # those that have ended are for nobody to keep
            self._children = [one for one in self._children if not one.states.over]
            self._look_at = max(MANY, 2 * len(self._children))

    async def end(self) -> None:
        """Dispose the children and wait for their finalizers."""
        self.ended = True
        children, self._children = self._children or [], None
        await asyncio.gather(*(child.dispose() for child in children))


current_owner: ContextVar[Owner | None] = ContextVar("workbench_owner", default=None)
"""The instance whose body runs here; it follows the body across awaits and into its tasks."""


async def drive(body: AsyncGenerator[Any, None], publish: Callable[[Any], None], ending: Callable[[], bool]) -> Outcome:
    """Run a body to its end, publishing what it yields. `ending` says whether it was told to end.

    Never raises: a cancelled await that nobody asked for is the body's own failure and comes back as one, and so does a
    `finally` that fails after a state that could not be published.
    """
    try:
        try:
            async for state in body:
                if not ending():
                    publish(state)
        finally:
            await body.aclose()
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        cut = task is not None and task.cancelling() > 0  # the task itself was cancelled: disposed, or its loop ends
        if cut and task is not None:
            task.uncancel()
        return Outcome("disposed") if cut or ending() else Outcome("crashed", error)
    except BaseException as error:
        return _outcome(error, ending())
    return Outcome("disposed") if ending() else Outcome("done")


def _outcome(error: BaseException, ending: bool) -> Outcome:
    signal = _signal_in(error)
    if isinstance(signal, Disposed) or (ending and signal is None):
        return Outcome("disposed", error)
    if signal is not None:
        return Outcome("signalled", signal)
    return Outcome("crashed", error)


def _signal_in(error: BaseException) -> Signal | None:
    """The signal inside an error, also where a task group wrapped it."""
    if isinstance(error, Signal):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := _signal_in(inner))), None)
    return None
