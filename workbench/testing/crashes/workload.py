"""The mixed workload: a little of everything that a durable process can do, made so that its end says what went wrong.

- Two orders and one stock, each a durable process. An order takes casts and calls, gathers branches, retries, fails for
  good, sleeps, casts to itself, calls the stock, parks a reply, asks a person, and has a child in memory.
- Every effect is noted in the book with its idempotency key before it is done; every answer counts the calls that the
  order has handled, so that one that is handled twice is seen.
- Its end does not depend on when hosts die: what a sender sends again is known by its name.

Knows nothing of how hosts die, or of what is promised.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any

from workbench.durable.definition import DurableDefinition, durable
from workbench.durable.retries import Retry
from workbench.errors import StepFailed
from workbench.process.calls import Call
from workbench.process.definition import process
from workbench.testing.crashes.book import Book, Note

if TYPE_CHECKING:
    from workbench.bench import Workbench
    from workbench.process.handle import Handle

__all__ = ["COOLINGS", "LINES", "ORDERS", "Workload"]

ORDERS = ("a", "b")
LINES = (30, 12, 5)
COOLINGS = 3
ATTEMPTS = 1_000_000  # every death of a host may count as one, and none of them is the message's fault

NEW: dict[str, Any] = {
    "tokens": [],
    "lines": {},
    "total": 0,
    "calls": 0,
    "receipt": None,
    "cooled": 0,
    "parked": None,
    "verdict": None,
    "refund": None,
    "weight": None,
}


@process(name="crash-scale")
async def scale(ctx: Any) -> AsyncGenerator[Any, None]:
    """A child in memory: weighs."""
    yield 0
    async for message in ctx:
        if isinstance(message, Call):
            message.reply(message.message["lines"] * 2)


class Workload:
    """The definitions of one round in one life of a host. `moment` is how long an order cools, in seconds.

    With `threads`, one of the steps is a plain function; without, the order in which things happen is always the same.
    """

    def __init__(self, round_: str, book: Book, life: str, *, moment: float, threads: bool = False) -> None:
        self.round = round_
        self.life = life
        self.moment = moment
        self._threads = threads
        self._book = book
        self._bench: Workbench | None = None

    @property
    def keys(self) -> dict[str, str]:
        """The key of each process by the name it has in every round."""
        orders = {order: f"crash-order:{self.round}:{order}" for order in ORDERS}
        return {**orders, "stock": f"crash-stock:{self.round}"}

    def begin(self, bench: Workbench) -> None:
        """Let the bench know the definitions: what waits for them carries on."""
        self._bench = bench
        bench.add(self._order(), self._stock())

    def order(self, order: str) -> Handle:
        """The handle of an order."""
        assert self._bench is not None
        return self._bench.lookup("crash-order", round=self.round, id=order)

    def note(self, kind: str, about: str, value: Any = None) -> None:
        """Note something in the book, under this life."""
        self._book.write(Note(self.life, kind, about, value))

    def _did(self, what: str, key: str) -> str:
        self.note("did", what, key)
        return f"did {what}"

    def _effect(self, what: str) -> Callable[[str], Any]:
        async def effect(key: str) -> str:
            done = self._did(what, key)
            await asyncio.sleep(0)
            return done

        return effect

    # The stock.

    def _stock(self) -> DurableDefinition:
        @durable(key="crash-stock:{round}", name="crash-stock", max_attempts=ATTEMPTS)
        async def stock(ctx: Any, round: str) -> AsyncGenerator[Any, None]:
            taken = ctx.restored or []
            yield taken
            async for message in ctx:
                if isinstance(message, Call):
                    order = message.message["order"]
                    shelf = await ctx.step("shelf", self._effect(f"stock/shelf {order}"))
                    taken = sorted([*taken, order])
                    message.reply({"shelf": shelf, "times": taken.count(order)})
                yield taken

        return stock

    # The order.

    def _order(self) -> DurableDefinition:
        @durable(key="crash-order:{round}:{id}", name="crash-order", max_attempts=ATTEMPTS)
        async def order(ctx: Any, round: str, id: str) -> AsyncGenerator[Any, None]:
            state = ctx.restored or NEW
            yield state
            async for message in ctx:
                if isinstance(message, Call):
                    state = await self._called(ctx, id, state, message.message, message.reply)
                else:
                    state = await self._told(ctx, id, state, message)
                yield state

        return order

    async def _told(self, ctx: Any, id: str, state: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
        if "token" in message:
            state = state | {"tokens": [*state["tokens"], message["token"]]}
        match message:
            case {"type": "add", "line": line, "price": price} if line not in state["lines"]:
                await ctx.step("weigh", self._weigh(f"{id}/weigh {line}"))
                return state | {"lines": state["lines"] | {line: price}, "total": state["total"] + price}
            case {"type": "cool off", "left": left}:
                await ctx.sleep("cool", self.moment)
                await ctx.step("ship", self._effect(f"{id}/ship {left}"))
                if left > 1:
                    ctx.cast({"type": "cool off", "left": left - 1})
                return state | {"cooled": state["cooled"] + 1}
            case {"type": "release", "verdict": verdict}:
                if state["parked"] is not None:
                    ctx.reply(state["parked"], {"verdict": verdict, "call": state["calls"]})
                return state | {"verdict": verdict, "parked": None}
        return state

    async def _called(self, ctx: Any, id: str, state: dict[str, Any], message: Any, reply: Any) -> dict[str, Any]:
        call = state["calls"] + 1
        match message["type"]:
            case "checkout" if state["receipt"] is None:
                receipt = await self._check_out(ctx, id)
                ctx.cast({"type": "cool off", "left": COOLINGS})
                state = state | {"receipt": receipt}
                reply({"receipt": receipt, "call": call})
            case "checkout":
                reply({"refused": "checked out", "call": call})
            case "wait" if state["verdict"] is None:
                state = state | {"parked": reply.id}
            case "wait":
                reply({"verdict": state["verdict"], "call": call})
            case "refund":
                state = state | {"refund": await self._refund(ctx, id)}
                reply({"refund": state["refund"], "call": call})
            case "weight":
                child = ctx.spawn(scale)
                weight = await ctx.step("scale", self._weighing(child, id, len(state["lines"])))
                state = state | {"weight": weight}
                reply({"weight": weight, "call": call})
            case "end":
                reply({"cooled": state["cooled"], "call": call})
            case _:
                return state  # no case takes it: its caller is refused
        return state | {"calls": call}

    async def _check_out(self, ctx: Any, id: str) -> dict[str, Any]:
        assert self._bench is not None

        async def line(name: str) -> str:
            async with ctx.branch(name):
                await ctx.step("pick", self._effect(f"{id}/pick {name}"))
                packed: str = await ctx.step("pack", self._effect(f"{id}/pack {name}"))
                return packed

        left, right = await asyncio.gather(line("left"), line("right"))
        charged, noted = await asyncio.gather(
            ctx.step("charge", self._effect(f"{id}/charge")), ctx.step("note", self._effect(f"{id}/note"))
        )
        retry = Retry(times=3, backoff=self.moment / 60)
        insured = await ctx.step("insure", self._busy_at_first(f"{id}/insure", 3), retry=retry)
        try:
            await ctx.step("gift", self._hopeless(f"{id}/gift"), retry=Retry(times=2, backoff=self.moment / 60))
        except StepFailed as failed:
            gift = str(failed.fields["type"])
        stock = self._bench.lookup("crash-stock", round=self.round)
        taken = await ctx.call("reserve", stock, {"type": "take", "order": id})
        return {"parts": [left, right, charged, noted, insured], "gift": gift, "taken": taken}

    async def _refund(self, ctx: Any, id: str) -> str:
        question = {
            "run": id,
            "agent": "crash-order",
            "tool": "refund",
            "call": f"{id}-refund",
            "sentence": f"Refund {id}?",
            "act": "refund",
            "args": {"order": id},
            "schema": {},
        }
        request = await ctx.ask("refund", question)
        await ctx.step("pay back", self._effect(f"{id}/pay back"))
        status: str = request.status
        return status

    def _weigh(self, what: str) -> Callable[[str], Any]:
        def weigh(key: str) -> str:
            return self._did(what, key)

        return weigh if self._threads else self._effect(what)

    def _weighing(self, child: Handle, id: str, lines: int) -> Callable[[str], Any]:
        async def weigh(key: str) -> int:
            self._did(f"{id}/scale", key)
            weight: int = await child.call({"lines": lines})
            return weight

        return weigh

    def _busy_at_first(self, what: str, times: int) -> Callable[[str], Any]:
        async def insure(key: str) -> str:
            done = self._did(what, key)
            if len([note for note in self._book.notes("did") if note.value == key]) < times:
                raise OSError("the insurer is busy")
            return done

        return insure

    def _hopeless(self, what: str) -> Callable[[str], Any]:
        async def give(key: str) -> str:
            self._did(what, key)
            raise LookupError("there are no gifts")

        return give
