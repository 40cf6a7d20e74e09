"""What the tests of agents share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from houses import House


@pytest.fixture(params=["memory", "sqlite"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    """A place on each keeper."""
    house = House(request.param, tmp_path)
    yield house
    await house.close()


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[House]:
    """A place in memory, for what no keeper decides."""
    house = House("memory", tmp_path)
    yield house
    await house.close()
