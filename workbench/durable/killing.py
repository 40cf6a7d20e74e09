"""Kills across hosts: how a host has another one end a life, as its own Kill would.

- An ask is a row for the host that has the key; that host carries it out on its loop, once, and says so. A cell that
  blocks there delays it and loses nothing.
- Whoever asks leaves the key alone afterwards, as a host does that kills what lives with it.

Source: PROCESSES B.4, DESIGN 2. Knows nothing of runs.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.errors import StoreError
from workbench.plain import decode, encode

if TYPE_CHECKING:
    from workbench.clock import Clock
    from workbench.store.claims import Host
    from workbench.store.store import Store

__all__ = ["PATIENCE", "Ask", "Kills"]

KIND, WAITING, DONE = "kill", "waiting", "done"

PATIENCE = 10.0
"""Seconds that an ask is waited for."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Somebody wants the life of a key ended."""

    id: str
    key: str
    by: str


class Kills:
    """The asks of one store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._taken: set[str] = set()

    async def ask(self, key: str, owner: Host, by: str) -> None:
        """Return once `owner` has ended the life of a key. Raises: StoreError when it has not within `PATIENCE`."""
        id, moved = secrets.token_hex(8), asyncio.Event()
        unwatch = self._store.watch(moved.set)
        try:
            body = encode({"key": key, "by": by})
            await self._store.put_record(KIND, id, owner.id, body, status=WAITING, at=self._clock.now())
            async with asyncio.timeout(PATIENCE):
                while (record := await self._store.get_record(KIND, id)) is None or record.status == WAITING:
                    await moved.wait()
                    moved.clear()
        except TimeoutError:
            raise StoreError(
                f"{owner.label} was asked to kill {key!r} and has not yet; a cell that blocks its loop delays it, "
                "and it is carried out when that ends",
                key=key,
            ) from None
        finally:
            unwatch()

    async def waiting(self) -> list[Ask]:
        """What this host is asked to kill, each told once."""
        found = []
        for record in await self._store.find_records(KIND, key=self._store.host.id, status=WAITING):
            if record.id not in self._taken:
                self._taken.add(record.id)
                body = decode(record.body)
                found.append(Ask(record.id, str(body["key"]), str(body["by"])))
        return found

    async def done(self, ask: Ask) -> None:
        """Say that it is so."""
        now = self._clock.now()
        await self._store.decide_record(KIND, ask.id, expect=WAITING, status=DONE, decision="null", at=now)
        self._taken.discard(ask.id)
