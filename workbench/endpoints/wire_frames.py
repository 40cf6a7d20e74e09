"""Frames: what the two ends of a wire say to each other, as JSON texts.

From the client: `lookup {ref, name, v, args}`, `cast {ref, id, msg}`, `call {ref, id, msg, call_id}`, `exit {ref}`.
From the host: `yield {ref, patch}`, `status {ref, status}`, `reply {ref, id, value}`, `raise {ref, id, error}`, `done
{ref}`.

- A `ref` is the client's word for one lookup of its connection, an `id` its word for one call or cast of it.
- Values are plain data in the journal's encoding; a patch is one of `workbench.patch` between two of them. The first
  `yield` after any lookup is the whole state.
- A `raise` without an `id` is the end of the ref, as `done` is.
- What is no frame, or one of the other direction, is None to who reads it.
- A frame has so many bytes and no more. One that has more is refused where it is made, to who wanted it sent: the other
  end would cut the link, and everybody else's with it.

Source: PROCESSES 5.1 (revision 3). Knows nothing of sockets.
"""

from __future__ import annotations

import json
import re
from typing import Any

from workbench.errors import BadInput
from workbench.plain import SIZE, decode, encode

__all__ = [
    "FROM_CLIENT",
    "FROM_HOST",
    "REVISION",
    "fitting",
    "from_client",
    "from_host",
    "packed",
    "size_of",
    "text_of",
    "unpacked",
]

FROM_CLIENT = 1024 * 1024
"""Bytes of a frame that a client sends."""

FROM_HOST = SIZE + FROM_CLIENT
"""Bytes of a frame that a host sends: one whole state, and what is around it."""

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
_HALF = re.compile("[\ud800-\udfff]")


def text_of(kind: str, **fields: Any) -> str:
    """A frame as it is sent."""
    text = json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":"))
    if _HALF.search(text):  # half of a character has no UTF-8, and comes back from its escape
        text = json.dumps({"type": kind, **fields}, separators=(",", ":"))
    return text


def size_of(text: str) -> int:
    """The bytes of a frame."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def fitting(text: str, what: str, most: int) -> str:
    """The frame itself, which is `what` to people and has at most `most` bytes. Raises: BadInput."""
    size = size_of(text)
    if size > most:
        raise BadInput(
            f"{what} is {size:,} bytes as it goes over the wire, more than the {most:,} that it takes; "
            "keep it in a store or a file, and send what names it",
            size=size,
            limit=most,
        )
    return text


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
    try:
        return decode(json.dumps(value, allow_nan=False))
    except (ValueError, RecursionError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(
            "what came over the wire is nested deeper than can be read, or has a number that is NaN or infinite"
        ) from error


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
