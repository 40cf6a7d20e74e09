"""The wire: processes of a bench over WebSocket, for other notebooks, kernels and scripts.

- `/wire` takes WebSockets, `/wire/schema` says which names there are. The bearer is that of the edge.
- Frames are read and written on the front's loop; what they mean is done on the bench's, by a `Session`.
- Who reads too slowly is cut off, and loses nothing: it looks up again and gets the whole state. Slow is who leaves
  much unread, never who is sent one large frame.

Source: PROCESSES 5.1 and 5.3. Knows nothing of processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from workbench.endpoints.wire_frames import FROM_CLIENT, FROM_HOST, REVISION, size_of
from workbench.endpoints.wire_host import Host, Session, lookups
from workbench.errors import BadInput
from workbench.given import whole

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

    from workbench.endpoints.bucket import Bucket
    from workbench.endpoints.callers import Caller
    from workbench.endpoints.service import Reception
    from workbench.endpoints.wire_host import Admit
    from workbench.endpoints.wire_host import Scope as Reach

__all__ = ["Wire", "WireService", "service"]

PATH = "/wire"
SCHEMA = f"{PATH}/schema"
ROOM = 1024 * 1024
"""Characters that wait to be read by a client before whoever has more for it waits too."""

UNREAD = FROM_HOST
"""Characters that wait to be read by a client when it is cut off if there is more: as many as one frame may have."""

TOO_BIG, TOO_SLOW = 1009, 1013  # close codes of a WebSocket: RFC 6455, section 7.4.1, and the registry beside it


class Wire(dict[str, str]):
    """Who may use the wire, and for what: `bench.publish(wire=Wire({"lab": token}, scope=…, admit=…))`.

    `scope(principal, name, args)` gives the name and the arguments that a caller reaches by these, or None for nothing;
    without one, every process of the bench. `admit(principal, name, message)` gives the message that the process hears,
    or None to refuse it. `watches` is how many processes one connection may have looked up at once. Raises: BadInput.
    """

    def __init__(
        self,
        callers: Mapping[str, str],
        *,
        scope: Reach | None = None,
        admit: Admit | None = None,
        watches: int = 10_000,
    ) -> None:
        if not isinstance(callers, Mapping):
            raise BadInput(f"Wire takes tokens by the caller's name, found {type(callers).__name__}")
        for what, given in (("scope", scope), ("admit", admit)):
            if given is not None and not callable(given):
                raise BadInput(f"{what} of Wire is a function, or None for every process and message, found {given!r}")
        super().__init__(callers)
        self.scope = scope
        self.admit = admit
        self.watches = whole("watches of Wire", watches, 1)


def service(reception: Reception) -> WireService:
    """What the door serves under `/wire`."""
    return WireService(reception)


class WireService:
    """Implements `workbench.endpoints.service.Service`."""

    paths = (PATH,)
    public = ()

    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        bench, wire = reception.bench, reception.given
        options: dict[str, Any] = {}
        if isinstance(wire, Wire):
            options = {"scope": wire.scope, "admit": wire.admit, "watches": wire.watches}
        self._host = Host(lambda name, args: bench.lookup(name, **args), lambda: bench.processes, **options)
        self._buckets: dict[str, Bucket] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a connection, or answer what there is."""
        if scope["type"] == "websocket" and scope["path"] == PATH:
            return await self._connected(WebSocket(scope, receive, send))
        if scope["type"] == "http" and scope["path"] == SCHEMA and scope["method"] == "GET":
            names = await self._reception.at_home(self._names)
            return await JSONResponse({"protocol": REVISION, "names": names})(scope, receive, send)
        return await JSONResponse({"error": "not found"}, 404)(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Nothing of it has to be begun."""
        yield

    def configuration(self) -> Mapping[str, str]:
        """What other notebooks are told."""
        address = self._reception.address
        return {
            "wire (python)": "from workbench.endpoints import connect\n"
            f'remote = await connect("{address}", "${{WORKBENCH_TOKEN}}")'
        }

    async def forget(self, caller: Caller) -> None:
        """A caller has nothing here but its open connections, which the edge ends."""
        self._buckets.pop(str(caller), None)

    async def closed(self) -> None:
        """Nothing of the bench is held."""

    async def _names(self) -> list[str]:
        return self._host.names()

    async def _connected(self, socket: WebSocket) -> None:
        caller: Caller = socket.scope["user"]
        await socket.accept()
        self._reception.record(caller, "wire")
        outbox = _Outbox()
        bucket = self._buckets.setdefault(str(caller), lookups())
        front = asyncio.get_running_loop()

        async def send(text: str) -> None:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(outbox.put(text), front))

        async def begin() -> Session:
            return Session(self._host, caller.principal, bucket, send)

        session = await self._reception.at_home(begin)
        writing = asyncio.ensure_future(self._write(socket, outbox))
        try:
            await self._read(socket, session)
        finally:
            writing.cancel()
            outbox.close()
            self._reception.tell_home(session.close)

    async def _read(self, socket: WebSocket, session: Session) -> None:
        with suppress(WebSocketDisconnect):
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    return
                text = message.get("text")
                if text is not None and size_of(text) > FROM_CLIENT:
                    return await socket.close(TOO_BIG)
                self._reception.tell_home(session.receive, text)

    @staticmethod
    async def _write(socket: WebSocket, outbox: _Outbox) -> None:
        while True:
            text = await outbox.get()
            if text is None:
                return await socket.close(TOO_SLOW)
            with suppress(WebSocketDisconnect, RuntimeError):  # it went away meanwhile, which reading finds out
                await socket.send_text(text)


class _Outbox:
    """Frames on their way to one client. Putting waits while many do; one more than too many ends the connection."""

    def __init__(self) -> None:
        self._texts: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()
        self._waiting = 0
        self._closed = False

    async def put(self, text: str) -> None:
        """Queue a frame; returns once there is room for the next."""
        if self._closed:
            return
        self._texts.put_nowait(text if self._waiting <= UNREAD else None)
        self._waiting += len(text)
        if self._waiting > ROOM:
            self._room.clear()
        await self._room.wait()

    async def get(self) -> str | None:
        """The next frame; None when the client is to be cut off."""
        text = await self._texts.get()
        self._waiting -= len(text or "")
        if self._waiting <= ROOM:
            self._room.set()
        return text

    def close(self) -> None:
        """Nobody reads any more: let whoever waits go."""
        self._closed = True
        self._room.set()
