"""The durable process: one key as this kernel sees it, from claim to release, over as many activations as it takes.

- One task claims, loads, drives the body and sees to how it ended. While it starts, what is sent waits in order and loses nothing.
- A failed message is tried again at once, and set aside after its attempts; a body that fails outside any message is crashed for good.
- Killing writes nothing more, and leaves the key alone until someone asks for it.

Source: PROCESSES part B and 2.2, 2.9, 2.10, 2.12.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Generator
from typing import TYPE_CHECKING, Any

from workbench.durable.activation import Activation
from workbench.durable.attempts import asleep, attempt_record, count, progressed
from workbench.durable.context import DurableContext
from workbench.durable.receipt import Receipt
from workbench.errors import BadInput, CallRefused, Disposed, Drift, Fenced, OwnedElsewhere, ProcessEnded
from workbench.plain import decode
from workbench.process.drive import Outcome, current_owner, drive
from workbench.process.handle import ENDED, Handle
from workbench.process.spawn import GRACE

if TYPE_CHECKING:
    from concurrent.futures import Future as ThreadFuture

    from workbench.durable.definition import DurableDefinition
    from workbench.durable.runtime import Runtime
    from workbench.store.journal import Host, Loaded

__all__ = ["DurableProcess"]

log = logging.getLogger("workbench")


class DurableProcess(Handle):
    """A handle to one key of the store. It lives here while this host owns the key, and follows it while another does."""

    def __init__(self, runtime: Runtime, definition: DurableDefinition, key: str, args: dict[str, Any]) -> None:
        super().__init__(key, definition.shapes[1])
        self.key = key
        self.definition = definition
        self.args = args
        self.activation: Activation | None = None
        self.context: DurableContext[Any, Any] | None = None
        self.elsewhere: Host | None = None
        self.held_by: str | None = None
        self.threads: set[ThreadFuture[Any]] = set()
        self._runtime = runtime
        self._outbox: deque[_Sent] = deque()
        self._task: asyncio.Task[None] | None = None
        self._how = ""

    def cast(self, message: Any) -> Receipt:
        """Post a message at once; await the receipt for its number, once it is in the journal. Raises: NotPlain."""
        text = self.definition.shapes[0].encode(message, "message")
        if self.activation is not None:
            return Receipt(self.activation.append(text), self._runtime.home)
        return Receipt(self._send(_Sent(text)), self._runtime.home)

    def call(self, message: Any, *, id: str | None = None) -> asyncio.Future[Any]:
        """Post a message and await its answer; the same id with the same message gives the same answer, from any host.

        Raises: CallRefused without an id or when no case takes it, CallConflict for the id of another message, ProcessEnded when the
        process ends first (call again with the same id), NotPlain.
        """
        if type(id) is not str or not id:
            raise CallRefused(
                f"a call to {self.key!r} needs an id made from the thing being done, e.g. id=\"checkout-A-1001\", found {id!r}", key=self.key
            )
        text = self.definition.shapes[0].encode(message, "message")
        plain = decode(text)
        if self.activation is not None:
            return self.activation.call(plain, text, id)
        return self._send(_Sent(text, plain, id))

    def _send(self, sent: _Sent) -> asyncio.Future[Any]:
        """Send to a process that does not live here now: post it elsewhere, or keep it until the process has come to life."""
        if self.elsewhere is not None:
            _link(self._post(sent), sent.future)
        else:
            self._outbox.append(sent)
            self.start()
        return sent.future

    def _post(self, sent: _Sent) -> asyncio.Future[Any]:
        if sent.id is not None:
            return asyncio.ensure_future(self._runtime.call_elsewhere(self, sent.message, sent.text, sent.id))
        return asyncio.ensure_future(self._runtime.store.post(self.key, sent.text, wake=self._runtime.clock.now()))

    @property
    def pending(self) -> int:
        """Messages in the journal that the body has not asked for."""
        return len(self.activation.inbox) if self.activation is not None else 0

    @property
    def epoch(self) -> int | None:
        """The epoch of the activation that lives here, or None."""
        return self.activation.epoch if self.activation is not None else None

    def start(self) -> None:
        """Activate the key here, unless it lives here already."""
        if self._task is None or self._task.done():
            self.held_by = None
            self._runtime.held.discard(self.key)
            self._runtime.live[self.key] = self
            self._how = ""
            self.states.over = False
            self.error = None
            self._become("starting")
            self._task = self._runtime.home.start(self._run(), name=f"durable {self.key}")

    async def _run(self) -> None:
        try:
            while await self._live_once():
                pass
        except asyncio.CancelledError:
            self._become("disposed")
        except Exception as error:
            self._crash(error)
        finally:
            self._end_senders()

    async def _live_once(self) -> bool:
        """One activation; gives whether another follows."""
        runtime = self._runtime
        owner = await runtime.claim(self.key, self.definition, self.args)
        if owner is not None:
            await self._follow(owner)
            return False
        loaded = await runtime.store.load(self.key)
        activation = Activation(
            self.key,
            self.definition.name,
            runtime.store,
            loaded,
            version=self.definition.version,
            redeliver=runtime.redeliver,
            now=runtime.clock.now,
        )
        outcome = await self._drive(activation, loaded)
        if activation.broken is not None:
            outcome = Outcome("signalled", activation.broken)
        return await self._after(activation, outcome)

    async def _drive(self, activation: Activation, loaded: Loaded) -> Outcome:
        try:
            restored = self._restore(loaded)
            for logged in await self._runtime.store.pending(self.key, loaded.cursor):
                activation.replay(logged)
            for logged in await self._runtime.store.collect(self.key, loaded.epoch):
                activation.replay(logged)
            if loaded.cut_off:
                await self._count_a_death(activation)
        except (Exception, Fenced) as error:
            return Outcome("crashed" if isinstance(error, Exception) else "signalled", error)
        if self._how:
            return Outcome("disposed")
        context: DurableContext[Any, Any] = DurableContext(
            activation,
            restored,
            self.definition.shapes[0],
            self._publish,
            clock=self._runtime.clock,
            pool=self._runtime.pool,
            requests=self._runtime.requests,
        )
        self.context = context
        self.activation = activation
        activation.on_broken = self._interrupt
        activation.changed = self.states.tell
        current_owner.set(context.owner)
        while self._outbox:
            sent = self._outbox.popleft()
            written = activation.append(sent.text) if sent.id is None else activation.call(sent.message, sent.text, sent.id)
            _link(written, sent.future)
        body = self.definition.body(context, **self.args)
        outcome = await drive(body, self._publish, lambda: activation.closed or activation.broken is not None)
        if outcome.how == "done" and activation.in_hand is not None:
            try:
                await activation.finish()
            except BaseException as error:
                outcome = Outcome("signalled", error)
        return outcome

    def _restore(self, loaded: Loaded) -> Any:
        if loaded.snapshot is None:
            return None
        if loaded.version == self.definition.version:
            self.states.publish(loaded.snapshot)
            return self.definition.shapes[1].decode(loaded.snapshot)
        if self.definition.migrate is None:
            raise BadInput(
                f"{self.key!r} has a state of version {loaded.version} and {self.definition.name} is version {self.definition.version}; "
                "give the definition a migrate=…"
            )
        state = self.definition.migrate(decode(loaded.snapshot), loaded.version)
        self.states.publish(self.definition.shapes[1].encode(state, "the migrated state"))
        return state

    async def _count_a_death(self, activation: Activation) -> None:
        """The last host died in the first message that waits: count it, unless the message was parked, asleep or moving on."""
        if not activation.inbox:
            return
        head = activation.inbox[0]
        records = await self._runtime.store.steps(self.key, head.seq)
        if asleep(records) or await self._runtime.requests.find(key=self.key, status="pending"):
            return
        number = 0 if progressed(records) else count(records) + 1
        why = "its host died while it was handled"
        await self._count(activation, head.seq, number, why)
        if number >= self.definition.max_attempts:
            activation.in_hand = activation.inbox.popleft()
            await activation.set_aside(activation.in_hand, f"{why}, {number} times")

    async def _count(self, activation: Activation, seq: int, number: int, why: str) -> None:
        now = self._runtime.clock.now()
        record = attempt_record(number, why, now, activation.epoch)
        await self._runtime.store.put_step(self.key, activation.epoch, seq, record, now + self._runtime.redeliver)

    def _publish(self, state: Any) -> None:
        assert self.activation is not None
        text = self.states.shape.encode(state, "state")
        self.activation.snapshot = text
        self.states.publish(text)
        self._become("running")

    async def _after(self, activation: Activation, outcome: Outcome) -> bool:
        self.activation = None
        if self.context is not None:
            self.context.cancelled.set()
            await self.context.owner.end()
        self.threads |= activation.threads
        activation.close()
        if self._how:
            activation.end_calls(ProcessEnded(f"{self.key!r} was {self._how} before it answered", name=self.key, status=self._how))
            return False
        error = outcome.error
        if outcome.how in ("done", "disposed"):
            activation.end_calls(ProcessEnded(f"{self.key!r} ended before it answered", name=self.key, status=outcome.how))
            await self._release(activation, outcome.how)
            self._become(outcome.how)
            return bool(self._outbox)
        assert error is not None
        if isinstance(error, Fenced):
            activation.end_calls(error)
            await self._follow_the_new_owner(error)
            return False
        again = outcome.how == "crashed" and await self._again(activation, error)
        activation.end_calls(error)
        if again:
            self.error = error
            self._become("restarting")
            return True
        await self._release(activation, "crashed")
        self._crash(error)
        return False

    async def _again(self, activation: Activation, error: BaseException) -> bool:
        """Count the failed message; set it aside when its attempts are used up. False when it failed outside any message."""
        delivery = activation.in_hand
        if delivery is None or isinstance(error, Drift):
            return False
        log.error("%s failed in message %s: %r", self.key, delivery.seq, error, exc_info=error)
        number = count(await self._runtime.store.steps(self.key, delivery.seq)) + 1
        activation.closed = False
        await self._count(activation, delivery.seq, number, f"{type(error).__name__}: {error}")
        if number >= self.definition.max_attempts:
            await activation.set_aside(delivery, f"{type(error).__name__}: {error}")
        return True

    def _crash(self, error: BaseException) -> None:
        self.error = error
        log.error("%s crashed: %r", self.key, error, exc_info=error)
        self._runtime.live.pop(self.key, None)
        self._become("crashed")

    async def _release(self, activation: Activation, how: str) -> None:
        self._runtime.live.pop(self.key, None)
        await self._runtime.store.release(self.key, activation.epoch, how, "")

    def _end_senders(self) -> None:
        if self._status in ENDED and self._outbox and not self._how:
            error = ProcessEnded(f"{self.key!r} is {self._status}", name=self.key, status=self._status)
            error.__cause__ = self.error
            while self._outbox:
                sent = self._outbox.popleft()
                sent.future.set_exception(error)
                sent.future.exception()

    def _interrupt(self) -> None:
        """Cancel what the body awaits, because its activation is over; a body on its mailbox ends by itself."""
        if self._task is not None and self._task is not asyncio.current_task():
            activation = self.activation
            if activation is None or not activation.parked_on_mailbox():
                self._task.cancel()

    def dispose(self) -> Awaitable[None]:
        """End the activation here; unfinished work stays in the journal, and the next activation carries on."""
        return _Ending(self._runtime.home.start(self.end("disposed", ""), name=f"dispose {self.key}"))

    async def kill(self, by: str = "you") -> None:
        """End the activation as a crash would: nothing more is written. This bench leaves the key alone until it is asked for it."""
        self._runtime.held.add(self.key)
        self.held_by = by
        await self.end("killed", by)

    async def end(self, how: str, by: str) -> None:
        """End the activation and wait for its finalizers; a body that ignores the cancellation is waited for `GRACE` seconds."""
        task, activation = self._task, self.activation
        if task is None or task.done():
            return
        self._how = how
        self._become("disposed")
        if activation is not None:
            if self.context is not None:
                self.context.cancelled.set()
            parked = activation.parked_on_mailbox()
            activation.close()
            if not parked:
                task.cancel()
        elif self.elsewhere is not None:
            task.cancel()
        done, _ = await asyncio.wait([task], timeout=GRACE)
        if not done:
            task.cancel()
            await asyncio.wait([task], timeout=GRACE)
        self._runtime.live.pop(self.key, None)
        if activation is not None:
            await self._runtime.store.release(self.key, activation.epoch, how, by)

    async def recover(self, *, beside: bool = False) -> None:
        """Activate the key again, from the journal.

        A plain function that still runs in a thread since a kill is waited for first; `beside=True` goes on next to it.
        """
        if not beside:
            while self.threads:
                await asyncio.wait([asyncio.wrap_future(thread) for thread in list(self.threads)])
                self.threads = {thread for thread in self.threads if not thread.done()}
        self.start()

    async def _follow(self, owner: Host) -> None:
        self.elsewhere = owner
        self._runtime.live.pop(self.key, None)
        self._runtime.following[self.key] = self
        await self.refresh()
        while self._outbox:
            sent = self._outbox.popleft()
            _link(self._post(sent), sent.future)

    async def _follow_the_new_owner(self, error: Fenced) -> None:
        info = await self._runtime.store.key_info(self.key)
        owner = info.owner if info is not None else None
        if owner is not None and owner.id != self._runtime.store.host.id:
            self.error = OwnedElsewhere(
                f"{self.key!r} now belongs to {owner.label} (pid {owner.pid}); nothing was written here", key=self.key, owner=owner
            )
            await self._follow(owner)
            return
        self.error = error if isinstance(error, Exception) else None
        self._runtime.live.pop(self.key, None)
        self._become("disposed")

    async def refresh(self) -> None:
        """Look at what the owner elsewhere has committed."""
        info = await self._runtime.store.key_info(self.key)
        if info is not None and info.snapshot is not None:
            self.states.publish(info.snapshot)
        self._become("running")


class _Sent:
    """A message on its way to a process that does not live here yet. `id` is there for calls."""

    __slots__ = ("future", "id", "message", "text")

    def __init__(self, text: str, message: Any = None, id: str | None = None) -> None:
        self.text = text
        self.message = message
        self.id = id
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class _Ending:
    """Awaitable for an end that goes on by itself."""

    __slots__ = ("_task",)

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.shield(self._task).__await__()


def _link(source: asyncio.Future[Any], target: asyncio.Future[Any]) -> None:
    """Give `target` the outcome of `source`."""

    def settle(done: asyncio.Future[Any]) -> None:
        if target.done():
            return
        if done.cancelled():
            target.cancel()
        elif (error := done.exception()) is not None:
            target.set_exception(error if isinstance(error, Exception) else Disposed(str(error)))
            target.exception()
        else:
            target.set_result(done.result())

    source.add_done_callback(settle)
