"""A part of the SQLite keeper: a port beside the journal, on the connections of the open store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    import sqlite3
    from collections.abc import Callable

    from workbench.store.sqlite.hosts import Member

__all__ = ["Part"]


class Part:
    """What every part has. `run` queues a job of the ledger, `reader` reads what is committed."""

    def __init__(
        self,
        run: Callable[[Any], asyncio.Future[Any]],
        reader: sqlite3.Connection,
        member: Member,
        now: Callable[[], float],
    ) -> None:
        self._run = run
        self._reader = reader
        self._member = member
        self._now = now
