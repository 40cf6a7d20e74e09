"""The mailbox: what was sent to a process and not yet asked for, oldest first.

- One body takes; anyone posts. A message posted to a body that waits is handed over without queueing.
- A bound drops the oldest message; whoever dropped it hears of it, so a dropped call can fail its caller.
- Closing ends the iteration of a body that waits; what is posted afterwards is dropped.
- An interruption ends one iteration, and what waits stays for who takes next.

Source: PROCESSES 1.4. Knows nothing of calls, journals or bodies.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from workbench.errors import BadInput
from workbench.given import shown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NOTHING", "PAUSE", "Mailbox"]

PAUSE = 0.1
"""Seconds that a body waits when it asks on after its end."""

NOTHING: deque[Any] = deque(maxlen=0)
"""The messages of who never had one, never added to: an empty deque of its own takes a fourth of an idle process."""

M = TypeVar("M")


class Mailbox(Generic[M]):
    """A queue with one taker.

    `bound` is the most it holds (None for no bound); `dropped` is called with what falls out.
    """

    __slots__ = ("_dropped", "_interrupted", "_messages", "_taker", "bound", "closed")

    def __init__(self, bound: int | None = None, dropped: Callable[[M], None] | None = None) -> None:
        if bound is not None and (type(bound) is not int or bound < 0):
            raise BadInput(f"a mailbox bound is a whole number from 0, or None, found {shown(bound)}")
        self.bound = bound
        self._dropped = dropped
        self._messages: deque[M] = NOTHING
        self._taker: asyncio.Future[None] | None = None
        self._interrupted = False
        self.closed = False

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def parked(self) -> bool:
        """Whether the body waits here for a message."""
        return self._taker is not None

    @property
    def ready(self) -> bool:
        """Whether a message can be taken without waiting."""
        return bool(self._messages) and not self._interrupted and not self.closed

    def pop(self) -> M:
        """The oldest message of a mailbox that is ready."""
        return self._messages.popleft()

    def post(self, message: M) -> None:
        """Put a message at the end."""
        if self.closed:
            self._drop(message)
            return
        if self._messages is NOTHING:
            self._messages = deque()
        self._messages.append(message)
        taken = self._taker is not None  # the oldest is on its way to who waits
        if taken:
            self._wake()
        if self.bound is not None and len(self._messages) > self.bound + taken:
            oldest = self._messages[taken]
            del self._messages[taken]
            self._drop(oldest)

    async def take(self) -> M:
        """The oldest message, waited for. Raises: StopAsyncIteration once closed, or interrupted."""
        while not (self.closed or self._interrupted):
            if self._messages:
                return self._messages.popleft()
            self._taker = asyncio.get_running_loop().create_future()
            try:
                await self._taker
            finally:
                self._taker = None
        self._interrupted = False
        raise StopAsyncIteration

    def interrupt(self) -> None:
        """End the iteration of who waits, or of who asks next; the messages stay."""
        self._interrupted = True
        self._wake()

    def begin(self) -> None:
        """Forget an interruption that nobody heard."""
        self._interrupted = False

    def waiting(self) -> list[M]:
        """The messages that wait, oldest first."""
        return list(self._messages)

    def skip_to_newest(self, skippable: Callable[[M], bool]) -> list[M]:
        """Take out everything before the newest message that `skippable` allows to go; gives what was taken out."""
        if len(self._messages) < 2:
            return []
        *older, newest = self._messages
        gone = [message for message in older if skippable(message)]
        self._messages = deque([*(message for message in older if not skippable(message)), newest])
        return gone

    def remove(self, unwanted: Callable[[M], bool]) -> list[M]:
        """Take out the messages that `unwanted` names; gives them, the others stay in order."""
        gone = [message for message in self._messages if unwanted(message)]
        self._messages = deque(message for message in self._messages if not unwanted(message))
        return gone

    def close(self) -> None:
        """End the iteration; what is still queued is dropped."""
        self.closed = True
        self._wake()
        while self._messages:
            self._drop(self._messages.popleft())

    def _wake(self) -> None:
        if self._taker is not None and not self._taker.done():
            self._taker.set_result(None)

    def _drop(self, message: M) -> None:
        if self._dropped is not None:
            self._dropped(message)
