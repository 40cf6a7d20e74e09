"""Every keeper of ours keeps every law."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from elsewhere import ReadElsewhere

from workbench.store.memory import MemoryStore, Room
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.testing.conformance import Law, MakeStore, laws


@pytest.fixture(params=["memory", "sqlite", "sqlite, process", "sqlite, reopened"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    places: dict[str, MakeStore] = {
        "memory": partial(MemoryStore, Room()),
        "sqlite": partial(SQLiteStore, tmp_path / "laws.db"),
        "sqlite, process": partial(SQLiteStore, tmp_path / "laws.db", durability="process"),
        "sqlite, reopened": partial(ReadElsewhere, tmp_path / "laws.db"),
    }
    return places[request.param]


@pytest.mark.parametrize("law", laws(), ids=str)
async def test_every_keeper_keeps_the_law(law: Law, make_store: MakeStore) -> None:
    await law(make_store)
