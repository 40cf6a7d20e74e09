"""What a store in memory keeps beside the log: records, and the letters that were set aside; each is decided once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.store import room
from workbench.store.memory_host import MemoryHost
from workbench.store.records import Record
from workbench.store.room import text

if TYPE_CHECKING:
    import asyncio

    from workbench.store.letters import SetAside

__all__ = ["MemoryRecords"]


class MemoryRecords(MemoryHost):
    """Implements `workbench.store.records.Records` and `workbench.store.letters.Letters`."""

    def put_record(self, kind: str, id: str, key: str, body: str, *, status: str, at: float) -> asyncio.Future[bool]:
        """Add a row."""
        if (kind, id) in self._room.records:
            return self._done(False)
        self._room.records[kind, id] = Record(kind, id, key, text(body), status, at)
        self._wrote()
        return self._done(True)

    def decide_record(
        self, kind: str, id: str, *, expect: str, status: str, decision: str, at: float
    ) -> asyncio.Future[bool]:
        """Decide a row."""
        row = self._room.records.get((kind, id))
        if row is None or row.status != expect:
            return self._done(False)
        self._room.records[kind, id] = replace(row, status=status, decision=text(decision), decided_at=at)
        line = self._room.lines.get(row.key)
        if line is not None:
            line.wake_at = at if line.wake_at is None else min(line.wake_at, at)
        self._wrote()
        return self._done(True)

    async def get_record(self, kind: str, id: str) -> Record | None:
        """One row."""
        return self._room.records.get((kind, id))

    async def find_records(self, kind: str, *, key: str | None = None, status: str | None = None) -> list[Record]:
        """Rows oldest first."""
        found = [
            row
            for row in self._room.records.values()
            if row.kind == kind and key in (None, row.key) and status in (None, row.status)
        ]
        return sorted(found, key=lambda row: row.at)

    def letters_now(self, *, key: str | None = None, status: str | None = None) -> list[SetAside]:
        """Dead letters, oldest first."""
        lines = [line for line in self._room.lines.values() if key in (None, line.key)]
        found = [letter for line in lines for letter in line.dead if status in (None, letter.status)]
        return sorted(found, key=lambda letter: letter.id)

    def requeue_letter(self, id: int, *, by: str, message: str | None = None) -> asyncio.Future[bool]:
        """Post a waiting letter again."""
        for line in self._room.lines.values():
            if (letter := room.decide(line, id, "requeued", by, self._now())) is not None:
                room.requeue(line, letter, self._wrote(), self._now(), None if message is None else text(message))
                return self._done(True)
        return self._done(False)

    def discard_letter(self, id: int, *, by: str) -> asyncio.Future[bool]:
        """Leave a letter where it is."""
        lines = self._room.lines.values()
        decided = [line for line in lines if room.decide(line, id, "discarded", by, self._now()) is not None]
        if decided:
            self._wrote()
        return self._done(bool(decided))
