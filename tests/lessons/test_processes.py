"""Lesson 03 as a test: processes in memory, each claim counted, and the button of the inspector."""

from __future__ import annotations

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("03_processes.ipynb")


async def test_the_lesson_counts_what_it_claims(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        assert await nb.run_all() == "finished"

        assert nb.output("proof") == "1 wake for 4 messages, 2 restarts, 3 children ended with it"
        assert "basket has no case for {'type': 'dance'}" in nb.output("call")
        assert nb.output("spent").startswith(
            "crashed · integer division or modulo by zero · counter has spent 2 restarts"
        )
        assert nb.errors == []


async def test_the_inspector_ends_the_process_by_its_button(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        await nb.run_until("inspector")
        assert nb.widget("inspector")["state"] == {"items": {"delivery": 5, "backpack": 30}, "total": 35}

        await nb.click("Kill", in_="inspector")
        await nb.until(lambda: nb.widget("inspector")["status"] == "disposed", "the view to show the end")
