"""Lesson 02 and the demo as tests: a click, a SIGKILL between two steps, another kernel, and the proof."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook
from workbench.testing.story import Story, checks

LESSON = lesson("02_it_survives.ipynb")


def lines(folder, name):
    path = folder / "lesson-02" / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.slow
async def test_the_money_moves_once_over_two_kernels(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        assert await nb.run_until("ask") == "waits"
        await nb.click("Approve")
        await nb.until(
            lambda: lines(tmp_path, "mail-attempts.log") and lines(tmp_path, "cancelled.log"), "the email to hang"
        )
        first = nb.pid
        await nb.kill()
        await nb.restart()
        assert await nb.run_all() == "finished"

        refund = lines(tmp_path, "refunds.log")
        assert [line["pid"] for line in refund] == [first]
        assert refund[0]["refund_id"] in nb.output("ask")
        assert nb.output("proof") == "2 model turns, 1 refund, 2 tries to send 1 receipt"
        assert nb.errors == []


@pytest.mark.slow
async def test_the_question_stands_in_the_next_kernel(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        await nb.run_until("ask")
        asked = nb.widget("run")["rows"][-1]["approval"]["id"]
        await nb.kill()
        await nb.restart()
        assert await nb.run_until("ask") == "waits"
        assert (await nb.click("Approve")) == {"id": asked, "status": "approved"}
        await nb.run_until("ask")

        assert len(lines(tmp_path, "cancelled.log")) == 1
        assert len(lines(tmp_path, "refunds.log")) == 1


@pytest.mark.slow
async def test_the_demo_says_that_the_money_moved_once(tmp_path):
    demo = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workbench", "demo", "--into", str(tmp_path / "story"), stdout=asyncio.subprocess.PIPE
    )
    out = (await demo.communicate())[0].decode()

    assert demo.returncode == 0, out
    assert out.count("\n  yes  ") == 7
    assert "NO " not in out
    assert "The money moved once." in out
    assert (tmp_path / "story" / "02_it_survives.ipynb").is_file()
    assert "Saved picture, not live." in (tmp_path / "story" / "02_it_survives.html").read_text()


@pytest.mark.parametrize(
    ("file", "extra"),
    [
        ("refunds.log", {"refund_id": "rf_2", "order": "A-1001", "key": "k", "call": "c", "pid": 2}),
        ("mail.log", {"refund_id": "rf_1", "key": "k", "pid": 2}),
        ("model.log", {"turn": 1, "pid": 2}),
        ("cancelled.log", {"order": "A-1002", "call": "c", "pid": 2}),
        ("mail-attempts.log", {"refund_id": "rf_1", "key": "another", "pid": 3}),
    ],
)
def test_the_demo_notices_what_happened_twice(tmp_path, file, extra):
    folder = tmp_path / "lesson-02"
    assert _story(folder, {}).true
    assert not _story(folder, {file: extra}).true


def _story(folder, extra):
    """The story as told of files that a good run leaves, with one line more."""
    folder.mkdir(exist_ok=True)
    good = {
        "refunds.log": [{"refund_id": "rf_1", "order": "A-1001", "key": "k", "call": "c", "pid": 1}],
        "mail.log": [{"refund_id": "rf_1", "key": "k", "pid": 2}],
        "mail-attempts.log": [{"key": "k", "pid": 1}, {"key": "k", "pid": 2}],
        "model.log": [{"turn": 0, "pid": 1}, {"turn": 1, "pid": 2}],
        "cancelled.log": [{"order": "A-1002", "call": "c", "pid": 1}],
    }
    for name, rows in good.items():
        rows = [*rows, extra[name]] if name in extra else rows
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = {"clicked": {"id": "ap-1", "status": "approved"}, "pid": 1, "receipts": 0}
    return Story(checks(folder, _Executed(), before))


class _Executed:
    """What the checks read of an executed notebook."""

    errors = ()

    def output(self, tag):
        return "'refund_order gave refund id rf_1, emailed yes.'"
