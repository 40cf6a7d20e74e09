"""Sending: messages on their way to a process that does not live here yet, and whoever waits to hear of them.

They are delivered in the order in which they were sent, by whoever comes first: a life of the process here, or a post
to where it lives.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from workbench.durable.posting import post_to
from workbench.errors import ProcessEnded
from workbench.process.calls import fail
from workbench.process.mailbox import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.durable.activation import Activation
    from workbench.durable.calls import Callers
    from workbench.durable.residence import Residence
    from workbench.durable.runtime import Runtime

__all__ = ["Outbox", "Sent", "link", "post"]


class Sent:
    """A message on its way. `id` is there for calls."""

    __slots__ = ("future", "id", "message", "text")

    def __init__(self, text: str, message: Any = None, id: str | None = None) -> None:
        self.text = text
        self.message = message
        self.id = id
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class Outbox:
    """What waits for the next life of a process: messages, and the callers that the last one left waiting."""

    __slots__ = ("_callers", "_messages")

    def __init__(self) -> None:
        self._messages: deque[Sent] = NOTHING
        self._callers: Callers = {}

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, sent: Sent) -> None:
        """Keep a message."""
        if self._messages is NOTHING:
            self._messages = deque()
        self._messages.append(sent)

    def keep(self, callers: Callers) -> None:
        """Keep callers whose calls are in the log, beside those that no life has adopted yet."""
        for id, waiting in callers.items():
            self._callers.setdefault(id, []).extend(waiting)

    def deliver(self, activation: Activation, most: int | None) -> None:
        """Give a life everything, or as much as leaves it with at most `most` messages; the rest waits for room."""
        if self._callers:
            activation.calls.adopt(self._callers)
            self._callers = {}
        while self._messages and (most is None or activation.unacknowledged < most):
            sent = self._messages.popleft()
            if sent.id is None:
                link(activation.append(sent.text), sent.future)
            else:
                link(activation.call(sent.message, sent.text, sent.id), sent.future)

    def post(self, post: Callable[[Sent], asyncio.Future[Any]]) -> None:
        """Send every message to where the process lives."""
        while self._messages:
            sent = self._messages.popleft()
            link(post(sent), sent.future)

    def let_go(self, error: BaseException) -> None:
        """Tell the callers who were kept that no life here adopts them."""
        callers, self._callers = self._callers, {}
        for waiting in callers.values():
            for caller in waiting:
                fail(caller, error)

    def fail(self, words: str, cause: BaseException | None) -> None:
        """Tell everyone that there is no next life."""
        waiting = [sent.future for sent in self._messages]
        waiting += [caller for callers in self._callers.values() for caller in callers]
        for future in waiting:
            error = ProcessEnded(words)
            error.__cause__ = cause
            fail(future, error)
        self._messages.clear()
        self._callers = {}


def post(sent: Sent, process: Residence, runtime: Runtime) -> asyncio.Future[Any]:
    """Post a message to a process that lives on another host: the number of a cast, the answer to a call."""
    if sent.id is not None:
        return asyncio.ensure_future(runtime.elsewhere.call(process, sent.message, sent.text, sent.id))
    return asyncio.ensure_future(post_to(process, runtime.store, runtime.clock, sent.text))


def link(source: asyncio.Future[Any], target: asyncio.Future[Any]) -> None:
    """Give `target` the outcome of `source`; a signal becomes an error that its sender can catch."""

    def settle(done: asyncio.Future[Any]) -> None:
        if target.done():
            if not done.cancelled():
                done.exception()  # who asked has given up, so nobody else sees it
        elif done.cancelled():
            target.cancel()
        elif (error := done.exception()) is not None:
            target.set_exception(error if isinstance(error, Exception) else ProcessEnded(str(error)))
            target.exception()
        else:
            target.set_result(done.result())

    source.add_done_callback(settle)
