"""The window: one anywidget that shows a `Source` in the front end and carries commands back.

- Patches go down as custom messages with a revision; a view that missed one asks for the whole. No trait is ever
  taken from the front end.
- A message from the front end may arrive on any thread. Its handler does one thing, `home.hop`; a command then runs as
  a task on the home loop and is answered whatever happens: an exception in a handler would show nowhere by itself.
- A page that reloads asks for the state; it is made then, so what is shown is never older than the question.
- The source holds a window weakly, and a closed comm ends the subscription.

Messages: down `patch` (revision, ops), `whole` (revision, state), `reply` (id, ok or error), `failed` (error); up
`hello`, `whole`, `command` (id, command, args). Source: KERNEL A, C, E; DESIGN rules 1 and 11.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import traitlets

from workbench.errors import BadInput, Signal, WorkbenchError
from workbench.loop import Home
from workbench.patch import Op, diff
from workbench.widgets import static_twin
from workbench.widgets.browser import from_browser, to_browser
from workbench.widgets.pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from workbench.events import Source

__all__ = ["BUILD", "QUIET", "Window", "bundle"]

QUIET = 3.0  # seconds without a patch after which the whole state is sent once
CHUNK = 1_000_000  # characters of a long text that one reply carries
BUILD = "npm --prefix widgets ci && npm --prefix widgets run build"
_STATIC = Path(__file__).parent / "static"
_OURS = frozenset({"state", "revision"})
log = logging.getLogger("workbench")

_MISSING = """export default { render({ el }) {
  const line = document.createElement("p");
  line.textContent = "The windows are not built. In the checkout: " + %r;
  el.append(line);
} };"""


def bundle(name: str) -> tuple[str | Path, str | Path]:
    """The script and style of a view; a script that shows the build command while there is no bundle."""
    script, style = _STATIC / f"{name}.js", _STATIC / f"{name}.css"
    if script.is_file() and style.is_file():
        return script, style
    return _MISSING % BUILD, ""


class Window(anywidget.AnyWidget):
    """Shows `source` live. Made on the home loop. `milestone` is called there whenever the view's status changed."""

    state = traitlets.Dict().tag(sync=True)
    revision = traitlets.Int(0).tag(sync=True)
    what: ClassVar[str] = "view"
    beside_twin = False
    """Whether a static twin is displayed beside it: where no window can be drawn, the twin is the picture."""

    def __init__(self, source: Source, *, milestone: Callable[[], None] | None = None) -> None:
        self._source = source
        self._home = Home.of_running()
        self._pace = _pace()
        self._milestone = milestone
        self._view: Mapping[str, Any] = {}
        self._whole_timer: asyncio.TimerHandle | None = None
        self._whole_at = 0.0
        self._open = True
        super().__init__()
        self.on_msg(self._heard)
        if (closes := getattr(self.comm, "on_close", None)) is not None:
            closes(self._comm_closed)
        self._stop = source.subscribe(_weakly(self))
        weakref.finalize(self, self._stop)

    def __repr__(self) -> str:
        return static_twin.line(self.state)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = super()._repr_mimebundle_(**kwargs) or ({}, {})
        html = "" if self.beside_twin else static_twin.html(self.state)
        return {
            **data,
            "text/plain": repr(self) if self.beside_twin else static_twin.text(self.state),
            "text/html": html,
        }, metadata

    def close(self) -> None:
        """End the subscription and the view in the front end."""
        if self._open:
            self._open = False
            self._stop()
            self._pace.forget(self._send_patch)
            if self._whole_timer is not None:
                self._whole_timer.cancel()
        super().close()

    # What the front end asks of the state.

    def get_state(self, key: str | Iterable[str] | None = None, drop_defaults: bool = False) -> dict[str, Any]:
        """The synced traits; `state` is made now. Off the home loop it is what was sent last; what is newer follows."""
        wanted = _OURS if key is None else {key} if isinstance(key, str) else set(key)
        if wanted & _OURS:
            if self._home.here:
                self._send_patch()
            else:
                self._home.hop(self._changed)
        state: dict[str, Any] = super().get_state(key, drop_defaults)
        return state

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Refuse what the front end wrote: it gets the true state instead."""
        self._home.hop(self.send_state, sorted(_OURS))

    def _should_send_property(self, key: str, value: Any) -> bool:
        return key not in _OURS and bool(super()._should_send_property(key, value))

    # Changes on their way down.

    def _changed(self) -> None:
        if self._open:
            self._pace.due(self._send_patch)

    def _send_patch(self) -> bool:
        """Compare the source with what was last sent, and send the difference; says whether there was one."""
        ops = self._advance()
        if ops and self.comm is not None:
            self.send({"kind": "patch", "revision": self.revision, "ops": ops})
            self._whole_at = self._home.loop.time() + QUIET
            if self._whole_timer is None:
                self._whole_timer = self._home.loop.call_later(QUIET, self._send_whole)
        return bool(ops)

    def _advance(self) -> list[Op]:
        try:
            view = self._source.view()
        except Exception as error:
            log.exception("the view of %r could not be made", self._source)
            self.send({"kind": "failed", "error": f"{type(error).__name__}: {error}"})
            return []
        shown = to_browser(view)
        ops = diff(self.state, shown)
        if all(op[1] == "/now" for op in ops):
            return []
        before = _mark(self.state)
        self._view = view
        self.state = shown
        self.revision += 1
        if self._milestone is not None and self.revision > 1 and before != _mark(shown):
            self._home.hop(self._milestone)
        return ops

    def _send_whole(self) -> None:
        left = self._whole_at - self._home.loop.time()
        if left > 0:
            self._whole_timer = self._home.loop.call_later(left, self._send_whole)
        else:
            self._whole_timer = None
            self.send_state(_OURS)

    # Messages on their way up.

    def _heard(self, _window: object, content: Any, _buffers: object) -> None:
        self._home.hop(self._take, content)

    def _comm_closed(self, _message: object) -> None:
        self._home.hop(self.close)

    def _take(self, content: Any) -> None:
        match content:
            case {"kind": "hello" | "whole"}:
                self._send_patch()
                self.send({"kind": "whole", "revision": self.revision, "state": self.state})
            case {"kind": "command", "id": str(id), "command": str(command), "args": dict(args)}:
                self._home.start(self._carry_out(id, command, args), name=f"{command} from a window")
            case {"id": str(id)}:
                self.send(
                    {"kind": "reply", "id": id, "error": "no such message; this view may be older than its kernel"}
                )
            case _:
                log.warning("a window was sent %r, which is no message of its protocol", content)

    async def _carry_out(self, id: str, command: str, args: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"error": f"{command} was cut short; what became true is in the view"}
        try:
            if command == "read":
                answer = {"ok": self._read(**args)}
            else:
                answer = {"ok": to_browser(await self._source.command(command, from_browser(args)))}
        except (WorkbenchError, Signal) as error:
            answer = {"error": str(error)}
        except Exception as error:
            log.exception("the command %r failed", command)
            answer = {"error": f"{type(error).__name__}: {error}"}
        finally:
            if self._open:
                self._send_patch()  # first what became true: a decided card is gone before it can be pressed again
                self.send({"kind": "reply", "id": id, **answer})

    def _read(self, path: str, start: int = 0) -> dict[str, Any]:
        """A part of a long text of the view, from character `start`."""
        value: Any = self._view
        try:
            for part in path.split("/")[1:]:
                name = part.replace("~1", "/").replace("~0", "~")
                value = value[int(name)] if isinstance(value, list) else value[name]
        except (LookupError, ValueError, TypeError) as error:
            raise BadInput(f"{path!r} is not in this view any more; reload it", path=path) from error
        text = value if isinstance(value, str) else str(value)
        return {"text": text[start : start + CHUNK].encode("utf-8", "replace").decode(), "length": len(text)}


def _mark(view: dict[str, Any]) -> tuple[object, ...]:
    """What a milestone changes: the status, and how many approvals wait."""
    pending = view.get("pending")
    return view.get("status"), view.get("alive"), len(pending) if isinstance(pending, list) else None


def _weakly(window: Window) -> Callable[[], None]:
    """A listener that does not keep its window."""
    reference = weakref.WeakMethod(window._changed)

    def changed() -> None:
        if (method := reference()) is not None:
            method()

    return changed


_shared: Pace | None = None
_shared_by: asyncio.AbstractEventLoop | None = None


def _pace() -> Pace:
    """The pace that all windows of the running loop share."""
    global _shared, _shared_by
    loop = asyncio.get_running_loop()
    if _shared is None or _shared_by is not loop:
        _shared, _shared_by = Pace(loop), loop
    return _shared
