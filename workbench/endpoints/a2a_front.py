"""In front of the SDK's endpoints: what they do not take, or answer in another way than the protocol says.

- A request that is none, or whose parameters are none, is refused before the SDK reads it; see `a2a_requests`.
- `tasks/list`, which 0.3 never defined for JSON-RPC, is answered to clients that speak 0.3 names.
- A 0.3 stream that ends because its task waits says with its last event that it does.

Source: ENDPOINTS 2.1 and 5 (13). Knows nothing of runs.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from a2a.compat.v0_3.conversions import to_compat_task
from a2a.types.a2a_pb2 import GetTaskRequest, ListTasksRequest, SendMessageRequest, Task, TaskPushNotificationConfig
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import InvalidRequestError
from google.protobuf.json_format import ParseDict
from starlette.requests import Request
from starlette.responses import JSONResponse

from workbench.endpoints.a2a_requests import LISTED, Refused, fitting, parsed, rpc
from workbench.endpoints.app import replayed

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Front"]

STREAMED = ("message/stream", "tasks/resubscribe")
WAITING = "input-required"
TASKS, TASK = "/tasks", re.compile(r"/tasks/[^/:]+$")
SENT = {
    "/message:send": SendMessageRequest,
    "/message:stream": SendMessageRequest,
    "/pushNotificationConfigs": TaskPushNotificationConfig,
}
"""What is sent to a path below `rest`, by its end."""


class Front:
    """Passes requests on to `app`; those that are sent to `path`, or below `rest`, are read first."""

    def __init__(self, app: ASGIApp, path: str, rest: str) -> None:
        self._app = app
        self._path = path
        self._rest = f"{rest}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if scope["path"] == self._path and scope["method"] == "POST":
            return await self._called(scope, receive, send)
        if scope["path"].startswith(self._rest):
            return await self._asked(scope, receive, send)
        return await self._app(scope, receive, send)

    async def _asked(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request of HTTP+JSON."""
        request, path = Request(scope, receive), scope["path"]
        raw = await request.body()
        try:
            if scope["method"] == "GET" and path.endswith(TASKS):
                fitting(request.query_params, ListTasksRequest)
            elif scope["method"] == "GET" and TASK.search(path):
                fitting(request.query_params, GetTaskRequest)
            elif scope["method"] == "POST" and (model := _sent(path)) is not None:
                fitting(parsed(raw), model)
        except Refused as refused:
            return await _told(refused)(scope, receive, send)
        return await self._app(scope, replayed(raw, receive), send)

    async def _called(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A request of JSON-RPC."""
        raw = await Request(scope, receive).body()
        try:
            body = rpc(parsed(raw))
        except Refused as refused:
            error = {"code": refused.code, "message": refused.words}
            return await JSONResponse({"jsonrpc": "2.0", "id": refused.id, "error": error})(scope, receive, send)
        if body["method"] in LISTED:
            return await self._list(scope, receive, send, body)
        if body["method"] in STREAMED:
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


def _sent(path: str) -> Any:
    return next((SENT[end] for end in SENT if path.endswith(end)), None)


def _told(refused: Refused) -> JSONResponse:
    """A refusal as HTTP+JSON has it."""
    return JSONResponse(build_rest_error_payload(InvalidRequestError(message=refused.words)), 400)
