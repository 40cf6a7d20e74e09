"""Calls: a message that wants an answer, and the reply that gives it.

- In a body a call arrives as `Call(message, reply)`; `reply(value)` answers it now or later, once.
- A call that no case takes must not hang its caller: a reply that nobody kept fails it when the body asks for its
  next message, and one that was kept and thrown away unanswered fails it then.

Source: PROCESSES 1.5 and B.4. Knows nothing of mailboxes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.errors import CallRefused

if TYPE_CHECKING:
    import asyncio

__all__ = ["Call", "OpenCalls", "Reply", "fail"]

OpenCalls: TypeAlias = "dict[asyncio.Future[Any], None]"
"""The callers of a process whose calls may still be answered, in the order in which they called."""

_KEPT_BY_CALL_ALONE = 2  # the call's own slot, and getrefcount's argument


class Reply:
    """Answers one call. Calling it a second time is refused. It is one of the `calls` that are open until then."""

    __slots__ = ("_calls", "_message", "_name", "future")

    def __init__(self, future: asyncio.Future[Any], name: str, message: object, calls: OpenCalls) -> None:
        self.future = future
        self._name = name
        self._message = message
        self._calls = calls
        calls[future] = None

    @property
    def answered(self) -> bool:
        """Whether the caller has its answer, or its failure, or went away."""
        return self.future.done()

    def __call__(self, value: object = None) -> None:
        """Give the caller `value`. Raises: CallRefused when the call was answered before."""
        if self.future.done():
            if self.future.cancelled():
                return
            raise CallRefused(f"{self._name} answered the call {self._message!r} already; one call has one answer")
        self._calls.pop(self.future, None)
        self.future.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Fail the caller with `error`, unless it has its answer."""
        self._calls.pop(self.future, None)
        fail(self.future, error)

    def refuse(self) -> None:
        """Fail the caller because nothing takes its message."""
        self.fail(self._refusal())

    def _refusal(self) -> CallRefused:
        return CallRefused(f"{self._name} has no case for {self._message!r}; nothing was done", name=self._name)

    def __del__(self) -> None:
        if self.future.done():
            self._calls.pop(self.future, None)
            return
        loop = self.future.get_loop()
        if not loop.is_closed():  # soon: the end of its process has the first word
            loop.call_soon_threadsafe(_fail_open, self._calls, self.future, self._refusal())


def _fail_open(calls: OpenCalls, caller: asyncio.Future[Any], error: BaseException) -> None:
    calls.pop(caller, None)
    fail(caller, error)


def fail(future: asyncio.Future[Any], error: BaseException) -> None:
    """Fail a caller, unless it has its answer or went away."""
    if not future.done():
        future.set_exception(error)
        future.exception()  # a caller that went away is no unseen failure


class Call:
    """A message that wants an answer, as a body sees it: match it with `case Call({"type": …}, reply)`."""

    __slots__ = ("message", "reply")
    __match_args__ = ("message", "reply")

    def __init__(self, message: Any, reply: Any) -> None:
        self.message = message
        self.reply = reply

    def __repr__(self) -> str:
        return f"Call({self.message!r})"

    def kept(self) -> bool:
        """Whether something besides this call holds its reply."""
        return sys.getrefcount(self.reply) > _KEPT_BY_CALL_ALONE
