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
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.durable.activation import Activation, Callers
from workbench.durable.attempts import asleep, attempt_record, count, progressed
from workbench.durable.context import DurableContext
from workbench.durable.receipt import Receipt
from workbench.durable.sending import Sent, link
from workbench.errors import BadInput, CallRefused, Drift, Fenced, OwnedElsewhere, ProcessEnded, Signal, StoreBroken
from workbench.plain import decode, encode
from workbench.process.calls import fail
from workbench.process.drive import Outcome, current_owner, drive
from workbench.process.handle import ENDED, Handle
from workbench.process.spawn import GRACE

if TYPE_CHECKING:
    from concurrent.futures import Future as ThreadFuture

    from workbench.durable.definition import DurableDefinition
    from workbench.durable.runtime import Runtime
    from workbench.loop import Home
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
        self._outbox: deque[Sent] = deque()
        self._waiting: Callers = {}
        self._task: asyncio.Task[None] | None = None
        self._epoch: int | None = None  # of the life that has not said how it ended
        self._how = self._by = ""
        self._anew = False
        self._waits = False

    def cast(self, message: Any) -> Receipt:
        """Post a message at once; await the receipt for its number, once it is in the journal. Raises: NotPlain."""
        text = self.definition.shapes[0].encode(message, "message")
        receipt = Receipt(self._runtime.home)
        if self.activation is not None and not self._how:
            self.activation.append(text, None, receipt)
        else:
            self._send(Sent(text)).add_done_callback(receipt.tell)
        return receipt

    def call(self, message: Any, *, id: str | None = None) -> asyncio.Future[Any]:
        """Post a message and await its answer; the same id with the same message gives the same answer, from any host.

        Raises: CallRefused without an id or when no case takes it, CallConflict for the id of another message, ProcessEnded when the
        process ends first (call again with the same id), NotPlain.
        """
        if type(id) is not str or not id:
            raise CallRefused(
                f'a call to {self.key!r} needs an id made from the thing being done, e.g. id="checkout-A-1001", found {id!r}',
                key=self.key,
            )
        text = self.definition.shapes[0].encode(message, "message")
        plain = decode(text)
        if self.activation is not None and not self._how:
            return self.activation.call(plain, text, id)
        return self._send(Sent(text, plain, id))

    def _send(self, sent: Sent) -> asyncio.Future[Any]:
        """Send to a process that does not live here now: post it elsewhere, or keep it until the process has come to life."""
        if (self.elsewhere is not None or not self._runtime.worker) and not self._is_at_work():
            self._watch()
            link(self._post(sent), sent.future)
        else:
            self._outbox.append(sent)
            self.start()
        return sent.future

    def _post(self, sent: Sent) -> asyncio.Future[Any]:
        if sent.id is not None:
            return asyncio.ensure_future(self._runtime.call_elsewhere(self, sent.message, sent.text, sent.id))
        return asyncio.ensure_future(
            self._runtime.store.post(
                self.key,
                sent.text,
                wake=self._runtime.clock.now(),
                definition=self.definition.name,
                args=encode(self.args, f"the arguments of {self.definition.name}"),
            )
        )

    @property
    def pending(self) -> int:
        """Messages in the journal that the body has not asked for."""
        return len(self.activation.inbox) if self.activation is not None else 0

    @property
    def epoch(self) -> int | None:
        """The epoch of the activation that lives here, or None."""
        return self.activation.epoch if self.activation is not None else None

    def start(self, *, beside: bool = False) -> None:
        """Activate the key here, unless it lives here already; a host that is no worker only follows it.

        What still runs in a thread since the last life is waited for, unless `beside`.
        """
        self.held_by = None
        self._runtime.held.discard(self.key)
        if not self._runtime.worker:
            self._watch()
        elif not self._is_at_work():
            self._runtime.live[self.key] = self
            self.elsewhere = None  # unless the claim says otherwise
            self._how = ""
            self._anew = False
            self._begin()
            self._task = self._runtime.home.start(self._run(beside), name=f"durable {self.key}")
            self._task.add_done_callback(self._begin_anew)
        elif self._how or self._status in ENDED:
            self._anew = True
            self._begin()

    def _begin(self) -> None:
        self.states.over = False
        self.error = None
        self._become("starting")

    def _become(self, status: str) -> None:
        if not (self._anew and status in ENDED):
            super()._become(status)

    def _is_at_work(self) -> bool:
        return self._task is not None and not self._task.done()

    def _begin_anew(self, ended: asyncio.Task[None]) -> None:
        """Start again what was asked for while it ended."""
        if self._anew and self._task is ended and self._how != "closed":
            self.start()

    async def _run(self, beside: bool) -> None:
        try:
            if not beside:
                await self._wait_for_threads()
            while await self._live_once():
                pass
        except asyncio.CancelledError:
            self._how = self._how or "disposed"
            self._become("disposed")
        except (Exception, Signal) as error:
            self._crash(error)
            await self._release("crashed")
        finally:
            if self._task is asyncio.current_task():
                if self._how:
                    await self._release(self._how, self._by)
                self._end_senders()

    async def _wait_for_threads(self) -> None:
        self._waits = True
        try:
            for thread in list(self.threads):
                await _over(thread, self._runtime.home)
                self.threads.discard(thread)
        finally:
            self._waits = False

    async def _live_once(self) -> bool:
        """One activation; gives whether another follows."""
        runtime = self._runtime
        owner = await runtime.claim(self.key, self.definition, self.args)
        if owner is not None:
            await self._follow(owner)
            return False
        self.elsewhere = None
        runtime.following.pop(self.key, None)
        before, loaded = self._epoch, await runtime.store.load(self.key)
        self._epoch = loaded.epoch
        if before is not None:  # our own life before this one, which crashed; the key stayed ours
            loaded = replace(loaded, cut_off=False)
            await runtime.store.release(self.key, before, "crashed", "")
        loaded, restored = self._restore(loaded)
        activation = Activation(
            self.key,
            self.definition.name,
            runtime.store,
            loaded,
            version=self.definition.version,
            redeliver=runtime.redeliver,
            now=runtime.clock.now,
        )
        outcome = await self._drive(activation, loaded, restored)
        if activation.broken is not None:
            outcome = Outcome("signalled", activation.broken)
        return await self._after(activation, outcome)

    async def _drive(self, activation: Activation, loaded: Loaded, restored: Any) -> Outcome:
        try:
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
        activation.driver = self._task
        activation.on_broken = self._interrupt
        activation.changed = self.states.tell
        self.states.tell()
        activation.adopt(self._waiting)
        self._waiting = {}
        current_owner.set(context.owner)
        while self._outbox:
            sent = self._outbox.popleft()
            written = (
                activation.append(sent.text) if sent.id is None else activation.call(sent.message, sent.text, sent.id)
            )
            link(written, sent.future)
        body = self.definition.body(context, **self.args)
        outcome = await drive(body, self._publish, lambda: activation.closed or activation.broken is not None)
        if outcome.how == "done" and activation.in_hand is not None:
            try:
                await activation.finish()
            except BaseException as error:
                outcome = Outcome("signalled", error)
        return outcome

    def _restore(self, loaded: Loaded) -> tuple[Loaded, Any]:
        """What the activation starts from, migrated to this version, and the state as the body gets it."""
        if loaded.snapshot is None:
            return loaded, None
        shape = self.definition.shapes[1]
        if loaded.version != self.definition.version:
            if self.definition.migrate is None:
                raise BadInput(
                    f"{self.key!r} has a state of version {loaded.version} and {self.definition.name} is version {self.definition.version}; "
                    "give the definition a migrate=…"
                )
            state = self.definition.migrate(decode(loaded.snapshot), loaded.version)
            loaded = replace(loaded, snapshot=shape.encode(state, "the migrated state"))
        text = loaded.snapshot or ""
        self.states.publish(text)
        return loaded, shape.decode(text)

    async def _count_a_death(self, activation: Activation) -> None:
        """The last host died in the first message that waits: count it, unless the message was parked, asleep or moving on."""
        if not activation.inbox:
            return
        head = activation.inbox[0]
        records = await self._runtime.store.steps(self.key, head.seq)
        if asleep(records, self._runtime.clock.now()) or await self._runtime.requests.find(
            key=self.key, status="pending"
        ):
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
        """See to how an activation ended; gives whether another follows. When it was told to end, `end` says so in the journal."""
        self.activation = None
        activation.on_broken = _over_already
        if self.context is not None:
            self.context.cancelled.set()
            await self.context.owner.end()
        self.threads |= activation.threads
        activation.close()
        error, again = outcome.error, False
        if outcome.how == "disposed" and isinstance(error, Exception):
            log.error("%s failed while it ended: %r", self.key, error, exc_info=error)
        if outcome.how == "crashed" and error is not None and not self._how:
            try:
                again = await self._again(activation, error)
            except (Exception, Fenced, StoreBroken) as failure:
                error = activation.write_failed(failure) if isinstance(failure, Exception) else failure
        if again or self._how == "replaced":
            self._waiting = activation.hand_on()
        activation.end_calls(self._end_of_calls(outcome, error))
        if self._how:
            return False
        if isinstance(error, Fenced):
            await self._follow_the_new_owner(error)
        elif again:
            self.error = error
            self._become("restarting")
        elif error is None or outcome.how == "disposed":
            await self._release(outcome.how)
            if not self._how:
                self._become(outcome.how)
                self._anew = bool(self._outbox)  # what was sent meanwhile wants another life
        else:
            self._crash(error)
            await self._release("crashed")
        return again and not self._how

    def _end_of_calls(self, outcome: Outcome, error: BaseException | None) -> BaseException:
        if self._how:
            return ProcessEnded(f"{self.key!r} was {self._how} before it answered", name=self.key, status=self._how)
        if error is None or outcome.how == "disposed":
            return ProcessEnded(f"{self.key!r} ended before it answered", name=self.key, status=outcome.how)
        return error

    async def _again(self, activation: Activation, error: BaseException) -> bool:
        """Count the failed message; set it aside when its attempts are used up. False when it failed outside any message."""
        delivery = activation.in_hand
        if delivery is None or isinstance(error, Drift):
            return False
        log.error("%s failed in message %s: %r", self.key, delivery.seq, error, exc_info=error)
        number = count(await self._runtime.store.steps(self.key, delivery.seq)) + 1
        await self._count(activation, delivery.seq, number, f"{type(error).__name__}: {error}")
        if number >= self.definition.max_attempts:
            await activation.set_aside(delivery, f"{type(error).__name__}: {error}")
        return True

    def _crash(self, error: BaseException) -> None:
        self.error = error
        log.error("%s crashed: %r", self.key, error, exc_info=error)
        self._runtime.live.pop(self.key, None)
        self._become("crashed")

    async def _release(self, how: str, by: str = "") -> None:
        """Say in the journal how the life ended, once."""
        self._runtime.live.pop(self.key, None)
        epoch, self._epoch = self._epoch, None
        if epoch is not None:
            await self._runtime.store.release(self.key, epoch, how, by)

    def _end_senders(self) -> None:
        """Fail those who wait to hear of what they sent, unless another life takes it."""
        if self._status not in ENDED or (self._anew and self._how != "closed"):
            return
        for future in [sent.future for sent in self._outbox] + [one for waiting in self._waiting.values() for one in waiting]:
            error = ProcessEnded(f"{self.key!r} is {self._status}; send it again, with the same id if it is a call", name=self.key, status=self._status)
            error.__cause__ = self.error
            fail(future, error)
        self._outbox.clear()
        self._waiting = {}

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
        """End the activation and wait for its finalizers; a body that ignores the cancellation is waited for `GRACE` seconds, twice."""
        task, activation = self._task, self.activation
        self._anew = False
        self._runtime.following.pop(self.key, None)
        if task is None or task.done():
            if self._status not in ENDED:
                self.elsewhere = None
                self._become("disposed")
            return
        self._how, self._by = how, by
        self._become("restarting" if how == "replaced" else "disposed")
        if activation is not None:
            if self.context is not None:
                self.context.cancelled.set()
            parked = activation.parked_on_mailbox()
            activation.close()
            if not parked:
                task.cancel()
        elif self._waits:
            task.cancel()
        done, _ = await asyncio.wait([task], timeout=GRACE)
        if not done:
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=GRACE)
        if not done and self._task is task:
            log.error(
                "%s does not end: its body swallows the cancellation; nothing that it does is written any more",
                self.key,
            )
            self._task = None
            await self._release(how, by)

    async def replace(self, definition: DurableDefinition) -> None:
        """Go on under another definition of the same name, from the last commit."""
        self.use(definition)
        await self.end("replaced", "")
        self.start()

    def use(self, definition: DurableDefinition) -> None:
        """Take the definition for the next activation."""
        self.definition = definition
        self.states.shape = definition.shapes[1]

    async def recover(self, *, beside: bool = False) -> None:
        """Activate the key again, from the journal.

        A plain function that still runs in a thread since a kill is waited for first; `beside=True` goes on next to it.
        """
        if not beside:
            await self._wait_for_threads()
        self.start(beside=beside)

    async def _follow(self, owner: Host) -> None:
        self.elsewhere = owner
        self._epoch = None
        self._runtime.live.pop(self.key, None)
        self._runtime.following[self.key] = self
        await self.refresh()
        while self._outbox:
            sent = self._outbox.popleft()
            link(self._post(sent), sent.future)

    async def _follow_the_new_owner(self, error: Fenced) -> None:
        info = await self._runtime.store.key_info(self.key)
        owner = info.owner if info is not None else None
        if owner is not None and owner.id != self._runtime.store.host.id:
            self.error = OwnedElsewhere(
                f"{self.key!r} now belongs to {owner.label} (pid {owner.pid}); nothing was written here",
                key=self.key,
                owner=owner,
            )
            await self._follow(owner)
            return
        await self._release("fenced")
        self._become("disposed")

    def follow(self, owner: Host) -> None:
        """Follow a key that another host has, without asking for it. Does nothing while it lives here."""
        if not self._is_at_work():
            self.elsewhere = owner
            self._watch()

    def _watch(self) -> None:
        """Follow what is committed, without a claim."""
        if self.key not in self._runtime.following:
            self._runtime.following[self.key] = self
            self._runtime.home.start(self.refresh(), name=f"follow {self.key}")

    async def refresh(self) -> None:
        """Look at what the owner elsewhere has committed; a key that nobody owns any more comes to life here."""
        info = await self._runtime.store.key_info(self.key)
        if info is not None and not self._is_living():
            if info.snapshot is not None:
                self.states.publish(info.snapshot)
                self._become("running")
            ours = info.owner is None or info.owner.id == self._runtime.store.host.id
            before, self.elsewhere = self.elsewhere, None if ours else info.owner
            if before is not None and info.owner is None and self.key not in self._runtime.held:
                self.start()
        self.states.tell()

    def _is_living(self) -> bool:
        return self.activation is not None


class _Ending:
    """Awaitable for an end that goes on by itself."""

    __slots__ = ("_task",)

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def __await__(self) -> Generator[Any, None, None]:
        return asyncio.shield(self._task).__await__()


async def _over(thread: ThreadFuture[Any], home: Home) -> None:
    """Return when a thread has finished, however it did."""
    over: asyncio.Future[None] = home.loop.create_future()
    thread.add_done_callback(lambda _: home.hop(_settle, over))
    await over


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _over_already() -> None:
    """What a broken activation interrupts when its body is gone."""
