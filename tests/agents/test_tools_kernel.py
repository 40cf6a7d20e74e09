"""A tool in a real kernel: what it prints is its call's, what a cell prints meanwhile is the cell's."""

from __future__ import annotations

from pathlib import Path

import nbformat

from workbench.testing import Notebook

CELLS = {
    "agent": """
import sys, threading
from workbench import Agent, Workbench, models

at_work, go = threading.Event(), threading.Event()

def dig(where: str) -> str:
    print("digging in", where)
    at_work.set()
    go.wait(30)
    print("hit a stone", file=sys.stderr)
    return "a coin"

digger = Agent("digger", tools=[dig], model=models.scripted([models.call("dig", where="the sand")], "A coin."))
bench = await Workbench.open("digs.db", digger)
streams = sys.stdout, sys.stderr
""",
    "run": """
import asyncio

run = bench.run(digger, "Dig in the sand", id="dig")
while not at_work.is_set():
    await asyncio.sleep(0.01)
print("meanwhile")
""",
    "end": """
go.set()
print(await run)
""",
    "kept": """
(row,) = [row for row in run.view()["rows"] if row["kind"] == "call"]
assert row["stdout"] == "digging in the sand\\nhit a stone\\n"
assert run.view()["output"] == ["digging in the sand", "hit a stone"]
assert (sys.stdout, sys.stderr) == streams
await bench.close()
""",
}


async def test_what_a_tool_prints_lands_in_no_cell(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [
        nbformat.v4.new_code_cell(source.strip(), metadata={"tags": [tag]}) for tag, source in CELLS.items()
    ]

    async with Notebook(notebook, cwd=tmp_path) as nb:
        await nb.run_all()

        assert (nb.output(tag="run"), nb.output(tag="end"), nb.errors) == ("meanwhile", "A coin.", [])
