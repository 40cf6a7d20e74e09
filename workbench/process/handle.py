"""The handle: a process from outside. What one can read, send, wait for and end, wherever the process runs.

Statuses: starting (no state yet), running, restarting, done, crashed, disposed. Source: PROCESSES 1.3, DESIGN 2.
Knows nothing of how the body is driven.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput, ProcessEnded
from workbench.events import Shown, Source
from workbench.plain import PLAIN, Shape
from workbench.process.inspector import Inspector
from workbench.process.states import States

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

__all__ = ["ENDED", "Handle"]

ENDED = frozenset(("done", "crashed", "disposed"))


class Handle(Shown):
    """The outside face shared by plain and durable processes."""

    __slots__ = ("__weakref__", "_status", "error", "name", "states")

    def __init__(self, name: str, shape: Shape = PLAIN) -> None:
        self.name = name
        self.states = States(shape)
        self.error: BaseException | None = None
        self._status = "starting"

    @property
    def state(self) -> Any:
        """The newest published state, None before the first; it outlives a crash."""
        return self.states.value

    @property
    def status(self) -> str:
        """starting, running, restarting, done, crashed or disposed."""
        return self._status

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
        async for state in self.states:
            if condition(state):
                return state
        raise ProcessEnded(
            f"{self.name} is {self.status} with the state {self.state!r}, and the condition was not met before",
            name=self.name,
            status=self.status,
        ) from self.error

    def __aiter__(self) -> AsyncIterator[Any]:
        """States as they come, newest wins, ending with the process."""
        return self.states.__aiter__()

    def __repr__(self) -> str:
        return f"<{self.name} {self.status}: {self.state!r}>"

    def _become(self, status: str) -> None:
        """Move to a status; the one place where it changes."""
        if status != self._status:
            self._status = status
            if status in ENDED:
                self.states.end()
            else:
                self.states.tell()
