"""Calls elsewhere: the callers of this bench who wait for processes of other hosts.

- Waiting costs a future: no thread, and no look at the store before it changed. Then one look serves all who wait for a
  key.
- A key that comes to live here takes those who wait for it over.

Source: PROCESSES 2.8, CASES 47. Knows nothing of who owns a key.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from workbench.durable.answers import check_same, hear
from workbench.durable.posting import post_to
from workbench.errors import ProcessEnded
from workbench.plain import decode, digest
from workbench.process.calls import fail

if TYPE_CHECKING:
    from workbench.clock import Clock
    from workbench.durable.residence import Residence
    from workbench.store.store import Store

__all__ = ["CallsElsewhere"]


class CallsElsewhere:
    """The open calls of one bench to keys that live elsewhere."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._waiting: dict[str, dict[str, list[asyncio.Future[str | None]]]] = {}
        self._closed = False

    async def call(self, process: Residence, message: Any, text: str, id: str) -> Any:
        """The answer to a call whose process lives on another host.

        Raises: CallConflict, ProcessEnded when the bench closes or the process ends here first, what the answer says.
        """
        key, mark = process.key, digest(message)
        envelope = self._store.result_now(key, id)
        if envelope is None:
            stored = self._store.message_now(key, id)
            if stored is not None:
                check_same(digest(decode(stored)), mark, key, id, self._store)
            await post_to(process, self._store, self._clock, text, id)
            envelope = self._recorded(key, id)
        while envelope is None:
            if process.activation is not None:  # the key came here meanwhile, and the call with it
                return await process.activation.call(message, text, id)
            envelope = await self._wait(process, id) or self._recorded(key, id)
        return hear(envelope, mark, key, id, self._store)

    def _recorded(self, key: str, id: str) -> str | None:
        """The answer that is there already. Raises: ProcessEnded when the bench has closed."""
        if self._closed:
            raise ProcessEnded(
                f"the bench closed before {key!r} answered; call again with the same id", name=key, status="ended"
            )
        return self._store.result_now(key, id)

    async def _wait(self, process: Residence, id: str) -> str | None:
        """Wait for the answer of a call; None when its key has come here, or the bench has closed.

        Raises: ProcessEnded when nobody here will hear of it.
        """
        key = process.key
        if not process.hears:
            raise ProcessEnded(
                f"{key!r} is {process.status} here; call again with the same id", name=key, status=process.status
            )
        future: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(key, {})
        waiting.setdefault(id, []).append(future)
        try:
            return await future
        finally:
            futures = waiting.get(id, [])
            if future in futures:
                futures.remove(future)
            if not futures:
                waiting.pop(id, None)

    def look(self, key: str) -> None:
        """The store changed: tell those whose answers are there."""
        waiting = self._waiting.get(key)
        if waiting:
            for id, envelope in self._store.results_now(key, list(waiting)).items():
                _tell(waiting[id], envelope)

    def hand_over(self, key: str) -> None:
        """The key lives here now."""
        for futures in self._waiting.get(key, {}).values():
            _tell(futures, None)

    def fail(self, key: str, words: str, cause: BaseException | None) -> None:
        """Tell those who wait for a key that it has ended here, and is not followed."""
        for futures in self._waiting.get(key, {}).values():
            for future in futures:
                error = ProcessEnded(words, name=key)
                error.__cause__ = cause
                fail(future, error)

    def close(self) -> None:
        """Nobody brings an answer any more."""
        self._closed = True
        for key in self._waiting:
            self.hand_over(key)


def _tell(futures: list[asyncio.Future[str | None]], envelope: str | None) -> None:
    for future in futures:
        if not future.done():
            future.set_result(envelope)
