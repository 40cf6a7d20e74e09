"""The front: the HTTP server of a door, in a thread and on a loop of its own.

- A busy cell holds the bench's loop, not this one: health and listings go on being answered.
- The socket is bound first, where `publish` is called, so that a used port is an error of that cell; it is made with
  its protocol named, without which asyncio leaves Nagle's algorithm on and every answer takes 40 ms.
- No signal handler is touched, no log is configured, and nothing is logged about requests: at DEBUG the server would
  write every header of a WebSocket, its token too.
- A stop ends what is open, and takes less than half a second; so does a start that is cancelled.

Source: ENDPOINTS 0.10, 0.11 and 1.9. Knows nothing of protocols.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import threading
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import uvicorn

from workbench.endpoints.callers import Caller
from workbench.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.endpoints.app import App
    from workbench.endpoints.callers import Callers
    from workbench.endpoints.service import Reception, Service

__all__ = ["Front", "let_go", "listening"]

THREAD = "door on port"
BACKLOG = 512
MOST_CONNECTIONS = 1024
KEPT = 75  # seconds that an idle connection is kept: longer than clients do, so that none sends into one that closes
GRACE = 1  # whole seconds that a response which does not end is waited for at a stop


def listening(host: str, port: int) -> socket.socket:
    """A socket that is bound to `host` and `port` (0 for a free one).

    Raises: BadInput, with the field `port` when it is the port that cannot be had.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, socket.IPPROTO_TCP)
    except (OSError, UnicodeError, OverflowError) as error:
        raise _nowhere(host, error) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRNOTAVAIL:
            raise _nowhere(host, error) from error
        raise BadInput(
            f"port {port} of {host} cannot be had: {error.strerror}; close what listens there, or publish on another "
            "port=…",
            port=port,
        ) from error
    return bound


def _nowhere(host: str, error: Exception) -> BadInput:
    return BadInput(f"a door cannot listen on {host!r}: {error}; host is an address of this machine")


class Front:
    """Serves an app until it is closed. What it serves is started by `await front.start()`."""

    def __init__(
        self,
        app: App,
        bound: socket.socket,
        services: Mapping[str, Service],
        callers: Mapping[str, Callers],
        receptions: Mapping[str, Reception],
    ) -> None:
        self._app = app
        self._bound = bound
        self._services = services
        self._callers = callers
        self._receptions = receptions
        self._began: Future[None] = Future()
        self._over: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._forgetting: set[asyncio.Task[None]] = set()
        self._server = _Server(
            uvicorn.Config(
                app,
                access_log=False,
                log_config=None,
                lifespan="off",
                timeout_graceful_shutdown=GRACE,
                timeout_keep_alive=KEPT,
                limit_concurrency=MOST_CONNECTIONS,
                server_header=False,
                loop="asyncio",
            ),
            self._began,
        )

    @property
    def connected(self) -> Mapping[str, int]:
        """How many requests and streams each caller has open now."""
        return self._app.drain.open

    async def start(self) -> None:
        """Serve; returns once requests are answered. Raises: what keeps a service from starting."""
        name = f"{THREAD} {self._bound.getsockname()[1]}"
        threading.Thread(target=self._run, name=name, daemon=True).start()
        await asyncio.shield(asyncio.wrap_future(self._began))

    async def close(self) -> None:
        """Stop, end what is open, and let the services go; returns once nothing listens any more.

        What has not begun yet is waited for, since it cannot be stopped before.
        """
        for reception in self._receptions.values():
            reception.closing = True
        began = asyncio.wrap_future(self._began)
        await asyncio.wait([began])
        if began.exception() is None:
            self._hop(self._stop)
        try:
            await asyncio.shield(asyncio.wrap_future(self._over))
        finally:
            await let_go(self._services)

    def revoke(self, caller: str) -> None:
        """Refuse a token from now on, and end what its caller has open. Raises: BadInput."""
        channel, _, name = str(caller).partition(":")
        if channel not in self._callers:
            raise BadInput(f"a caller is named by its channel and its name, e.g. 'mcp:desktop', found {caller!r}")
        self._callers[channel].revoke(name)
        self._hop(self._forget, Caller(name, channel))

    def _hop(self, function: object, *args: object) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)  # type: ignore[arg-type]

    def _stop(self) -> None:
        self._server.should_exit = True
        self._app.drain.close()

    def _forget(self, caller: Caller) -> None:
        self._app.drain.end(str(caller))
        task = asyncio.ensure_future(self._services[caller.channel].forget(caller))
        self._forgetting.add(task)
        task.add_done_callback(self._forgetting.discard)

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            failure = error
        self._bound.close()
        if failure is None:
            self._over.set_result(None)
        elif self._began.done():
            self._over.set_exception(failure)
        else:
            self._over.set_result(None)
            self._began.set_exception(failure)  # who starts it hears why it did not

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        async with AsyncExitStack() as stack:
            for service in self._services.values():
                await stack.enter_async_context(service.running())
            await self._server.serve(sockets=[self._bound])


async def let_go(services: Mapping[str, Service]) -> None:
    """Have services let go of their bench."""
    for service in services.values():
        await service.closed()


def _says_nothing_of_requests(record: logging.LogRecord) -> bool:
    """Whether a record may be logged: one of another server, or a warning."""
    return record.levelno >= logging.WARNING or not str(record.threadName).startswith(THREAD)


logging.getLogger("uvicorn.error").addFilter(_says_nothing_of_requests)


class _Server(uvicorn.Server):
    """A server that says when it has begun."""

    def __init__(self, config: uvicorn.Config, began: Future[None]) -> None:
        super().__init__(config)
        self._told = began

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin, and say so."""
        await super().startup(sockets)
        self._told.set_result(None)
