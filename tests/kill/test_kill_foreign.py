"""A library's agent and an evaluation in one program that is killed: what was done stays done, the rest goes on."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PATIENCE = 180.0
"""Seconds for a life to get as far as it is to get, on a machine that has other things to do."""

PROGRAM = '''
import asyncio, json, os, sys
from pathlib import Path
from pydantic_ai import Agent as LibraryAgent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from workbench import Agent, Workbench, durable_agent, models

def note(line):
    with Path("log").open("a") as log:
        log.write(line + "\\n")

async def stop(point):
    """Stay here in the first life."""
    if not Path("killed").exists():
        note(f"at {point}")
        await asyncio.Event().wait()

def model(messages, info):
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    note(f"model {turn}")
    calls = [[ToolCallPart("charge", {"amount": 3})], [ToolCallPart("mail", {})], [ToolCallPart("refund", {})]]
    return ModelResponse(parts=calls[turn] if turn < len(calls) else [TextPart("done")])

clerk = LibraryAgent(FunctionModel(model), name="clerk")

@clerk.tool_plain
def charge(amount: int) -> str:
    note("charge")
    return "charged"

@clerk.tool_plain
async def mail() -> str:
    note("mail")
    await stop("mail")
    return "mailed"

@clerk.tool_plain(requires_approval=True)
def refund() -> str:
    note("refund")
    return "refunded"

class Slow:
    name = "slow"
    async def ask(self, request, on_text):
        text = request.history[0]["json"]["parts"][0]["content"]
        note(f"ask {text}")
        if text == "b":
            await stop("b")
        return await models.scripted(text.upper()).ask(request, on_text)

def right(result):
    note(f"score {result.request}")
    return result.output == result.request.upper()

async def main():
    agent, slow = durable_agent(clerk), Agent("slow", model=Slow())
    async with Workbench.open("agents.db", agent, slow) as bench:
        run = bench.run(agent, "Charge it", id="r1")
        table = bench.evaluate(slow, ["a", "b", "c"], score=right, at_once=1, id="e1")
        scores = await table
        await bench.approvals.approve((await run.approval()).id)
        words = await run
        fork = await run.fork(before="t3")
        await bench.approvals.approve((await fork.approval()).id)
        told = [row["status"] for row in run.view()["rows"] if row["kind"] == "call"]
        print(json.dumps([words, told, scores.summary["right"], len(scores), await fork]))

asyncio.run(main())
'''


@pytest.mark.skipif(sys.platform == "win32", reason="it is killed by a signal")
async def test_models_are_asked_once_and_effects_happen_once_over_both_lives(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd())])}
    first = subprocess.Popen([sys.executable, "program.py"], cwd=tmp_path, env=env)  # noqa: ASYNC220 - killed below
    log = tmp_path / "log"
    try:
        async with asyncio.timeout(PATIENCE):
            while not log.exists() or not {"at mail", "at b"} <= set(log.read_text().splitlines()):
                assert first.poll() is None, "the first life ended by itself"
                await asyncio.sleep(0.02)
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
    (tmp_path / "killed").touch()

    second = await asyncio.create_subprocess_exec(
        sys.executable, "program.py", cwd=tmp_path, env=env, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(PATIENCE):
        printed, _ = await second.communicate()

    words, told, right, count, forked = json.loads(printed)
    assert (words, told) == ("done", ["success", "interrupted", "success"])
    assert (right, count, forked) == (1.0, 3, "done")
    done = Counter(log.read_text().splitlines())
    assert {line: done[line] for line in ("charge", "mail", "refund")} == {"charge": 1, "mail": 1, "refund": 2}
    assert [done[f"model {turn}"] for turn in range(4)] == [1, 1, 2, 2]  # a fork asks for its own two
    assert [done[f"ask {case}"] for case in "abc"] == [1, 2, 1]  # the one that was cut off is asked again
    assert [done[f"score {case}"] for case in "abc"] == [1, 1, 1]
