"""Victims: a program with three runs that is killed at any moment; what it does to the world is a line in a file."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from pathlib import Path
from typing import Any

from workbench import Agent, ToolContext, Workbench, models, tool
from workbench.errors import AlreadyDecided, RunError

RUNS = ("one", "two", "three")


def live(folder: str) -> None:
    """Carry the runs on, deciding what they ask, until they have ended."""
    os.chdir(folder)
    logging.disable(logging.CRITICAL)
    asyncio.run(_live())


def _write_file(name: str) -> None:
    Path(name).touch()


def _write(kind: str, key: str) -> None:
    line = os.open("effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(line, f"{kind} {key}\n".encode())
    os.close(line)


@tool(idempotent=True)
async def left(ctx: ToolContext) -> str:
    """Take three steps on the loop."""

    async def effect(key: str) -> None:
        _write("step", key)
        await asyncio.sleep(0.005)

    for _ in range(3):
        await ctx.step("left", effect)
    return "left"


@tool(idempotent=True)
async def right(ctx: ToolContext) -> str:
    """Take two steps in threads."""

    def effect(key: str) -> None:
        _write("step", key)
        time.sleep(0.005)

    await ctx.step("first", effect)
    await ctx.step("second", effect)
    return "right"


@tool(approval=True)
async def pay(ctx: ToolContext) -> str:
    """Pay once."""
    _write("once", f"pay {ctx.call_id}")
    await ctx.step("pay", lambda key: _write("step", key))
    return "paid"


@tool
def tell(name: str, ctx: ToolContext) -> str:
    """Tell somebody, once."""
    _write("once", f"tell {ctx.call_id}")
    return name


async def _live() -> None:
    turns: Any = ([models.call("left"), models.call("right")], [models.call("pay"), models.call("tell", name="ada")])
    agent = Agent("victim", tools=[left, right, pay, tell], model=models.scripted(*turns, "Done."))
    async with Workbench.open("agents.db", agent) as bench:
        runs = [bench.run(agent, "Go", id=id) for id in RUNS]
        _write_file("open")
        clicking = asyncio.ensure_future(_click(bench))
        for run in runs:
            try:
                _write("output", f"{run.id} {await run}")
            except RunError as error:
                _write("failed", f"{run.id} {error}")
        clicking.cancel()
    _write_file("done")


async def _click(bench: Workbench) -> None:
    while True:
        for request in bench.approvals.pending():
            try:
                await bench.approvals.approve(request.id)
            except AlreadyDecided:
                continue
            _write("once", f"decided {request.id}")
        await asyncio.sleep(0.005)
