"""Every keeper of ours keeps every law."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from workbench.store.memory import MemoryStore, Room
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.testing.conformance import Law, MakeStore, laws


@pytest.fixture(params=["memory", "sqlite", "sqlite, process"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    places: dict[str, Callable[[], MakeStore]] = {
        "memory": lambda: partial(MemoryStore, Room()),
        "sqlite": lambda: partial(SQLiteStore, tmp_path / "laws.db"),
        "sqlite, process": lambda: partial(SQLiteStore, tmp_path / "laws.db", durability="process"),
    }
    return places[request.param]()


@pytest.mark.parametrize("law", laws(), ids=str)
async def test_every_keeper_keeps_the_law(law: Law, make_store: MakeStore) -> None:
    await law(make_store)
