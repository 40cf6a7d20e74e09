"""Wires with faults: the network between links and a host, in memory, which tests break and mend.

`cut` loses what is open and refuses what is dialled; `stall` holds every frame back, as a partition does that nobody
has noticed yet; `mend` lets all of it through again. Frames that a cut finds on their way are lost.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.agents.context import Principal
from workbench.endpoints.wire_host import Host, Session, lookups
from workbench.errors import LinkError

if TYPE_CHECKING:
    from workbench.endpoints.wire_link import Channel

__all__ = ["Wires"]


class Wires:
    """The network between links and one host. `await wires.dial()` is what a `Link` dials with."""

    def __init__(self, host: Host, principal: Principal | None = None) -> None:
        self.dialled = 0
        self.up = asyncio.Event()
        self.up.set()
        self._host = host
        self._principal = principal or Principal("tester", "wire")
        self._bucket = lookups()
        self._down = False
        self._open: set[_Channel] = set()

    async def dial(self) -> Channel:
        """A new channel. Raises: LinkError while the network is cut."""
        await self.up.wait()
        if self._down:
            raise LinkError("the network is cut", place="test")
        self.dialled += 1
        channel = _Channel(self)
        self._open.add(channel)
        channel.session = Session(self._host, self._principal, self._bucket, channel.tell)
        return channel

    def cut(self) -> None:
        """Lose every channel, and refuse new ones."""
        self._down = True
        self.up.set()
        for channel in list(self._open):
            channel.lose()

    def stall(self) -> None:
        """Hold every frame back, and every dial."""
        self.up.clear()

    def mend(self) -> None:
        """Let frames and dials through again."""
        self._down = False
        self.up.set()

    def forget(self, channel: _Channel) -> None:
        """Know a channel no more that was closed."""
        self._open.discard(channel)


class _Channel:
    """Implements `workbench.endpoints.wire_link.Channel`."""

    def __init__(self, wires: Wires) -> None:
        self.session: Session | None = None
        self._wires = wires
        self._frames: asyncio.Queue[str | None] = asyncio.Queue()
        self._lost = False

    async def send(self, text: str) -> None:
        await self._wires.up.wait()
        self._check()
        assert self.session is not None
        self.session.receive(text)

    async def receive(self) -> str:
        text = await self._frames.get()
        await self._wires.up.wait()
        self._check()
        return text or ""

    async def tell(self, text: str) -> None:
        """A frame of the host."""
        self._frames.put_nowait(text)

    async def close(self) -> None:
        self.lose()

    def lose(self) -> None:
        """Be lost, with what is on its way."""
        self._lost = True
        self._frames.put_nowait(None)
        self._wires.forget(self)
        if self.session is not None:
            self.session.close()

    def _check(self) -> None:
        if self._lost:
            raise LinkError("the channel was lost", place="test")
