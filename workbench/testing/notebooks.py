"""Notebooks as tests: a notebook in a real kernel, and someone in front of it who runs, clicks, and pulls the plug.

- Outputs and views are taken in for the kernel's whole life, also while nothing runs and after a cell has ended.
- A click goes the way a front end sends it, also while a cell awaits, and its reply is the kernel's own.
- Every wait is bounded; when one runs out, the error says what was awaited and what was seen last.
- The notebook is a copy: the file is never written; what is saved has outputs and static twins, no widget state.

Knows nothing of agents, and of kernels only how to start and end one.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from nbformat import NotebookNode

from workbench.errors import ClickRefused, KernelDied, NotShown, TookTooLong
from workbench.given import seconds as checked_seconds
from workbench.testing import cells
from workbench.testing.cells import Failure
from workbench.testing.kernel import FrontEnd, Kernel
from workbench.testing.screen import Moment, Screen

if TYPE_CHECKING:
    from workbench.testing.page import Offer, View

__all__ = ["Failure", "Moment", "Notebook", "Outcome"]

T = TypeVar("T")
Outcome = Literal["finished", "failed", "waits", "dead"]

NEW_QUESTION = 0.3  # seconds that a question of this cell must stand before the cell counts as waiting
OLD_QUESTION = 1.5  # the same for a question that stood before: the cell may be about to answer it


@dataclass(slots=True)
class _Running:
    """A cell that was sent to the kernel and, once it has ended, how."""

    index: int
    id: str
    before: frozenset[str]
    outcome: Outcome | None = None
    seen: bool = False


class Notebook:
    """A notebook in a kernel of its own: `async with Notebook("lesson.ipynb", cwd=folder) as nb`.

    `cwd` is the notebook's folder when None; `env` comes on top of this process's. `frontend` says how clicks travel.
    `timeout` bounds one cell, `patience` a click, in seconds. With `allow_errors` a failing cell does not raise.
    """

    def __init__(
        self,
        notebook: str | Path | NotebookNode,
        *,
        cwd: str | Path | None = None,
        env: Mapping[str, str] | None = None,
        frontend: FrontEnd = "lab",
        python: str | Path | None = None,
        timeout: float = 60.0,
        patience: float = 10.0,
        allow_errors: bool = False,
    ) -> None:
        self.name, self.notebook = cells.read(notebook)
        folder = Path.cwd() if isinstance(notebook, NotebookNode) else Path(notebook).parent
        self.cwd = Path(cwd) if cwd is not None else folder
        self.timeout = checked_seconds("timeout", timeout)
        self.patience = checked_seconds("patience", patience)
        self.allow_errors = allow_errors
        self._start: dict[str, Any] = {
            "env": dict(env or {}),
            "frontend": frontend,
            "python": Path(python) if python else None,
        }
        self._screen = Screen(self.notebook, self._say)
        self._page = self._screen.page
        self._kernel: Kernel | None = None
        self._position = 0
        self._running: _Running | None = None
        self._following: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()
        if kind is None and self._running is not None and not self._running.seen:
            self._complain(self._running)

    async def run_until(self, tag: str) -> Outcome:
        """Run cells from where it stands; gives "finished", or "waits" when a cell awaits and a view asks for approval.

        What waits goes on in the background, and the next `run_until` or `run_all` waits for it first.
        Raises: CellFailed, KernelDied, TookTooLong.
        """
        target = self._find(tag)
        if target < self._position and target != self._current:
            again = f"nb.run({tag!r}) runs it again, nb.restart() starts over"
            words = f"cell {tag!r} of {self.name!r} has already run; {again}"
            raise NotShown(words, notebook=self.name, asked=tag, found=self._position)
        return await self._run_through(target)

    async def run_all(self) -> Outcome:
        """Run the cells that are left; gives "finished", or "waits" as `run_until` does."""
        return await self._run_through(len(self.notebook.cells) - 1)

    async def run(self, tag: str) -> Outcome:
        """Run one cell, wherever it stands, also once more."""
        target = self._find(tag)
        if await self._settle() == "waits":
            raise self._still_waits(tag)
        self._begin(target)
        return await self._finish()

    async def begin(self, tag: str) -> None:
        """Run up to the tagged cell and return as soon as it has begun; it goes on in the background."""
        target = self._find(tag)
        if await self._run_through(target - 1) == "waits":
            raise self._still_waits(tag)
        self._begin(target)
        await self.until(
            lambda: self.notebook.cells[target].execution_count is not None or not self._busy, f"cell {tag!r} to begin"
        )

    async def click(self, label: str, *, in_: str | None = None, args: Mapping[str, Any] | None = None) -> Any:
        """Press the first button called `label` once one may be pressed; gives the kernel's reply.

        `in_` narrows to a cell's tag, a view's kind, or an id; `args` go on top of what the button sends.
        Raises: NotShown with the labels on offer; ClickRefused in the kernel's words; KernelDied; TookTooLong.
        """
        await self._screen.wait(lambda: self._page.offer(label, in_) or not self._live, self.patience)
        found = self._page.offer(label, in_)
        if found is None:
            raise self._not_offered(label, in_) if self._live else self._dead(f"{label!r} cannot be clicked")
        view, offer = found
        return await self._press(view, offer, dict(args or {}))

    async def interrupt(self) -> None:
        """Interrupt the kernel, as the stop button does."""
        self._screen.note("interrupted", self._what_ran() or "")
        await self._living("interrupt").interrupt()

    async def kill(self) -> None:
        """End the kernel with SIGKILL. The running cell ends as "dead"; outputs so far are kept."""
        kernel = self._living("kill")
        self._screen.note("killed", self._what_ran() or "")
        await kernel.kill()
        await self._follow_to_the_end()

    async def restart(self) -> None:
        """Start another kernel, ending this one as a front end does. It stands before the first cell; outputs stay."""
        await self._close()
        self._running, self._position = None, 0
        await self._open()

    async def until(self, condition: Callable[[], T], what: str, *, timeout: float | None = None) -> T:
        """Wait until `condition()` holds, for at most `timeout` seconds. Raises: TookTooLong with `what`.

        It is asked at all that the kernel publishes and twenty times a second beside, since it may be of a file.
        """
        seconds = self.timeout if timeout is None else checked_seconds("timeout", timeout)
        if not (found := await self._screen.wait(condition, seconds, every=0.05)):
            raise self._too_long(what, seconds)
        return found

    async def save(self, path: str | Path) -> None:
        """Write the executed copy, making its folder where there is none."""
        self.write(path)

    def write(self, path: str | Path) -> None:
        """`save` for who has no loop at hand, such as a fixture that takes down."""
        cells.write(self.notebook, Path(path))

    @property
    def pid(self) -> int:
        """The kernel's process id."""
        return self._living("tell the pid of").pid

    @property
    def alive(self) -> bool:
        """Whether there is a kernel."""
        return self._live

    @property
    def timeline(self) -> list[Moment]:
        """What happened since it was opened, in order."""
        return self._screen.timeline

    @property
    def views(self) -> list[View]:
        """The views that the outputs show, from top to bottom."""
        return self._page.shown()

    @property
    def errors(self) -> list[Failure]:
        """The errors in the outputs of cells that were not meant to raise, from top to bottom."""
        return cells.failures(self.notebook)

    def outputs(self, tag: str) -> list[NotebookNode]:
        """The outputs of the tagged cell as the notebook holds them."""
        return list(self.notebook.cells[self._find(tag)].get("outputs", []))

    def output(self, tag: str) -> str:
        """The text of the tagged cell's outputs: what was printed, results as plain text, errors as "name: value"."""
        return cells.text(self.notebook.cells[self._find(tag)])

    def widget(self, name: str) -> dict[str, Any]:
        """The latest state of the last view of this kind, model, cell, or id of what it shows."""
        fitting = self._page.shown(name)
        if not fitting:
            known = [view.name for view in self.views]
            raise NotShown(
                f"{self.name!r} shows no view {name!r}; it shows {cells.listed(known)}",
                notebook=self.name,
                asked=name,
                found=known,
            )
        return fitting[-1].state

    def _find(self, tag: str) -> int:
        return cells.find(self.notebook, self.name, tag)

    def _called(self, index: int) -> str:
        return cells.called(self.notebook.cells[index], index)

    @property
    def _live(self) -> bool:
        return self._kernel is not None and self._kernel.alive

    @property
    def _now(self) -> _Running:
        if self._running is None:
            raise NotShown(f"no cell of {self.name!r} has run yet", asked="running", found=None)
        return self._running

    @property
    def _busy(self) -> bool:
        return self._running is not None and self._running.outcome is None

    @property
    def _current(self) -> int | None:
        return self._running.index if self._running is not None else None

    def _living(self, verb: str) -> Kernel:
        if self._kernel is None or not self._kernel.alive:
            raise self._dead(f"there is no kernel to {verb}")
        return self._kernel

    def _what_ran(self) -> str | None:
        return None if self._running is None else self._called(self._running.index)

    async def _open(self) -> None:
        self._kernel = await Kernel.start(self._screen.received, self._screen.died, cwd=self.cwd, **self._start)
        self._screen.note("opened", f"pid {self._kernel.pid}")

    async def _close(self) -> None:
        if self._kernel is not None:
            try:
                await self._kernel.shutdown()
            finally:
                await self._follow_to_the_end()
                await self._kernel.close()
                self._kernel = None

    async def _run_through(self, last: int) -> Outcome:
        outcome: Outcome = await self._settle()
        while outcome != "waits" and self._position <= last:
            index = self._position
            self._position += 1
            if cells.runs(self.notebook.cells[index]):
                self._begin(index)
                outcome = await self._finish()
        return outcome

    async def _settle(self) -> Outcome:
        """Wait for what goes on in the background, and say how it ended once."""
        if self._running is None or self._running.seen:
            return "finished"
        return await self._finish()

    def _begin(self, index: int) -> None:
        kernel = self._living(f"run cell {self._called(index)!r}")
        cell = self.notebook.cells[index]
        self._screen.clear(index)
        id = kernel.execute(cell.source, stop_on_error=not cells.may_raise(cell))
        self._screen.follow(id, index)
        self._position = max(self._position, index + 1)
        self._running = _Running(index, id, before=frozenset(self._page.questions()))
        self._screen.note("began", self._called(index))
        self._following = asyncio.get_running_loop().create_task(
            self._follow(kernel, self._running), name=f"cell {index}"
        )

    async def _follow(self, kernel: Kernel, running: _Running) -> None:
        reply = await kernel.reply(running.id)
        if reply is None:
            running.outcome = "dead"
        else:
            await self._screen.wait(lambda: self._screen.ended(running.id) or not kernel.alive, self.patience)
            running.outcome = "failed" if reply["status"] == "error" else "finished"
        self._screen.note(
            {"dead": "died", "failed": "failed"}.get(running.outcome, "finished"), self._called(running.index)
        )
        self._screen.tell()

    async def _follow_to_the_end(self) -> None:
        if self._following is not None:
            await self._following
            self._following = None

    async def _finish(self) -> Outcome:
        """Wait until the running cell has ended, or waits for a decision."""
        running = self._now
        ends = time.monotonic() + self.timeout
        while running.outcome is None:
            what = f"cell {self._called(running.index)!r} to finish"
            await self.until(
                lambda: running.outcome or self._page.questions(), what, timeout=max(ends - time.monotonic(), 0)
            )
            if running.outcome is None and await self._waits(running):
                return "waits"
        running.seen = True
        if running.outcome == "dead":
            raise self._dead(f"cell {self._called(running.index)!r} ran")
        if running.outcome == "failed":
            self._complain(running)
        return running.outcome

    async def _waits(self, running: _Running) -> bool:
        """Whether the cell awaits a decision: a question stands, the cell is quiet, and the kernel answers a view."""
        asked, said = frozenset(self._page.questions()), len(self.notebook.cells[running.index].outputs)
        still = OLD_QUESTION if asked <= running.before else NEW_QUESTION
        if not asked or await self._screen.wait(lambda: self._moved(running, asked, said), still):
            return False
        view = next(iter(self._page.questions().values()))
        answered = view.answered
        self._page.greet(view.id)
        await self._screen.wait(lambda: running.outcome or not view.alive or view.answered > answered, self.timeout)
        if self._screen.ended(running.id):  # its end was published before the answer; the reply is on its way
            return False
        return running.outcome is None and bool(self._page.questions())

    def _moved(self, running: _Running, asked: frozenset[str], said: int) -> bool:
        return (
            running.outcome is not None
            or frozenset(self._page.questions()) != asked
            or len(self.notebook.cells[running.index].outputs) != said
        )

    def _complain(self, running: _Running) -> None:
        running.seen = True
        mine = [failure for failure in self.errors if failure.cell == self._called(running.index)]
        if mine and not self.allow_errors:
            raise cells.failed(self.name, mine[-1])

    async def _press(self, view: View, offer: Offer, args: dict[str, Any]) -> Any:
        id = uuid.uuid4().hex
        self._screen.note("clicked", f"{offer.label} in {view.name}")
        self._say(view.id, {"id": id, "kind": "command", "command": offer.command, "args": offer.args | args})
        await self._screen.wait(lambda: id in view.replies or not view.alive, self.patience)
        reply = view.replies.pop(id, None)
        if reply is None and not self._live:
            raise self._dead(f"{offer.label!r} was clicked and not answered")
        if reply is None:
            raise self._too_long(f"the reply to {offer.label!r} in {view.name!r}", self.patience)
        if "error" in reply:
            words = f"{offer.label!r} in {view.name!r} was refused: {reply['error']}"
            raise ClickRefused(words, notebook=self.name, label=offer.label, view=view.id, error=reply["error"])
        return reply.get("ok")

    def _dead(self, what: str) -> KernelDied:
        """The error for what cannot be, because there is no kernel."""
        words = f"{what}, but the kernel of {self.name!r} is dead; await nb.restart() starts another"
        error = KernelDied(words, notebook=self.name, cell=self._what_ran())
        if self._kernel is not None and (said := self._kernel.last_words()):
            error.add_note(f"the kernel's last words:\n{said}")
        return error

    def _not_offered(self, label: str, where: str | None) -> NotShown:
        labels = self._page.labels(where)
        place = self.name if where is None else where
        words = f"{place!r} offers no {label!r} within {self.patience:g} s; what it offers is {cells.listed(labels)}"
        return self._screen.describe(NotShown(words, notebook=self.name, asked=label, found=labels), self._current)

    def _still_waits(self, tag: str) -> TookTooLong:
        words = f"cell {self._called(self._now.index)!r} still waits for a decision, so {tag!r} cannot run; click first"
        return TookTooLong(words, notebook=self.name, what=tag, seconds=0.0)

    def _too_long(self, what: str, seconds: float) -> TookTooLong:
        words = f"waited {seconds:.3g} s for {what} in {self.name!r} and it did not come; what runs goes on"
        return self._screen.describe(TookTooLong(words, notebook=self.name, what=what, seconds=seconds), self._current)

    def _say(self, model: str, content: dict[str, Any]) -> None:
        self._living("talk to").say(model, content)
