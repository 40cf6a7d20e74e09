"""What tests of the post room share: a clock that is moved by hand, and benches that read it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from children import OpenBench

from workbench import Workbench
from workbench.store.memory import MemoryStore, Room
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.store.store import Store
from workbench.testing import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    room = Room()
    return lambda: MemoryStore(room) if request.param == "memory" else SQLiteStore(tmp_path / "post.db")


@pytest.fixture
async def open_bench(make_store: Callable[[], Store], clock: ManualClock) -> AsyncIterator[OpenBench]:
    """Opens one more host of the same place."""
    async with AsyncExitStack() as opened:

        async def open_one(**options: object) -> Workbench:
            store = make_store()
            clock.busy_while(lambda: not getattr(store, "idle", True))
            return await opened.enter_async_context(Workbench.open(store=store, clock=clock, **options))

        yield open_one


@pytest.fixture
async def bench(open_bench: OpenBench) -> Workbench:
    return await open_bench()
