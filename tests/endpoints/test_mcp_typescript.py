"""The TypeScript SDK's client against a door, with a bearer of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess

import pytest
from mcp_clients import TOKENS
from test_mcp_conformance import SUITE, node

from workbench import Agent, Workbench, models, tool


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@pytest.mark.skipif(not SUITE.exists(), reason="the SDK is not installed; make test installs it")
async def test_the_typescript_client_lists_calls_and_asks(bench: Workbench) -> None:
    bench.add(Agent("clerk", tools=[add], model=models.scripted("Good day.")))
    door = await bench.publish(mcp=TOKENS)
    client = await asyncio.create_subprocess_exec(
        node(),
        str(SUITE.parents[4] / "client.mjs"),
        f"{door.url}/mcp",
        env={**os.environ, "WORKBENCH_TOKEN": TOKENS["editor"]},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )

    said, failed = await client.communicate()

    assert client.returncode == 0, failed.decode()
    heard = json.loads(said)
    [_, run] = list(bench.runs)
    assert heard["tools"] == ["ask_clerk", "add", "get_run", "cancel_run"]
    assert heard["added"] == {"result": 5}
    assert heard["asked"] == {"run": run.id, "status": "completed", "output": "Good day."}
    assert heard["progress"][0] == f"run {run.id} began"
    assert {visit.caller for visit in door.calls} == {"mcp:editor"}
