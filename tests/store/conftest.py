"""What tests of the keepers share: a path, stores on it that are closed at the end, and children that are ended."""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from stores import CHILD, OpenStore, Spawn

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


@pytest.fixture
async def spawn(path: Path) -> AsyncIterator[Spawn]:
    """Begins a child that does as `words` say on the path, `under` another command if there is one."""
    async with AsyncExitStack() as children:

        async def start(*words: object, under: tuple[str, ...] = ()) -> Process:
            child = await asyncio.create_subprocess_exec(
                *under, sys.executable, str(CHILD), str(path), *map(str, words), stdin=PIPE, stdout=PIPE
            )
            children.push_async_callback(end, child)
            return child

        yield start


async def end(child: Process) -> None:
    if child.returncode is None:
        child.kill()
    await child.communicate()
