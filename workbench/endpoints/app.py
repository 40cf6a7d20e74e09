"""The app: one ASGI app for all protocols of a door, with one edge around them.

A request passes, from the outside in: the owner's own middleware; the drain, which can end whatever is open; Host and
Origin; the bearer; the caller's limits; the size of its body; the service whose path it is.

- Host and Origin are checked on every route, health and cards included, against names of this machine and the public
  one: a page elsewhere that points a name at this address reaches nothing.
- A request has exactly one bearer, of a caller of that very service; its header goes no further than here.
- A body is read whole, and no more than the limit, before a protocol sees it.

Source: ENDPOINTS 1.5, 1.6, 1.8, 1.9 and 5. Knows nothing of MCP, A2A or benches.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.websockets import WebSocketClose

from workbench.endpoints.bucket import Bucket
from workbench.errors import BadInput
from workbench.given import parsed_url, shown_url

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from workbench.door import Audit, Limits
    from workbench.endpoints.callers import Caller, Callers
    from workbench.endpoints.service import Service

__all__ = ["App", "Drain", "names_of", "replayed"]

HEALTH = "/health"
OPENING = "workbench.opening"  # the key of a scope under which the drain knows it
LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
ANY = frozenset(("0.0.0.0", "::", ""))
"""The addresses that stand for every one of this machine."""
HEARD = 8  # how many times the limit of a body is read, and dropped, before its sender is cut off
POLICY, GOING_AWAY = 1008, 1001  # close codes of a WebSocket: RFC 6455, section 7.4.1


def names_of(host: str, public_url: str | None) -> frozenset[str]:
    """The host names by which a door on `host` may be called. Raises: BadInput when nobody could tell."""
    names = set(LOOPBACK)
    if public_url is not None:
        public = parsed_url(public_url)
        if public is None or public.hostname is None or public.query or public.fragment or "@" in public.netloc:
            raise BadInput(
                f"public_url is where others reach the door, e.g. 'https://host.example', without a login or query, "
                f"found {shown_url(public_url)}"
            )
        names.add(public.hostname.encode("idna").decode())  # as the headers of a request have it
    if host in ANY and public_url is None:
        raise BadInput(
            f"a door on {host!r} is reached by names that it cannot know; give public_url='http://name:port' as well"
        )
    return frozenset(names if host in ANY else names | {host.lower()})


class App:
    """The ASGI app of one door. `services` by channel, with the `callers` of each; `names` it may be called by."""

    def __init__(
        self,
        services: Mapping[str, Service],
        callers: Mapping[str, Callers],
        names: frozenset[str],
        limits: Limits,
        audit: Audit,
        middleware: Sequence[Any] = (),
    ) -> None:
        self._services = services
        self._callers = callers
        self._names = names
        self._limits = limits
        self._audit = audit
        self._allowances: dict[str, Allowance] = {}
        self.drain = Drain(self._checked)
        self._outermost: ASGIApp = self.drain
        for each in reversed(middleware):
            self._outermost = _around(each, self._outermost)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        await self._outermost(scope, receive, send)

    async def _checked(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if (refusal := self._stranger(headers)) is not None:
            return await self._refuse(refusal, scope, receive, send)
        path = scope["path"]
        if path == HEALTH:
            return await JSONResponse({"status": "ok"})(scope, receive, send)
        channel = next((name for name, service in self._services.items() if _has(service, path)), None)
        if channel is None:
            return await self._refuse(PlainTextResponse("Not Found", 404), scope, receive, send)
        service = self._services[channel]
        if path in service.public:
            limited = Bounded(service, self._limits.body)
            return await limited(_without_bearer(scope), receive, send)
        caller = self._caller(channel, headers)
        if caller is None:
            return await self._refuse(_unknown(channel), scope, receive, send)
        await self._admitted(service, caller, scope, receive, send)

    async def _admitted(self, service: Service, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        allowance = self._allowances.setdefault(str(caller), Allowance(self._limits))
        if (refusal := allowance.take()) is not None:
            return await self._refuse(refusal, scope, receive, send)
        try:
            inner = _without_bearer(scope) | {"user": caller}
            scope[OPENING].caller = str(caller)
            await Bounded(service, self._limits.body)(inner, receive, send)
        finally:
            allowance.give_back()

    def _stranger(self, headers: Headers) -> Response | None:
        """The refusal of a request for another host, or from a page of another."""
        if len(headers.getlist("host")) != 1 or _name(f"//{headers['host']}") not in self._names:
            return PlainTextResponse("Invalid Host header", 421)
        if any(_name(origin) not in self._names for origin in headers.getlist("origin")):
            return PlainTextResponse("Invalid Origin header", 403)
        return None

    def _caller(self, channel: str, headers: Headers) -> Caller | None:
        given = headers.getlist("authorization")
        if len(given) != 1:
            return None
        scheme, _, token = given[0].partition(" ")
        return self._callers[channel].who(token.strip(" ")) if scheme.lower() == "bearer" else None

    async def _refuse(self, response: Response, scope: Scope, receive: Receive, send: Send) -> None:
        self._audit.refused += 1
        if scope["type"] == "websocket":
            await WebSocketClose(POLICY)(scope, receive, send)
        else:
            await response(scope, receive, send)


class Allowance:
    """What one caller may still have now: requests in flight, and a bucket that fills with time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._in_flight = 0
        self._bucket = Bucket(limits.rate, limits.burst, limits.burst, time.monotonic())

    def take(self) -> Response | None:
        """Take one request; gives the refusal when there is none to take."""
        if self._in_flight >= self._limits.in_flight or not self._bucket.take(time.monotonic()):
            return PlainTextResponse("Too many requests", 429, {"Retry-After": "1"})
        self._in_flight += 1
        return None

    def give_back(self) -> None:
        """One request is over."""
        self._in_flight -= 1


