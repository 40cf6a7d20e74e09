"""The durable context: what `ctx` is in a durable body; what it hears and says, and its steps, sleeps and requests.

- A step has its address when it is asked for, not when it is awaited; its record is in the journal before its caller
  has the value.
- A sleep keeps its deadline and a request its id: both go on where they were after a restart.

Source: DESIGN 2, PROCESSES 2.1 to 2.8. Knows nothing of how messages arrive.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workbench.durable.functions import call_with_key
from workbench.durable.keys import escape
from workbench.durable.listening import Listening
from workbench.durable.requests import Request
from workbench.durable.results import declared_by, failed, is_failure, recorded
from workbench.durable.retries import Try, in_time, try_again
from workbench.durable.steps import Address, Branch, Ledger, current_branch
from workbench.durable.threads import Threads
from workbench.errors import BadInput, Disposed, Drift, NotPlain, StepFailed, StepMisuse
from workbench.given import LONGEST, NAME, shown
from workbench.given import seconds as checked_seconds
from workbench.loop import Home
from workbench.plain import PLAIN, Shape, decode, encode, shape_of
from workbench.store.journal import StepRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from concurrent.futures import Future

    from workbench.durable.retries import Retry

__all__ = ["DurableContext"]

M = TypeVar("M")
S = TypeVar("S")


class Callee(Protocol):
    """What a process can call: a handle, or what stands for one."""

    def call(self, message: Any, *, id: str) -> Awaitable[Any]:
        """The answer to a message; the same id is the same call."""
        ...


class DurableContext(Listening[M, S]):
    """The inside face of one activation."""

    __slots__ = ()

    def step(
        self,
        name: str,
        fn: Callable[..., Any],
        *,
        returns: Any = None,
        retry: Retry | None = None,
        timeout: float | None = None,
    ) -> Awaitable[Any]:
        """Do something once: await its result, which the journal holds from then on.

        `fn` gets the idempotency key; plain functions run in a thread, coroutines on the loop. The value is always
        the one decoded from the journal, restored to `returns` (by default the annotation of `fn`). With `retry`, the
        journal counts the tries that failed, and the last failure, or a fatal one, is recorded and raised by replay;
        without, an exception propagates and is not recorded (SystemExit and its like as StepFailed).
        `timeout` is in seconds, for each try.

        Raises: StepMisuse outside a message, in a thread or in a task without a branch, Drift, NotPlain for a result
        that cannot be stored, TimeoutError; with `retry`, StepFailed in place of the last two.
        """
        if not callable(fn):
            raise BadInput(
                f"step {name!r} needs a function to call, found {fn!r}; write ctx.step({name!r}, lambda key: …)"
            )
        if timeout is not None:
            checked_seconds(f"the timeout of step {name!r}", timeout)
        branch, address, record = self._take(name)
        shape = shape_of(returns, strict=True) if returns is not None else declared_by(fn)
        return recorded(record, shape) if record is not None else self._run(branch, address, fn, shape, retry, timeout)

    async def _run(
        self,
        branch: Branch,
        address: Address,
        fn: Callable[..., Any],
        shape: Shape,
        retry: Retry | None,
        timeout: float | None,
    ) -> Any:
        activation, ledger = self._activation, branch.ledger
        if ledger is not activation.ledger or activation.closed or activation.broken is not None:
            self._must_be_in_hand(ledger, address.name)
        task = asyncio.current_task()
        if task is not None and task is not activation.driver:
            activation.enter(task)
        began = self._clock.now()
        ledger.open[address] = began
        outer = branch.running, branch.inside
        if task is branch.task:
            branch.running, branch.inside = address, None
        activation.changed()
        try:
            value = await self._try(branch, address, fn, retry, timeout)
            if activation.closed or activation.broken is not None:
                raise activation.broken or Disposed(
                    f"step {address.name!r} finished after its process was disposed; nothing is written"
                )
            text = shape.encode(value, f"the result of step {address.name!r}")
            await activation.put(ledger, self._record(address, text, began))
        except (StepFailed, NotPlain) as error:
            if retry is None:
                raise
            failure = error if isinstance(error, StepFailed) else failed(address.name, error, retryable=False)
            await activation.put(ledger, self._record(address, encode(failure.fields), began, kind="failure"))
            raise failure from error.__cause__
        except BaseException as error:
            if isinstance(error, Exception) or not is_failure(error):
                raise
            raise failed(address.name, error, retryable=True) from error
        finally:
            if task is branch.task:
                branch.running, branch.inside = outer
            ledger.open.pop(address, None)
            if ledger.deadlines:
                ledger.deadlines.pop(address, None)
            activation.changed()
        return shape.as_stored(value, text)

    def _try(
        self, branch: Branch, address: Address, fn: Callable[..., Any], retry: Retry | None, timeout: float | None
    ) -> Awaitable[Any]:
        """What the function gives, tried as often as is asked for."""
        ledger, name = branch.ledger, address.name
        if retry is None:
            called = call_with_key(fn, ledger.key_of(address), name, self.pool, self._activation.entered)
            return called if timeout is None else in_time(called, timeout, name)

        def attempt() -> Awaitable[Any]:
            branch.begin_again(address)
            ledger.deadlines.pop(address, None)
            return self._try(branch, address, fn, None, timeout)

        async def keep(made: Try) -> None:
            record = self._record(address, made.text, ledger.open[address], kind="try")
            ledger.deadlines[address] = made.next_at
            await self._activation.put(ledger, record, wake_at=self._wake_of(ledger))
            self._activation.changed()

        failed_before = ledger.tries(address)
        return try_again(attempt, retry, name, self._clock, failed_before[-1] if failed_before else None, keep)

    def tries(self) -> list[Try]:
        """The tries that failed of the step whose function asks, oldest first, those of earlier lives included."""
        branch = self._branch("tries")
        return [] if branch.running is None else branch.ledger.tries(branch.running)

    def _record(self, address: Address, text: str, began: float, *, kind: Any = "step") -> StepRecord:
        took = self._clock.now() - began
        return StepRecord(
            address.branch,
            address.name,
            address.occurrence,
            text,
            kind,
            address.position,
            began,
            took if took > 0.0 else 0.0,
            self._activation.epoch,
        )

    def call(self, name: str, handle: Callee, message: Any, *, id: str | None = None) -> Awaitable[Any]:
        """Call another process, once: a step whose key is the call's id, so a replay asks for the same answer.

        Another `id` must be this call's alone, as the key is. Raises: as `step`, and what the call raises.
        """
        if not hasattr(handle, "call"):
            raise BadInput(f"ctx.call {name!r} needs the handle of a process, found {handle!r:.80}")

        async def asked(key: str, rest: Callable[[], Awaitable[None]]) -> Any:
            if getattr(handle, "key", None) is not None:  # what waits for another durable process is at rest
                await rest()
            return await handle.call(message, id=id or key)

        return self.wait(name, asked)

    def wait(
        self,
        name: str,
        fn: Callable[[str, Callable[[], Awaitable[None]]], Awaitable[Any]],
        *,
        retry: Retry | None = None,
    ) -> Awaitable[Any]:
        """Wait for something outside, once: a step whose function awaits `rest()` before it waits for another process.

        Its message is at rest from then on: the death of its host is no attempt at it.
        """
        branch, address, record = self._take(name)
        if record is not None:
            return recorded(record, PLAIN)

        async def waited(key: str) -> Any:
            return await fn(key, lambda: self._wait(branch.ledger, address))

        return self._run(branch, address, waited, PLAIN, retry, None)

    async def _wait(self, ledger: Ledger, address: Address) -> None:
        if not ledger.has(address, "wait"):
            await self._activation.put(ledger, self._record(address, "null", ledger.open[address], kind="wait"))

    def sleep(self, name: str, seconds: float) -> Awaitable[None]:
        """Sleep for `seconds`. The deadline is saved, not the timer: after a restart only the remainder is waited.

        It is asked for, and its deadline fixed, when it is called, as a step is. Raises: as `step`, BadInput.
        """
        _must_be_seconds(name, seconds)
        return self.sleep_until(name, self._clock.now() + seconds)

    def sleep_until(self, name: str, when: float) -> Awaitable[None]:
        """Sleep until `when`, in UTC seconds; the first deadline asked for stays. Raises: as `step`, BadInput."""
        _must_be_seconds(name, when)
        branch, address, record = self._take(name)
        deadline = float(when) if record is None else float(decode(record.payload))
        return self._asleep(branch.ledger, address, record, deadline)

    async def _asleep(self, ledger: Ledger, address: Address, record: StepRecord | None, deadline: float) -> None:
        began = self._clock.now() if record is None else record.began_at
        ledger.deadlines[address] = deadline
        try:
            if record is None:
                self._must_be_in_hand(ledger, address.name)
                saved = self._record(
                    address, encode(deadline, f"the deadline of {address.name!r}"), began, kind="sleep"
                )
                await self._activation.put(ledger, saved, wake_at=self._wake_of(ledger))
            ledger.open[address] = began
            self._activation.changed()
            await self._clock.sleep_until(deadline)
        finally:
            ledger.open.pop(address, None)
            del ledger.deadlines[address]
            self._activation.changed()

    def _wake_of(self, ledger: Ledger) -> float:
        """When the key is due while it sleeps: its earliest deadline, or as ever while something else of it works."""
        earliest = min(ledger.deadlines.values())
        works = ledger.open.keys() - ledger.deadlines.keys()
        return min(earliest, self._activation.due_again()) if works else earliest

    def ask(self, name: str, body: dict[str, Any]) -> Awaitable[Request]:
        """Ask a person: a request that stays open, through any crash, until someone decides it.

        Gives the decided request.
        """
        branch, address, record = self._take(name)
        return self._asked(branch.ledger, address, record, body)

    async def _asked(
        self, ledger: Ledger, address: Address, record: StepRecord | None, body: dict[str, Any]
    ) -> Request:
        if record is not None:
            return Request.from_plain(decode(record.payload))
        self._must_be_in_hand(ledger, address.name)
        began = self._clock.now()
        ledger.open[address] = began
        try:
            request = await self._requests.ask(ledger.key, ledger.key_of(address), body)
            await self._activation.put(ledger, self._record(address, encode(request.to_plain()), began))
        finally:
            ledger.open.pop(address, None)
        return request

    def concluded(self, name: str) -> Any:
        """The recorded result of the step `name` of the current branch if the branch came that far before, else None.

        A branch that came to its conclusion has used all its records, so nothing of it runs or is asked for again.
        """
        branch = self._branch(name)
        for record in branch.ledger.recorded(branch.path):
            if record.name == name:
                branch.ledger.settle(branch.path)
                return decode(record.payload)
        return None

    def recorded(self) -> frozenset[str]:
        """The names of the steps that earlier deliveries recorded on the current branch."""
        branch = self._branch("recorded")
        return frozenset(record.name for record in branch.ledger.recorded(branch.path))

    def was_asked(self, name: str) -> bool:
        """Whether the first `ask` of this name on the current branch has its request already, decided or not."""
        branch = self._branch(name)
        ledger = branch.ledger
        return self._requests.knows(ledger.key_at(branch.path, name, 0))

    def conclude(self) -> None:
        """End the current branch on purpose: what it recorded and will not ask for again is no drift."""
        branch = self._branch("conclude")
        branch.ledger.settle(branch.path)

    def give_up(self) -> None:
        """End the message in hand early on purpose: what it recorded and will not ask for again is no drift."""
        self._ledger("give up").give_up()

    async def threads_over(self) -> None:
        """Return once no thread works for this process any more; one that never looks at `cancelled` takes its time."""
        threads = Threads(Home.of_running())
        threads.add(self._activation.threads)
        await threads.over()

    def entered(self, thread: Future[Any]) -> None:
        """Say that a thread of the pool works for this activation: it is waited for before a recovery."""
        self._activation.entered(thread)

    @property
    def over(self) -> bool:
        """Whether its life has ended: a signal then is the runtime's own, and nothing more is written."""
        return self._activation.closed or self._activation.broken is not None

    @property
    def ledger(self) -> Ledger:
        """The records of the message in hand."""
        return self._ledger("ledger")

    @asynccontextmanager
    async def branch(self, name: str) -> AsyncIterator[Branch]:
        """A branch for the steps of the current task: `async with ctx.branch("left")`.

        Steps in tasks of your own need one.
        """
        parent = self._branch(name)
        task = asyncio.current_task()
        if type(name) is not str or not name:
            raise BadInput(f"a branch is named by a text, found {name!r:.80}")
        branch = parent.ledger.branch(parent, name)
        branch.task = task
        if task is not None:
            self._activation.enter(task)
        token = current_branch.set(branch)
        try:
            yield branch
        finally:
            current_branch.reset(token)

    def _take(self, name: str) -> tuple[Branch, Address, StepRecord | None]:
        """The branch and address of the step asked for now, and its record when it has one."""
        if type(name) is not str or not name:
            raise BadInput(f"a step is named by a text, found {name!r}")
        if len(name) > NAME:
            raise BadInput(
                f"a step's name has at most {NAME:,} characters, found {len(name):,}, beginning with {name[:40]!r}; "
                "name it shortly, and put the rest into what its function closes over"
            )
        if not name.isascii():
            escape(name)  # raises for what is no UTF-8, which no row can hold
        branch = self._branch(name)
        ledger = branch.ledger
        address = branch.address(name)
        try:
            return branch, address, ledger.claim(address)
        except Drift as drift:
            raise self._activation.stop(drift) from None

    def _branch(self, name: str) -> Branch:
        """The branch of the current task; the trunk where the caller's context knows none of this message."""
        ledger, trunk = self._ledger(name), self._activation.trunk
        assert trunk is not None
        branch = current_branch.get()
        return branch if branch is not None and branch.ledger is ledger else trunk

    def _must_be_in_hand(self, ledger: Ledger, name: str) -> None:
        """A step begins when it is awaited, and by then its message may have ended."""
        if self._ledger(name) is not ledger:
            raise StepMisuse(
                f"step {name!r} of message {ledger.seq} is awaited after its message has ended; "
                "await it in its handler",
                name=name,
            )

    def _ledger(self, name: str) -> Ledger:
        activation = self._activation
        if activation.broken is not None:
            raise activation.broken
        if activation.closed:
            raise Disposed(f"step {name!r} is asked for after its process was disposed; the next activation runs it")
        if activation.ledger is None:
            raise StepMisuse(
                f"step {name!r} is asked for outside any message and would run again in every activation; "
                "move it into a handler",
                name=name,
            )
        return activation.ledger


def _must_be_seconds(name: str, given: object) -> None:
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not -LONGEST <= given <= LONGEST:
        raise BadInput(f"sleep {name!r} needs a number of seconds, found {shown(given)}")
