"""Lesson 08 as a test: the approval of a nested run by a click in the team's window, and a kernel killed meanwhile."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("08_a_team.ipynb")
PROOF = "2 posts, 2 searches; 8 model turns over two lives of a team, 8 of the budget spent"


def asked(folder, *names):
    """How often each model was really asked for each of its turns."""
    logs = {name: (folder / "lesson-08" / f"{name}.log").read_text().splitlines() for name in names}
    return {name: Counter(json.loads(line)["turn"] for line in log) for name, log in logs.items()}


async def test_the_lesson_runs_with_one_click_in_the_window_of_the_team(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        assert await nb.run_until("ask") == "waits"
        await nb.until(lambda: nb.widget("run")["status"] == "waiting", "the team to wait")
        waiting = nb.widget("run")
        assert (await nb.click("Approve"))["status"] == "approved"
        assert await nb.run_all() == "finished"

        assert waiting["now_line"]["strong"] == "writer waits for you:"
        assert [node["name"] for node in waiting["nodes"] if node["active"]] == ["writer"]
        assert nb.output("ask") == "'Your post is published.'"
        assert nb.output("proof") == PROOF
        assert nb.errors == []
    assert asked(tmp_path, "boss", "writer") == {  # three runs of the boss, of which the last was cancelled
        "boss": {0: 3, 1: 3, 2: 2, 3: 2},
        "writer": {0: 3, 1: 2},
    }


@pytest.mark.slow
async def test_a_team_outlives_its_kernel(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        await nb.run_until("ask")
        await nb.until(lambda: nb.widget("run")["status"] == "waiting", "the team to wait")
        await nb.kill()
        before = asked(tmp_path, "boss", "researcher", "writer")
        await nb.restart()
        assert await nb.run_until("ask") == "waits"
        await nb.click("Approve")
        assert await nb.run_until("children") == "finished"

        assert nb.output("ask") == "'Your post is published.'"
        assert nb.errors == []
    after = asked(tmp_path, "boss", "researcher", "writer")
    assert before == {"boss": {0: 1, 1: 1}, "researcher": {0: 1, 1: 1}, "writer": {0: 1}}
    assert after == {"boss": {0: 1, 1: 1, 2: 1, 3: 1}, "researcher": {0: 1, 1: 1}, "writer": {0: 1, 1: 1}}
