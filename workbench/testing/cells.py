"""Cells: what a notebook's cells say about themselves, and the text of what they put out.

- A cell is called by its first tag of its own, else by its number as the eye counts it.
- `raises-exception` and `skip-execution` mean what they mean to every other runner.

Knows nothing of kernels.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from workbench.errors import CellFailed, NotShown

__all__ = [
    "Failure",
    "called",
    "failed",
    "failures",
    "find",
    "join_streams",
    "may_raise",
    "models",
    "models_in",
    "plain",
    "read",
    "runs",
    "tags",
    "text",
    "write",
]

MEANT_TO_RAISE = "raises-exception"
SKIPPED = "skip-execution"
WIDGET = "application/vnd.jupyter.widget-view+json"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in a cell that was not meant to raise. `cell` is what the cell is called."""

    cell: str
    ename: str
    evalue: str
    traceback: str


def read(notebook: str | Path | NotebookNode) -> tuple[str, NotebookNode]:
    """Give the notebook's name and a copy of it that carries no outputs."""
    name = "a notebook" if isinstance(notebook, NotebookNode) else Path(notebook).name
    node = copy.deepcopy(notebook) if isinstance(notebook, NotebookNode) else nbformat.read(notebook, as_version=4)
    for cell in node.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    node.metadata.pop("widgets", None)
    return name, node


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook, making its folder where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def tags(cell: NotebookNode) -> list[str]:
    """The cell's tags in their order."""
    return list(cell.metadata.get("tags", []))


def called(cell: NotebookNode, index: int) -> str:
    """What an error calls this cell."""
    return next((tag for tag in tags(cell) if tag not in (MEANT_TO_RAISE, SKIPPED)), f"cell {index + 1}")


def find(notebook: NotebookNode, name: str, tag: str) -> int:
    """The place of the first cell with this tag. Raises: NotShown, listing the tags there are."""
    for index, cell in enumerate(notebook.cells):
        if tag in tags(cell):
            return index
    known = sorted({tag for cell in notebook.cells for tag in tags(cell)})
    raise NotShown(
        f"{name!r} has no cell tagged {tag!r}; its tags are {listed(known)}", notebook=name, asked=tag, found=known
    )


def listed(names: list[str]) -> str:
    """Names for an error message."""
    return ", ".join(map(repr, names)) or "none"


def runs(cell: NotebookNode) -> bool:
    """Whether there is anything to execute."""
    return cell.cell_type == "code" and bool(cell.source.strip()) and SKIPPED not in tags(cell)


def may_raise(cell: NotebookNode) -> bool:
    """Whether the cell says that it raises on purpose."""
    return MEANT_TO_RAISE in tags(cell)


def failures(notebook: NotebookNode) -> list[Failure]:
    """The errors in the outputs of cells that were not meant to raise, from top to bottom."""
    return [
        Failure(called(cell, index), output.ename, plain(output.evalue), plain("\n".join(output.traceback)))
        for index, cell in enumerate(notebook.cells)
        if not may_raise(cell)
        for output in cell.get("outputs", [])
        if output.output_type == "error"
    ]


def failed(name: str, failure: Failure) -> CellFailed:
    """The error for a cell that raised, with the kernel's traceback as its note."""
    what = f"cell {failure.cell!r} of {name!r} raised {failure.ename}: {failure.evalue}"
    words = f"{what}; tag it {MEANT_TO_RAISE!r} where that is meant"
    error = CellFailed(
        words, notebook=name, cell=failure.cell, ename=failure.ename, evalue=failure.evalue, traceback=failure.traceback
    )
    error.add_note(failure.traceback)
    return error


def models_in(data: dict[str, Any]) -> Iterator[str]:
    """The widget model that a mime bundle shows, where it shows one."""
    if WIDGET in data:
        yield data[WIDGET]["model_id"]


def models(cell: NotebookNode) -> Iterator[str]:
    """The widget models that a cell's outputs show, in their order."""
    for output in cell.get("outputs", []):
        yield from models_in(output.get("data", {}))


def join_streams(cell: NotebookNode) -> None:
    """Join a stream output to the one before it when both are of one stream, as front ends do."""
    match cell.outputs:
        case [
            *_,
            {"output_type": "stream", "name": first} as before,
            {"output_type": "stream", "name": second} as last,
        ] if first == second:
            before["text"] += last["text"]
            cell.outputs.pop()


def plain(words: str) -> str:
    """The text without terminal colours."""
    return _COLOURS.sub("", words)


def text(cell: NotebookNode) -> str:
    """What a cell put out, as text: what was printed, results as plain text, errors as "name: value"."""
    parts = (_text(output) for output in cell.get("outputs", []))
    return plain("\n".join(part.removesuffix("\n") for part in parts if part))


def _text(output: NotebookNode) -> str:
    match output.output_type:
        case "stream":
            return str(output.text)
        case "error":
            return f"{output.ename}: {output.evalue}"
        case _:
            return str(output.data.get("text/plain", ""))
