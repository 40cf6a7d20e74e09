"""Listening: what a durable body hears and says between its steps; messages from the journal, casts, replies, states.

- Asking for the next message commits the last one; a message that failed before is held back until it is due.
- Replies and casts to itself are part of the commit of the message in hand: nothing is heard that could be undone.

Source: DESIGN 2, PROCESSES 2.1 to 2.3. Knows nothing of steps.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from workbench.durable.attempts import due_again
from workbench.durable.steps import current_branch
from workbench.process.calls import Call
from workbench.process.drive import Cancelled, Owner
from workbench.process.holds import Holding
from workbench.process.spawn import spawn_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from concurrent.futures import Executor

    from workbench.clock import Clock
    from workbench.durable.activation import Activation, Delivery
    from workbench.durable.requests import Requests
    from workbench.plain import Shape
    from workbench.process.definition import Definition
    from workbench.process.handle import Handle

__all__ = ["DurableReply", "Listening"]

M = TypeVar("M")
S = TypeVar("S")


class DurableReply:
    """Answers one durable call.

    `id` is plain data: keep it in the state and answer later with `ctx.reply(id, value)`.
    """

    __slots__ = ("_activation", "_id")

    def __init__(self, activation: Activation, id: str) -> None:
        self._activation = activation
        self._id = id

    @property
    def id(self) -> str:
        """The call's id. Reading it parks the call: it stays open past its message until `ctx.reply(id, …)`."""
        self._activation.calls.park(self._id)
        return self._id

    def __call__(self, value: Any = None) -> None:
        """Answer with `value`, released after the commit. Raises: CallRefused the second time, NotPlain."""
        self._activation.calls.answer(self._id, value)


class Listening(Holding, Generic[M, S]):
    """What a durable body hears and says. `publish` makes a state seen, and part of the next commit."""

    __slots__ = (
        *("_activation", "_clock", "_messages", "_publish", "_requests", "cancelled", "owner", "pool", "restored"),
    )

    def __init__(
        self,
        activation: Activation,
        restored: Any,
        messages: Shape,
        publish: Callable[[Any], None],
        *,
        clock: Clock,
        pool: Executor,
        requests: Requests,
    ) -> None:
        super().__init__()
        self.restored = restored
        """The last committed state, or None; what `migrate` made of it if it was of another version."""
        self.cancelled = Cancelled()
        self.owner = Owner(clock)
        self._activation = activation
        self._messages = messages
        self._publish = publish
        self._clock = clock
        self.pool = pool
        self._requests = requests

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        delivery = await self._activation.next()
        if delivery is None:
            raise StopAsyncIteration
        if delivery.again:
            await self._until_due()
        return self._hand_out(delivery)

    async def latest(self) -> AsyncIterator[Any]:
        """Iterate skipping casts that a newer message has overtaken; they are acknowledged with it.

        Calls are never skipped.
        """
        activation = self._activation
        while (delivery := await activation.next()) is not None:
            while activation.inbox and delivery.call_id is None:
                delivery = await activation.skip()
            if delivery.again:
                await self._until_due()
            yield self._hand_out(delivery)

    async def _until_due(self) -> None:
        """Wait out the back-off of a message that failed before."""
        ledger = self._activation.ledger
        assert ledger is not None
        due = due_again(ledger.records)
        if due > self._clock.now():
            self._activation.hold(True)
            await self._clock.sleep_until(due)
            self._activation.hold(False)

    def _hand_out(self, delivery: Delivery) -> Any:
        trunk = self._activation.trunk
        assert trunk is not None
        trunk.task = asyncio.current_task()
        current_branch.set(trunk)
        message = self._messages.decode(delivery.text)
        return message if delivery.call_id is None else Call(message, DurableReply(self._activation, delivery.call_id))

    def cast(self, message: M) -> None:
        """Post a message to this process itself: it lands with the commit of the message in hand, once.

        Raises: NotPlain.
        """
        self._activation.cast_to_self(self._messages.encode(message, "message"))

    def spawn(self, definition: Definition, /, **args: Any) -> Handle:
        """Start a process in memory that this activation owns."""
        return spawn_for(self.owner, definition, args)

    def reply(self, call_id: str, value: Any = None) -> None:
        """Answer a parked call by its id. Raises: CallRefused when it has its answer or is unknown, NotPlain."""
        self._activation.calls.answer(call_id, value)

    def show(self, state: S) -> None:
        """Publish a state from inside a handler, as a yield does: seen at once, committed with the message."""
        self._publish(state)

    async def caught_up(self) -> None:
        """Return once everything that was sent to this process before is in its log, and arrived."""
        await self._activation.caught_up()

    def on_arrival(self, arrived: Callable[[Any], None]) -> None:
        """Call `arrived(message)` for each message behind the one in hand, now and as they come, until it ends."""
        self._activation.peek(lambda text: arrived(self._messages.decode(text)))
