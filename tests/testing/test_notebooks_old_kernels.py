"""Kernels older than we ask for: a click may have to wait there, nothing hangs. Each is laid over this environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from books import book

from workbench.testing import Notebook
from workbench.testing.kernel import FrontEnd

pytestmark = pytest.mark.slow

AGENT = '''
from typing import Annotated
from pydantic import Field
from workbench import Agent, Workbench, tool

@tool(approval=True)
def cancel_order(order_id: Annotated[str, Field(pattern=r"^A-\\d{4}$")]) -> str:
    """Cancel an order."""
    return f"{order_id} cancelled"

support = Agent("support", tools=[cancel_order], model="offline")
bench = await Workbench.open(":memory:", support)
run = bench.run(support, "Cancel order A-1002")
run
'''


@pytest.fixture(scope="session", params=["6.31.0", "7.3.0"])
def old(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """An older ipykernel in a folder of its own, and its version."""
    folder = tmp_path_factory.mktemp("ipykernel")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    done = subprocess.run([*command, f"ipykernel=={request.param}"], capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"no ipykernel {request.param} to be had: {done.stderr.strip().splitlines()[-1]}")
    return request.param, folder


@pytest.mark.parametrize("frontend", ["lab", "plain"])
async def test_a_cell_that_awaits_a_question_ends_with_a_clear_word(
    tmp_path: Path, old: tuple[str, Path], frontend: FrontEnd
) -> None:
    version, folder = old
    notebook = book(version="import ipykernel\nipykernel.__version__", agent=AGENT, ask="await run")

    async with Notebook(
        notebook, cwd=tmp_path, env={"PYTHONPATH": str(folder)}, frontend=frontend, allow_errors=True
    ) as nb:
        await nb.run_until(tag="ask")
        await nb.until(lambda: nb.errors, "the word", timeout=2.0)
        assert nb.output(tag="version") == repr(version)
        assert nb.output(tag="ask").startswith("NeedsDecision: run 'run-")

        assert (await nb.click("Approve"))["status"] == "approved"
        assert await nb.run("ask") == "finished"

        assert nb.output(tag="ask") == "'A-1002 cancelled.'"
