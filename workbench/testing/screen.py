"""The screen: what someone in front of a notebook sees, folded from everything that its kernel publishes.

- An output goes into the cell that caused it, also when that cell ended long ago; what an earlier run of a cell still
  says goes nowhere.
- An update of a display changes it wherever it stands.
- Whoever waits asks again at every message; only what no message tells, such as a file, is looked at from time to time.

Knows nothing of clicks and kernels; the embassy of nbclient, which turns messages into outputs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbformat import NotebookNode

from workbench.errors import NotebookError
from workbench.testing import cells
from workbench.testing.page import Page

__all__ = ["Moment", "Screen"]

T = TypeVar("T")
E = TypeVar("E", bound=NotebookError)
LAST = 2000  # characters of output that an error quotes


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, `at` seconds after the notebook was opened: began, finished, died, clicked and so on."""

    at: float
    what: str
    subject: str


class Screen:
    """The notebook with its outputs, its page of views, and the timeline of what happened."""

    def __init__(self, notebook: NotebookNode, say: Callable[[str, dict[str, Any]], None]) -> None:
        self.notebook = notebook
        self.page = Page(notebook, say)
        self.timeline: list[Moment] = []
        self._since = time.monotonic()
        self._outputs = NotebookClient(notebook, store_widget_state=False, record_timing=False)
        self._places: dict[str, int] = {}  # message id -> cell
        self._ended: set[str] = set()
        self._news = asyncio.Event()

    def clear(self, index: int) -> None:
        """Empty a cell that is about to run. What its earlier run still puts out is not shown."""
        cell = self.notebook.cells[index]
        cell.outputs, cell.execution_count = [], None
        self._places = {id: place for id, place in self._places.items() if place != index}
        self._outputs.clear_display_id_mapping(index)
        self._outputs.clear_before_next_output = False

    def follow(self, id: str, index: int) -> None:
        """Show what the message `id` causes in this cell."""
        self._places[id] = index

    def ended(self, id: str) -> bool:
        """Whether all that the cell itself had to say is here. Tasks that it started may go on."""
        return id in self._ended

    def received(self, message: dict[str, Any]) -> None:
        """Take in something that the kernel published."""
        content = message["content"]
        match message["msg_type"]:
            case "comm_open":
                self.page.opened(content["comm_id"], content["data"])
            case "comm_msg":
                self.page.received(content["comm_id"], content["data"])
            case "comm_close":
                self.page.closed(content["comm_id"])
            case _:
                self._write(message)
        self.tell()

    def died(self) -> None:
        """Take in that the kernel is gone."""
        self.page.disconnected()
        self._places.clear()
        self.tell()

    def tell(self) -> None:
        """Let everyone who waits ask again."""
        news, self._news = self._news, asyncio.Event()
        news.set()

    async def wait(self, condition: Callable[[], T], seconds: float, *, every: float | None = None) -> T:
        """What `condition()` gives once it holds, or what it gives when the time is up.

        It is asked at all that the kernel publishes, and each `every` seconds if it is of what no message tells.
        """
        try:
            async with asyncio.timeout(seconds):
                while not (found := condition()):
                    with suppress(TimeoutError):
                        await asyncio.wait_for(self._news.wait(), every)
                return found
        except TimeoutError:
            return condition()

    def note(self, what: str, subject: str) -> None:
        """Put a moment on the timeline."""
        self.timeline.append(Moment(round(time.monotonic() - self._since, 3), what, subject))

    def describe(self, error: E, index: int | None) -> E:
        """The error with notes of what was seen last: the cell's outputs, the labels on offer, the latest moments."""
        if index is not None:
            cell = self.notebook.cells[index]
            error.add_note(f"cell {cells.called(cell, index)!r} put out:\n{cells.text(cell)[-LAST:] or 'nothing'}")
        error.add_note(f"on offer: {cells.listed(self.page.labels())}")
        for view in self.page.shown():
            if view.failure:
                error.add_note(f"the kernel could not make the view {view.name!r}: {view.failure}")
        lately = "; ".join(f"{moment.at:.1f} s {moment.what} {moment.subject}" for moment in self.timeline[-8:])
        error.add_note(f"lately: {lately}")
        return error

    def _write(self, message: dict[str, Any]) -> None:
        parent = message["parent_header"].get("msg_id", "")
        index = self._places.get(parent)
        if index is None and message["msg_type"] != "update_display_data":
            return
        cell = nbformat.v4.new_code_cell() if index is None else self.notebook.cells[index]
        try:
            self._outputs.process_message(message, cell, -1 if index is None else index)
        except CellExecutionComplete:
            self._ended.add(parent)
        cells.join_streams(cell)
        for model in cells.models_in(message["content"].get("data", {})):
            self.page.greet(model)
