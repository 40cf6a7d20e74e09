"""What tests of the keepers share: a path, and stores on it that are closed at the end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from stores import OpenStore

from workbench.store.sqlite.keeper import SQLiteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agents.db"


@pytest.fixture
async def open_store(path: Path) -> AsyncIterator[OpenStore]:
    async with AsyncExitStack() as opened:

        async def open_one(*, lease: float = 30.0, now: Callable[[], float] = time.time, **options: Any) -> SQLiteStore:
            store = SQLiteStore(path, **options)
            await store.open(label="test", lease=lease, now=now)
            opened.push_async_callback(store.close)
            return store

        yield open_one
