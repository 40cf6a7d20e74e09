"""What callers are told: values as JSON that every client can read, and failures without what is inside them.

- Half of a character is a question mark, for no protocol can carry it; bytes are base64, as everywhere in JSON. So one
  answer that is odd breaks neither its own reply nor a list that it is in.
- A failure that nobody foresaw is told by a reference, which leads to it in the log.

Source: ENDPOINTS 5 (12). Knows no protocol.
"""

from __future__ import annotations

import base64
import logging
import secrets
from typing import Any

from pydantic_core import to_jsonable_python

from workbench.words import as_text

__all__ = ["as_json", "by_reference"]

log = logging.getLogger("workbench")


def as_json(value: Any) -> Any:
    """A value of the journal as JSON has it."""
    if isinstance(value, str):
        return value if value.isascii() else as_text(value)
    if isinstance(value, dict):
        return {as_json(key): as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [as_json(each) for each in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return to_jsonable_python(value)


def by_reference(error: BaseException, what: str) -> str:
    """The words for a caller of what failed for a reason of its own, which is logged under their reference."""
    reference = secrets.token_hex(4)
    log.error("%s failed, reference %s", what, reference, exc_info=error)
    return f"internal error, reference {reference}"
