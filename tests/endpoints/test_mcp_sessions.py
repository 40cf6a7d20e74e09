"""Sessions of the handshake era: reused ids, cancels, drops, deep bodies, and what nobody leaves behind."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_clients import ERAS, TOKENS, connected
from test_mcp_isolation import HANDSHAKE, of

from workbench import Agent, ToolContext, Workbench, models, tool

gate = asyncio.Event()
began: list[str] = []
ended: list[str] = []


@pytest.fixture(autouse=True)
def closed_gate() -> None:
    globals()["gate"] = asyncio.Event()
    began.clear()
    ended.clear()


@tool(idempotent=True)
async def wait(name: str, ctx: ToolContext) -> str:
    """Wait until the gate is open."""
    began.append(name)
    try:
        await gate.wait()
    except asyncio.CancelledError:
        ended.append(f"{name} cancelled")
        raise
    return name


async def opened(bench: Workbench, http: httpx.AsyncClient) -> tuple[Any, dict[str, str]]:
    bench.add(Agent("clerk", tools=[wait], model=models.scripted("Done.")))
    door = await bench.publish(mcp=TOKENS)
    session = (await http.post(f"{door.url}/mcp", headers=of("desktop"), json=HANDSHAKE)).headers["mcp-session-id"]
    return door, {**of("desktop"), "Mcp-Session-Id": session}


def calling(name: str, id: int = 7) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "wait", "arguments": {"name": name}}}


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def test_two_calls_in_flight_under_one_id_are_both_answered(bench: Workbench, http: httpx.AsyncClient) -> None:
    door, headers = await opened(bench, http)

    asked = [asyncio.ensure_future(http.post(f"{door.url}/mcp", headers=headers, json=calling(n))) for n in "ab"]
    await until(lambda: len(began) == 2)
    gate.set()
    answers = [result_of(answer) for answer in await asyncio.gather(*asked)]

    assert answers == ["a", "b"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_its_client_cancels_cancels_its_run(bench: Workbench, era: Any) -> None:
    bench.add(Agent("clerk", tools=[wait], model=models.scripted("Done.")))
    door = await bench.publish(mcp=TOKENS)

    async with connected(door.url, era) as client:
        call = asyncio.ensure_future(client.call_tool("wait", {"name": "a"}))
        await until(lambda: began == ["a"])
        call.cancel()
        await until(lambda: ended == ["a cancelled"])
        [run] = list(bench.runs)
        await until(lambda: run.status == "cancelled")

    assert run.state["cancelled_by"] == "mcp:desktop"


async def test_a_connection_that_drops_and_a_door_that_closes_leave_runs_at_work(
    bench: Workbench, http: httpx.AsyncClient
) -> None:
    door, headers = await opened(bench, http)
    dropped = asyncio.ensure_future(http.post(f"{door.url}/mcp", headers=headers, json=calling("a")))
    await until(lambda: began == ["a"])
    dropped.cancel()
    cut = asyncio.ensure_future(http.post(f"{door.url}/mcp", headers=headers, json=calling("b", 8)))
    await until(lambda: began == ["a", "b"])

    await door.close()
    await asyncio.wait([cut, dropped])
    gate.set()

    assert [await run for run in bench.runs] == ["a", "b"]
    assert ended == []


async def test_deep_and_broken_bodies_are_refused_and_the_next_request_is_served(
    bench: Workbench, http: httpx.AsyncClient
) -> None:
    door, headers = await opened(bench, http)
    gate.set()
    modern = {**of("desktop"), "MCP-Protocol-Version": "2026-07-28"}
    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001
    bodies = [deep, b"[" * 100_000, b"", b"null", b"{}", b"\xff\xfe", b'{"id": NaN}', b"[]"]

    for each in (headers, modern):
        sent = {**each, "Content-Type": "application/json"}
        statuses = [(await http.post(f"{door.url}/mcp", headers=sent, content=body)).status_code for body in bodies]
        assert {status for status in statuses if status >= 500} == set()
    assert result_of(await http.post(f"{door.url}/mcp", headers=headers, json=calling("a"))) == "a"


async def test_arguments_deeper_than_the_journal_takes_are_refused_and_begin_nothing(
    bench: Workbench, http: httpx.AsyncClient
) -> None:
    door, headers = await opened(bench, http)
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    asked = calling("a")
    asked["params"]["arguments"] = {"name": deep}

    answer = await http.post(f"{door.url}/mcp", headers=headers, json=asked)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)
    assert len(bench.runs) == 0


@pytest.mark.parametrize("era", ERAS)
async def test_a_revoked_token_ends_the_calls_of_its_caller_and_leaves_their_runs_at_work(
    bench: Workbench, http: httpx.AsyncClient, era: Any
) -> None:
    script = models.scripted(models.call("wait", name="asked"), "Done.")
    bench.add(Agent("clerk", tools=[wait], model=script))
    door = await bench.publish(mcp=TOKENS)

    async def call(tool: str, **args: Any) -> None:
        async with connected(door.url, era) as client:
            await client.call_tool(tool, args)

    calls = [asyncio.ensure_future(call("ask_clerk", message="Hello")), asyncio.ensure_future(call("wait", name="a"))]
    await until(lambda: len(began) == 2)
    door.revoke("mcp:desktop")
    failed = await asyncio.gather(*calls, return_exceptions=True)
    refused = await http.post(f"{door.url}/mcp", headers=of("desktop"), json=HANDSHAKE)
    gate.set()
    runs = list(bench.runs)
    await until(lambda: all(run.ended for run in runs))

    assert all(isinstance(each, Exception) for each in failed)
    assert (refused.status_code, door.connected) == (401, {})
    assert ([run.status for run in runs], ended) == (["completed"] * 2, [])


async def test_a_revoked_token_ends_its_sessions_and_streams(bench: Workbench, http: httpx.AsyncClient) -> None:
    door, headers = await opened(bench, http)

    async with http.stream("GET", f"{door.url}/mcp", headers=headers) as stream:
        assert stream.status_code == 200
        door.revoke("mcp:desktop")
        async with asyncio.timeout(5):
            assert [line async for line in stream.aiter_lines() if line.startswith("data")] == []

    assert (await http.post(f"{door.url}/mcp", headers=headers, json=calling("a"))).status_code == 401
    assert began == []


def test_what_the_sessions_lean_on_is_there() -> None:
    for name in ("_handle_stateful_request", "_handle_stateless_request", "_discard_session"):
        assert callable(getattr(StreamableHTTPSessionManager, name))
    made = StreamableHTTPSessionManager(None)  # type: ignore[arg-type]
    assert (made._server_instances, made._session_owners) == ({}, {})


def result_of(response: httpx.Response) -> Any:
    [data] = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
    return json.loads(data)["result"]["structuredContent"]["result"]
