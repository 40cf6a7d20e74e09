"""What a browser can hold: plain values as JSON that JavaScript reads without losing anything, and back.

- An integer beyond 2**53 travels as text (`{"$int": "…"}`): rounded, the arguments shown would not be those that run.
- A text above `LONG` characters travels as its beginning and size (`{"$cut": …}`); the rest is asked for by its path.
- Nan and infinity are `{"$float": "nan"}`; half a surrogate pair, which no message can carry, is replaced.
- A dict that could pass for one of these is wrapped (`{"$map": …}`), so no data can pretend to be another value.
- Containers are copied: what was sent stays as it was when its owner changes them, so the next difference is right.

Knows nothing of views or comms.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

from workbench.errors import BadInput
from workbench.words import as_text

__all__ = ["HEAD", "LONG", "from_browser", "to_browser"]

LONG = 65_536
HEAD = 20_000
SAFE = 2**53 - 1
_MARKS = frozenset({"$int", "$float", "$cut", "$map"})


def to_browser(value: Any) -> Any:
    """`value` as JSON for the front end. Never fails: what is not plain is shown as its `str`."""
    kind = type(value)
    if kind is str:
        return _text(value)
    if kind is int:
        return value if -SAFE <= value <= SAFE else {"$int": str(value)}
    if kind is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if kind is dict:
        return _dict(value)
    if kind is list:
        return [to_browser(item) for item in value]
    if value is None or kind is bool:
        return value
    return _other(value)


def from_browser(value: Any) -> Any:
    """What the front end sent, with marked values restored. Raises: BadInput for a mark that is none, or a cut text."""
    if isinstance(value, list):
        return [from_browser(item) for item in value]
    if not isinstance(value, dict):
        return value
    if not _MARKS.isdisjoint(value):
        mark, inner = next((key, item) for key, item in value.items() if key in _MARKS)
        return _restored(mark, inner)
    return {key: from_browser(item) for key, item in value.items()}


def _restored(mark: str, inner: Any) -> Any:
    try:
        if mark == "$map":
            return {key: from_browser(item) for key, item in inner.items()}
        if mark == "$int" and isinstance(inner, str):
            return int(inner)
        if mark == "$float" and isinstance(inner, str):
            return float(inner)
    except (ValueError, AttributeError) as error:
        raise BadInput(f"{mark} holds {inner!r}, which it cannot mean", found=inner) from error
    raise BadInput(f"{mark} holds {inner!r}, which it cannot mean", found=inner)


def _text(text: str) -> Any:
    text = as_text(text)
    if len(text) <= LONG:
        return text
    return {"$cut": text[:HEAD], "length": len(text), "bytes": len(text.encode())}


def _dict(value: dict[Any, Any]) -> dict[str, Any]:
    shown = {as_text(str(key)): to_browser(item) for key, item in value.items()}
    return shown if _MARKS.isdisjoint(shown) else {"$map": shown}


def _other(value: Any) -> Any:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, tuple):
        return [to_browser(item) for item in value]
    if isinstance(value, set | frozenset):
        return [to_browser(item) for item in sorted(value, key=repr)]
    return _text(str(value))
