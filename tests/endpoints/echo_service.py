"""A service for the tests of the edge: it answers with what it was given, streams, and takes WebSockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from workbench.endpoints.callers import Caller
from workbench.endpoints.service import Reception


class Echo:
    def __init__(self, reception: Reception) -> None:
        self.reception = reception
        self.paths, self.public = ["/mcp"], ["/card"]
        self.events: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            await asyncio.Event().wait()
        if scope["path"] == "/mcp/raise":
            raise RuntimeError("password=hunter2")
        stream = scope["path"] == "/mcp/stream"
        headers = [(b"content-type", b"text/event-stream" if stream else b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if stream:
            await send({"type": "http.response.body", "body": b"data: hello\n\n", "more_body": True})
            await asyncio.Event().wait()
        user = scope.get("user")
        if user is not None:
            self.reception.record(user, scope["path"].removeprefix("/mcp/"))
        message = await receive()
        seen = {
            "caller": str(user),
            "headers": [name.decode() for name, _ in scope["headers"]],
            "size": len(message["body"]),
        }
        await send({"type": "http.response.body", "body": json.dumps(seen).encode()})
        if scope["path"] == "/mcp/linger":
            await asyncio.Event().wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.events.append("running")
        yield
        self.events.append("stopped")

    def configuration(self) -> dict[str, str]:
        return {"curl": f'curl -H "Authorization: Bearer ${{WORKBENCH_TOKEN}}" {self.reception.address}/mcp'}

    async def forget(self, caller: Caller) -> None:
        self.events.append(f"forget {caller}")

    async def closed(self) -> None:
        self.events.append("closed")


made: list[Echo] = []


def service(reception: Reception) -> Echo:
    made.append(Echo(reception))
    return made[-1]
