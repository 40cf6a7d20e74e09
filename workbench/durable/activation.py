"""The activation: one life of a key in this kernel, between its body and the journal.

- A message is logged before it is handled, and acknowledged when the body asks for the next one: snapshot, cursor and
  answers in one commit.
- Answers are released after that commit; casts that the body sent to itself are logged in it.
- The first failed write ends the activation for good: `broken` is sticky, so a body that swallows the signal still
  cannot go on.

Source: PROCESSES 2.2, 2.3, 2.8, DESIGN rules 4 and 9. Knows nothing of claims, attempts or who drives the body.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.durable.answers import check_same, failure
from workbench.durable.calls import Calls
from workbench.durable.drifts import choices_of, replace_all
from workbench.durable.steps import Branch, Ledger
from workbench.errors import Disposed, Fenced, StepMisuse, StoreBroken, StoreError
from workbench.plain import decode, digest
from workbench.process.mailbox import NOTHING, PAUSE
from workbench.store.journal import Commit, DeadLetter, Loaded, Logged, StepRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Future as ThreadFuture

    from workbench.durable.receipt import Receipt
    from workbench.store.store import Store

__all__ = ["Activation", "Delivery"]


@dataclass(slots=True)
class Delivery:
    """A message on its way to the body.

    `again` when it may have been delivered before: its steps are in `records`, or read when it is handed out.
    """

    seq: int
    text: str
    call_id: str | None
    again: bool = False
    records: list[StepRecord] | None = None


class Activation:
    """The state of one life.

    `redeliver` is how long after an append an unacknowledged key comes due again, in seconds.
    """

    __slots__ = (
        *("_handed_out", "_last_sent", "_peek", "_self_casts", "_taker", "_tasks", "_told", "_unlogged"),
        *("broken", "calls", "changed", "closed", "cursor", "driver", "epoch", "held"),
        *("in_hand", "inbox", "key", "ledger", "name", "now", "on_broken", "redeliver", "snapshot"),
        *("store", "threads", "trunk", "turned", "version"),
    )

    def __init__(
        self,
        key: str,
        name: str,
        store: Store,
        loaded: Loaded,
        *,
        version: int,
        redeliver: float,
        now: Callable[[], float],
    ) -> None:
        self.key = key
        self.name = name
        self.store = store
        self.epoch = loaded.epoch
        self.cursor = loaded.cursor
        self.version = version
        self.now = now
        self.redeliver = redeliver
        self.inbox: deque[Delivery] = NOTHING
        self.in_hand: Delivery | None = None
        self.ledger: Ledger | None = None
        self.trunk: Branch | None = None
        self.snapshot = loaded.snapshot
        self._handed_out = loaded.snapshot
        self.broken: BaseException | None = None
        self.closed = self.held = False
        self.threads: dict[ThreadFuture[Any], None] = {}
        self.driver: asyncio.Task[Any] | None = None
        self.on_broken: Callable[[], None] = _nothing
        self.changed: Callable[[], None] = _nothing
        self.turned: Callable[[], None] = _nothing
        """Called when it turns to a message, or to its empty mailbox."""
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self.calls = Calls(key, name, store, loaded.open_calls)
        self._self_casts: list[str] = []
        self._taker: asyncio.Future[None] | None = None
        self._peek: Callable[[str], None] | None = None
        self._told = False
        self._unlogged = 0
        self._last_sent: asyncio.Future[int] | None = None

    def append(self, text: str, call_id: str | None = None, receipt: Receipt | None = None) -> asyncio.Future[int]:
        """Log a message and deliver it once it is in the journal; then its receipt is told.

        Gives the future of its number.
        """
        written = self.store.append(self.key, self.epoch, text, call_id, self.due_again())
        if not isinstance(written, asyncio.Future):
            written = asyncio.ensure_future(written)
        written.add_done_callback(partial(self._appended, text, call_id, receipt))
        self._unlogged += 1
        self._last_sent = written
        return written

    async def caught_up(self) -> None:
        """Return once everything that was sent before is in the log and delivered, or will never be."""
        if self._last_sent is not None and not self._last_sent.done():
            await asyncio.wait([self._last_sent])
        else:
            await asyncio.sleep(0)

    def due_again(self) -> float:
        """When the key comes due if we die: in whole seconds, so that most writes leave its wake where it is."""
        return float(math.ceil(self.now() + self.redeliver))

    def replay(self, logged: Logged) -> None:
        """Deliver a message of the log that was not acknowledged."""
        if logged.call_id is not None:
            if logged.seq <= self.cursor and self.store.result_now(self.key, logged.call_id) is not None:
                return  # it was sent here as well, heard of sooner, and answered
            self.calls.digests[logged.call_id] = digest(decode(logged.message))
        self._arrive(Delivery(logged.seq, logged.message, logged.call_id, again=True))
        if self._peek is not None:
            self._peek(logged.message)

    def _arrive(self, delivery: Delivery) -> None:
        """Queue a message by its number: what was posted elsewhere may be heard of before what was sent here.

        The same call, posted and sent at the same time, has one number and is queued once.
        """
        if self.in_hand is not None and self.in_hand.seq == delivery.seq:
            return
        inbox = self.inbox
        if inbox is NOTHING:
            inbox = self.inbox = deque()
        at = len(inbox)
        while at and inbox[at - 1].seq > delivery.seq:
            at -= 1
        if at and inbox[at - 1].seq == delivery.seq:
            return
        inbox.insert(at, delivery)
        self._wake()

    def peek(self, arrived: Callable[[str], None]) -> None:
        """Show the messages behind the one in hand to `arrived`, now and as they come, until it is acknowledged."""
        self._peek = arrived
        for delivery in list(self.inbox):
            arrived(delivery.text)

    def call(self, message: Any, text: str, id: str) -> asyncio.Future[Any]:
        """The future of a call's answer: attached to an open one of that id, read from the journal, or logged."""
        mark, calls = digest(message), self.calls
        caller: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if id in calls.digests:
            check_same(calls.digests[id], mark, self.key, id, self.store)
            calls.callers.setdefault(id, []).append(caller)
            return caller
        calls.digests[id] = mark
        calls.callers[id] = [caller]
        envelope = self.store.result_now(self.key, id)
        if envelope is not None:
            calls.release(id, envelope)
        elif self.broken is not None or self.closed:
            calls.fail(id, self._ended())
        else:
            self.append(text, id)
        return caller

    def _appended(self, text: str, call_id: str | None, receipt: Receipt | None, written: asyncio.Future[int]) -> None:
        self._unlogged -= 1
        if receipt is not None:
            receipt.tell(written)
        if written.cancelled():
            return
        error = written.exception()
        if error is None:
            if call_id is not None and call_id not in self.calls.digests:
                return  # it was posted as well, heard of sooner, and answered
            self._arrive(Delivery(written.result(), text, call_id))
            if self._peek is not None:
                self._peek(text)
            return
        self.write_failed(error)
        if call_id is not None:
            self.calls.fail(call_id, error)

    async def next(self) -> Delivery | None:
        """Commit what is in hand, then the next message, waited for; None once closed.

        Raises: the signal that broke the activation; Disposed for what was in hand when it closed.
        """
        if not self._is_over():
            await self.finish()
        while not self.inbox and not self._is_over():
            self._taker = asyncio.get_running_loop().create_future()
            self.turned()
            try:
                await self._taker
            finally:
                self._taker = None
        if self._is_over():
            await self._no_more()
            return None
        delivery = await self._next_in_hand()
        self.turned()
        choices = self.ledger.choices if self.ledger is not None else None
        if choices is None or choices.set_aside is None:
            return delivery
        await self.set_aside(delivery, f"its steps are other ones now; {choices.set_aside.by} set it aside")
        return await self.next()

    def _is_over(self) -> bool:
        return self.closed or self.broken is not None

    async def _no_more(self) -> None:
        """The end, told once as the end of the iteration where nothing is lost by it.

        A body that asks on gets the signal, and each time later, so that one that swallows it leaves the loop its time.
        """
        told, self._told = self._told, True
        if told:
            await asyncio.sleep(PAUSE)
        if self.broken is None and (told or self.in_hand is not None):
            words = f"with message {self.in_hand.seq} in hand; it is delivered again" if self.in_hand else "and asks on"
            raise Disposed(f"{self.key!r} was disposed {words}")
        if self.broken is not None:
            raise self.broken

    async def skip(self) -> Delivery:
        """Pass over the cast in hand for the message behind it; its acknowledgement covers both."""
        return await self._next_in_hand()

    async def _next_in_hand(self) -> Delivery:
        delivery = self.inbox[0]
        if delivery.again and delivery.records is None:  # it stays in the inbox meanwhile, so that it is there once
            delivery.records = await self.store.steps(self.key, delivery.seq)
            self.inbox.remove(delivery)
        else:
            self.inbox.popleft()
        recorded = delivery.records or ()
        choices = await choices_of(self.store, self.key, recorded) if recorded else None
        if choices is not None and choices.to_be_replaced:
            await replace_all(self.store, self.key, self.epoch, delivery.seq, self.now())
        self.ledger = Ledger(self.key, delivery.seq, recorded, choices)
        self.trunk = Branch(self.ledger, "")
        self.in_hand = delivery
        self._handed_out = self.snapshot
        return delivery

    async def finish(self) -> None:
        """Acknowledge the message in hand: one commit, then its answers are released."""
        if self.broken is not None:
            raise self.broken
        delivery = self.in_hand
        if delivery is None:
            self._log_self_casts()
            return
        if self.closed:
            raise Disposed(f"{self.key!r} was disposed with message {delivery.seq} in hand; it is delivered again")
        drift = self.ledger.leftover() if self.ledger is not None else None
        if drift is not None:
            raise self.stop(drift)
        if delivery.call_id is not None:
            self.calls.refuse_the_untaken(delivery.call_id, delivery.text)
        await self._commit(delivery, self.snapshot, None)

    async def set_aside(self, delivery: Delivery, error: str, attempts: int = 0) -> None:
        """Make the message a dead letter, with the state it was handed out against; its caller gets the failure."""
        self.calls.answers.clear()
        self._self_casts.clear()
        if delivery.call_id is not None:
            words = f"{self.key!r} set message {delivery.seq} aside: {error}"
            self.calls.answers[delivery.call_id] = failure(self.calls.digests[delivery.call_id], "dead", words)
        letter = DeadLetter(delivery.seq, delivery.text, delivery.call_id, error, attempts)
        await self._commit(delivery, self._handed_out, letter)

    async def _commit(self, delivery: Delivery, snapshot: str | None, dead: DeadLetter | None) -> None:
        calls = self.calls
        answers, calls.answers = calls.answers, {}
        casts, self._self_casts = self._self_casts, []
        commit = Commit(snapshot, self.version, delivery.seq, tuple(answers.items()), dead, self.due_again(), casts)
        try:
            numbers = await self.store.commit(self.key, self.epoch, commit)
        except asyncio.CancelledError:
            await self._release_what_landed(answers)
            raise
        except (Exception, Fenced) as error:
            raise self.write_failed(error) from error
        self.cursor = delivery.seq
        self.in_hand = None
        self.ledger = self.trunk = None
        self._peek = None
        for text, seq in zip(casts, numbers, strict=True):
            self._arrive(Delivery(seq, text, None))
        for id, envelope in answers.items():
            calls.release(id, envelope)
        self.changed()

    async def _release_what_landed(self, answers: dict[str, str]) -> None:
        """The body was told to end while its commit was landing: what that recorded is heard all the same."""
        with suppress(StoreError):  # who does not hear is told to call again
            await self.store.steps(self.key, self.cursor + 1)  # a read waits for what was written before it
            for id in answers:
                if (envelope := self.store.result_now(self.key, id)) is not None:
                    self.calls.release(id, envelope)

    def _log_self_casts(self) -> None:
        casts, self._self_casts = self._self_casts, []
        for text in casts:
            self.append(text)

    def cast_to_self(self, text: str) -> None:
        """Log a message behind what waits, with the commit of the message in hand."""
        self._self_casts.append(text)
        if self.in_hand is None and self._taker is not None:
            self._log_self_casts()

    async def put(self, ledger: Ledger, record: StepRecord, wake_at: float | None = None) -> None:
        """Keep the record of a step of the message in hand.

        Raises: StepMisuse when the message of `ledger` has ended, the signal that broke the activation.
        """
        if self.broken is not None or self.closed:
            raise self._ended()
        if ledger is not self.ledger:
            raise StepMisuse(
                f"step {record.name!r} of message {ledger.seq} of {self.key!r} finished after its message had ended; "
                "its result is lost, await the step in its handler",
                name=record.name,
            )
        try:
            await self.store.put_step(self.key, self.epoch, ledger.seq, record, wake_at)
        except (Exception, Fenced) as error:
            raise self.write_failed(error) from error
        ledger.records.append(record)

    def hold(self, held: bool) -> None:
        """Say whether the message in hand waits for its next attempt."""
        self.held = held
        self.changed()

    def watch(self, write: Awaitable[None]) -> None:
        """Let a write land by itself; it breaks the activation when it fails, as one that is awaited does."""
        written = asyncio.ensure_future(write)
        written.add_done_callback(self._landed)

    def _landed(self, written: asyncio.Future[None]) -> None:
        if not written.cancelled() and (error := written.exception()) is not None:
            self.write_failed(error)

    def enter(self, task: asyncio.Task[Any]) -> None:
        """A task that works for this activation and is cancelled with it; the driver's own ends by itself."""
        if task is not self.driver and task not in self._tasks:
            self._tasks[task] = None
            task.add_done_callback(self._tasks.pop)

    def entered(self, thread: ThreadFuture[Any]) -> None:
        """A thread that works for this activation; it cannot be stopped, only waited for."""
        self.threads[thread] = None
        thread.add_done_callback(self.threads.pop)

    def write_failed(self, error: BaseException) -> BaseException:
        """Break the activation because a write did not land; gives the signal that its awaits raise."""
        if isinstance(error, Fenced):
            return self.stop(error)
        return self.stop(
            StoreBroken(f"a write of {self.key!r} failed, nothing after it is in the journal: {error}", key=self.key)
        )

    def stop(self, error: BaseException) -> BaseException:
        """Break the activation for good; the first reason stays and is given back."""
        if self.broken is None:
            self.broken = error
            self._cancel_tasks()
            self._wake()
            self.on_broken()
        return self.broken

    def close(self) -> None:
        """No message follows, and nothing more is written."""
        self.closed = True
        self._cancel_tasks()
        self._wake()

    @property
    def unacknowledged(self) -> int:
        """Messages on their way to the log or in it, the one in hand included."""
        return self._unlogged + len(self.inbox) + (self.in_hand is not None)

    @property
    def is_awaited(self) -> bool:
        """Whether somebody here waits for an answer, or for a message of theirs to be in the log."""
        return bool(self.calls.callers) or (self._last_sent is not None and not self._last_sent.done())

    def parked_on_mailbox(self) -> bool:
        """Whether the body waits for a message."""
        return self._taker is not None

    def _ended(self) -> BaseException:
        return self.broken or Disposed(f"{self.key!r} was disposed; what it had begun is delivered again")

    def _cancel_tasks(self) -> None:
        current = asyncio.current_task()
        for task in list(self._tasks):
            if task is not current:
                task.cancel()

    def _wake(self) -> None:
        if self._taker is not None and not self._taker.done():
            self._taker.set_result(None)


def _nothing() -> None:
    """What an activation does for nobody in particular."""
