"""Frames: what the two ends of a wire say to each other, as JSON texts.

From the client: `lookup {ref, name, v, args}`, `cast {ref, id, msg}`, `call {ref, id, msg, call_id}`, `exit {ref}`.
From the host: `yield {ref, patch}`, `status {ref, status}`, `reply {ref, id, value}`, `raise {ref, id, error}`, `done
{ref}`.

- A `ref` is the client's word for one lookup of its connection, an `id` its word for one call or cast of it.
- Values are plain data in the journal's encoding; a patch is one of `workbench.patch` between two of them. The first
  `yield` after any lookup is the whole state.
- A `raise` without an `id` is the end of the ref, as `done` is.
- What is no frame, or one of the other direction, is None to who reads it.

Source: PROCESSES 5.1 (revision 3). Knows nothing of sockets.
"""

from __future__ import annotations

import json
from typing import Any

from workbench.plain import decode, encode

__all__ = ["REVISION", "from_client", "from_host", "packed", "text_of", "unpacked"]

REVISION = 3

_CLIENT: dict[str, dict[str, Any]] = {
    "lookup": {"ref": str, "name": str, "v": int, "args": dict},
    "cast": {"ref": str, "id": int, "msg": object},
    "call": {"ref": str, "id": int, "msg": object, "call_id": (str, type(None))},
    "exit": {"ref": str},
}
_HOST: dict[str, dict[str, Any]] = {
    "yield": {"ref": str, "patch": list},
    "status": {"ref": str, "status": str},
    "reply": {"ref": str, "id": int, "value": object},
    "raise": {"ref": str, "id": (int, type(None)), "error": dict},
    "done": {"ref": str},
}
SAFE = 1 << 53


def text_of(kind: str, **fields: Any) -> str:
    """A frame as it is sent."""
    return json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))


def from_client(text: object) -> dict[str, Any] | None:
    """A frame that a client sent."""
    return _read(text, _CLIENT)


def from_host(text: object) -> dict[str, Any] | None:
    """A frame that a host sent."""
    return _read(text, _HOST)


def packed(value: Any, path: str) -> Any:
    """A value as it lies in a frame. Raises: NotPlain."""
    return json.loads(encode(value, path))


def unpacked(value: Any) -> Any:
    """The value that lies in a frame. Raises: BadInput for what is none."""
    return decode(json.dumps(value))


def _read(text: object, kinds: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    if type(text) is not str:
        return None
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        return None
    fields = kinds.get(frame.get("type", "")) if type(frame) is dict and type(frame.get("type")) is str else None
    if fields is None or frame.keys() != {"type", *fields}:
        return None
    fits = all(_fits(frame[name], kind) for name, kind in fields.items())
    return frame if fits else None


def _fits(value: Any, kind: Any) -> bool:
    if kind is object:
        return True
    if type(value) is int and not -SAFE < value < SAFE:
        return False
    return type(value) in kind if isinstance(kind, tuple) else type(value) is kind
