"""A door in a real kernel: it answers while cells run, and what was asked through it outlives the kernel."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import httpx
import nbformat
from mcp_clients import ERAS, TOKENS, connected

from workbench.testing import Notebook

OPEN = """
import asyncio, time
from pathlib import Path
from workbench import Agent, ToolContext, Workbench, models, tool

@tool(idempotent=True)
async def send(ctx: ToolContext) -> str:
    \"\"\"Send the letter.\"\"\"
    await ctx.step("send", lambda key: Path("sent").open("a").write(key + "\\n"))
    while not Path("go").exists():
        await asyncio.sleep(0.02)
    return "sent"

@tool(read_only=True)
def add(a: int, b: int) -> int:
    \"\"\"Add.\"\"\"
    return a + b

clerk = Agent("clerk", tools=[send, add], model=models.scripted(models.call("send"), "It is sent."))
bench = await Workbench.open("agents.db", clerk)
door = await bench.publish(mcp=True)
print(door.url)
door
"""
ENV = {f"WORKBENCH_MCP_CALLERS_{name.upper()}": token for name, token in TOKENS.items()}


def notebook() -> Any:
    cells = [nbformat.v4.new_code_cell(OPEN), nbformat.v4.new_code_cell("time.sleep(2.5)\nprint('awake')")]
    cells[0].metadata["tags"], cells[1].metadata["tags"] = ["open"], ["busy"]
    return nbformat.v4.new_notebook(cells=cells)


async def test_a_busy_kernel_lists_at_once_calls_afterwards_and_a_killed_one_loses_nothing(tmp_path: Path) -> None:
    async with Notebook(notebook(), cwd=tmp_path, env=ENV) as nb:
        await nb.run_until(tag="open")
        url = nb.output(tag="open").split()[0]

        await nb.begin(tag="busy")
        for era in ERAS:
            async with connected(url, era) as client:
                began = time.monotonic()
                names = [tool.name for tool in (await client.list_tools()).tools]
                assert "ask_clerk" in names
                assert time.monotonic() - began < 1.0
                assert (await client.call_tool("add", {"a": 2, "b": 3})).structured_content == {"result": 5}

        async with connected(url) as client:
            begun = await client.call_tool("ask_clerk", {"message": "Send it", "wait_seconds": 0})
            assert begun.structured_content is not None
            assert begun.structured_content["status"] == "working"
            run = begun.structured_content["run"]
            await nb.until((tmp_path / "sent").exists, "the letter is sent")
        await nb.kill()
        (tmp_path / "go").touch()
        await nb.restart()
        await nb.run_until(tag="open")
        assert nb.output(tag="open").split()[0] == url
        async with connected(url) as client:
            end = await client.call_tool("get_run", {"run": run, "wait_seconds": 30})

        assert end.structured_content == {"run": run, "status": "completed", "output": "It is sent."}
        assert len((tmp_path / "sent").read_text().splitlines()) == 1
        await nb.save(tmp_path / "executed.ipynb")

    left = b"".join(path.read_bytes() for path in files(tmp_path)).decode("latin-1")
    assert "WORKBENCH_TOKEN" in left
    assert [token for token in TOKENS.values() if token in left] == []


async def test_a_client_whose_session_was_lost_with_the_kernel_goes_on(tmp_path: Path) -> None:
    async with Notebook(notebook(), cwd=tmp_path, env=ENV) as nb, httpx.AsyncClient(timeout=30) as http:
        await nb.run_until(tag="open")
        url = nb.output(tag="open").split()[0]
        opened = await post(http, url, {}, "initialize", INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        before = await post(http, url, session, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}})

        await nb.kill()
        await nb.restart()
        await nb.run_until(tag="open")
        after = await post(http, url, session, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}})

    assert (before.status_code, after.status_code) == (200, 200)
    assert answered(before) == answered(after) == {"result": 2}


INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


async def post(http: httpx.AsyncClient, url: str, session: dict[str, str], method: str, params: Any) -> httpx.Response:
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
        "Authorization": f"Bearer {TOKENS['desktop']}",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return await http.post(f"{url}/mcp", headers=headers | session, json=body)


def answered(response: httpx.Response) -> Any:
    [data] = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
    return json.loads(data)["result"]["structuredContent"]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
