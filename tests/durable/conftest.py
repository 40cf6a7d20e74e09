"""What the tests of durable processes share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from places import Place


@pytest.fixture(params=["memory", "sqlite"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(request.param, tmp_path)
    yield place
    await place.close()
