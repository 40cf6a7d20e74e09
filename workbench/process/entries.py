"""Entries: what was looked up and lives here, and which of it may leave when it is idle or there is no room.

- An entry is idle while nobody watches it and it is not busy. Its window begins with each lookup and when the last
  watcher goes; a busy one gets another whole window.
- Above the cap the entries that were looked up longest ago leave first. What is watched, busy or just looked up stays,
  so there may be more entries than the cap for a while.
- One task waits for the earliest window; entries without one cost no time at all.

Source: PROCESSES 1.10 and 2.14. Knows nothing of keys, arguments or journals.
"""

from __future__ import annotations

import asyncio
import heapq
from functools import partial
from itertools import count, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.clock import Clock
    from workbench.loop import Home
    from workbench.process.handle import Handle

__all__ = ["AGAIN", "Entries"]

AGAIN = 1.0
"""Seconds after which a full house is looked at again, when nothing could leave."""


class _Entry:
    """One entry. `due` is the end of its window, `armed` whether the sweeper will come by."""

    __slots__ = ("armed", "due", "handle", "idle", "leave")

    def __init__(self, handle: Handle, idle: float | None, leave: Callable[[], object]) -> None:
        self.handle = handle
        self.idle = idle
        self.leave = leave
        self.due = 0.0
        self.armed = False


class Entries:
    """The entries of one bench, at most `most` of them (None for no cap)."""

    def __init__(self, home: Home, clock: Clock, most: int | None = None) -> None:
        self._home = home
        self._clock = clock
        self._most = most
        self._entries: dict[int, _Entry] = {}  # in the order in which they were looked up
        self._order = count(1)
        self._windows: list[tuple[float, int, _Entry | None]] = []
        self._sweeper: asyncio.Task[None] | None = None
        self._armed_for = 0.0
        self._tight = self._closed = False

    def __len__(self) -> int:
        return len(self._entries)

    def looked_up(self, handle: Handle, *, idle: float | None, leave: Callable[[], object]) -> None:
        """Know a handle as an entry, or note that it was asked for. `leave()` has it go once it may.

        `idle` is its window in seconds; None for an entry that is never too idle.
        """
        if self._closed:
            return
        entry = self._entries.pop(id(handle), None)
        if entry is None:
            entry = _Entry(handle, idle, leave)
            handle.states.left = partial(self._begin_window, entry)
            handle.on_end = partial(self.forget, handle)
        self._entries[id(handle)] = entry
        entry.idle = idle
        self._begin_window(entry)
        if self._most is not None and len(self._entries) > self._most and not self._tight:
            self._tight = True
            self._home.loop.call_soon(self._make_room)

    def forget(self, handle: Handle) -> None:
        """The handle is no entry any more: it has ended, or lives elsewhere."""
        if self._entries.pop(id(handle), None) is not None:
            handle.states.left = handle.on_end = None

    def close(self) -> None:
        """Let nothing leave any more."""
        self._closed = True
        for entry in list(self._entries.values()):
            self.forget(entry.handle)
        self._windows.clear()
        if self._sweeper is not None:
            self._sweeper.cancel()

    def _begin_window(self, entry: _Entry) -> None:
        if entry.idle is None or self._closed:
            return
        entry.due = self._clock.now() + entry.idle
        if not entry.armed:
            entry.armed = True
            self._arm(entry.due, entry)

    def _arm(self, when: float, entry: _Entry | None) -> None:
        heapq.heappush(self._windows, (when, next(self._order), entry))
        if self._sweeper is not None and when < self._armed_for:
            self._sweeper.cancel()
            self._sweeper = None
        if self._sweeper is None:
            self._armed_for = when
            self._sweeper = self._home.start(self._sweep(), name="workbench idle entries")

    async def _sweep(self) -> None:
        """Come by at the end of every window."""
        while self._windows:
            self._armed_for = self._windows[0][0]
            await self._clock.sleep_until(self._armed_for)
            while self._windows and self._windows[0][0] <= self._clock.now():
                _, _, entry = heapq.heappop(self._windows)
                if entry is None:
                    self._make_room()
                else:
                    self._come_by(entry)
        self._sweeper = None

    def _come_by(self, entry: _Entry) -> None:
        entry.armed = False
        if self._entries.get(id(entry.handle)) is not entry or entry.idle is None:
            return
        if entry.due > self._clock.now():
            entry.armed = True
            self._arm(entry.due, entry)
        elif entry.handle.states.watched:
            return  # its window begins when the last watcher goes
        elif entry.handle.busy:
            self._begin_window(entry)
        else:
            self._let_go(entry)

    def _make_room(self) -> None:
        """Have the longest unasked entries leave, as many as there are too many."""
        self._tight = False
        over = len(self._entries) - (self._most or 0)
        if self._most is None or over <= 0 or self._closed:
            return
        may_leave = (
            entry for entry in self._entries.values() if not entry.handle.states.watched and not entry.handle.busy
        )
        leaving = list(islice(may_leave, over))
        if leaving and leaving[-1] is next(reversed(self._entries.values())):
            leaving.pop()  # it was looked up just now
        for entry in leaving:
            self._let_go(entry)
        if len(leaving) == over:
            return
        self._tight = True
        self._arm(self._clock.now() + AGAIN, None)

    def _let_go(self, entry: _Entry) -> None:
        self.forget(entry.handle)
        entry.leave()
