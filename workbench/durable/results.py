"""Results: what a step came to, as the journal keeps it and the caller hears it.

- A value is restored to the type that its function declares.
- Whatever a function raises is the failure of its step, such as SystemExit; an end that others asked for is none.
- A failure is kept as words (type, message, traceback), never as an object: what cannot be read again helps nobody.

Source: DESIGN 2, CASES 38.
"""

from __future__ import annotations

import asyncio
import traceback
import typing
from typing import TYPE_CHECKING, Any

from workbench.errors import Signal, StepFailed
from workbench.plain import PLAIN, Shape, decode, shape_of
from workbench.words import LONGEST, as_text, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.store.journal import StepRecord

__all__ = ["declared_by", "failed", "is_failure", "recorded"]

_READ: dict[int, tuple[object, object, Shape]] = {}
"""The shapes of functions whose annotations are texts, by their code and its names: reading costs more than the step.

By identity, and each keeps what it is known by, so an identity is never used twice.
"""

MOST_READ = 4096

_ENDS = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, Signal)
"""What ends whoever awaits a step: a cancellation, a person at the keyboard, a signal of the workbench."""


def declared_by(fn: Callable[..., Any]) -> Shape:
    """The shape of what a function says that it returns; `PLAIN` when it says nothing, or nothing that is known yet."""
    annotations = getattr(fn, "__annotations__", None)
    if not annotations or "return" not in annotations:
        return PLAIN
    annotation = annotations["return"]
    if not isinstance(annotation, str):
        return shape_of(annotation)
    code, names = getattr(fn, "__code__", None), getattr(fn, "__globals__", None)
    known = _READ.get(id(code))
    if known is not None and known[0] is code and known[1] is names:
        return known[2]
    try:
        shape = shape_of(typing.get_type_hints(fn).get("return"))
    except NameError:  # a name that is not there yet, or only for type checkers
        return PLAIN
    if len(_READ) >= MOST_READ:
        _READ.clear()
    _READ[id(code)] = (code, names, shape)
    return shape


async def recorded(record: StepRecord, shape: Shape) -> Any:
    """What a step came to, as the journal holds it. Raises: StepFailed when it was a failure."""
    if record.kind == "failure":
        raise _failure_of(record.name, decode(record.payload))
    return shape.decode(record.payload)


def is_failure(error: BaseException) -> bool:
    """Whether what a function raised is the failure of its step, and no end that others asked for."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(_ENDS)[0] is None
    return not isinstance(error, _ENDS)


def failed(name: str, error: BaseException, *, retryable: bool) -> StepFailed:
    """The failure of the step `name` as the journal keeps it: words only, so that it can always be read again."""
    return _failure_of(
        name,
        {
            "type": type(error).__qualname__,
            "message": words_of(error),
            "traceback": as_text("".join(traceback.format_exception(error))[-LONGEST:]),
            "retryable": retryable,
        },
    )


def _failure_of(name: str, fields: dict[str, Any]) -> StepFailed:
    return StepFailed(f"step {name!r} failed with {fields['type']}: {fields['message']}", **fields)
