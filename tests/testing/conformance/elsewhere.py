"""A SQLite store whose reads are made by another that opens the file for each: nothing is known that is not in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from workbench.store.sqlite.keeper import SQLiteStore


class ReadElsewhere(SQLiteStore):
    @asynccontextmanager
    async def _elsewhere(self) -> AsyncIterator[SQLiteStore]:
        await self._writer.flushed()
        other = SQLiteStore(self.path)
        await other.open(label="reader", lease=30.0, now=self._now)
        try:
            yield other
        finally:
            await other.close()

    async def pending(self, key: str, cursor: int) -> Any:
        async with self._elsewhere() as other:
            return await other.pending(key, cursor)

    async def steps(self, key: str, seq: int) -> Any:
        async with self._elsewhere() as other:
            return await other.steps(key, seq)

    async def result(self, key: str, call_id: str) -> Any:
        async with self._elsewhere() as other:
            return await other.result(key, call_id)

    async def dead(self, key: str) -> Any:
        async with self._elsewhere() as other:
            return await other.dead(key)

    async def history(self, key: str) -> Any:
        async with self._elsewhere() as other:
            return await other.history(key)

    async def activations(self, key: str) -> Any:
        async with self._elsewhere() as other:
            return await other.activations(key)

    async def keys(self, *, definition: str | None = None) -> Any:
        async with self._elsewhere() as other:
            return await other.keys(definition=definition)

    async def due(self, now: float, until: float, limit: int) -> Any:  # type: ignore[override]
        async with self._elsewhere() as other:
            return await other.due(now, until, limit)

    async def get_record(self, kind: str, id: str) -> Any:
        async with self._elsewhere() as other:
            return await other.get_record(kind, id)

    async def find_records(self, kind: str, *, key: str | None = None, status: str | None = None) -> Any:
        async with self._elsewhere() as other:
            return await other.find_records(kind, key=key, status=status)
