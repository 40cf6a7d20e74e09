"""The browser fixtures themselves: a plain notebook in a real JupyterLab."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

if TYPE_CHECKING:
    from lab import Lab

expect = pytest.importorskip("playwright.async_api", reason="no playwright here").expect


async def test_a_plain_cell_runs_and_shows_its_output(lab: Lab, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print('six times seven is', 6 * 7)")])
    nbformat.write(notebook, tmp_path / "smoke.ipynb")

    await lab.open(tmp_path / "smoke.ipynb")
    await lab.run_all()

    await expect(lab.output(0)).to_have_text("six times seven is 42\n")
    for theme in ("light", "dark"):
        await lab.theme(theme)
        picture = await lab.screenshot(f"smoke-{theme}")
        assert picture.stat().st_size > 10_000


async def test_a_restarted_kernel_runs_the_notebook_again(lab: Lab, tmp_path: Path) -> None:
    source = "import os\nprint('pid', os.getpid())"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), tmp_path / "again.ipynb")
    await lab.open(tmp_path / "again.ipynb")
    await lab.run_all()
    first = await lab.output(0).inner_text()

    await lab.restart()
    await lab.run_all()

    await expect(lab.output(0)).to_contain_text("pid")
    assert await lab.output(0).inner_text() != first
    os.kill(lab.server.pid, 0)
