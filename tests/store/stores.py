"""Words that tests of the keepers share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from workbench.store.sqlite.keeper import SQLiteStore
from workbench.store.store import Store

OpenStore = Callable[..., Awaitable[SQLiteStore]]


async def begin(store: Store, key: str) -> int:
    """Claim and load a key as an activation does; gives its epoch."""
    assert await store.claim(key) is None
    return (await store.load(key)).epoch
