"""A service: what one protocol serves at a door, and the reception that it gets its surroundings from.

How a protocol mounts itself. Its module (`workbench.endpoints.mcp_server`, `a2a_server`, `wire`; the table is
`publishing.MODULES`) has a function `service(reception) -> Service`, called on the bench's loop at each publish. A
service names the `paths` that are its own (each with everything below), and which of them are `public`; its ASGI app
gets every request for them, HTTP and WebSocket, after the edge has checked host, origin, bearer, limits and body, with
`scope["user"]` a `Caller` and no `Authorization` header left. `running()` is entered on the front's loop while the door
is open.

- Everything of a service runs on the front's loop, in its own thread: what touches the bench hops home first
  (`reception.at_home`), and what must answer while a cell is busy is handed over beforehand.
- Runs belong to the bench. A request that ends because its door closes or its caller's token was revoked
  (`reception.shuts_out`) cancels none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.types import Receive, Scope, Send

    from workbench.bench import Workbench
    from workbench.door import Audit, Publication
    from workbench.endpoints.callers import Caller, Callers
    from workbench.loop import Home

__all__ = ["Reception", "Service"]

T = TypeVar("T")


class Service(Protocol):
    """What one protocol serves at a door."""

    @property
    def paths(self) -> Sequence[str]:
        """The paths that are its own, each with everything below it, e.g. `/mcp`."""
        ...

    @property
    def public(self) -> Sequence[str]:
        """Those of its paths that need no token, each by itself."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or a connection for one of its paths."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Entered on the front's loop before the first request, left after the last."""
        ...

    def configuration(self) -> Mapping[str, str]:
        """What clients are told, ready to be copied, by the client's name; `${WORKBENCH_TOKEN}` for the token."""
        ...

    async def forget(self, caller: Caller) -> None:
        """End the sessions of a caller whose token was revoked; on the front's loop."""
        ...

    async def closed(self) -> None:
        """Let go of the bench; on its loop, after the front has stopped."""
        ...


class Reception:
    """What a service has around it. `bench` is touched on the bench's loop only; `closing` is read on either.

    `address` is the door's base URL as others reach it; it is known before `running()` is entered.
    """

    def __init__(self, bench: Workbench, home: Home, callers: Callers, audit: Audit, wanted: Publication) -> None:
        self.bench = bench
        self.callers = callers
        self.given = wanted.given.get(callers.channel)
        """What `publish` was given for this channel."""
        self.limits = wanted.limits
        self.approvals = wanted.approvals
        self.default_agent = wanted.default_agent
        self.address = ""
        self.closing = False
        """Whether the door is about to close, so that what ends now is no wish of a caller."""
        self._home = home
        self._audit = audit

    def shuts_out(self, caller: Caller) -> bool:
        """Whether what a caller has open ends because the owner said so: the door closes, or the token was revoked."""
        return self.closing or caller.name not in self.callers.names

    async def at_home(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        """What a coroutine function gives on the bench's loop; a cancel here is one there. Raises: what it raises."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(function(*args), self._home.loop))

    def leave_at_home(self, function: Callable[..., Coroutine[Any, Any, object]], *args: Any) -> None:
        """Have a coroutine function done on the bench's loop, whoever still waits; a failure of it is logged."""
        self._home.hop(lambda: self._home.start(function(*args), name=function.__name__))

    def tell_home(self, function: Callable[..., object], *args: object) -> None:
        """Call a function on the bench's loop soon."""
        self._home.hop(function, *args)

    def record(self, caller: Caller, what: str, run: str = "") -> None:
        """Remember a call in the door's audit; `run` is the run that it began."""
        self._audit.record(str(caller), what, run)
