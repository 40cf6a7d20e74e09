"""SIGKILL at moments that nobody chose: what was finished happens once, nothing is lost, and every run ends."""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from victims import RUNS, live

ROUNDS = 40
SECONDS = 40.0
STEPS = """
    SELECT k.key, e.seq, e.branch, e.name, e.occurrence
    FROM entries e JOIN keys k ON k.id = e.key
    WHERE e.kind = 'step' AND e.branch <> '' AND e.name NOT LIKE '@%'
"""
PROGRESS = """
    SELECT k.key, (SELECT count(*) FROM entries e WHERE e.key = k.id AND e.kind = 'step')
    FROM keys k WHERE k.cursor = 0
"""


def begun(folder: Path) -> BaseProcess:
    """A victim in a process of its own, forked from one that has imported everything."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["victims"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]))
        forkserver.ensure_running()
    victim = forks.Process(target=live, args=(str(folder),))
    victim.start()
    return victim


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    """What the journal has, as a stranger reads it."""
    with closing(sqlite3.connect(folder / "agents.db", timeout=10)) as connection:
        return connection.execute(sql).fetchall()


def effects(folder: Path) -> Counter[str]:
    """How often each thing happened."""
    file = folder / "effects"
    return Counter(file.read_text().splitlines()) if file.exists() else Counter()


def recorded(folder: Path) -> set[str]:
    """The lines of the steps whose results the journal has."""
    return {"step " + "#".join(str(field) for field in row) for row in rows(folder, STEPS)}


def progress(folder: Path) -> dict[object, int]:
    """How many steps of each unfinished run are in the journal."""
    return {key: int(str(steps)) for key, steps in rows(folder, PROGRESS)}


def wait_for_progress(folder: Path, victim: BaseProcess, before: dict[object, int]) -> None:
    """Return when each run has a step that was not there before, so that no death counts, or the victim has ended."""
    ends = time.monotonic() + 20
    while victim.is_alive():
        if (folder / "open").exists() and all(now > before.get(key, 0) for key, now in progress(folder).items()):
            return
        assert time.monotonic() < ends, "no step for 20 seconds"
        time.sleep(0.002)


def kill_and_kill_again(folder: Path, chance: random.Random, most: int) -> tuple[int, dict[str, int]]:
    """Kill victims until the story has been told, `most` times; gives how often, and what was finished at each kill."""
    finished: dict[str, int] = {}
    before: dict[object, int] = {}
    kills = 0
    while kills < most and not (folder / "done").exists():
        (folder / "open").unlink(missing_ok=True)
        victim = begun(folder)
        wait_for_progress(folder, victim, before)
        time.sleep(chance.random() * 0.01)
        victim.kill()
        victim.join()
        kills += 1
        now = effects(folder)
        for line in recorded(folder):
            finished.setdefault(line, now[line])
        before = progress(folder)
    return kills, finished


@pytest.mark.slow
def test_kills_at_random_moments_repeat_and_lose_nothing(tmp_path: Path) -> None:
    chance, kills, ends = random.Random(11), 0, time.monotonic() + SECONDS

    while kills < ROUNDS and time.monotonic() < ends:
        folder = tmp_path / f"after {kills}"
        folder.mkdir()
        killed, finished = kill_and_kill_again(folder, chance, ROUNDS - kills)
        kills += killed
        if not (folder / "done").exists():
            victim = begun(folder)
            victim.join(20)
            assert victim.exitcode == 0

        happened = effects(folder)
        ended = {line for line in happened if line.startswith(("output", "failed"))}
        assert {line: happened[line] for line in finished} == finished
        assert all(finished.values())
        assert [line for line, times in happened.items() if line.startswith("once") and times > 1] == []
        assert ended == {f"output {id} Done." for id in RUNS}
        assert rows(folder, "SELECT error FROM dead") == []
        assert rows(folder, "PRAGMA integrity_check") == [("ok",)]
    assert kills > 0
