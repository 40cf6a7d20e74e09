"""A front end for windows: comms that keep what was sent, sources that change when told, time moved by hand."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import TYPE_CHECKING, Any

import comm
import ipywidgets
import pytest
from comm.base_comm import BaseComm

from workbench.errors import AlreadyDecided
from workbench.events import Changes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workbench.widgets.base import Window


class FrontEnd:
    """The other end of every comm that is opened: what it was sent, and a way to send."""

    def __init__(self) -> None:
        self.comms: list[HeldComm] = []

    def sent(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The custom messages so far, of one kind or all."""
        contents = [m["content"] for m in self.messages() if m.get("method") == "custom"]
        return [content for content in contents if kind in (None, content["kind"])]

    def messages(self) -> list[dict[str, Any]]:
        """The data of everything sent on any comm after it was opened."""
        return [data for held in self.comms for kind, data in held.log if kind == "comm_msg"]

    def say(self, window: Window, content: Any) -> None:
        """Send a custom message, as the kernel would hand it over."""
        window.comm.handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})


class HeldComm(BaseComm):
    """A comm whose messages stay in a list."""

    front: FrontEnd

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        if not hasattr(self, "log"):
            self.log: list[tuple[str, Any]] = []
            self.front.comms.append(self)
        self.log.append((msg_type, data))


@pytest.fixture
def front(monkeypatch: pytest.MonkeyPatch) -> Iterator[FrontEnd]:
    end = FrontEnd()
    made = type("Held", (HeldComm,), {"front": end})
    monkeypatch.setattr(comm, "create_comm", made)
    yield end
    ipywidgets.Widget.close_all()


class Board:
    """A source whose view is set by hand."""

    def __init__(self, **view: Any) -> None:
        self.now = 100.0
        self.content: dict[str, Any] = {"kind": "board", "status": "running", **view}
        self.changes = Changes()
        self.commands: list[tuple[str, dict[str, Any]]] = []
        self.outcome: BaseException | dict[str, Any] = {}

    def view(self) -> dict[str, Any]:
        return {**self.content, "now": self.now}

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        return self.changes.subscribe(changed)

    def change(self, **view: Any) -> None:
        self.content.update(view)
        self.changes.tell()

    async def command(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        self.commands.append((name, args))
        await asyncio.sleep(0)
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


@pytest.fixture
def board() -> Board:
    return Board()


@pytest.fixture
def refusal() -> AlreadyDecided:
    return AlreadyDecided("'ap-31' was rejected by ana 3 s ago; the first decision stands", id="ap-31")


class HandTimers:
    """A loop's timers, moved by hand."""

    def __init__(self) -> None:
        self.at = 0.0
        self._heap: list[tuple[float, int, Callable[[], Any], _Handle]] = []
        self._order = itertools.count()

    def time(self) -> float:
        return self.at

    def call_later(self, delay: float, callback: Callable[..., Any]) -> Any:
        handle = _Handle()
        heapq.heappush(self._heap, (self.at + delay, next(self._order), callback, handle))
        return handle

    @property
    def armed(self) -> int:
        return sum(not handle.cancelled for *_, handle in self._heap)

    def pass_to(self, when: float) -> None:
        while self._heap and self._heap[0][0] <= when:
            self.at, _, callback, handle = heapq.heappop(self._heap)
            if not handle.cancelled:
                callback()
        self.at = when


class _Handle:
    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture
def timers() -> HandTimers:
    return HandTimers()


async def idle() -> None:
    """Return when everything that was ready on the loop has run, what it made ready included."""
    for _ in range(12):
        await asyncio.sleep(0)
