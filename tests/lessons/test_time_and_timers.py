"""Lesson 04 as a test: a reminder and a schedule over the death of their kernel."""

from __future__ import annotations

import json

import pytest

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("04_time_and_timers.ipynb")


def said(folder):
    lines = (folder / "lesson-04" / "said.log").read_text().splitlines()
    return {json.loads(line)["text"]: json.loads(line) for line in lines}


@pytest.mark.slow
async def test_what_sleeps_and_what_comes_again_outlive_their_kernel(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        await nb.run_until("asleep")
        first = nb.pid
        await nb.kill()
        await nb.restart()

        assert await nb.run_all() == "finished"

        told = said(tmp_path)
        assert told["the tea is ready"]["pid"] == first != told["the train leaves"]["pid"]
        assert told["the train leaves"]["key"] == "reminder:train#1##say#0"
        assert "and 5 reminders, each once, by 2 kernels" in nb.output("proof")
        assert nb.errors == []


@pytest.mark.slow
async def test_the_lesson_runs_through_and_runs_again(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        assert await nb.run_all() == "finished"
        assert nb.output("proof").endswith("and 5 reminders, each once, by 1 kernel")

        assert await nb.run_all() == "finished"
        assert nb.errors == []
