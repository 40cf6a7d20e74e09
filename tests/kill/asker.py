"""A program that asks, or decides: `python asker.py FOLDER WHAT …`, on the one file in FOLDER.

What it does to the world is a line in a file beside the store.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from workbench import Agent, ToolContext, Workbench, tool
from workbench.errors import AlreadyDecided
from workbench.models.script import call, scripted

FOLDER = Path(sys.argv[1])


@tool(approval=True)
async def cancel_order(order_id: str, ctx: ToolContext) -> str:
    """Cancel an order."""
    with (FOLDER / "effects").open("a") as lines:
        lines.write(f"{order_id} {os.getpid()}\n")
    return f"{order_id} cancelled"


def say(value: Any) -> None:
    print(json.dumps(value), flush=True)


async def ask(count: str, waiting: str) -> None:
    """Run an agent that asks about `count` orders; say which questions wait once they are `waiting`, then its end."""
    turn = [call("cancel_order", order_id=f"A-{number}") for number in range(int(count))]
    agent = Agent("clerk", tools=[cancel_order], model=scripted(turn, "Done."))
    async with Workbench.open(FOLDER / "agents.db", agent) as bench:
        run = bench.run(agent, "Cancel them", id="r1")
        await bench.approvals.until(lambda waits: len(waits) == int(waiting))
        say(sorted(one.id for one in bench.approvals.pending()))
        say(await run)


async def decide(by: str) -> None:
    """Wait for a line, then decide the one question ten times at once, and say what came of each."""
    async with Workbench.open(FOLDER / "agents.db", worker=False) as bench:
        (request,) = bench.approvals.pending()
        say("ready")
        sys.stdin.readline()
        verdicts = [bench.approvals.approve(request.id, by=f"{by} {number}") for number in range(10)]
        ends = await asyncio.gather(*verdicts, return_exceptions=True)
    say([[end.status, end.by, end.at] if isinstance(end, AlreadyDecided) else end.decided_by for end in ends])


asyncio.run({"ask": ask, "decide": decide}[sys.argv[2]](*sys.argv[3:]))
