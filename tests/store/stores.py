"""Words that tests of the keepers share."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable
from pathlib import Path

from workbench.store.sqlite.keeper import SQLiteStore
from workbench.store.store import Store

CHILD = Path(__file__).with_name("child.py")
OpenStore = Callable[..., Awaitable[SQLiteStore]]
Spawn = Callable[..., Awaitable[Process]]


async def begin(store: Store, key: str) -> int:
    """Claim and load a key as an activation does; gives its epoch."""
    assert await store.claim(key) is None
    return (await store.load(key)).epoch


async def line(child: Process) -> str:
    """What a child says next."""
    assert child.stdout is not None
    async with asyncio.timeout(30):
        return (await child.stdout.readline()).decode().strip()
