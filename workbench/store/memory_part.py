"""A part of the memory keeper: a port beside the journal, for one host of a room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from workbench.store.claims import Host

__all__ = ["MemoryPart"]

R = TypeVar("R")


class MemoryPart(Generic[R]):
    """What every part has, on the `room` of what it keeps.

    `host` says who that is, `hosts` who is alive, `settle` makes an awaitable, `wrote` tells the others.
    """

    def __init__(
        self,
        room: R,
        host: Callable[[], Host],
        hosts: dict[str, Host],
        now: Callable[[], float],
        settle: Callable[[Callable[[], Any]], asyncio.Future[Any]],
        wrote: Callable[[], object],
    ) -> None:
        self._room = room
        self._host = host
        self._hosts = hosts
        self._now = now
        self._settle = settle
        self._wrote = wrote

    def _write(self, write: Callable[[], Any]) -> asyncio.Future[Any]:
        self._host()  # raises when the store is not open
        self._wrote()
        return self._settle(write)
