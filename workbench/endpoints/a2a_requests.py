"""Requests over A2A: a body as the protocol has it, or why it is none.

- JSON is UTF-8, no deeper than `DEEPEST`, without half of a character, and each of its numbers is one that JSON and a
  double have: what the SDK would otherwise trip over, and tell in the words of its exception.
- Parameters are checked by the SDK's own models and conversions before it does. What they say is logged; the caller
  hears which parameters it was.

Source: A2A 1.0, sections 5.4 and 9.5; JSON-RPC 2.0, section 5.1; ENDPOINTS 2.1 and 5 (12, 13). Knows nothing of HTTP.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import a2a.server.routes  # noqa: F401 (before the adapter, which it imports in a circle)
from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3.jsonrpc_adapter import JSONRPC03Adapter
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.utils.proto_utils import parse_params
from google.protobuf.json_format import ParseDict
from pydantic import ValidationError
from starlette.datastructures import QueryParams

from workbench.plain import is_deeper

__all__ = ["LISTED", "Refused", "fitting", "parsed", "rpc"]

DEEPEST = 64
"""Levels of a request's JSON."""

INVALID_REQUEST, INVALID_PARAMS, UNREADABLE = -32600, -32602, -32700
LISTED = {"tasks/list": "ListTasks"}
"""What 0.3 never defined for JSON-RPC, by the method of 1.0 that it is."""

CONVERSIONS: Mapping[str, Callable[..., object]] = {
    "message/send": conversions.to_core_send_message_request,
    "message/stream": conversions.to_core_send_message_request,
    "tasks/get": conversions.to_core_get_task_request,
    "tasks/cancel": conversions.to_core_cancel_task_request,
    "tasks/resubscribe": conversions.to_core_subscribe_to_task_request,
    "tasks/pushNotificationConfig/set": conversions.to_core_create_task_push_notification_config_request,
}
"""What makes a request of 1.0 of one of 0.3, by its method."""

log = logging.getLogger("workbench")


class Refused(Exception):
    """A request that is none. `code` is JSON-RPC's, `id` that of the request where it has one."""

    def __init__(self, code: int, words: str, id: str | int | None = None) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.id = id


def parsed(raw: bytes) -> Any:
    """The JSON of a body. Raises: Refused."""
    try:
        body = json.loads(raw.decode(), parse_int=_whole, parse_float=_finite, parse_constant=_no_number)
        deep = is_deeper(body, DEEPEST)
        json.dumps(body, ensure_ascii=False).encode()
    except RecursionError:
        deep = True
    except UnicodeEncodeError:
        raise Refused(UNREADABLE, "the request has half of a character in it; use text of UTF-8") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise Refused(UNREADABLE, "the request is no JSON in UTF-8") from None
    if deep:
        raise Refused(UNREADABLE, f"the request is nested deeper than {DEEPEST} levels")
    return body


def rpc(body: Any) -> dict[str, Any]:
    """The JSON-RPC request that a body is; whether there is such a method is left to the SDK. Raises: Refused."""
    if type(body) is list:
        raise Refused(INVALID_REQUEST, "batches are not taken; send one request at a time")
    if type(body) is not dict or body.get("jsonrpc") != "2.0":
        raise Refused(INVALID_REQUEST, 'a request is an object with "jsonrpc": "2.0"', _id_of(body))
    if type(body.get("id")) not in (str, int, type(None)):
        raise Refused(INVALID_REQUEST, "the id of a request is a string, an integer or null")
    method = body.get("method")
    if type(method) is not str or not method:
        raise Refused(INVALID_REQUEST, "the method of a request is a string", body.get("id"))
    if type(body.get("params", {})) not in (dict, type(None)):
        raise Refused(INVALID_PARAMS, "Invalid parameters: params", body.get("id"))
    _check(body, method)
    return body


def fitting(params: Any, model: Any) -> None:
    """Check that parameters, or those of a query, fit a message of 1.0. Raises: Refused."""
    try:
        if isinstance(params, QueryParams):
            parse_params(params, model())
        else:
            ParseDict(params, model(), ignore_unknown_fields=True)
    except Exception as error:  # a library's own and many of Python's, by what a stranger sent
        _misfit(f"they are no {model.DESCRIPTOR.name} of A2A 1.0", error)


def _check(body: Mapping[str, Any], method: str) -> None:
    """Raises: Refused for parameters that do not fit the method."""
    try:
        if method in JSONRPC03Adapter.METHOD_TO_MODEL:
            _check_old(body, method)
        elif (model := JsonRpcDispatcher.METHOD_TO_MODEL.get(LISTED.get(method, method))) is not None:
            fitting(body.get("params", {}), model)
    except Refused as refused:
        refused.id = body.get("id")
        raise


def _check_old(body: Mapping[str, Any], method: str) -> None:
    model: Any = JSONRPC03Adapter.METHOD_TO_MODEL[method]
    try:
        request = model.model_validate(body)
        if method in CONVERSIONS:
            CONVERSIONS[method](request)
    except ValidationError as error:
        places = {".".join(map(str, problem["loc"])) for problem in error.errors(include_url=False)}
        _misfit(", ".join(sorted(places)[:5]), error)
    except Exception as error:  # as above
        _misfit(f"params of {method}", error)


def _misfit(words: str, error: Exception) -> NoReturn:
    log.info("parameters over A2A do not fit: %.500s", error)
    raise Refused(INVALID_PARAMS, f"Invalid parameters: {words}") from None


def _id_of(body: Any) -> str | int | None:
    id = body.get("id") if type(body) is dict else None
    return id if type(id) in (str, int) else None


def _whole(text: str) -> int:
    try:
        value = int(text)
        float(value)
    except (ValueError, OverflowError):
        _no_number(text)
    return value


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    shown = text if len(text) <= 20 else f"{text[:20]}…"
    raise Refused(UNREADABLE, f"the request has the number {shown}, which a double cannot hold")
