"""How things look in a cell: the one place that talks to IPython's display.

- A display is two outputs in one area: the static twin, which hides itself while a live window is beside it, and
  the window. Reopened, exported or without scripts, the twin is what remains.
- The twin has a display id; it is made anew whenever the view's status changes, so that what is saved is true.
- One thing has one window, however often it is shown: each showing is another view of it.
- Outside a kernel a thing is its text; outside IPython, and once its bench is closed, its `repr`.

Source: KERNEL C.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from workbench.events import Shown, Source, show_with
from workbench.widgets import static_twin
from workbench.widgets.approvals import ApprovalsWindow
from workbench.widgets.compare import CompareWindow
from workbench.widgets.process import ProcessWindow
from workbench.widgets.run import RunWindow
from workbench.widgets.team import TeamWindow

if TYPE_CHECKING:
    from workbench.widgets.base import Window

__all__ = ["install", "republish", "show", "window"]

HIDE = "<style>.jp-OutputArea:has(.wb-live) .wb-static,.output:has(.wb-live) .wb-static{display:none}</style>"
_WINDOWS: dict[str, type[Window]] = {
    "run": RunWindow,
    "approvals": ApprovalsWindow,
    "process": ProcessWindow,
    "compare": CompareWindow,
    "team": TeamWindow,
}


def install() -> None:
    """Show every `Shown` through windows from now on."""
    show_with(show, republish)


def show(thing: Shown) -> None:
    """Display `thing` in the current cell: live in a kernel, as text elsewhere."""
    shell = get_ipython()
    if shell is None or thing.gone:
        print(repr(thing))  # noqa: T201 - this is what a plain shell shows
    elif not hasattr(shell, "kernel") or not _on_a_loop():
        view = thing.source().view()
        display(_Twin(static_twin.html(view), static_twin.text(view)))
    else:
        _pair(thing).show()


def republish(thing: Shown) -> None:
    """Bring the saved pictures of `thing` up to date, on behalf of the current cell; nothing if it was never shown."""
    if (pair := _pairs.get(id(thing))) is not None:
        pair.refresh()


def window(thing: Shown) -> Window:
    """The window of `thing`, made when it has none. Called on the home loop."""
    return _pair(thing).window


class _Twin:
    """A static twin as IPython displays it."""

    def __init__(self, html: str, text: str) -> None:
        self._bundle = {"text/html": html, "text/plain": text}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return self._bundle


class _Pair:
    """A thing that was shown, its window, and the twin beside it."""

    def __init__(self, thing: Shown, source: Source) -> None:
        self.thing = thing
        self.window = _WINDOWS[source.view()["kind"]](source, milestone=self.refresh)
        self.window.beside_twin = True
        self._twin = DisplayHandle()
        self._shown = False

    def show(self) -> None:
        """Display both in the current cell."""
        self._twin.display(self._picture())
        self._shown = True
        display(self.window)

    def refresh(self) -> None:
        """Make the twin anew wherever it stands."""
        if self._shown:
            self._twin.update(self._picture())

    def _picture(self) -> _Twin:
        view = self.window.get_state("state")["state"]
        return _Twin(f'{HIDE}<div class="wb-static">{static_twin.html(view)}</div>', static_twin.text(view))


_pairs: dict[int, _Pair] = {}  # by the id of the thing, which its pair keeps alive


def _pair(thing: Shown) -> _Pair:
    pair = _pairs.get(id(thing))
    if pair is None or pair.window.comm is None:
        pair = _pairs[id(thing)] = _Pair(thing, thing.source())
    return pair


def _on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
