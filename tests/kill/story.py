"""What is killed: a run that charges, writes, asks and cancels, and an order that does the same without an agent.

Executed as a cell of a real kernel, in the folder of the store. Every effect is a line in `effects`, with its key. A life stops at
the point that `STOP_AT` names: it leaves a file of that name and holds its thread there until it is killed. `WITHOUT` names a part
of the runtime that this life does without, for the controls.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from workbench import Agent, Call, ToolContext, Workbench, durable, models, tool
from workbench.durable.runtime import Runtime
from workbench.durable.steps import Ledger
from workbench.errors import RunError
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.store.sqlite.ledger import Ledger as Writes

STOP_AT = os.environ.get("STOP_AT", "")
WITHOUT = os.environ.get("WITHOUT", "")


def stop(point: str) -> None:
    """Stay here if this is the point where this life ends."""
    if point == STOP_AT:
        Path(point).touch()
        while True:
            time.sleep(60)


def effect(name: str, key: str) -> str:
    """Do something that the world can see."""
    with Path("effects").open("a") as file:
        file.write(f"{name} {key}\n")
    stop(f"inside-{name}")
    return f"{name} done"


class Store(SQLiteStore):
    """The keeper of the file, which can be stopped at the door of a commit that answers a call."""

    def commit(self, key: str, epoch: int, commit: Any) -> Any:
        if commit.answers:
            stop("uncommitted")
        return super().commit(key, epoch, commit)


@tool(idempotent=True)
async def charge(order_id: str, ctx: ToolContext) -> str:
    """Charge an order and write to the customer."""
    stop("begun")
    receipt = await ctx.step("charge", lambda key: effect("charge", key))
    stop("saved")
    await ctx.step("mail", lambda key: effect("mail", key))
    return f"{receipt} for {order_id}"


@tool(approval=True)
def cancel_order(order_id: str, ctx: ToolContext) -> str:
    """Cancel an order."""
    return effect("cancel", ctx.call_id)


def support() -> Agent:
    """The agent of the story."""
    turns = models.call("charge", order_id="A-1001"), models.call("cancel_order", order_id="A-1001"), "All done."
    return Agent("support", tools=[charge, cancel_order], model=models.scripted(*turns, log="turns"))


@durable(key="order:{id}")
async def order(ctx: Any, id: str) -> Any:
    """An order that is charged once."""
    state = ctx.restored or {"total": 0, "receipts": []}
    yield state
    async for message in ctx:
        match message:
            case {"add": price}:
                state = state | {"total": state["total"] + price}
            case Call({"charge": what}, reply):
                receipt = await ctx.step("charge", lambda key: effect("charge", key))
                stop("saved")
                await ctx.step("mail", lambda key: effect("mail", key))
                state = state | {"receipts": [*state["receipts"], f"{receipt} for {what}"]}
                reply(state["total"])
        yield state


def do_without(part: str) -> None:
    """Take a part of the runtime away."""

    async def nothing(*_: Any) -> int:
        return 0

    if part == "look-up":
        Ledger.claim = lambda self, address: None  # type: ignore[method-assign]
        Ledger.recorded = lambda self, path: []  # type: ignore[method-assign]
        Ledger.leftover = lambda self: None  # type: ignore[method-assign]
    elif part == "wake-up":
        Runtime.recover = nothing  # type: ignore[assignment,method-assign]
        Runtime.tick = nothing  # type: ignore[method-assign]
    elif part == "fencing":
        put_step, commit = Writes._put_step, Writes._commit
        Writes._put_step = lambda self, write: put_step(self, unfenced(self, write))  # type: ignore[method-assign]
        Writes._commit = lambda self, write: commit(self, unfenced(self, write))  # type: ignore[method-assign]


def unfenced(ledger: Writes, write: tuple[Any, ...]) -> tuple[Any, ...]:
    """The write under whatever epoch the key has now."""
    kind, key, _, *rest = write
    known = ledger.known(key)
    return (kind, key, known.epoch if known is not None else 0, *rest)


def tell(**facts: Any) -> None:
    """Say how this life ended."""
    Path("told").write_text(json.dumps(facts))


async def run_life() -> None:
    """Ask, approve, await. The same lines in every life."""
    do_without(WITHOUT)
    async with Workbench.open("agents.db", support(), store=Store("agents.db")) as bench:
        run = bench.run("support", "Charge and cancel A-1001", id="r1")
        stop("appended")
        try:
            request = await run.approval()
        except RunError:
            request = None  # it has ended, or nobody woke it
        if request is not None:
            with Path("requests").open("a") as file:
                file.write(f"{request.id}\n")
            stop("asked")
            await bench.approvals.approve(request.id)
            stop("decided")
        try:
            await run
        except RunError as error:
            tell(state=repr(error))
        else:
            tell(state={name: value for name, value in run.state.items() if name != "ended_at"})


async def order_life() -> None:
    """Add, charge, tell. The same lines in every life, but that the first message of a life that follows is not sent again."""
    do_without(WITHOUT)
    first = not Path("agents.db").exists()
    async with Workbench.open("agents.db", order, store=Store("agents.db")) as bench:
        a1 = bench.lookup(order, id="A-1001")
        if first:
            await a1.cast({"add": 30})
            stop("appended")
        answer = await a1.call({"charge": "A-1001"}, id="charge-A-1001")
        stop("answered")
        tell(state=a1.state, answer=answer)
