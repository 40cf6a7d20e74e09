"""Lesson 12 as a test: a SIGKILL while a worker is at a job, another kernel, and the proof."""

from __future__ import annotations

import json

import pytest

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("12_messages_and_queues.ipynb")


def lines(folder, name):
    path = folder / "lesson-12" / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.slow
async def test_every_order_is_counted_and_mailed_once_over_two_kernels(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        await nb.begin("wait")
        await nb.until(lambda: len(lines(tmp_path, "mail.log")) == 2, "the other receipts")
        first = nb.pid
        await nb.kill()
        await nb.restart()
        assert await nb.run_all() == "finished"

        assert nb.output("proof") == "3 events, 3 mails, 2 tries at the one that was cut off"
        assert nb.errors == []
    mails = {line["order"]: line["pid"] for line in lines(tmp_path, "mail.log")}
    assert (mails["A-1001"], mails["A-1003"]) == (first, first)
    assert mails["A-1002"] != first
