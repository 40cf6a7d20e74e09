"""Odd values over MCP: what half characters, bytes, deep nesting and failures nobody foresaw come to, in either era."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import mcp_types as mt
import pytest
from mcp.shared.exceptions import MCPError
from mcp_clients import ERAS, TOKENS, connected
from test_mcp_isolation import HANDSHAKE, of

from workbench import Agent, ToolContext, Workbench, models, tool
from workbench.door import Door
from workbench.endpoints import publishing
from workbench.endpoints.mcp_server import McpService

HALF = "\ud800"
RAW = b"\xff\xfe"


@tool
def half(ctx: ToolContext) -> dict[str, str]:
    """Gives half of a character."""
    ctx.progress(f"at {HALF} it")
    return {f"a{HALF}": f"b{HALF}"}


@tool
def raw() -> bytes:
    """Gives bytes that are no text."""
    return RAW


@tool
def huge() -> int:
    """Gives a number of 400 digits."""
    return 10**400


@tool
def deep(levels: int) -> dict[str, Any]:
    """Gives what is nested."""
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@tool
def failing() -> str:
    """Fails in half of a character."""
    raise ValueError(HALF)


def agents() -> list[Agent]:
    return [
        Agent("clerk", tools=[half, raw, huge, deep, failing], model=models.scripted("Fine.")),
        Agent("half", model=models.scripted(f"x{HALF}y"), description=f"Says {HALF}."),
    ]


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with Workbench.open(":memory:", *agents()) as bench:
        yield await bench.publish(mcp=TOKENS)


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_odd_is_told_so_that_a_client_reads_it(door: Door, era: Any) -> None:
    lines: list[str | None] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message)

    async with connected(door.url, era) as client:
        gives = {
            name: (await client.call_tool(name, {}, progress_callback=heard)).structured_content
            for name in ("half", "raw", "huge")
        }
        asked = await client.call_tool("ask_half", {"message": "Say it."})
        listed = {each.name: each.description for each in (await client.list_tools()).tools}
        read = await client.read_resource("workbench://runs")

    assert gives == {
        "half": {"a?": "b?"},
        "raw": {"result": base64.b64encode(RAW).decode()},
        "huge": {"result": 10**400},
    }
    assert "at ? it" in lines
    assert (asked.structured_content or {})["output"] == "x?y"
    assert listed["ask_half"] == "Says ?."
    assert len(json.loads(read.contents[0].text)) == 4  # type: ignore[union-attr]


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_nested_deeper_than_clients_read_is_refused(door: Door, era: Any) -> None:
    async with connected(door.url, era) as client:
        fits = await client.call_tool("deep", {"levels": 150})
        refused = await client.call_tool("deep", {"levels": 199})

    assert fits.structured_content is not None
    assert refused.is_error
    assert refused.content[0].text == (  # type: ignore[union-attr]
        "deep ran, and what it gave is nested deeper than the 150 levels that MCP clients read"
    )


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Doors list prompts over MCP, and fail at it for a reason of their own."""

    async def broken(ctx: Any, params: Any) -> Any:
        raise RuntimeError("password=hunter2")

    def service(reception: Any) -> McpService:
        made = McpService(reception)
        made.server.add_request_handler("prompts/list", mt.PaginatedRequestParams, broken)
        return made

    monkeypatch.setattr("workbench.endpoints.mcp_server.service", service)
    assert publishing.MODULES["mcp"] == "workbench.endpoints.mcp_server"


@pytest.mark.parametrize("era", ERAS)
async def test_a_failure_inside_is_told_by_its_reference_alone(
    breaking: None, door: Door, era: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "workbench")
    async with connected(door.url, era) as client:
        with pytest.raises(MCPError) as told:
            await client.list_prompts()

    assert told.value.error.code == mt.INTERNAL_ERROR
    words, reference = told.value.error.message.rsplit(" ", 1)
    assert words == "internal error, reference"
    assert f"a request over MCP failed, reference {reference}" in caplog.text
    assert "hunter2" in caplog.text


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (-32600, b"[]"),
        (-32600, b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]'),
        (-32600, b'{"jsonrpc":"2.0","id":1,"method":["x"]}'),
        (-32600, b'{"jsonrpc":"2.0","id":{},"method":"tools/list"}'),
        (-32600, b'{"jsonrpc":"2.0","id":null,"method":"tools/list"}'),
        (-32600, b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}'),
        (-32600, b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}'),
        (-32600, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}'),
        (-32600, b'{"id":1,"method":"tools/list"}'),
        (-32700, b'{"jsonrpc":"2.0","id":1,"method":"\\ud800"}'),
        (-32700, b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"tools/list"}'),
        (-32700, b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":NaN}}'),
        (-32700, b"\xff\xfe"),
        (-32700, b""),
    ],
)
async def test_what_is_no_request_is_refused_in_one_sentence(
    door: Door, http: httpx.AsyncClient, code: int, body: bytes
) -> None:
    opening = await http.post(f"{door.url}/mcp", headers=of("desktop"), json=HANDSHAKE)
    eras = [{}, {"Mcp-Session-Id": opening.headers["mcp-session-id"]}, {"MCP-Protocol-Version": "2026-07-28"}]

    for more in eras:
        headers = {**of("desktop"), "Content-Type": "application/json", **more}
        answer = await http.post(f"{door.url}/mcp", headers=headers, content=body)

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
        assert len(answer.json()["error"]["message"]) < 80
