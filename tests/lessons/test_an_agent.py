"""Lesson 06 as a test: every cell in a real kernel, without a click."""

from __future__ import annotations

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("06_an_agent.ipynb")


async def test_the_lesson_runs_from_top_to_bottom(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        assert await nb.run_all() == "finished"

        assert nb.errors == []
        assert nb.output("typed") == "Decision(order=7, allowed=True, until=datetime.date(2026, 4, 1), refund=240)"
        assert nb.output("tried") == "'answered by scripted, after shaky (connection)'"
        assert nb.output("fallback") == "'answered by scripted, after first (connection), second (connection)'"
        assert nb.output("proof") == "6 agents, 10 turns, 10 asks"
        assert nb.widget("panel")["result"]["until"] == "2026-04-01"
