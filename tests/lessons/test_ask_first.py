"""Lesson 07 as a test: every way to decide by the buttons that it names, and the shop's own file at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("07_ask_first.ipynb")


def done(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "lesson-07" / "done.log").read_text().splitlines()]


@pytest.mark.slow
async def test_only_what_somebody_said_yes_to_has_run(tmp_path: Path) -> None:
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        assert await nb.run_until("approve") == "waits"
        await nb.click("Approve")
        assert await nb.run_until("edited") == "waits"
        await nb.click("Edit…", args={"args": {"order_id": "A-1003"}})
        assert await nb.run_until("three") == "finished"
        told = await nb.click("Always for this tool…", in_="approvals", args={"scope": "notebook"})
        assert await nb.run_all() == "finished"

        assert (told["status"], told["resolved"]) == ("approved", 2)
        orders = [line.get("cancelled") or line.get("refunded") for line in done(tmp_path)]
        assert orders[:2] == ["A-1002", "A-1003"]
        assert sorted(orders[2:]) == ["A-1001", "A-2001", "A-2002", "A-2003", "A-2004"]
        assert nb.output("proof") == "7 calls ran, 7 questions were decided, 7 would be stopped"
        assert nb.errors == []
