"""Sessions of MCP's handshake era, none of which a request depends on.

- A request whose session nobody knows, for the kernel was started anew or the session is another caller's, is served by
  itself, as its own caller: two client libraries would hear "session not found" for ever.
- So is a second request in flight under one JSON-RPC id, which a widely used host sends: the session would answer only
  one of the two.
- Sessions end when they are idle, and one caller has so many and no more.
- A body that is no message is refused in one sentence, the same in both eras, and not in the words of the checker. So
  is a request whose id is none, which the transport would take for a notification and not answer.

Leans on `StreamableHTTPSessionManager` as it is in mcp 2.3: `_server_instances`, `_session_owners`,
`_handle_stateful_request`, `_handle_stateless_request`, `_discard_session`; a test holds each.
Source: ENDPOINTS 0.4 and 1.4.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import mcp_types as mt
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from starlette.types import Message, Receive, Scope, Send

__all__ = ["Sessions"]

IDLE = 15 * 60.0
"""Seconds after which a session that nobody uses ends."""
MOST = 1024
"""Sessions of all callers together."""
ENDED = 256
"""Ended sessions that are remembered as such."""

MESSAGE = "workbench.message"  # the key of a scope under which the message of its body is
SINGLE = "Body must be a single JSON-RPC request, notification or response object"


class Sessions(StreamableHTTPSessionManager):
    """Serves MCP over HTTP, both eras. `each` is how many sessions one caller may have."""

    def __init__(self, server: Server[Any], each: int) -> None:
        super().__init__(server, session_idle_timeout=IDLE, max_sessions=MOST)
        self._each = each
        self._in_flight: set[tuple[str, str]] = set()
        self._ended: deque[str] = deque(maxlen=ENDED)

    @property
    def count(self) -> Counter[str]:
        """How many sessions each caller has."""
        return Counter(str(owner["client_id"]) for owner in self._session_owners.values())

    async def forget(self, caller: str) -> None:
        """End the sessions of a caller."""
        own = [id for id, owner in self._session_owners.items() if owner["client_id"] == caller]
        for session, transport in [(id, self._server_instances[id]) for id in own]:
            await self._discard_session(session, transport)

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of either era, or refuse what is none."""
        message: dict[str, Any] = {}
        if scope["method"] == "POST":
            body, receive = await _read(receive)
            try:
                message = _message_of(body)
            except _NoMessage as refused:
                return await refused.response(scope, receive, send)
        return await super().handle_request(dict(scope) | {MESSAGE: message}, receive, send)

    async def _handle_stateful_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        session, caller = headers.get("mcp-session-id"), scope["user"].access_token.client_id
        if session is None:
            if self.count[caller] >= self._each:
                refusal = PlainTextResponse("Too many open sessions of this caller", 503)
                return await refusal(scope, receive, send)
            return await super()._handle_stateful_request(scope, receive, send)
        owner = self._session_owners.get(session)
        own = owner is not None and owner["client_id"] == caller
        if session in self._ended or (not own and scope["method"] != "POST"):
            refusal = PlainTextResponse("Session not found", 404)
            return await refusal(scope, receive, send)
        if not own:
            return await self._by_itself(headers, scope, receive, send)
        if scope["method"] == "DELETE":
            self._ended.append(session)
        message = scope[MESSAGE]
        id = str(message["id"]) if "method" in message and "id" in message else None
        return await self._in_session(session, id, headers, scope, receive, send)

    async def _in_session(
        self, session: str, id: str | None, headers: Headers, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if id is None:
            return await super()._handle_stateful_request(scope, receive, send)
        if (session, id) in self._in_flight:
            return await self._by_itself(headers, scope, receive, send)
        self._in_flight.add((session, id))
        try:
            return await super()._handle_stateful_request(scope, receive, send)
        finally:
            self._in_flight.discard((session, id))

    async def _by_itself(self, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        await self._handle_stateless_request(headers.get("mcp-protocol-version"), scope, receive, send)


async def _read(receive: Receive) -> tuple[bytes, Receive]:
    """The body, which the edge has read whole, and what gives it again."""
    first: Message | None = await receive()
    body = first.get("body", b"") if first is not None else b""

    async def again() -> Message:
        nonlocal first
        message, first = first, None
        return await receive() if message is None else message

    return body, again


class _NoMessage(Exception):
    """A body that is no message of the protocol."""

    def __init__(self, code: int, words: str) -> None:
        super().__init__(words)
        self.response = JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}, 400)


def _message_of(body: bytes) -> dict[str, Any]:
    """The JSON-RPC message that a body is. Raises: _NoMessage."""
    try:
        message = from_json(body, allow_inf_nan=False)
        mt.jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        raise _NoMessage(mt.INVALID_REQUEST, SINGLE) from None
    except ValueError:
        raise _NoMessage(mt.PARSE_ERROR, "Parse error") from None
    if "method" in message and "id" in message and type(message["id"]) not in (str, int):
        raise _NoMessage(mt.INVALID_REQUEST, "The id of a request is a string or an integer")
    found: dict[str, Any] = message
    return found
