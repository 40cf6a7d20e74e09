"""Lesson 05 as a test: lives ended in the middle of a message, a SIGKILL of the kernel, and the proof."""

from __future__ import annotations

import json

import pytest

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("05_steps_and_crashes.ipynb")
LAST = "order:the last one#"


def lines(folder, name):
    path = folder / "lesson-05" / name
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in found if line["key"].startswith(LAST)]


@pytest.mark.slow
async def test_nothing_finished_is_done_twice_over_two_kernels(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        await nb.begin("wait")
        await nb.until(lambda: lines(tmp_path, "packing.log"), "the last order to be packed")
        first = nb.pid
        await nb.kill()
        await nb.restart()
        assert await nb.run_all() == "finished"

        assert "recorded the step 'charge' and asks for step 'bill' now" in nb.output("blocked")
        assert nb.output("proof") == "1 charge, 1 parcel, tried 2 times"
        assert nb.errors == []
    assert [line["pid"] for line in lines(tmp_path, "charged.log")] == [first]
    assert [line["pid"] == first for line in lines(tmp_path, "packing.log")] == [True, False]
    assert [line["pid"] == first for line in lines(tmp_path, "packed.log")] == [False]


@pytest.mark.slow
async def test_the_lesson_comes_to_the_same_end_without_a_kill(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        assert await nb.run_all() == "finished"

        assert nb.output("proof") == "1 charge, 1 parcel, tried 1 time"
        assert nb.errors == []

        for cell in nb.notebook.cells:  # once more in the same kernel
            if cell.cell_type == "code":
                assert await nb.run(cell.metadata.tags[0]) == "finished"

        assert nb.output("proof") == "1 charge, 1 parcel, tried 1 time"
        assert nb.errors == []
