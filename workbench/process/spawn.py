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

from workbench.errors import BadInput, CallRefused, ProcessEnded, Signal
from workbench.loop import Home
from workbench.process.calls import Call, OpenCalls, Reply, fail
from workbench.process.code import same_code
from workbench.process.context import Context
from workbench.process.crashes import Crash, report
from workbench.process.definition import Definition
from workbench.process.drive import SYSTEM, Outcome, Owner, current_owner, drive
from workbench.process.handle import ENDED, Handle
from workbench.process.mailbox import Mailbox
from workbench.process.supervision import Budget, Restarts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator

    from workbench.clock import Clock

__all__ = ["GRACE", "Process", "spawn", "spawn_for"]

GRACE = 5.0
"""Seconds that a body parked on its mailbox has to end by itself once disposed; then it is cancelled."""

log = logging.getLogger("workbench")


def spawn(definition: Definition, /, **args: Any) -> Process:
    """Start a process on the running loop. Inside a body it is owned by that body's instance.

    Raises: BadInput when the arguments do not fit the body's signature.
    """
    return spawn_for(current_owner.get(), definition, args)


def spawn_for(
    owner: Owner | None, definition: Definition, args: dict[str, Any], *, clock: Clock | None = None
) -> Process:
    """`spawn` with the owner named, whose clock the process lives by unless another is given."""
    if not isinstance(definition, Definition):
        raise BadInput(f"a process is spawned of what @process or @durable has made, found {definition!r:.80}")
    child = Process(definition, definition.bind(args), clock or (SYSTEM if owner is None else owner.clock))
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

    __slots__ = (
        *("_args", "_begun", "_calls", "_clock", "_context", "_definition", "_mailbox", "_replaced", "_restarts"),
        *("_home", "_task", "_warned", "_working"),
    )

    def __init__(self, definition: Definition, args: dict[str, Any], clock: Clock = SYSTEM) -> None:
        super().__init__(definition.name, definition.shapes[1])
        self._definition = definition
        self._args = args
        self._clock = clock
        self._calls: OpenCalls = {}
        self._mailbox: Mailbox[Any] = Mailbox(definition.mailbox, self._dropped)
        self._context = self._fresh_context()
        self._restarts: Restarts | None = None
        self._begun = self._replaced = self._warned = False
        self._working = True
        if definition.initial is not None:
            self.states.publish(self.states.shape.encode(definition.initial, "state"))
        self._home = Home.of_running()
        self._task = self._home.start(self._run(), name=f"process {self.name}")

    @property
    def definition(self) -> Definition:
        """What it is an instance of."""
        return self._definition

    @property
    def pending(self) -> int:
        """Messages that wait in the mailbox."""
        return len(self._mailbox)

    @property
    def working(self) -> bool:
        return self._working

    @property
    def busy(self) -> bool:
        return self._status not in ENDED and (
            bool(self._context.held) or not all(caller.done() for caller in self._calls)
        )

    @property
    def restarts(self) -> Budget:
        return (self._restarts or Restarts(self._definition.policy, self._clock)).budget

    def details(self) -> dict[str, Any]:
        return {**super().details(), "pending": self.pending}

    def cast(self, message: Any) -> Awaitable[int]:
        """Post a message; a process that has ended drops it. Awaiting it gives 0: there is no journal.

        Raises: BadInput in another thread.
        """
        self._home.must_be_here("a message is cast")
        self._mailbox.post(message)
        return _Posted()

    def call(self, message: Any, *, id: str | None = None) -> Awaitable[Any]:
        """Post a message and await its answer.

        Raises: ProcessEnded when the process is not running or ends first, CallRefused when no case takes the message,
        BadInput in another thread.
        """
        self._home.must_be_here("a process is called")
        future = asyncio.get_running_loop().create_future()
        if self._status in ENDED:
            future.set_exception(
                ProcessEnded(f"{self.name} is {self._status} and takes no calls", name=self.name, status=self._status)
            )
            return future
        self._mailbox.post(Call(message, Reply(future, self.name, message, self._calls)))
        return future

    def dispose(self) -> Awaitable[None]:
        self._home.must_be_here("a process is disposed")
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

    def replace(self, definition: Definition) -> None:
        """Go on under another definition, from the arguments, with the same mailbox and the last state on show.

        A message in hand is finished first, under the old code; a body that waits for anything else is cancelled.
        Where the code is the same nothing is disturbed.
        """
        same = same_code(self._definition.body, definition.body)
        self._definition = definition
        self._mailbox.bound = definition.mailbox
        self._restarts = None
        if self._status not in ENDED:
            self.states.shape = definition.shapes[1]
            if self._begun and not same and not self._replaced:
                self._leave()

    def _leave(self) -> None:
        """End this instance for the next one."""
        self._replaced = True
        if self._mailbox.parked or self._context.in_hand is not None:
            self._mailbox.interrupt()
        else:
            self._task.cancel()

    async def _run(self) -> None:
        self._begun = True
        while True:
            current_owner.set(self._context.owner)
            try:
                body = self._definition.body(self._context, **self._args)
                outcome = await drive(body, self._publish, lambda: self._status == "disposed")
            except asyncio.CancelledError:  # disposed before the body's first line
                outcome = Outcome("disposed")
            except Exception as error:  # arguments of before that a replaced body does not take
                outcome = Outcome("crashed", error)
            if not await self._after(outcome):
                return

    async def _after(self, outcome: Outcome) -> bool:
        """End the instance; gives whether the next one begins."""
        self._context.cancelled.set()
        self._context.in_hand = None
        replaced = self._replaced and self._status != "disposed"
        error = outcome.error if outcome.how in ("crashed", "signalled") else None
        again = replaced or (error is not None and self._may_restart())
        if error is not None:
            self._crashed(error, again)
        elif outcome.error is not None and not isinstance(outcome.error, Signal):
            log.error("%s failed while it ended: %r", self.name, outcome.error, exc_info=outcome.error)
        status = {"done": "done", "disposed": "disposed"}.get(outcome.how, "crashed")
        self._working = again
        if again:
            self._become("restarting")
        self._fail_calls(error, "replaced" if replaced else status, queued=error is not None or not replaced)
        if not again:
            self._become(status)
            self._mailbox.close()
        try:
            await self._context.owner.end()
            if again and self._restarts is not None:
                await self._restarts.pause()
        except asyncio.CancelledError:
            return self._cut_between(replaced)
        if again:
            self._begin_anew()
        return again and self._status != "disposed"

    def _cut_between(self, replaced: bool) -> bool:
        """It was cancelled between two instances: disposed, replaced once more, or its loop ends."""
        if self._replaced and self._status != "disposed" and not replaced:
            self._task.uncancel()
            self._begin_anew()
            return True
        self._become("disposed")
        self._mailbox.close()
        return False

    def _begin_anew(self) -> None:
        self._replaced = False
        self._mailbox.begin()
        self._context = self._fresh_context()

    def _fresh_context(self) -> Context[Any, Any]:
        return Context(self.name, self._mailbox, self._works, self._clock)

    def _works(self, working: bool) -> None:
        if working != self._working and self._status not in ENDED:
            self._working = working
            self.states.tell()

    def _may_restart(self) -> bool:
        if self._status == "disposed" or self._definition.policy.restart == "never":
            return False
        if self._restarts is None:
            self._restarts = Restarts(self._definition.policy, self._clock)
        return self._restarts.take()

    def _crashed(self, error: BaseException, again: bool) -> None:
        self.error = error
        log.error("%s crashed: %r", self.name, error, exc_info=error)
        if not again and self._restarts is not None:
            words = f"{self.name} has spent {self._restarts.budget}, and does not begin again"
            error.add_note(words)
            log.error("%s", words)
        if not self._definition.quiet:
            report(Crash(self.name, error, again))

    def _fail_calls(self, error: BaseException | None, status: str, *, queued: bool) -> None:
        """Fail the callers, and unless those that are `queued` may wait on, take out their messages; casts stay."""
        stay = set()
        if queued:
            self._mailbox.remove(lambda message: type(message) is Call)
        else:
            stay = {message.reply.future for message in self._mailbox.waiting() if type(message) is Call}
        words = f"{self.name} was replaced before it answered" if status == "replaced" else None
        words = words or f"{self.name} ended before it answered"
        for future in [caller for caller in self._calls if caller not in stay]:
            self._calls.pop(future, None)
            fail(future, error or ProcessEnded(words, name=self.name, status=status))

    def _publish(self, state: Any) -> None:
        self._working = False
        self.error = None
        self.states.publish(self.states.shape.encode(state, "state"))
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
