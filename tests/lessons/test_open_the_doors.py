"""Lesson 10 as a test: real clients in processes of their own, and what arrives in the notebook."""

from __future__ import annotations

import pytest

from workbench.testing.lessons import lesson
from workbench.testing.notebooks import Notebook

LESSON = lesson("10_open_the_doors.ipynb")


@pytest.mark.slow
async def test_three_clients_call_and_each_sees_its_own(tmp_path):
    async with Notebook(LESSON, cwd=tmp_path) as nb:
        assert await nb.run_all() == "finished"

        assert nb.errors == []
        assert "called: reserved for mcp:desktop" in nb.output("mcp")
        assert "mine: 1" in nb.output("a2a")
        assert nb.output("wire") == "counted: 2"
        assert nb.output("proof") == "3 runs of a2a:partner and mcp:desktop; the page was counted over the wire"
