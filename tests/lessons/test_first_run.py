"""Lesson 01 as a test: every cell in a real kernel, with the clicks of a person."""

from __future__ import annotations

import pytest

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("01_first_run.ipynb")


@pytest.mark.parametrize("frontend", ["lab", "plain"])
async def test_the_lesson_runs_with_one_click(tmp_path, frontend):
    async with Notebook(LESSON, cwd=tmp_path, frontend=frontend) as nb:
        assert await nb.run_until("ask") == "waits"
        assert (await nb.click("Approve"))["status"] == "approved"
        assert await nb.run_all() == "finished"

        assert nb.output("ask") == "'A-1002 cancelled.'"
        assert nb.output("proof") == "2 orders cancelled, each once; 2 model turns over two lives"
        assert nb.errors == []


async def test_the_buttons_kill_recover_and_approve(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        await nb.run_until("ask")
        await nb.click("Approve")
        await nb.run_until("second")

        await nb.until(lambda: nb.widget("second")["status"] == "waiting", "the second run to ask")
        await nb.click("Kill", in_="second")
        await nb.until(lambda: not nb.widget("second")["alive"], "the view to show the kill")
        killed = nb.widget("second")
        await nb.click("Recover", in_="second")
        await nb.click("Approve", in_="second")
        await nb.until(lambda: nb.widget("second")["status"] == "completed", "the run to complete")

    assert killed["status"] == "waiting"
    assert killed["now_line"]["strong"].startswith("Killed by you at")
    assert [group["group"] for group in killed["recovery"]] == ["replayed", "still waits"]


async def test_a_rejection_reaches_the_model_with_its_reason(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path, allow_errors=True) as nb:
        await nb.run_until("ask")
        await nb.click("Reject…", args={"reason": "the customer called"})
        await nb.run_until("ask")

        assert "the customer called" in nb.output("ask")
        assert not (tmp_path / "lesson-01" / "done.log").exists()


async def test_the_saved_copy_shows_the_run_without_a_kernel(tmp_path):
    from nbconvert import HTMLExporter

    async with Notebook(LESSON, cwd=tmp_path) as nb:
        await nb.run_until("ask")
        await nb.click("Approve")
        await nb.run_until("second")

        html, _ = HTMLExporter().from_notebook_node(nb.notebook)

    for words in ("Saved picture, not live.", "Cancel order A-1002", "Completed", "cancel_order", "A-1002 cancelled"):
        assert words in html
    assert "widgets" not in nb.notebook.metadata
