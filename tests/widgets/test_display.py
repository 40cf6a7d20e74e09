"""How a thing looks in a cell: live in a kernel, as a saved picture everywhere else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter

from workbench.events import Shown
from workbench.testing import Notebook
from workbench.widgets import display

HERE = str(Path(__file__).parent)

SETUP = f"""
import sys
sys.path.insert(0, {HERE!r})
from views import run as view_of_a_run
from workbench.events import Changes, Shown
from workbench.widgets import display
display.install()

class Run(Shown):
    def __init__(self):
        self.content, self.changes = view_of_a_run(), Changes()
        self.subscribe = self.changes.subscribe
    def source(self):
        return self
    def view(self):
        return self.content
    async def command(self, name, args):
        return {{}}
    def __repr__(self):
        return "<Run run-7f3a>"
    def become(self, status, text):
        self.content = {{**self.content, "status": status, "ended_at": self.content["now"], "rows": [
            {{**self.content["rows"][0], "text": text}}]}}
        self.changes.tell()

run = Run()
"""


LATER = """
import asyncio
from workbench.events import republish
other = Run()
other.content["id"] = "run-1111"
other
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """A notebook that was run once: a thing shown twice and then ended, another brought up to date by a later cell."""
    book = nbformat.v4.new_notebook()
    ends = "run.become('completed', 'All done.')\nawait asyncio.sleep(0.3)"
    again = "other.content['rows'][0]['text'] = 'Said later.'\nrepublish(other)"
    book.cells = [nbformat.v4.new_code_cell(source) for source in (SETUP, "run", "run", LATER, again, ends)]

    async def executed() -> nbformat.NotebookNode:
        async with Notebook(book, cwd=tmp_path_factory.mktemp("display")) as nb:
            await nb.run_all()
            await nb.until(lambda: "completed" in pictures(nb.notebook, 1)[0]["text/plain"], "the new picture")
            return nb.notebook

    return asyncio.run(executed())


def pictures(notebook: nbformat.NotebookNode, cell: int) -> list[dict[str, Any]]:
    return [output["data"] for output in notebook.cells[cell].outputs if "data" in output]


def test_a_thing_is_a_saved_picture_and_a_window_beside_it(saved: nbformat.NotebookNode) -> None:
    twin, window = pictures(saved, 1)

    assert sorted(twin) == ["text/html", "text/plain"]
    assert ":has(.wb-live) .wb-static" in twin["text/html"]
    assert sorted(window) == ["application/vnd.jupyter.widget-view+json", "text/html", "text/plain"]
    assert window["text/html"] == ""  # one picture, not two, where no window can be drawn
    assert window["text/plain"].startswith("<support, run-7f3a: waiting for an approval")


def test_one_thing_has_one_window_however_often_it_is_shown(saved: nbformat.NotebookNode) -> None:
    models = [pictures(saved, cell)[1]["application/vnd.jupyter.widget-view+json"]["model_id"] for cell in (1, 2, 3)]

    assert models[0] == models[1] != models[2]


def test_a_saved_picture_follows_the_status_wherever_it_stands(saved: nbformat.NotebookNode) -> None:
    for cell in (1, 2):
        twin, _ = pictures(saved, cell)
        assert twin["text/plain"].startswith("support, run-7f3a: completed")
        assert "All done." in twin["text/html"]


def test_a_later_cell_brings_the_picture_up_to_date(saved: nbformat.NotebookNode) -> None:
    assert "Said later." in pictures(saved, 3)[0]["text/html"]


def test_an_export_without_widget_state_holds_everything(saved: nbformat.NotebookNode) -> None:
    saved.metadata.pop("widgets", None)

    html, _ = HTMLExporter(template_name="lab").from_notebook_node(saved)

    for said in ("run-7f3a", "completed", "run-1111", "waiting for an approval", "Saved picture, not live."):
        assert said in html


def test_a_plain_shell_shows_the_repr(capsys: pytest.CaptureFixture[str]) -> None:
    class Thing(Shown):
        def __repr__(self) -> str:
            return "<Thing>"

    display.show(Thing())

    assert capsys.readouterr().out == "<Thing>\n"
