"""What is killed: a run that charges, writes, asks and cancels, and an order that does the same without an agent.

Executed as a cell of a real kernel, or as a program, in the folder of the store. Every effect is a line in `effects`,
with its key. A life stops at the point that `STOP_AT` names: it leaves a file of that name and holds its thread there
until it is killed, or until a file `go` appears. `WITHOUT` names a part of the runtime that this life does without, for
the controls.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from workbench import Agent, Call, Retry, ToolContext, Workbench, durable, models, tool
from workbench.durable.runtime import Runtime
from workbench.durable.steps import Ledger
from workbench.errors import RunError
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.store.sqlite.ledger import Ledger as Writes

mills: Workbench


def is_first() -> bool:
    """Whether no life was before this one."""
    return not Path("agents.db").exists()


def note(file: str, line: str) -> None:
    """Add a line to a file."""
    with Path(file).open("a") as lines:
        lines.write(f"{line}\n")


def stop(point: str) -> None:
    """Stay here if this is the point where this life ends."""
    if point == os.environ.get("STOP_AT"):
        note(point, str(os.getpid()))
        while not Path("go").exists():
            time.sleep(0.02)


def effect(name: str, key: str) -> str:
    """Do something that the world can see."""
    note("effects", f"{name} {key}")
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


@tool
def ship(order_id: str, ctx: ToolContext) -> str:
    """Ship an order. Nothing says that it may be done twice."""
    return effect("ship", ctx.call_id)


def support() -> Agent:
    """The agent of the story."""
    turns = models.call("charge", order_id="A-1001"), models.call("cancel_order", order_id="A-1001"), "All done."
    return Agent("support", tools=[charge, cancel_order], model=models.scripted(*turns, log="turns"))


clerk = Agent("clerk", tools=[ship, cancel_order], model="offline")


def sweeper() -> Agent:
    """An agent that cancels three orders in one turn."""
    three = [models.call("cancel_order", order_id=f"A-{number}") for number in (1, 2, 3)]
    return Agent("sweeper", tools=[cancel_order], model=models.scripted(three, "All gone.", log="turns"))


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


@durable(key="fuse:{name}")
async def fuse(ctx: Any, name: str) -> Any:
    """Takes the whole kernel down with it, when told to."""
    state = ctx.restored or []
    yield state
    async for message in ctx:
        if message == "burn":
            note("effects", f"burn {name}")
            os._exit(1)
        state = [*state, message]
        yield state


def crush(key: str) -> None:
    """Take the process down as the kernel's memory killer does, from the thread of a step."""
    note("effects", f"crush {key}")
    os.kill(os.getpid(), signal.SIGKILL)


async def nobody_answers() -> None:
    raise OSError("nobody answers")


@durable(key="mill:{name}")
async def mill(ctx: Any, name: str) -> Any:
    """Is killed in a step, or is at rest: asleep, in the back-off of a step, or waiting for another mill."""
    state = ctx.restored or []
    yield state
    async for message in ctx:
        match message:
            case "crush":
                await ctx.step("crush", crush)
            case "try":
                await ctx.step("call", nobody_answers, retry=Retry(times=3, backoff=1e6, longest=1e6))
            case {"ask": other}:
                await ctx.call("ask", mills.lookup(mill, name=other), "sleep")
            case Call("sleep", _):
                await ctx.sleep("long", 1e6)
        state = [*state, message]
        yield state


def do_without() -> None:
    """Take the part of the runtime away that this life does without."""
    part = os.environ.get("WITHOUT")

    async def nothing(*_: Any) -> int:
        return 0

    async def nobody(*_: Any) -> list[str]:
        return []

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
        SQLiteStore.taken = nobody  # type: ignore[assignment,method-assign]


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
    do_without()
    async with Workbench.open("agents.db", support(), store=Store("agents.db")) as bench:
        run = bench.run("support", "Charge and cancel A-1001", id="r1")
        stop("appended")
        try:
            request = await run.approval()
        except RunError:
            request = None  # it has ended, or nobody woke it
        if request is not None:
            note("requests", request.id)
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
    """Add, charge, tell. The same lines in every life, but that the cast without an id is sent once."""
    do_without()
    first = is_first()
    async with Workbench.open("agents.db", order, store=Store("agents.db")) as bench:
        a1 = bench.lookup(order, id="A-1001")
        if first:
            await a1.cast({"add": 30})
            stop("appended")
        answer = await a1.call({"charge": "A-1001"}, id="charge-A-1001")
        stop("answered")
        tell(state=a1.state, answer=answer)


async def fuse_life() -> None:
    """Light one fuse, and use another."""
    first = is_first()
    async with Workbench.open("agents.db", fuse) as bench:
        bad, good = bench.lookup(fuse, name="bad"), bench.lookup(fuse, name="good")
        if first:
            bad.cast("burn")
            await bad.cast("after")  # both are in the journal before the first is handled
        await bad.until(lambda state: "after" in state)
        await good.cast("one")
        await good.until(lambda state: state == ["one"])
        dead = await bench.store.dead("fuse:bad")
        tell(state=bad.state, dead=[[letter.seq, json.loads(letter.message), letter.error] for letter in dead])


async def mill_life() -> None:
    """Crush in one mill, and use it for something else afterwards."""
    global mills
    first = is_first()
    async with Workbench.open("agents.db", mill) as mills:
        a = mills.lookup(mill, name="a")
        if first:
            a.cast("crush")
            await a.cast("after")
        await a.until(lambda state: "after" in state)
        (letter,) = mills.dead_letters
        tell(state=a.state, dead=[letter.seq, letter.message, letter.error, letter.attempts])


async def rest_life() -> None:
    """Have three mills at rest, each in its way."""
    global mills
    first = is_first()
    async with Workbench.open("agents.db", mill) as mills:
        if first:
            await mills.lookup(mill, name="asks").cast({"ask": "sleeps"})
            await mills.lookup(mill, name="tries").cast("try")
        while {"sleep", "try", "wait"} - {
            entry.kind for name in ("asks", "sleeps", "tries") for entry in mills.store.history_now(f"mill:{name}")
        }:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)  # whatever else might be begun
        stop("resting")
        kinds = [e.kind for name in ("asks", "sleeps", "tries") for e in mills.store.history_now(f"mill:{name}")]
        tell(state=None, kinds=sorted(set(kinds)), dead=len(mills.dead_letters))


async def ship_life() -> None:
    """Ship, tell what the agent answered and what its panel says of the call."""
    async with Workbench.open("agents.db", clerk) as bench:
        run = bench.run(clerk, "Ship order A-1001", id="r1")
        output = await run
        (call,) = [row for row in run.view()["rows"] if row["kind"] == "call"]
        tell(state=output, call={name: call[name] for name in ("status", "note", "result")})


async def three_life() -> None:
    """Ask three times at once, and decide from the last to the first."""
    async with Workbench.open("agents.db", sweeper()) as bench:
        run = bench.run("sweeper", "Cancel all three", id="r1")
        await bench.approvals.until(lambda waiting: len(waiting) == 3)
        for request in reversed(bench.approvals.pending()):
            note("requests", request.id)
        stop("three")
        for request in reversed(bench.approvals.pending()):
            await bench.approvals.approve(request.id)
        tell(state=await run)
