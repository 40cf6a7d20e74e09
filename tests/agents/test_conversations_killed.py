"""Conversations over real deaths: what waits in line is at rest, however often its kernel dies."""

# ruff: noqa: ASYNC220 - a test may wait for its children

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from workbench import Agent, Workbench, tool
from workbench.models.script import call, scripted

CHILD = """
import asyncio, sys
sys.path.insert(0, {here!r})
from test_conversations_killed import clerk
from workbench import Workbench

async def live():
    agent = clerk()
    bench = await Workbench.open(sys.argv[1], agent)
    first, second = (bench.run(agent, text, id=text, conversation="c") for text in ("one", "two"))
    await first.approval()
    await bench.store.key_info("run:one")
    while not any(entry.kind == "wait" for entry in bench.store.history_now("run:two")):
        await asyncio.sleep(0.01)
    print("waits", flush=True)
    await asyncio.sleep(600)

asyncio.run(live())
"""


@tool(approval=True)
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return f"{order_id} cancelled"


def clerk() -> Agent:
    """An agent whose first run asks, and whose second answers."""
    model = scripted(call("cancel_order", order_id="A-1002"), "One.", "Two.")
    return Agent("clerk", tools=[cancel_order], model=model)


async def test_a_run_in_line_is_queued_still_after_its_kernel_was_killed_again_and_again(tmp_path: Path) -> None:
    place = tmp_path / "agents.db"
    for _ in range(4):  # one more than the attempts that a message has
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD.format(here=str(Path(__file__).parent)), str(place)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == "waits\n"
        child.send_signal(signal.SIGKILL)
        child.wait(30)
        child.stdout.close()

    async with Workbench.open(place, agent := clerk()) as bench:
        first, second = bench.runs["one"], bench.runs["two"]
        assert second.status == "queued"
        await bench.approvals.approve((await first.approval()).id)

        assert [await second, await first] == ["Two.", "One."]
        assert agent.name == "clerk"
