from __future__ import annotations

from collections.abc import AsyncIterator

import echo_service
import httpx
import pytest

from workbench import Workbench
from workbench.endpoints import publishing

TOKEN = "desktop-token-of-a-test"
OTHER = "the-other-token-of-a-test"


@pytest.fixture
def echoing(monkeypatch: pytest.MonkeyPatch) -> list[echo_service.Echo]:
    """Doors serve the echo under /mcp; gives those that were made."""
    monkeypatch.setitem(publishing.MODULES, "mcp", "echo_service")
    echo_service.made.clear()
    return echo_service.made


@pytest.fixture
async def bench() -> AsyncIterator[Workbench]:
    async with Workbench.open(":memory:") as bench:
        yield bench


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=10) as client:
        yield client
