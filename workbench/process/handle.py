"""The handle: a process from outside. What one can read, send, wait for and end, wherever the process runs.

- Statuses: starting (no state yet), running, restarting, done, crashed, disposed.
- Reading is free and watches nothing. Who subscribes, iterates or waits is a watcher, and keeps the process from being
  evicted for being idle; holding the handle does not.

Source: PROCESSES 1.3 and 1.10, DESIGN 2. Knows nothing of how the body is driven.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput, ProcessEnded
from workbench.events import Shown, Source
from workbench.given import predicate
from workbench.plain import PLAIN, Shape
from workbench.process.flags import Flags, flags_of
from workbench.process.inspector import Doing, Inspector
from workbench.process.selecting import Reading, select
from workbench.process.states import States
from workbench.process.supervision import Budget

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

__all__ = ["ENDED", "Handle"]

ENDED = frozenset(("done", "crashed", "disposed"))
STALE = ENDED - {"done"} | {"restarting"}
NONE = Budget(0, None, 0, None)


class Handle(Shown):
    """The outside face shared by plain and durable processes."""

    __slots__ = ("__weakref__", "_status", "error", "name", "on_end", "states")

    def __init__(self, name: str, shape: Shape = PLAIN) -> None:
        self.name = name
        self.states = States(shape)
        self.error: BaseException | None = None
        self.on_end: Callable[[], None] | None = None
        """Called when it ends, after its status says so."""
        self._status = "starting"

    @property
    def state(self) -> Any:
        """The newest published state, None before the first; it outlives a crash."""
        return self.states.value

    @property
    def status(self) -> str:
        """starting, running, restarting, done, crashed or disposed."""
        return self._status

    @property
    def working(self) -> bool:
        """Whether it works towards its next state; false while it waits for a message, and after its end."""
        return False

    @property
    def stale(self) -> bool:
        """Whether the state has outlived a crash or the process."""
        return self.states.ready and self._status in STALE

    @property
    def busy(self) -> bool:
        """Whether it must not be evicted now: it has calls to answer, or an open `ctx.busy()`."""
        return False

    @property
    def restarts(self) -> Budget:
        """How many restarts are spent, of how many, and when the next one begins."""
        return NONE

    @property
    def flags(self) -> Reading[Flags]:
        """Status, working, stale and error as one value to watch, which does not wake for states."""
        return flags_of(self)

    def select(self, *pointers: str) -> Reading[Any]:
        """What JSON pointers such as "/orders/3/status" find in the state: it wakes only when that changed.

        None where a pointer leads to nothing; a tuple for several. Raises: BadInput for what is no pointer.
        """
        return select(self.name, self.states, pointers)

    def cast(self, message: Any) -> Awaitable[int]:
        """Post a message; it is posted when this returns. Raises: NotPlain in durable processes."""
        raise NotImplementedError

    def call(self, message: Any, *, id: str | None = None) -> Awaitable[Any]:
        """Post a message and await its answer. `id` names the call; a durable process needs one."""
        raise NotImplementedError

    def dispose(self) -> Awaitable[None]:
        """Begin the end: mailbox closes, body is cancelled, its finally runs, then its children end.

        Await it to wait for all of that.
        """
        raise NotImplementedError

    def source(self) -> Source:
        """What a window of the process binds to."""
        return Inspector(self)

    def details(self) -> dict[str, Any]:
        """What only this kind of handle knows, for the inspector."""
        return {
            "key": None,
            "alive": self._status not in ENDED,
            "elsewhere": None,
            "epoch": None,
            "pending": 0,
            "next_wake": None,
            "committed": True,
            "lives": [],
        }

    def doing(self) -> Doing | None:
        """What it does at the moment, for the inspector; None where only its status is known."""
        return None

    def buttons(self) -> list[tuple[str, str, bool]]:
        """The buttons of the inspector: label, command, whether it may be pressed."""
        return [("Kill", "kill", self._status not in ENDED)]

    async def press(self, command: str) -> None:
        """Carry out a button. Raises: BadInput for one that there is not."""
        if command != "kill":
            raise BadInput(f"{self.name} has no command {command!r}; it has kill")
        await self.dispose()

    async def until(self, condition: Callable[[Any], bool]) -> Any:
        """The first state from now on, the present one included, for which `condition(state)` is true.

        Raises: ProcessEnded when the process ends before, from its error if it crashed.
        """
        predicate(condition)
        async for state in self.states:
            if condition(state):
                return state
        raise ProcessEnded(
            f"{self.name} is {self.status} with the state {self.state!r}, and the condition was not met before",
            name=self.name,
            status=self.status,
        ) from self.error

    async def __aiter__(self) -> AsyncIterator[Any]:
        """States as they come, newest wins, ending with the process."""
        async for state in self.states:
            yield state

    def __repr__(self) -> str:
        return f"<{self.name} {self.status}: {self.state!r}>"

    def _become(self, status: str) -> None:
        """Move to a status; the one place where it changes."""
        if status != self._status:
            self._status = status
            if status in ENDED:
                self.states.end()
                if self.on_end is not None:
                    self.on_end()
            else:
                self.states.tell()
