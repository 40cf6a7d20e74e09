"""Results: what a step came to, as the journal keeps it and the caller hears it.

- A value is restored to the type that its function declares.
- A failure is kept as words (type, message, traceback), never as an object: what cannot be read again helps nobody.

Source: DESIGN 2, CASES 38.
"""

from __future__ import annotations

import traceback
import typing
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from workbench.errors import StepFailed
from workbench.plain import PLAIN, Shape, decode, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.store.journal import StepRecord

__all__ = ["declared_by", "failed", "recorded"]

_READ: WeakKeyDictionary[Callable[..., Any], Shape] = WeakKeyDictionary()
"""The shapes of functions whose annotations are texts: reading those costs more than the step."""


def declared_by(fn: Callable[..., Any]) -> Shape:
    """The shape of what a function says that it returns; `PLAIN` when it says nothing, or nothing that is known yet."""
    annotations = getattr(fn, "__annotations__", None)
    if not annotations or "return" not in annotations:
        return PLAIN
    annotation = annotations["return"]
    if not isinstance(annotation, str):
        return shape_of(annotation)
    shape = _READ.get(fn)
    if shape is None:
        try:
            shape = _READ[fn] = shape_of(typing.get_type_hints(fn).get("return"))
        except NameError:  # a name that is not there yet, or only for type checkers
            return PLAIN
    return shape


async def recorded(record: StepRecord, shape: Shape) -> Any:
    """What a step came to, as the journal holds it. Raises: StepFailed when it was a failure."""
    if record.kind == "failure":
        raise _failure_of(record.name, decode(record.payload))
    return shape.decode(record.payload)


def failed(name: str, error: BaseException) -> StepFailed:
    """The failure of the step `name` as the journal keeps it: words only, so that it can always be read again."""
    return _failure_of(
        name,
        {
            "type": type(error).__qualname__,
            "message": str(error),
            "traceback": "".join(traceback.format_exception(error)),
            "retryable": False,
        },
    )


def _failure_of(name: str, fields: dict[str, Any]) -> StepFailed:
    return StepFailed(f"step {name!r} failed with {fields['type']}: {fields['message']}", **fields)
