"""The client's end of a wire: a link to the host of another notebook, which comes back by itself.

- One task holds the link: it dials, hears, and dials again when the link is lost, after half a second that doubles up
  to four, each time cut by chance to half at least so that many do not come at once.
- Nothing is asked again for the caller: a call that was on its way when the link was lost fails, and says so. Casts
  wait, the newest 64 of each process, and go out in order after the next lookup.

Source: PROCESSES 5.2. Knows nothing of sockets: a dial gives the channel.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

from workbench.endpoints.wire_frames import from_host, packed, text_of
from workbench.endpoints.wire_handle import RemoteHandle
from workbench.errors import LinkError
from workbench.loop import Home
from workbench.plain import digest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Channel", "Dial", "Link"]

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 4.0


class Channel(Protocol):
    """A way to the host that stands: texts in order, until it is lost."""

    async def send(self, text: str) -> None:
        """Send a text. Raises: LinkError once it is lost."""
        ...

    async def receive(self) -> str:
        """The next text. Raises: LinkError once it is lost."""
        ...

    async def close(self) -> None:
        """Let it go."""
        ...


Dial = Callable[[], Awaitable[Channel]]
"""Gives a new channel. Raises: LinkError when there is none to be had."""

Pause = Callable[[float], Awaitable[None]]


class Link:
    """A link to one host: `lookup`, `connected`, `close`. `where` is how people call the host."""

    def __init__(self, where: str, dial: Dial, pause: Pause = asyncio.sleep) -> None:
        self.where = where
        self._dial = dial
        self._pause = pause
        self._home = Home.of_running()
        self._channel: Channel | None = None
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self._handles: dict[str, RemoteHandle] = {}
        self._by_ref: dict[str, RemoteHandle] = {}
        self._refs = 0
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Dial once, so that whoever connects hears why it cannot; from then on the link keeps itself.

        Raises: LinkError.
        """
        channel = await self._dial()
        self._stand(channel)
        self._task = self._home.start(self._hold(channel), name=f"link to {self.where}")

    @property
    def connected(self) -> bool:
        """Whether the link stands, as far as anybody knows."""
        return self._channel is not None

    def lookup(self, name: str, /, **args: Any) -> RemoteHandle:
        """The process of these arguments over there: a handle like any other, one for each name and arguments.

        Raises: LinkError when the link is closed; NotPlain for arguments that cannot be sent, BadInput for what is too
        large to be.
        """
        if self._closed:
            raise LinkError(f"the link to {self.where} is closed; connect again", place=self.where)
        key = f"{name} {digest(args)}"
        handle = self._handles.get(key)
        if handle is None or handle.over:
            packed_args = {word: packed(value, word) for word, value in args.items()}
            handle = self._handles[key] = RemoteHandle(self, self._next_ref(), name, packed_args)
            self._by_ref[handle.ref] = handle
            self._look_up(handle)
        return handle

    async def close(self) -> None:
        """Let the link and everything that was looked up over it go; the processes over there stay."""
        if self._closed:
            return
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._channel is not None:  # the task that closes it had not begun
            channel, self._channel = self._channel, None
            await channel.close()
        for handle in list(self._by_ref.values()):
            handle.left()
        self._by_ref.clear()
        self._handles.clear()

    # What handles ask of their link.

    def post(self, frame: str) -> bool:
        """Send a frame if the link stands; gives whether it does."""
        if self._channel is None:
            return False
        self._outgoing.put_nowait(frame)
        return True

    def forget(self, handle: RemoteHandle) -> None:
        """Hear nothing more of a process."""
        self.post(text_of("exit", ref=handle.ref))
        self._by_ref.pop(handle.ref, None)

    def _next_ref(self) -> str:
        self._refs += 1
        return f"r{self._refs}"

    def _look_up(self, handle: RemoteHandle) -> None:
        self.post(handle.lookup)
        if self._channel is not None:
            handle.back()

    # The task that holds the link.

    async def _hold(self, channel: Channel) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                await self._speak(channel)
            finally:
                self._lost()
            while True:
                await self._pause(pause * random.uniform(0.5, 1.0))
                pause = min(2 * pause, LONGEST_PAUSE)
                try:
                    channel = await self._dial()
                except LinkError:
                    continue
                pause = FIRST_PAUSE
                break
            self._stand(channel)

    def _stand(self, channel: Channel) -> None:
        """The link stands from here on: what is said from now on goes out over it."""
        self._channel, self._outgoing = channel, asyncio.Queue()
        for handle in list(self._by_ref.values()):
            self._look_up(handle)

    async def _speak(self, channel: Channel) -> None:
        """Hear and send until the link is lost."""
        sending = asyncio.ensure_future(self._send(channel, self._outgoing))
        hearing = asyncio.ensure_future(self._hear(channel))
        try:
            await asyncio.wait([sending, hearing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, hearing):
                task.cancel()
            await asyncio.wait([sending, hearing])
            await channel.close()

    @staticmethod
    async def _send(channel: Channel, outgoing: asyncio.Queue[str]) -> None:
        while True:
            text = await outgoing.get()
            try:
                await channel.send(text)
            except LinkError:
                return

    async def _hear(self, channel: Channel) -> None:
        while True:
            try:
                frame = from_host(await channel.receive())
            except LinkError:
                return
            handle = self._by_ref.get(frame["ref"]) if frame is not None else None
            if handle is not None and frame is not None:
                self._told(handle, frame)

    def _told(self, handle: RemoteHandle, frame: Mapping[str, Any]) -> None:
        if not handle.hear(frame):  # what it said does not fit what was said before: begin anew
            self._look_up(handle)
        if handle.over:
            self._by_ref.pop(handle.ref, None)

    def _lost(self) -> None:
        self._channel = None
        for handle in list(self._by_ref.values()):
            handle.lost()

    def __repr__(self) -> str:
        standing = "closed" if self._closed else "connected" if self.connected else "lost, dialling again"
        return f"<link to {self.where}: {standing}, {len(self._by_ref)} processes>"
