"""The host's end of a wire: what a connection may do with the processes of a bench. All of it on the bench's loop.

- A lookup watches: its state is told as patches between what was seen, newest wins, and never faster than it is taken:
  the watches of a connection take turns, so that what waits for a slow reader is one state and not all of them.
  The end of a connection releases its watches, and no process.
- What is too large to be sent is refused to who asked for it; whatever else goes over the connection goes on.
- Call ids are the caller's own: they are joined with its name before a process sees them.
- A process stays where it lives: what moves it to another kernel is for its owner, not for who is far away.
- `scope` says what a caller reaches, and with which arguments; `admit` what it may say. What either refuses, or raises
  at, is refused. An error is told by its words if they were written for callers, else by its type alone.

Source: PROCESSES 5.2 to 5.4. Knows nothing of sockets.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.endpoints.bucket import Bucket
from workbench.endpoints.wire_frames import (
    FROM_HOST,
    REVISION,
    fitting,
    from_client,
    packed,
    size_of,
    text_of,
    unpacked,
)
from workbench.errors import BadInput, WorkbenchError
from workbench.patch import diff
from workbench.process.handle import ENDED

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from workbench.agents.context import Principal
    from workbench.process.handle import Handle

__all__ = ["Host", "Scope", "Session", "lookups"]

Scope = Callable[["Principal", str, dict[str, Any]], "tuple[str, dict[str, Any]] | None"]
"""Says what a caller reaches by a name and arguments: a name and arguments, or None for nothing."""

Admit = Callable[["Principal", str, Any], Any]
"""Says what a process hears of a message: the message, another in its place, or None to refuse it."""

TAKE = "take"
"""The argument of `Workbench.lookup` that is none of the process: it moves it here."""

Lookup = Callable[[str, dict[str, Any]], "Handle"]

log = logging.getLogger("workbench")


def lookups() -> Bucket:
    """The lookups that a caller may make: 500 at once, 10 a second in the long run."""
    return Bucket(rate=10.0, burst=500.0, left=500.0)


@dataclass(frozen=True, slots=True)
class Host:
    """What a bench lets be reached. `watches` is how many lookups one connection may have at once."""

    lookup: Lookup
    names: Callable[[], list[str]]
    scope: Scope | None = None
    admit: Admit | None = None
    watches: int = 10_000


class Session:
    """One connection of one caller. `send` takes a frame, and returns once there is room for another."""

    def __init__(
        self, host: Host, principal: Principal, bucket: Bucket, send: Callable[[str], Awaitable[None]]
    ) -> None:
        self._host = host
        self._principal = principal
        self._bucket = bucket
        self._send = send
        self._watched: dict[str, tuple[str, Handle, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._turn = asyncio.Lock()
        self._closed = False

    def receive(self, text: object) -> None:
        """Hear a frame; what is none is passed over."""
        frame = None if self._closed else from_client(text)
        if frame is None:
            return
        match frame["type"]:
            case "lookup":
                self._look_up(frame)
            case "exit":
                self._leave(frame["ref"])
            case _:
                self._start(self._said(frame))

    def close(self) -> None:
        """Release what is watched. Calls that a process has go on, and are answered to nobody."""
        self._closed = True
        for task in [*self._tasks, *(task for _, _, task in self._watched.values())]:
            task.cancel()
        self._watched.clear()

    def _look_up(self, frame: dict[str, Any]) -> None:
        ref = frame["ref"]
        self._leave(ref)
        try:
            name, handle = self._found(frame)
        except Exception as error:
            return self._start(self._raise(ref, None, error))
        self._watched[ref] = name, handle, asyncio.get_running_loop().create_task(self._watch(ref, handle))

    def _found(self, frame: dict[str, Any]) -> tuple[str, Handle]:
        if frame["v"] != REVISION:
            raise BadInput(f"this host speaks revision {REVISION} of the wire, and was asked in {frame['v']}")
        if len(self._watched) >= self._host.watches:
            raise BadInput(f"this connection watches {self._host.watches} processes already; let some of them go")
        if not self._bucket.take(asyncio.get_running_loop().time()):
            raise BadInput("too many lookups; wait some seconds")
        name, args = frame["name"], {key: unpacked(value) for key, value in frame["args"].items()}
        if self._host.scope is not None:
            reached = self._host.scope(self._principal, name, args)
            if reached is None:
                raise BadInput(f"no process {name!r} here for {self._principal}", name=name)
            name, args = reached
        if name not in self._host.names():
            raise BadInput(f"no process {name!r} here for {self._principal}", name=name)
        if TAKE in args:
            raise BadInput(f"{name!r} is not moved over the wire; look it up without {TAKE}=", name=name)
        return name, self._host.lookup(name, args)

    async def _said(self, frame: dict[str, Any]) -> None:
        """Carry out a cast or a call, and say what came of it."""
        ref, id = frame["ref"], frame["id"]
        try:
            if ref not in self._watched:
                raise BadInput(f"nothing is looked up as {ref!r}")
            name, handle, _ = self._watched[ref]
            message = self._admitted(name, unpacked(frame["msg"]))
            if frame["type"] == "cast":
                value = await handle.cast(message)
            else:
                value = await handle.call(message, id=self._own(frame["call_id"]))
            text = text_of("reply", ref=ref, id=id, value=packed(value, "reply"))
            await self._send(fitting(text, f"the answer of {name!r}", FROM_HOST))
        except Exception as error:
            await self._raise(ref, id, error)

    def _admitted(self, name: str, message: Any) -> Any:
        if self._host.admit is None:
            return message
        heard = self._host.admit(self._principal, name, message)
        if heard is None:
            raise BadInput(f"{name!r} does not take that message from {self._principal}")
        return heard

    def _own(self, call_id: str | None) -> str | None:
        return None if call_id is None else json.dumps([str(self._principal), call_id])

    async def _watch(self, ref: str, handle: Handle) -> None:
        """Tell the state of a process as it changes, until its end, or until it is one that cannot be told."""
        try:
            await self._follow(ref, handle)
            error = handle.error
        except BadInput as unable:
            error = unable
        del self._watched[ref]
        if error is not None:
            await self._raise(ref, None, error)
        else:
            await self._send(text_of("done", ref=ref))

    async def _follow(self, ref: str, handle: Handle) -> None:
        sent: Any = None
        text = status = None
        while True:
            if handle.status != status:
                async with self._turn:
                    status = handle.status
                    await self._send(text_of("status", ref=ref, status=status))
            if handle.states.text is not None and handle.states.text != text:
                async with self._turn:
                    before, first = sent, text is None
                    text = handle.states.text
                    sent = json.loads(text)
                    await self._send(_told(handle, ref, sent, None if first else diff(before, sent)))
            elif handle.status in ENDED:
                return
            elif handle.status == status:
                await handle.states.change()

    async def _raise(self, ref: str, id: int | None, error: BaseException) -> None:
        kind = type(error).__name__
        words = str(error) if isinstance(error, WorkbenchError) else f"{kind}, which the host tells its owner"
        if not isinstance(error, WorkbenchError):
            log.error("what %s asked over the wire failed", self._principal, exc_info=error)
        await self._send(text_of("raise", ref=ref, id=id, error={"type": kind, "message": words}))

    def _leave(self, ref: str) -> None:
        left = self._watched.pop(ref, None)
        if left is not None:
            left[2].cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _told(handle: Handle, ref: str, state: Any, patch: list[Any] | None) -> str:
    """The frame of a state, by what changed where that is known and can be sent. Raises: BadInput."""
    whole = [["set", "", state]]
    text = text_of("yield", ref=ref, patch=whole if patch is None else patch)
    if patch is not None and size_of(text) > FROM_HOST:
        text = text_of("yield", ref=ref, patch=whole)
    return fitting(text, f"the state of {handle.name!r}", FROM_HOST)
