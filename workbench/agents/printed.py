"""Printed: what a tool prints, kept with its call instead of landing in whichever cell is at hand.

- Who prints is known by a context variable, so concurrent tools do not mix, on the loop or in threads; everybody
  else's output goes where it went before.
- `sys.stdout` and `sys.stderr` stand aside only while a tool runs, and come back as they were.
- It is bounded: the beginning and the end stay, and a notice says how much was cut.

What a thread of the tool's own prints, and what another program writes to the terminal, is not seen here.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["LENGTH", "Printed", "printing", "printing_elsewhere"]

LENGTH = 20_000
"""Characters that are kept of what one call prints; half of them its beginning, half its end."""


class Printed:
    """The text that one call printed, stdout and stderr in the order of writing. Safe from any thread.

    `wrote` hears of every write, on the thread that wrote.
    """

    def __init__(self, wrote: Callable[[], object] = lambda: None) -> None:
        self._wrote = wrote
        self._lock = threading.Lock()
        self._head = self._tail = ""
        self._cut = 0

    def write(self, text: str) -> None:
        """Add a text."""
        half = LENGTH // 2
        with self._lock:
            room = half - len(self._head)
            self._head += text[:room]
            tail = self._tail + text[room:] if room < len(text) else self._tail
            self._tail = tail[-half:]
            self._cut += len(tail) - len(self._tail)
        self._wrote()

    @property
    def text(self) -> str:
        """What was printed, with a notice where its middle is cut."""
        with self._lock:
            if not self._cut:
                return self._head + self._tail
            return f"{self._head}\n… {self._cut} characters were cut here …\n{self._tail}"


@contextmanager
def printing(printed: Printed) -> Iterator[None]:
    """What is printed here, and in the tasks begun here, goes to `printed`. Enter it in the thread that is meant."""
    token = _current.set(printed)
    _detour.begin()
    try:
        yield
    finally:
        _detour.end()
        _current.reset(token)


@contextmanager
def printing_elsewhere() -> Iterator[None]:
    """What is begun here outlives the call, such as a process: what it prints is not the call's."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


_current: ContextVar[Printed | None] = ContextVar("workbench_printed", default=None)


class _Aside:
    """A stream that gives what a tool prints to its call, and is the stream that was there for everyone else."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        printed = _current.get()
        if printed is None:
            return int(self._stream.write(text) or 0)
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        printed.write(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Detour:
    """The streams that stand aside while any tool runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0

    def begin(self) -> None:
        with self._lock:
            self._running += 1
            for name in ("stdout", "stderr"):
                stream = getattr(sys, name)
                if stream is not None and not isinstance(stream, _Aside):
                    setattr(sys, name, _Aside(stream))

    def end(self) -> None:
        with self._lock:
            self._running -= 1
            for name in ("stdout", "stderr"):
                stream = getattr(sys, name)
                if not self._running and isinstance(stream, _Aside):
                    setattr(sys, name, stream._stream)


_detour = _Detour()
