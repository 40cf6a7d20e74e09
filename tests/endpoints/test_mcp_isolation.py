"""Two callers of one door: each tried with what is the other's, and answered as if it were not there."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from mcp.shared.exceptions import MCPError
from mcp_clients import ERAS, TOKENS, connected

from workbench import Agent, ToolContext, Workbench, models, tool
from workbench.door import Limits


@tool(idempotent=True)
async def note(text: str, ctx: ToolContext) -> str:
    """Note something."""
    await ctx.step("write", lambda: text)
    return f"noted: {text}"


@tool
def broken() -> str:
    """Fails."""
    raise RuntimeError("password=hunter2")


def agent() -> Agent:
    secret = "The magic word is abracadabra."
    return Agent("clerk", tools=[note, broken], model=models.scripted("Done."), instructions=secret)


HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


def of(caller: str) -> dict[str, str]:
    return {**ACCEPT, "Authorization": f"Bearer {TOKENS[caller]}"}


@pytest.mark.parametrize("era", ERAS)
async def test_anothers_run_is_one_that_there_is_not(bench: Workbench, era: Any) -> None:
    bench.add(agent())
    door = await bench.publish(mcp=TOKENS)

    async with connected(door.url, era, "desktop") as desktop, connected(door.url, era, "editor") as editor:
        mine = await desktop.call_tool("ask_clerk", {"message": "Hello", "conversation": "c"})
        assert mine.structured_content is not None
        run = mine.structured_content["run"]

        for name in ("get_run", "cancel_run"):
            there = text_of(await editor.call_tool(name, {"run": run}))
            nowhere = text_of(await editor.call_tool(name, {"run": "mcp-000000000000"}))
            assert there.replace(run, "?") == nowhere.replace("mcp-000000000000", "?") == f"{name}: no run '?'"
        for uri in (f"workbench://runs/{run}", f"workbench://runs/{run}/journal", "workbench://runs/none", "file:///x"):
            with pytest.raises(MCPError, match=f"Resource not found: {uri}"):
                await editor.read_resource(uri)
        assert json.loads((await editor.read_resource("workbench://runs")).contents[0].text) == []  # type: ignore[union-attr]
        assert [str(r.uri) for r in (await editor.list_resources()).resources] == ["workbench://runs"]

    assert bench.runs[run].status == "completed"


@pytest.mark.parametrize("era", ERAS)
async def test_a_caller_reads_its_own_runs_and_journals_and_no_inside_of_them(bench: Workbench, era: Any) -> None:
    bench.add(agent())
    door = await bench.publish(mcp=TOKENS)

    async with connected(door.url, era) as client:
        await client.call_tool("note", {"text": "milk"})
        await client.call_tool("broken", {})
        runs = json.loads((await client.read_resource("workbench://runs")).contents[0].text)  # type: ignore[union-attr]
        failed, noted = (run["run"] for run in runs)
        journal = json.loads((await client.read_resource(f"workbench://runs/{noted}/journal")).contents[0].text)  # type: ignore[union-attr]
        inside = (await client.read_resource(f"workbench://runs/{failed}/journal")).contents[0].text  # type: ignore[union-attr]

    assert [run["status"] for run in runs] == ["failed", "completed"]
    assert [row["name"] for row in journal] == ["ask", "turn", "@intent", "write", "@outcome"]
    assert "hunter2" not in inside
    assert "abracadabra" not in inside + json.dumps(journal)


async def test_conversations_of_one_name_are_each_callers_own(bench: Workbench) -> None:
    bench.add(agent())
    door = await bench.publish(mcp=TOKENS)

    for caller in TOKENS:
        async with connected(door.url, "auto", caller) as client:
            await client.call_tool("ask_clerk", {"message": "Hello", "conversation": "c"})

    assert [run.message["conversation"] for run in bench.runs] == ["mcp:desktop/clerk/c", "mcp:editor/clerk/c"]


async def test_a_session_of_another_gives_nothing_of_it(bench: Workbench, http: httpx.AsyncClient) -> None:
    bench.add(agent())
    door = await bench.publish(mcp=TOKENS)
    opened = await http.post(f"{door.url}/mcp", headers=of("desktop"), json=HANDSHAKE)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}

    theirs = await http.post(f"{door.url}/mcp", headers={**of("editor"), **session}, json=listing)
    unknown = await http.post(f"{door.url}/mcp", headers={**of("editor"), "Mcp-Session-Id": "f" * 32}, json=listing)
    stream = await http.get(f"{door.url}/mcp", headers={**of("editor"), **session})
    ended = await http.delete(f"{door.url}/mcp", headers={**of("editor"), **session})
    mine = await http.post(f"{door.url}/mcp", headers={**of("desktop"), **session}, json=listing)

    assert (theirs.status_code, unknown.status_code, mine.status_code) == (200, 200, 200)
    assert theirs.text == unknown.text
    assert "mcp-session-id" not in theirs.headers
    assert (stream.status_code, ended.status_code) == (404, 404)


async def test_one_caller_has_its_number_of_sessions_and_the_other_its_own(
    bench: Workbench, http: httpx.AsyncClient
) -> None:
    bench.add(agent())
    door = await bench.publish(mcp=TOKENS, limits=Limits(sessions=2))

    async def opens(caller: str) -> int:
        return (await http.post(f"{door.url}/mcp", headers=of(caller), json=HANDSHAKE)).status_code

    assert [await opens("desktop") for _ in range(3)] == [200, 200, 503]
    assert await opens("editor") == 200
    door.revoke("mcp:desktop")
    assert await opens("desktop") == 401


async def test_a_task_is_its_callers_own(bench: Workbench, http: httpx.AsyncClient) -> None:
    bench.add(agent())
    door = await bench.publish(mcp=TOKENS)

    begun = await modern(http, door.url, "desktop", "tools/call", name="ask_clerk", arguments={"message": "Hello"})
    task = begun["result"]["taskId"]
    await bench.runs[task]
    mine = await modern(http, door.url, "desktop", "tasks/get", taskId=task)
    theirs = await modern(http, door.url, "editor", "tasks/get", taskId=task)
    unknown = await modern(http, door.url, "editor", "tasks/cancel", taskId="none")
    undeclared = await modern(http, door.url, "desktop", "tasks/get", tasks=False, taskId=task)
    cancelled = await modern(http, door.url, "desktop", "tasks/cancel", taskId=task)

    assert begun["result"]["resultType"] == "task"
    assert (mine["result"]["status"], mine["result"]["result"]["content"][0]["text"]) == ("completed", "Done.")
    assert theirs["error"] == {"code": -32602, "message": f"Unknown task: {task}"}
    assert unknown["error"] == {"code": -32602, "message": "Unknown task: none"}
    assert undeclared["error"]["code"] == -32021
    assert cancelled["result"]["resultType"] == "complete"


async def modern(
    http: httpx.AsyncClient, url: str, caller: str, method: str, *, tasks: bool = True, **params: Any
) -> Any:
    version, extension = "2026-07-28", "io.modelcontextprotocol/tasks"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {extension: {}}} if tasks else {},
    }
    headers = {**of(caller), "MCP-Protocol-Version": version, "Mcp-Method": method}
    if (name := params.get("name") or params.get("taskId")) is not None:
        headers["Mcp-Name"] = name
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": meta}}
    return (await http.post(f"{url}/mcp", headers=headers, json=body)).json()


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def test_a_conversation_goes_on_and_notes_stay_with_the_caller_that_has_them(bench: Workbench) -> None:
    @tool(idempotent=True)
    async def keep(text: str, ctx: ToolContext) -> str:
        """Keep a note."""
        return await ctx.remember(text)

    @tool
    async def found(ctx: ToolContext) -> list[str]:
        """What was kept."""
        return [note["text"] for note in await ctx.recall()]

    bench.add(Agent("clerk", tools=[keep, found], model=models.scripted("First.", "Second.")))
    door = await bench.publish(mcp=TOKENS)
    said: dict[str, list[Any]] = {}

    for caller in TOKENS:
        async with connected(door.url, "auto", caller) as client:
            if caller == "desktop":
                await client.call_tool("keep", {"text": "milk"})
            answers = [
                await client.call_tool("ask_clerk", {"message": message, "conversation": "c"})
                for message in ("Hello", "And then?")
            ][: 2 if caller == "desktop" else 1]
            notes = await client.call_tool("found", {})
            said[caller] = [*(answer.structured_content["output"] for answer in answers), notes.structured_content]  # type: ignore[index]

    assert said == {"desktop": ["First.", "Second.", {"result": ["milk"]}], "editor": ["First.", {"result": []}]}