class Drain:
    """Ends what is open: all of it when the door closes, or what one caller has when its token is revoked."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: set[Opening] = set()
        self._closed = False

    @property
    def open(self) -> Mapping[str, int]:
        """How many requests and streams each caller has open: one that was answered is not, once its caller knows."""
        return Counter(opening.caller for opening in list(self._open) if opening.caller and not opening.answered)

    def close(self) -> None:
        """End everything that is open, and whatever still comes."""
        self._closed = True
        self.end()

    def end(self, caller: str | None = None) -> None:
        """End what is open, of one caller or of all."""
        for opening in [each for each in self._open if caller is None or each.caller == caller]:
            opening.within.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that can be ended at any time; its response then ends properly."""
        started = finished = False

        async def noted(message: Message) -> None:
            nonlocal started, finished
            last = message["type"] == "websocket.close" or (
                message["type"] == "http.response.body" and not message.get("more_body", False)
            )
            opening.answered = opening.answered or last
            await send(message)
            started = started or message["type"] in ("http.response.start", "websocket.accept")
            finished = last

        with anyio.CancelScope() as within:
            opening = Opening(within)
            self._open.add(opening)
            try:
                if self._closed:
                    within.cancel()
                await self._app(dict(scope) | {OPENING: opening}, receive, noted)
            finally:
                self._open.discard(opening)
        if within.cancelled_caught and not finished:
            await _ended(scope, send, started)


class Opening:
    """What is open: one request or connection, whose it is once that is known, and whether its answer is on the way."""

    __slots__ = ("answered", "caller", "within")

    def __init__(self, within: anyio.CancelScope) -> None:
        self.within = within
        self.caller = ""
        self.answered = False


class Bounded:
    """Reads the body of a request whole, or refuses it with 413 when it is larger than `most` bytes."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its body at hand."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        body = await self._read(receive)
        if body is None:
            refusal = PlainTextResponse("Request body too large", 413, {"Connection": "close"})
            return await refusal(scope, receive, send)
        return await self._app(scope, replayed(bytes(body), receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The body; None for one that is too large, read on for a while, for who still sends hears no refusal."""
        body, size, more = bytearray(), 0, True
        while more and size <= HEARD * self._most:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            part = message.get("body", b"")
            size += len(part)
            if size <= self._most:
                body += part
            more = message.get("more_body", False)
        return bytes(body) if size <= self._most else None


def replayed(body: bytes, receive: Receive) -> Receive:
    """Receives a body that was read, whole, and then what still comes."""
    first: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def next_message() -> Message:
        nonlocal first
        message, first = first, None
        return await receive() if message is None else message

    return next_message


async def _ended(scope: Scope, send: Send, started: bool) -> None:
    """End a response that was cut off, so that its client sees an end and no broken connection."""
    if scope["type"] == "websocket":
        return await send({"type": "websocket.close", "code": GOING_AWAY})
    if not started:
        headers = [(b"connection", b"close"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 503, "headers": headers})
    return await send({"type": "http.response.body", "body": b"", "more_body": False})


def _around(each: Any, app: ASGIApp) -> ASGIApp:
    """The owner's middleware around `app`: a class or function of an app, or one of starlette's `Middleware`."""
    if not isinstance(each, Middleware) and not callable(each):
        raise BadInput(f"middleware takes functions of an ASGI app, or starlette's Middleware(…), found {each!r}")
    cls, args, kwargs = each if isinstance(each, Middleware) else (each, (), {})
    try:
        made: Any = cls(app, *args, **kwargs)
    except Exception as error:
        raise BadInput(f"middleware {cls!r:.80} takes no ASGI app: {type(error).__name__}: {error}") from error
    if not callable(made):
        raise BadInput(f"middleware {cls!r:.80} gives an ASGI app, found {made!r:.80}")
    return cast("ASGIApp", made)


def _has(service: Service, path: str) -> bool:
    return path in service.public or any(path == own or path.startswith(f"{own}/") for own in service.paths)


def _name(url: str) -> str | None:
    """The host name of a URL, in lower case; None when it has none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _unknown(channel: str) -> Response:
    """The refusal of a request without the token of a caller, by RFC 6750, section 3."""
    words = {"error": "invalid_token", "error_description": "one bearer token of a known caller is needed"}
    return JSONResponse(words, 401, {"WWW-Authenticate": f'Bearer realm="{channel}", error="invalid_token"'})


def _without_bearer(scope: Scope) -> dict[str, Any]:
    return dict(scope) | {"headers": [pair for pair in scope["headers"] if pair[0].lower() != b"authorization"]}
