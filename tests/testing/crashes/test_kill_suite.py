"""Real processes are killed by SIGKILL while they work, and nothing that was promised is lost."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from faulty import ForgetsTheStepsOfAFile

from workbench.errors import BadInput
from workbench.store.memory import MemoryStore, Room
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.testing.crashes import kill_suite


@pytest.mark.slow
async def test_thirty_hosts_killed_at_any_moment_break_no_promise(tmp_path: Path) -> None:
    report = await kill_suite(partial(SQLiteStore, tmp_path / "bench.db"), tmp_path, kills=30)

    assert report.broken == []
    assert report.crashes >= 30


@pytest.mark.slow
async def test_a_faulty_file_is_found_out_by_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=":")

    report = await kill_suite(partial(ForgetsTheStepsOfAFile, tmp_path / "bench.db"), tmp_path, kills=200)

    assert "a_recorded_step_is_not_repeated" in report.promises
    assert "bench.db" not in str(report)
    assert str(tmp_path) in str(report)


@pytest.mark.parametrize("make_store", [lambda: MemoryStore(), partial(MemoryStore, Room())])
async def test_a_store_that_no_other_process_can_make_is_refused(make_store, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="another process cannot make the store"):
        await kill_suite(make_store, tmp_path, kills=1)
