"""The durable process: one key as this kernel sees it, from claim to release, over as many activations as it takes.

- One task claims, loads, drives the body and sees to how it ended. While it starts, what is sent waits in order.
- A failed message is tried again at once, and set aside after its attempts, and its callers wait for how that ends; a
  body that fails outside any message is crashed.
- Every life says in the journal how it ended, so that a death is known by its silence.
- Killing writes nothing more, and leaves the key alone until someone asks for it.

Source: PROCESSES part B and 2.2, 2.9, 2.10, 2.12.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.durable import inspecting
from workbench.durable.busy import at_work, is_busy
from workbench.durable.doing import doing
from workbench.durable.life import Life
from workbench.durable.posting import no_room
from workbench.durable.receipt import Receipt
from workbench.durable.residence import Residence
from workbench.durable.sending import Sent, link
from workbench.errors import BadInput, CallRefused, Drift, Fenced, ProcessEnded, Signal, StoreBroken, StoreError
from workbench.plain import PLAIN, decode
from workbench.process.drive import Outcome
from workbench.process.handle import ENDED
from workbench.words import is_whole, kind_and_words

if TYPE_CHECKING:
    from workbench.durable.activation import Activation
    from workbench.durable.definition import DurableDefinition
    from workbench.durable.runtime import Runtime
    from workbench.events import Source
    from workbench.process.inspector import Doing
    from workbench.process.supervision import Budget

__all__ = ["DurableProcess"]

log = logging.getLogger("workbench")


class DurableProcess(Residence):
    """A handle to one key of the store: it lives here while this host owns it, and follows it while another does."""

    def __init__(self, runtime: Runtime, definition: DurableDefinition, key: str, args: dict[str, Any]) -> None:
        super().__init__(runtime, definition, key, args)
        self._beside = False

    def cast(self, message: Any) -> Receipt:
        """Post a message at once; await the receipt for its number, once it is in the journal.

        Raises: NotPlain; CallRefused when its mailbox is full and refuses; StoreError when its bench is closed;
        BadInput in another thread.
        """
        self._runtime.home.must_be_here("a message is cast")
        text = self.definition.shapes[0].encode(message, "message")
        receipt = Receipt(self._runtime.home)
        if self.activation is not None and not self._how and (self.definition.mailbox is None or not self._is_full()):
            self.activation.append(text, None, receipt)
        else:
            self._send(Sent(text)).add_done_callback(receipt.tell)
        return receipt

    def call(self, message: Any, *, id: str | None = None) -> asyncio.Future[Any]:
        """Post a message and await its answer; the same id with the same message gives the same answer, from any host.

        Raises: CallRefused without an id, when no case takes it or when the mailbox is full and refuses; CallConflict
        for the id of another message, DeadLettered when its message was set aside, ProcessEnded when the process ends
        first (call again with the same id), NotPlain, StoreError when its bench is closed, BadInput in another thread.
        """
        self._runtime.home.must_be_here("a process is called")
        if type(id) is not str or not id or not is_whole(id):
            raise CallRefused(
                f"a call to {self.key!r} needs an id made from the thing being done, "
                f'e.g. id="checkout-A-1001", found {id!r}',
                key=self.key,
            )
        shape = self.definition.shapes[0]
        text = shape.encode(message, "message")
        activation = self.activation
        if activation is not None and not self._how and (not self._is_full() or activation.calls.knows(id)):
            return activation.call(message if shape is PLAIN else decode(text), text, id)
        return self._send(Sent(text, decode(text), id))

    def _send(self, sent: Sent) -> asyncio.Future[Any]:
        """Send to a process that does not live here now: post it elsewhere, or keep it for the next life."""
        self._check_open()
        if (self.elsewhere is not None or not self._runtime.worker) and not self._is_at_work():
            self._watch()
            link(self._post(sent), sent.future)
        else:
            if self.definition.full == "refuse" and self._is_full():
                raise no_room(self)
            self._outbox.put(sent)
            self.start()
        return sent.future

    def _check_open(self) -> None:
        """Raises: StoreError when its bench is closed, unless the life that ends with it is there to answer."""
        if self._runtime.closed and not self._is_at_work():
            raise StoreError(f"the bench of {self.key!r} is closed; open it again and look {self.key!r} up there")

    def _is_full(self) -> bool:
        """Whether what is sent now has to wait for room; while anything waits, there is none."""
        most = self.definition.mailbox
        here = self.activation.unacknowledged if self.activation is not None else len(self._outbox)
        return most is not None and here >= most

    def _changed(self) -> None:
        """The life has acknowledged a message, or fell silent for a while."""
        self.states.tell()
        if self._outbox and self.activation is not None and not self._how:
            self._outbox.deliver(self.activation, self.definition.mailbox)

    @property
    def working(self) -> bool:
        if self.elsewhere is not None or self._status in ENDED:
            return False
        return self._is_at_work() and (self.activation is None or not self.activation.parked_on_mailbox())

    @property
    def busy(self) -> bool:
        if self._outbox or self.activation is None or self.context is None:
            return self._is_at_work()
        return self.context.held > 0 or is_busy(self.activation)

    @property
    def restarts(self) -> Budget:
        return self._failures.restarts.budget

    def start(self, *, beside: bool = False) -> None:
        """Activate the key here, unless it lives here already; a host that is no worker only follows it.

        What still runs in a thread since the last life is waited for, unless `beside`. A closed bench begins nothing.
        """
        if self._runtime.closed:
            return
        self.held_by = None
        self._runtime.held.discard(self.key)
        if not self._runtime.worker:
            self._watch()
        elif not self._is_at_work():
            newest = self._runtime.definitions.get(self.definition.name, self.definition)
            if newest is not self.definition:
                self.use(newest)
            self._runtime.live[self.key] = self
            self._runtime.entries.looked_up(self, idle=self.definition.evict, leave=self.leave)
            self.elsewhere = None  # unless the claim says otherwise
            self._how = ""
            self._anew = False
            self._beside = beside
            self._begin()
            self._task = self._runtime.home.start(self._run(), name=f"durable {self.key}")
            self._task.add_done_callback(self._begin_anew)
        elif self._how or self._status in ENDED:
            self._anew = True
            self._begin()
        elif beside:
            self._beside = True
            self.threads.pass_by()

    def take(self) -> None:
        """Have the key live here, whoever has it now: a life elsewhere is fenced, ends quietly and follows this one.

        Does nothing to one that lives here. Raises: BadInput in a bench that runs nothing.
        """
        if not self._runtime.worker:
            raise BadInput(f"{self.key!r} cannot be taken by a bench that runs nothing; open one without worker=False")
        activation = self.activation
        self._take = activation is None or activation.broken is not None or bool(self._how)
        self.start()

    def _begin(self) -> None:
        self.states.over = False
        self.error = None
        self._become("starting")

    @property
    def lives(self) -> bool:
        """Whether it lives here, or is about to."""
        return self._anew or (self.key in self._runtime.live and self._status not in ENDED)

    def _begin_anew(self, ended: asyncio.Task[None]) -> None:
        """Start again what was asked for while it ended."""
        if self._anew and self._task is ended and self._how != "closed":
            self.start()

    async def _run(self) -> None:
        try:
            if not self._beside:
                await self.threads.over()
            while await self._live_once():
                await self._failures.pause()
        except asyncio.CancelledError:
            if self._is_ours():
                self._how = self._how or "disposed"
                self._become("disposed")
        except (Exception, Signal) as error:
            if self._is_ours():
                self._crash(error)
                await self._release("crashed")
        finally:
            if self._is_ours():
                try:
                    if self._how:
                        await self._release(self._how, self._by)
                finally:
                    self._take = self._take and (self._anew or self._how == "replaced")
                    self._end_senders()

    def _is_ours(self) -> bool:
        """Whether the current task is the life of this process; not one that was given up on, or whose loop is gone."""
        return not self._runtime.home.loop.is_closed() and self._task is asyncio.current_task()

    async def _live_once(self) -> bool:
        """One activation; gives whether another follows."""
        runtime = self._runtime
        take, self._take = self._take, False
        begun = await runtime.begin(self.key, self.definition, self.args, force=take)
        if begun.owner is not None or begun.loaded is None:
            assert begun.owner is not None  # the runtime saw to the rest
            await self._follow(begun.owner)
            return False
        self.elsewhere = None
        runtime.following.pop(self.key, None)
        before, self._epoch = self._epoch, begun.loaded.epoch
        if before is not None:  # our own life before this one, which crashed; the key stayed ours
            begun = replace(begun, loaded=replace(begun.loaded, cut_off=False))
            await runtime.store.release(self.key, before, "crashed", "")
        runtime.blocked.forget(self.key)
        what = "its arguments do not fit"
        try:
            self.definition.bind(self.args)  # they may be older than this code
            what = "its state cannot be taken up"
            life = Life(runtime, self.definition, self.key, begun, self._published)
        except Exception as error:
            words = str(error) if isinstance(error, BadInput) else kind_and_words(error)
            runtime.block(self.key, self.definition.name, f"{what}: {words}")
            raise
        if life.activation.snapshot is not None:
            self.states.publish(life.activation.snapshot)
        outcome = await life.take_up()
        if outcome is None:
            outcome = Outcome("disposed") if self._how else await self._drive(life)
        return await self._after(life, outcome)

    async def _drive(self, life: Life) -> Outcome:
        activation = self.activation = life.activation
        self.context = life.context
        activation.driver = self._task
        activation.on_broken = self._interrupt
        activation.changed = self._changed
        activation.turned = self.states.show
        self.states.tell()
        self._outbox.deliver(activation, self.definition.mailbox)
        self._runtime.elsewhere.hand_over(self.key)
        return await life.drive(self.args)

    def _published(self, text: str) -> None:
        self.error = None
        self.states.publish(text)
        self._become("running")

    async def _after(self, life: Life, outcome: Outcome) -> bool:
        """See to how a life ended; gives whether another follows."""
        activation = life.activation
        if self.activation is activation:
            self.activation = self.context = None
        activation.on_broken = _over_already
        await life.end()
        if not self._is_ours():
            activation.calls.end_all(self._end_of_calls(outcome, None))
            return False
        self.threads.add(activation.threads)
        error, again = outcome.error, False
        if outcome.how == "disposed" and isinstance(error, Exception):
            log.error("%s failed while it ended: %r", self.key, error, exc_info=error)
        if error is not None and not self._how:
            error, again = await self._see_to_failure(life, outcome, error)
        if isinstance(error, Fenced) and not self._how:
            await self._follow_the_new_owner(error)  # first, so that who hears of it finds the reason here
        if again or self._how == "replaced":
            self._outbox.keep(activation.calls.hand_on())
        activation.calls.end_all(self._end_of_calls(outcome, error))
        if self._how or isinstance(error, Fenced):
            return False
        if again and error is not None:
            self.error = error
            self._failures.tell(error, again=True)
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

    async def _see_to_failure(self, life: Life, outcome: Outcome, error: BaseException) -> tuple[BaseException, bool]:
        """Leave word of how a life failed; gives what ended it, another if that cannot be written, and what follows."""
        again = False
        try:
            if isinstance(error, Drift):
                await self._runtime.drifts.note(life.activation, error)
                self._runtime.block(self.key, self.definition.name, str(error))
            elif outcome.how == "crashed":
                again = await self._failures.begins_again(life, error)
        except (Exception, Fenced, StoreBroken) as failure:
            return life.activation.write_failed(failure) if isinstance(failure, Exception) else failure, False
        return error, again

    def _end_of_calls(self, outcome: Outcome, error: BaseException | None) -> BaseException:
        if self._how:
            return ProcessEnded(f"{self.key!r} was {self._how} before it answered", name=self.key, status=self._how)
        if error is None or outcome.how == "disposed":
            return ProcessEnded(f"{self.key!r} ended before it answered", name=self.key, status=outcome.how)
        return error

    def _crash(self, error: BaseException) -> None:
        self.error = error
        log.error("%s crashed: %r", self.key, error, exc_info=error)
        self._failures.tell(error, again=False)
        self._runtime.live.pop(self.key, None)
        self._become("crashed")

    def replace(self, definition: DurableDefinition) -> None:
        """Go on under another definition of the same name, from the last commit.

        A message at work is finished first, under the old code, and no other one is begun under it; one that sleeps or
        waits for a person goes on under the new code at once. One that ends already ends, and nothing else.
        """
        self.use(definition)
        if not self._how and not self._finishes_first():
            self._runtime.home.start(self._replace_now(), name=f"replace {self.key}")

    def _finishes_first(self) -> bool:
        """Whether a message is at work, after which the life is replaced."""
        activation = self.activation
        if activation is None or not at_work(activation, self._runtime.requests):
            return False
        activation.changed = partial(self._replace_after, activation)
        return True

    async def _replace_now(self) -> None:
        """Replace the life, unless a message came to hand or it came to its end meanwhile."""
        if self._is_at_work() and not self._how and not self._finishes_first():
            await self._replaced()

    def _replace_after(self, activation: Activation) -> None:
        """Something of the message in hand has changed: replace the life if it is at work no more."""
        self._changed()
        if self._how or activation is not self.activation or at_work(activation, self._runtime.requests):
            return
        activation.changed = self._changed
        if activation.in_hand is None and self._task is not None:
            self._how = "replaced"
            activation.close()  # before the body asks for the next message
            self.start()  # once this life is over
            self._runtime.home.start(self._over(self._task, "replaced", ""), name=f"replace {self.key}")
        else:
            self._runtime.home.start(self._replace_now(), name=f"replace {self.key}")

    async def _replaced(self) -> None:
        await self.end("replaced", "")
        if self._how == "replaced":  # it was not told to end for good meanwhile
            self.start()

    def use(self, definition: DurableDefinition) -> None:
        """Take the definition for the next activation."""
        self.definition = definition
        self.states.shape = definition.shapes[1]
        self._failures.use(definition)

    async def recover(self, *, beside: bool = False) -> None:
        """Activate the key again, from the journal.

        A plain function that still runs in a thread since a kill is waited for first; `beside=True` goes on next to it.
        Raises: ProcessEnded when it is killed or its bench closes meanwhile; StoreError when its bench is closed.
        """
        self._check_open()
        waits = not beside and not self._is_at_work()
        if waits and not await self.threads.over() and not self._is_at_work():
            raise ProcessEnded(
                f"{self.key!r} was told to end while it waited to recover", name=self.key, status="ended"
            )
        self.start(beside=beside)

    async def insist(self, by: str) -> None:
        """End a life that does not listen, and begin another beside what is left of it."""
        await self.end("killed", by)
        self.start(beside=True)

    async def send_beside(self, message: Any) -> int:
        """Log a message first, and then begin a life beside the threads that are left; gives its number.

        The life finds it behind what it was doing, before it does anything. Raises: NotPlain.
        """
        number: int = await self._post(Sent(self.definition.shapes[0].encode(message, "message")))
        self.start(beside=True)
        return number

    def details(self) -> dict[str, Any]:
        return inspecting.details(self, self._runtime.store)

    def doing(self) -> Doing | None:
        activation = self.activation
        return None if activation is None else doing(activation, self._runtime.requests, self._runtime.clock.now())

    def source(self) -> Source:
        return inspecting.DurableInspector(self, self._runtime.requests)

    def buttons(self) -> list[tuple[str, str, bool]]:
        return inspecting.buttons(self)

    async def press(self, command: str) -> None:
        """Carry out a button. Raises: BadInput for one that there is not."""
        await inspecting.press(self, command)


def _over_already() -> None:
    """What a broken activation interrupts when its body is gone."""
