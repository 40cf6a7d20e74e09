"""Failures of a model, as one vocabulary: whatever a provider raised becomes a `ModelFailed` with its kind.

`retryable` says whether the same request may succeed later. What a failed turn cost goes with the error, so that a
budget counts it. Knows the library's errors by the names of their classes only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.errors import ModelFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["as_try", "failed", "failure"]


def failure(name: str, error: Exception) -> ModelFailed:
    """What an error of the model library means for who asked `name`."""
    status = getattr(error, "status_code", None)
    kind = _kind(status, {cls.__name__ for cls in type(error).__mro__})
    words = {
        "connection": f"{name} cannot be reached or its answer broke off ({error})",
        "rate_limit": f"{name} refuses more requests for now ({error})",
        "server": f"{name} failed on its side ({error})",
        "rejected": f"{name} refuses this request ({error})",
    }
    return failed(words[kind], kind, kind != "rejected", status=status, retry_after=getattr(error, "retry_after", None))


def _kind(status: int | None, classes: set[str]) -> str:
    """What kind of failure it is: by the library's category where it has one, else by the HTTP status."""
    if "ModelRequestRejectedError" in classes or "ModelQuotaExceededError" in classes:
        return "rejected"
    if "ModelRateLimitError" in classes or status == 429:
        return "rate_limit"
    if classes & {"ModelServerError", "ModelUnavailableError"} or (status or 0) >= 500:
        return "server"
    return "rejected" if status and status not in (408, 409) else "connection"


def as_try(model: str, fields: Mapping[str, object], why: str) -> dict[str, Any]:
    """A failure of `model` as a turn that comes after it tells of it. `fields` are those of the `ModelFailed`."""
    taken = {name: fields.get(name) for name in ("input_tokens", "output_tokens", "cost_microdollars")}
    return {"model": model, "kind": fields.get("kind"), "why": why, **taken}


def failed(message: str, kind: str, retryable: bool, **fields: object) -> ModelFailed:
    """A failure of the given kind, with every field there; the unknown ones are empty."""
    defaults: Mapping[str, object] = {
        "status": None,
        "retry_after": None,
        "input_tokens": None,
        "output_tokens": None,
        "cost_microdollars": None,
    }
    return ModelFailed(message, kind=kind, retryable=retryable, **{**defaults, **fields})
