"""Outcomes: what a tool call came to, in the one shape that the journal keeps.

`status` is the model library's word (success, failed, denied, interrupted, retried); `content` is what the tool gave,
`error` what it raised, `note` what a person decided, `progress` and `stdout` what it said meanwhile.

Knows nothing of tools or of how they run.
"""

from __future__ import annotations

import traceback
from typing import Any

__all__ = ["error_of", "outcome", "raised", "told"]


def outcome(status: str, *, content: Any = None, error: dict[str, Any] | None = None, note: str = "") -> dict[str, Any]:
    """An outcome as plain data."""
    return {"status": status, "content": content, "error": error, "note": note, "progress": []}


def error_of(type_name: str, message: str, trace: str = "") -> dict[str, Any]:
    """The error of an outcome."""
    return {"type": type_name, "message": message, "traceback": trace}


def raised(error: BaseException, note: str = "") -> dict[str, Any]:
    """The outcome of a tool that raised `error`."""
    trace = "".join(traceback.format_exception(error))
    return outcome("failed", error=error_of(type(error).__qualname__, _words(error), trace), note=note)


def told(outcome: dict[str, Any]) -> Any:
    """What the model hears of an outcome."""
    if outcome["error"] is not None:
        return f"{outcome['error']['type']}: {outcome['error']['message']}"
    if outcome["note"].startswith("A person"):
        return {"result": outcome["content"], "note": outcome["note"]}
    return outcome["content"]


def _words(error: BaseException) -> str:
    """What an error says, also one of a stranger whose words fail."""
    try:
        return str(error)
    except Exception as failure:
        return f"its words cannot be had: {type(failure).__qualname__}"
