"""SIGKILL where a run has an answer of its budget and has not kept it yet: no turn, no effect and no spending twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lives import kill_program_at, lines, run_program

POINTS = ("researcher-spend", "researcher-spent", "stopped", "supervisor-extended")


def told(folder: Path) -> dict[str, Any]:
    """What the story came to, and what it left; seconds are none of it, since they are those of this machine."""
    end: dict[str, Any] = json.loads((folder / "told").read_text())
    for account in end["accounts"].values():
        for amounts in (account["spent"], *account["by"].values()):
            amounts.pop("seconds", None)
    turns = Counter(json.loads(line)["turn"] for line in lines(folder / "turns"))
    return {**end, "effects": lines(folder / "effects"), "turns": turns}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the story comes to when nobody kills it."""
    folder = tmp_path_factory.mktemp("whole")
    assert run_program(folder, "press.life") == 0
    return told(folder)


def test_the_whole_story_spends_what_it_says(whole: dict[str, Any]) -> None:
    run, bench = whole["accounts"]["run:r1"], whole["accounts"]["bench"]

    assert (whole["state"], whole["effects"]) == ("Broke.", ["search run:r1%252Ft1.0#1#t1.0#search#0"])
    assert whole["turns"] == {0: 3, 1: 3, 2: 1}
    assert (run["spent"]["requests"], run["limits"], run["refused"], run["waiting"]) == (7, {"requests": 8}, 1, [])
    assert (bench["spent"]["requests"], bench["refused"]) == (7, 1)
    assert {agent: spent["requests"] for agent, spent in bench["by"].items()} == {
        "supervisor": 3, "researcher": 2, "writer": 2,
    }  # fmt: skip


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_story_spends_what_the_undisturbed_one_spends(
    whole: dict[str, Any], tmp_path: Path, point: str
) -> None:
    kill_program_at(tmp_path, "press.life", point)

    assert run_program(tmp_path, "press.life") == 0

    assert told(tmp_path) == whole


def test_a_story_killed_again_and_again_spends_it_once(whole: dict[str, Any], tmp_path: Path) -> None:
    for point in ("supervisor-budget", "researcher-budget", "supervisor-spent", "extended"):
        kill_program_at(tmp_path, "press.life", point)

    assert run_program(tmp_path, "press.life") == 0

    assert told(tmp_path) == whole


def test_without_one_answer_for_one_id_it_is_spent_twice(whole: dict[str, Any], tmp_path: Path) -> None:
    kill_program_at(tmp_path, "press.life", "researcher-spend")

    run_program(tmp_path, "press.life", WITHOUT="one-answer")

    assert told(tmp_path)["accounts"] != whole["accounts"]


def test_a_story_killed_at_its_budget_is_extended_from_the_command_line(whole: dict[str, Any], tmp_path: Path) -> None:
    for _ in range(4):  # more often than a message may fail
        kill_program_at(tmp_path, "press.life", "stopped")

    extend = [sys.executable, "-m", "workbench", "extend", "r1", "--requests", "4", "--store", "agents.db"]
    said = subprocess.run(extend, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True).stdout

    assert said == "r1 extended: 4 requests\n"
    assert run_program(tmp_path, "press.life") == 0
    assert told(tmp_path) == whole
