"""Events: how something that changed tells who looks at it, on the loop, and how an object shows itself in a cell.

- A listener is called once per loop turn however often the source changed in it, after the change, never inside it.
- A listener that raises is logged and stays; it cannot break the source.
- Lower rooms know no widget: they inherit `Shown`, and whoever can draw fills the hook.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

__all__ = ["Changes", "Shown", "Source", "republish", "show_with"]

log = logging.getLogger("workbench")


class Source(Protocol):
    """What a window binds to: a view to show, changes to follow, commands to carry out.

    All of it is used on the home loop only.
    """

    def view(self) -> Mapping[str, Any]:
        """The whole view as plain data (`workbench.agents.views`), made now."""
        ...

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after changes; gives the function that stops it."""
        ...

    async def command(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Carry out a command of the view's actions.

        Raises: WorkbenchError when it is refused, with the words to show.
        """
        ...


class Changes:
    """A list of listeners, told at most once per loop turn. `left` is called when the last one stops."""

    __slots__ = ("_due", "_left", "_listeners")

    def __init__(self, left: Callable[[], None] | None = None) -> None:
        self._listeners: dict[object, Callable[[], None]] = {}
        self._left = left
        self._due = False

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after each turn with a change; gives the function that stops it."""
        token = object()
        self._listeners[token] = changed
        return lambda: self._stop(token)

    def _stop(self, token: object) -> None:
        if self._listeners.pop(token, None) is not None and not self._listeners and self._left is not None:
            self._left()

    def __bool__(self) -> bool:
        return bool(self._listeners)

    def tell(self) -> None:
        """Say that something changed. Costs nothing while nobody listens."""
        if self._listeners and not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._due = False
        for token in list(self._listeners):
            try:
                if (changed := self._listeners.get(token)) is not None:
                    changed()
            except Exception:
                log.exception("a listener failed")


_show: Callable[[Any], None] | None = None
_again: Callable[[Any], None] | None = None


def show_with(show: Callable[[Any], None], again: Callable[[Any], None] | None = None) -> None:
    """Fill the display hook: `show(thing)` shows it in the current cell, `again(thing)` renews its saved pictures."""
    global _show, _again
    _show, _again = show, again


def republish(thing: Shown) -> None:
    """Bring the saved pictures of `thing` up to date, on behalf of the current cell."""
    if _again is not None:
        _again(thing)


class Shown:
    """Shows itself in a cell through the hook, and as its `repr` elsewhere and once it is `gone`."""

    __slots__ = ()

    @property
    def gone(self) -> bool:
        """Whether its bench is closed, so that nothing can be read or asked of it any more."""
        return False

    def source(self) -> Source:
        """What a window of this thing binds to."""
        raise NotImplementedError

    def _ipython_display_(self) -> None:
        if _show is None:
            print(repr(self))  # noqa: T201 - this is what a plain shell shows
        else:
            _show(self)
