"""A run with two tools at once, an approval, an agent below it and a budget, killed after each of its writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("matrix.py")
SAME = ("output", "runs", "turns", "decided", "asked")


def lives(folder: Path, *options: str) -> list[dict[str, Any]]:
    """What came of the undisturbed life, and then of those that were killed."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(folder), *options], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def counted(spent: dict[str, Any]) -> dict[str, Any]:
    """What a budget says that was spent, but for the time, which is another in every life."""
    return {unit: amount for unit, amount in spent.items() if unit != "seconds"}


def repeated(life: dict[str, Any]) -> list[str]:
    """The effects that happened again."""
    return [effect for effect, times in life["effects"].items() if times > 1]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="lives are forked")
def test_a_run_killed_after_any_write_ends_as_if_undisturbed(tmp_path: Path) -> None:
    clean, *killed = lives(tmp_path)

    assert clean["output"] == "All settled."
    assert clean["asked"] == {"supervisor": [0, 1, 2], "clerk": [0, 1]}
    assert clean["decided"] == [["cancel_order", "approved", "ana"]]
    assert counted(clean["spent"]) == {
        "requests": 5, "tool_calls": 4, "input_tokens": 46, "output_tokens": 15, "tokens": 61, "microdollars": 0,
    }  # fmt: skip
    assert set(clean["effects"].values()) == {1}
    assert len(clean["effects"]) == 3
    assert len(killed) == clean["writes"] > 40
    for life in killed:
        assert life["ends"] == [-9, 0]
        assert {part: life[part] for part in SAME} == {part: clean[part] for part in SAME}, life["at"]
        assert counted(life["spent"]) == counted(clean["spent"]), life["at"]
        assert life["effects"].keys() == clean["effects"].keys(), life["at"]
        # a tool's thread may have had its effect when another's write was the last: again, under the same key
        assert len(repeated(life)) <= 1, life["at"]
    assert len([life for life in killed if repeated(life)]) < len(killed) / 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="lives are forked")
def test_without_the_look_up_of_steps_effects_happen_again(tmp_path: Path) -> None:
    _, *killed = lives(tmp_path, "--without", "look-up", "--only", "24")

    assert [life["ends"][0] for life in killed] == [-9]
    assert any("effects" not in life or len(repeated(life)) > 1 for life in killed)
