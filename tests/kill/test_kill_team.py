"""SIGKILL in the middle of a nested run, and between its end and its parent's: no turn is asked twice, no effect done.

The team lives in plain processes, for which a kernel makes no difference.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from lives import kill_program_at, lines, run_program

POINTS = ("inside-look", "inside-publish", "ended", "heard")
EFFECTS = {"look run:r1%252Ft1.0#1#t1.0#look#0", "publish run:r1%252Ft1.0#1#t2.0#publish#0"}


def turns(file: Path) -> list[int]:
    """The turns that a model was asked for."""
    return [json.loads(line)["turn"] for line in lines(file)]


def check(folder: Path, point: str) -> None:
    """The end is that of the undisturbed story; only the effect that was cut is there twice, under one key."""
    told = json.loads((folder / "told").read_text())
    assert told["state"] == "All done."
    assert told["runs"] == {
        "r1": ["completed", None, "All done."],
        "r1/t1.0": ["completed", "r1", "Published."],
    }
    assert (turns(folder / "boss-turns"), turns(folder / "writer-turns")) == ([0, 1], [0, 1, 2])
    cut = {line: 2 for line in EFFECTS if point == f"inside-{line.split()[0]}"}
    assert Counter(lines(folder / "effects")) == Counter({line: cut.get(line, 1) for line in EFFECTS})
    (asked,) = set(lines(folder / "requests"))
    assert asked.split()[1:] == ["boss", "writer", "publish"]


@pytest.mark.parametrize("point", POINTS)
def test_a_killed_team_ends_as_if_undisturbed(tmp_path: Path, point: str) -> None:
    kill_program_at(tmp_path, "team.life", point)

    assert run_program(tmp_path, "team.life") == 0

    check(tmp_path, point)


def test_a_team_killed_again_and_again_ends_as_if_undisturbed(tmp_path: Path) -> None:
    for point in ("unasked", "saved", "asked", "decided", "ended", "heard"):
        kill_program_at(tmp_path, "team.life", point)

    assert run_program(tmp_path, "team.life") == 0

    check(tmp_path, "again and again")


def test_without_the_look_up_the_team_does_it_all_again(tmp_path: Path) -> None:
    kill_program_at(tmp_path, "team.life", "decided")

    run_program(tmp_path, "team.life", WITHOUT="look-up")

    with pytest.raises(AssertionError):
        check(tmp_path, "decided")
