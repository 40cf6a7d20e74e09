"""Following: noticing that another host wrote to the file.

`PRAGMA data_version` of the write connection moves when any other connection commits and never through our own writes.
While somebody watches it is read every 20 ms (3 µs), or found moved by the batch that was just written. Knows nothing
of what was written.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.writer import Writer

__all__ = ["Follower"]

EVERY = 0.02

log = logging.getLogger("workbench")


class Follower:
    """Those who watch one store."""

    def __init__(self, ledger: Ledger, writer: Writer, loop: asyncio.AbstractEventLoop) -> None:
        self._ledger = ledger
        self._writer = writer
        self._loop = loop
        self._watchers: dict[object, Callable[[], None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._seen = 0

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after writes of others; gives the function that stops it."""
        token = object()
        self._watchers[token] = changed
        if self._timer is None:
            self._look()
            self._arm()
        return lambda: self._stop(token)

    def close(self) -> None:
        """Stop for everyone."""
        self._watchers.clear()
        self._disarm()

    def _stop(self, token: object) -> None:
        self._watchers.pop(token, None)
        if not self._watchers:
            self._disarm()

    def _arm(self) -> None:
        self._disarm()
        self._timer = self._loop.call_later(EVERY, self._poll)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _poll(self) -> None:
        self._arm()
        if self._look():
            for changed in list(self._watchers.values()):
                try:
                    changed()
                except Exception:
                    log.exception("a watcher of %r failed", self._ledger.path)

    def _look(self) -> bool:
        """Whether the version moved since the last look. While the thread works, the version that its batch saw."""
        version = self._ledger.version
        if self._writer.lock.acquire(blocking=False):
            try:
                version = self._ledger.changed()
            finally:
                self._writer.lock.release()
        moved, self._seen = version != self._seen, version
        return moved
