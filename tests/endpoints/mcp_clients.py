"""The official MCP client of Python, with a bearer, in either era."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

ERAS: list[Literal["legacy", "auto"]] = ["legacy", "auto"]
TOKENS = {"desktop": "desktop-token-of-a-test", "editor": "the-other-token-of-a-test"}


@asynccontextmanager
async def connected(url: str, mode: Any = "auto", caller: str = "desktop", **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {TOKENS[caller]}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode, **options) as client,
    ):
        yield client
