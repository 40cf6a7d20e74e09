"""Spawning: a definition becomes a live process, in memory, on the running loop.

- One task drives one process through all its instances; a crash ends an instance, a restart begins the next on the
  same mailbox.
- The order of an end is fixed: iterators end, the mailbox closes, the body is cancelled, its `finally` runs, calls
  fail, children end.
- A crashed instance's casts stay queued for the next one, its calls fail and never reach it.

Source: PROCESSES 1.5 to 1.7. Knows nothing of journals.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from workbench.errors import CallRefused, ProcessEnded, Signal
from workbench.loop import Home
from workbench.process.calls import Call, Reply, fail
from workbench.process.context import Context
from workbench.process.drive import Outcome, Owner, current_owner, drive
from workbench.process.handle import ENDED, Handle
from workbench.process.mailbox import Mailbox

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

    from workbench.process.definition import Definition

__all__ = ["GRACE", "Process", "spawn", "spawn_for"]

GRACE = 5.0
"""Seconds that a body parked on its mailbox has to end by itself once disposed; then it is cancelled."""

log = logging.getLogger("workbench")


def spawn(definition: Definition, /, **args: Any) -> Process:
    """Start a process on the running loop. Inside a body it is owned by that body's instance.

    Raises: BadInput when the arguments do not fit the body's signature.
    """
    return spawn_for(current_owner.get(), definition, args)


def spawn_for(owner: Owner | None, definition: Definition, args: dict[str, Any]) -> Process:
    """`spawn` with the owner named."""
    child = Process(definition, definition.bind(args))
    if owner is not None:
        owner.adopt(child)
    return child


class Ended:
    """Awaitable for the end of a process; ignoring it is fine."""

    __slots__ = ("_task",)

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def __await__(self) -> Generator[Any, None, None]:
        yield from asyncio.wait([self._task]).__await__()


class Process(Handle):
    """A process in memory."""

    __slots__ = ("_args", "_calls", "_context", "_definition", "_mailbox", "_restarts", "_task", "_warned")

    def __init__(self, definition: Definition, args: dict[str, Any]) -> None:
        super().__init__(definition.name, definition.shapes[1])
        self._definition = definition
        self._args = args
        self._calls: set[asyncio.Future[Any]] = set()
        self._mailbox: Mailbox[Any] = Mailbox(definition.mailbox, self._dropped)
        self._context: Context[Any, Any] = Context(self.name, self._mailbox)
        self._restarts = 0
        self._warned = False
        if definition.initial is not None:
            self.states.publish(self.states.shape.encode(definition.initial, "state"))
        self._task = Home.of_running().start(self._run(), name=f"process {self.name}")

    @property
    def pending(self) -> int:
        """Messages that wait in the mailbox."""
        return len(self._mailbox)

    def cast(self, message: Any) -> Awaitable[int]:
        """Post a message; a process that has ended drops it. Awaiting it gives 0: there is no journal."""
        self._mailbox.post(message)
        return _Posted()

    def call(self, message: Any, *, id: str | None = None) -> Awaitable[Any]:
        """Post a message and await its answer.

        Raises: ProcessEnded when the process is not running or ends first, CallRefused when no case takes the message.
        """
        future = asyncio.get_running_loop().create_future()
        if self._status in ENDED:
            future.set_exception(
                ProcessEnded(f"{self.name} is {self._status} and takes no calls", name=self.name, status=self._status)
            )
            return future
        self._calls.add(future)
        future.add_done_callback(self._calls.discard)
        self._mailbox.post(Call(message, Reply(future, self.name, message)))
        return future

    def dispose(self) -> Awaitable[None]:
        if self._status not in ENDED:
            parked = self._mailbox.parked
            self._become("disposed")
            self._mailbox.close()
            self._context.cancelled.set()
            if parked:
                loop = asyncio.get_running_loop()
                nap = loop.call_later(GRACE, self._task.cancel)
                self._task.add_done_callback(lambda _: nap.cancel())
            else:
                self._task.cancel()
        return Ended(self._task)

    async def _run(self) -> None:
        current_owner.set(self._context.owner)
        while True:
            try:
                body = self._definition.body(self._context, **self._args)
                outcome = await drive(body, self._publish, lambda: self._status == "disposed")
            except asyncio.CancelledError:  # disposed before the body's first line
                outcome = Outcome("disposed")
            if not await self._after(outcome):
                return

    async def _after(self, outcome: Outcome) -> bool:
        """End the instance; gives whether the next one begins."""
        self._context.cancelled.set()
        error = outcome.error if outcome.how in ("crashed", "signalled") else None
        again = (
            error is not None
            and self._definition.restart == "on-crash"
            and self._restarts < self._definition.max_restarts
        )
        if error is not None:
            self.error = error
            log.error("%s crashed: %r", self.name, error, exc_info=error)
        elif outcome.error is not None and not isinstance(outcome.error, Signal):
            log.error("%s failed while it ended: %r", self.name, outcome.error, exc_info=outcome.error)
        status = {"done": "done", "disposed": "disposed"}.get(outcome.how, "crashed")
        self._fail_calls(error or ProcessEnded(f"{self.name} ended before it answered", name=self.name, status=status))
        if not again:
            self._become(status)
            self._mailbox.close()
        await self._context.owner.end()
        if again:
            self._restarts += 1
            self._become("restarting")
            self._context = Context(self.name, self._mailbox)
            current_owner.set(self._context.owner)
        return again

    def _fail_calls(self, reason: BaseException) -> None:
        """Fail every caller; their messages are for nobody any more, casts stay."""
        self._mailbox.remove(lambda message: type(message) is Call)
        for future in list(self._calls):
            fail(future, reason)

    def _publish(self, state: Any) -> None:
        self.states.publish(self.states.shape.encode(state, "state"))
        self.error = None
        self._become("running")

    def _dropped(self, message: Any) -> None:
        if type(message) is Call:
            if self._mailbox.closed:
                message.reply.fail(
                    ProcessEnded(f"{self.name} ended before it answered", name=self.name, status=self._status)
                )
            else:
                message.reply.fail(
                    CallRefused(
                        f"{self.name} dropped {message.message!r}: its mailbox holds {self._definition.mailbox}"
                    )
                )
        elif not self._mailbox.closed and not self._warned:
            self._warned = True
            log.warning("%s dropped its oldest message: its mailbox holds %s", self.name, self._definition.mailbox)


class _Posted:
    """The receipt of a cast in memory: there is no journal, so its number is 0."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, int]:
        yield from ()
        return 0
