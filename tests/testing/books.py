"""Small notebooks for the tests of the harness."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbformat import NotebookNode

PANEL = Path(__file__).with_name("panel.py").read_text()


def book(**cells: str) -> NotebookNode:
    """A notebook with one code cell per name; the name is its tag, and what stands after `__` is another tag."""
    notebook = nbformat.v4.new_notebook()
    for name, source in cells.items():
        cell = nbformat.v4.new_code_cell(source)
        cell.metadata["tags"] = [tag.replace("_", "-") for tag in name.split("__")]
        notebook.cells.append(cell)
    return notebook


def panels(**cells: str) -> NotebookNode:
    """The same, with the panel defined in a cell before."""
    return book(panel=PANEL, **cells)
