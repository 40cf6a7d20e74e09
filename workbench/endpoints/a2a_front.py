"""In front of the SDK's JSON-RPC endpoint: what it does not take, or answers in another way than the protocol says.

- `tasks/list`, which 0.3 never defined for JSON-RPC, is answered to clients that speak 0.3 names.
- Parameters of a 0.3 method that cannot be read are answered -32602, without the checker's words.
- A 0.3 stream that ends because its task waits says with its last event that it does.
- JSON that is nested too deep is refused before anything recurses into it.

Source: ENDPOINTS 2.1 and 5 (13). Knows nothing of runs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import a2a.server.routes  # noqa: F401 (before the adapter, which it imports in a circle)
from a2a.compat.v0_3.conversions import to_compat_task
from a2a.compat.v0_3.jsonrpc_adapter import JSONRPC03Adapter
from a2a.types.a2a_pb2 import Task
from google.protobuf.json_format import ParseDict
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse

from workbench.endpoints.app import replayed
from workbench.plain import is_deeper

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["DEEPEST", "Front"]

DEEPEST = 64
"""Levels of a request's JSON."""

INVALID_PARAMS, UNREADABLE = -32602, -32700
STREAMED = ("message/stream", "tasks/resubscribe")
WAITING = "input-required"
LISTED = {"tasks/list": "ListTasks"}


class Front:
    """Passes requests on to `app`; those for `path` are read first."""

    def __init__(self, app: ASGIApp, path: str) -> None:
        self._app = app
        self._path = path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or scope["path"] != self._path or scope["method"] != "POST":
            return await self._app(scope, receive, send)
        raw = await Request(scope, receive).body()
        body, refusal = _read(raw)
        if refusal is not None:
            return await refusal(scope, receive, send)
        if body is not None and body.get("method") in LISTED:
            return await self._list(scope, receive, send, body)
        if body is not None and body.get("method") in STREAMED:
            send = _with_its_end(send)
        return await self._app(scope, replayed(raw, receive), send)

    async def _list(self, scope: Scope, receive: Receive, send: Send, body: dict[str, Any]) -> None:
        """Ask for a list in 1.0, and tell it in 0.3."""
        asked = json.dumps(body | {"method": LISTED[body["method"]]}).encode()
        headers = [(name, value) for name, value in scope["headers"] if name not in (b"a2a-version", b"content-length")]
        inner = dict(scope) | {"headers": [*headers, (b"a2a-version", b"1.0")]}
        answer = bytearray()

        async def kept(message: Message) -> None:
            answer.extend(message.get("body", b""))

        await self._app(inner, replayed(asked, receive), kept)
        told = json.loads(bytes(answer))
        if "result" in told:
            told["result"]["tasks"] = [_as_of_old(task) for task in told["result"].get("tasks", [])]
        await JSONResponse(told)(scope, receive, send)


def _with_its_end(send: Send) -> Send:
    """Sends events of a stream, the one with which it stops to wait marked as the last."""

    async def marked(message: Message) -> None:
        body: bytes = message.get("body", b"")
        if WAITING.encode() in body:
            message = dict(message) | {"body": b"\n".join(map(_marked, body.split(b"\n")))}
        await send(message)

    return marked


def _marked(line: bytes) -> bytes:
    field, colon, data = line.partition(b": ")
    if field != b"data" or WAITING.encode() not in data:
        return line
    event = json.loads(data)
    result = event.get("result") or {}
    if result.get("kind") == "status-update" and result["status"]["state"] == WAITING:
        result["final"] = True
    return field + colon + json.dumps(event).encode() + (b"\r" if line.endswith(b"\r") else b"")


def _as_of_old(task: dict[str, Any]) -> dict[str, Any]:
    made: Task = ParseDict(task, Task())
    return to_compat_task(made).model_dump(mode="json", by_alias=True, exclude_none=True)


def _read(raw: bytes) -> tuple[dict[str, Any] | None, JSONResponse | None]:
    """The body as an object, None for what the endpoint itself refuses; or the refusal."""
    try:
        body = json.loads(raw)
        deep = is_deeper(body, DEEPEST)
    except ValueError:
        return None, None
    except RecursionError:
        deep = True
    if deep:
        return None, _refusal(None, UNREADABLE, f"the request is nested deeper than {DEEPEST} levels")
    if type(body) is not dict or body.get("jsonrpc") != "2.0":
        return None, None
    model = JSONRPC03Adapter.METHOD_TO_MODEL.get(body.get("method") or "")
    if model is not None:
        try:
            model.model_validate(body)  # type: ignore[attr-defined]
        except ValidationError as error:
            inside = [
                problem["loc"] for problem in error.errors(include_url=False) if problem["loc"][:1] == ("params",)
            ]
            if inside:
                where = ", ".join(sorted({".".join(map(str, loc)) for loc in inside})[:5])
                id = body.get("id")
                return None, _refusal(
                    id if type(id) in (str, int) else None, INVALID_PARAMS, f"Invalid parameters: {where}"
                )
    return body, None


def _refusal(id: Any, code: int, words: str) -> JSONResponse:
    return JSONResponse({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}})
