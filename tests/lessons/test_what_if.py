"""Lesson 09 as a test: forks, a comparison in its window, a test that a run wrote, an evaluation."""

from __future__ import annotations

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("09_what_if.ipynb")
PROOF = "5 runs, 1 lookup, 1 cancellation; 6 runs scored"


async def test_the_lesson_runs_as_it_is_written(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        await nb.run_until("compare")
        compared = nb.widget("compare")
        assert (compared["kind"], compared["differ"], compared["b"]["shared_turns"]) == ("compare", 2, 1)
        assert compared["rows"][2]["result"] == [{"path": "status", "how": "changed", "a": "shipped", "b": "lost"}]

        assert await nb.run_all() == "finished"

        assert nb.output("proof") == PROOF
        assert "it has t1, t1.0, t2" in nb.output("refused")
        assert "def test_cancel_order_a_1002() -> None:" in nb.output("write")
        assert "6 runs, 0 failed, right_order 1.00" in nb.output("evaluate")
        assert nb.errors == []
    assert (tmp_path / "lesson-09" / "test_cancel.py").is_file()
