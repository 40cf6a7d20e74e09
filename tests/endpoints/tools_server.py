"""A server of tools over MCP, made with the official library: over its pipes, or on a port with a bearer token.

python tools_server.py [--port PORT --token TOKEN]
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Annotated, Any

import anyio
import uvicorn
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import ToolAnnotations
from pydantic import BaseModel
from starlette.responses import PlainTextResponse

server = MCPServer("tools for tests")


class Sum(BaseModel):
    total: int


class Name(BaseModel):
    name: str


@server.tool(annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True))
def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


@server.tool()
def fail(words: str) -> str:
    """Fail with some words."""
    raise ToolError(words)


@server.tool(name="files.delete")
def delete(path: str) -> str:
    """Delete a file."""
    return f"{path} is gone"


@server.tool()
async def slow(ctx: Context) -> str:
    """Say how far it is, and never end."""
    await ctx.report_progress(1, 3, "one of three")
    await anyio.sleep_forever()
    return "never"


async def ask_for_a_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


@server.tool()
async def greet(answer: Annotated[ElicitationResult[Name], Resolve(ask_for_a_name)]) -> str:
    """Ask for a name and greet it."""
    return f"Hello {answer.data.name}" if answer.action == "accept" else f"Nobody, for {answer.action}"


@server.tool()
async def grow(ctx: Context) -> str:
    """Have one tool more."""
    server.add_tool(lambda: "new", name="newcomer", description="Came later.")
    await ctx.session.send_tool_list_changed()
    await ctx.notify_tools_changed()
    return "grown"


@server.tool()
def die() -> str:
    """End the server in the middle of a call."""
    print("the server dies of a call", file=sys.stderr, flush=True)
    os._exit(3)


class Bearer:
    """Lets in who has the token."""

    def __init__(self, app: Any, token: str) -> None:
        self.app, self.token = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != self.token:
            await PlainTextResponse("no", 401)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--token", default="")
    options = parser.parse_args()
    if options.port is None:
        server.run("stdio")
    else:
        app = Bearer(server.streamable_http_app(), options.token)
        uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="error", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
