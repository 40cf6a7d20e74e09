"""Calling what a step was given: an async function on the loop, a plain one in a thread of the bench's own pool.

- A blocking function must not stall the kernel, so plain functions never run on the loop.
- StopIteration cannot cross an await and would hang the caller; it becomes an error that says so.
- A key is passed to a function that asks for one: a required positional parameter, or one named `key` or
  `idempotency_key`.

Source: RECIPES "Steps".
"""

from __future__ import annotations

import asyncio
import inspect
from contextvars import copy_context
from functools import partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import StepMisuse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from concurrent.futures import Executor, Future

__all__ = ["call_with_key", "in_thread", "is_async"]

_KEY_NAMES = frozenset(("key", "idempotency_key"))
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE


class Face(NamedTuple):
    """How a function is called for a step.

    `place` is where it takes an idempotency key: `POSITION`, an argument's name, or None when it asks for none.
    """

    place: str | None
    is_async: bool


POSITION = ""
_FACES: dict[int, tuple[CodeType, int, Face]] = {}
"""The faces of functions, by the identity of their code, which is kept with them."""

MOST_FACES = 4096


def face_of(function: Callable[..., Any]) -> Face:
    """How a function is called, as far as its code tells; remembered for plain functions."""
    if type(function) is not FunctionType or hasattr(function, "__wrapped__"):
        return Face(_place_by_signature(function), is_async(function))
    code, defaults = function.__code__, len(function.__defaults__ or ())
    known = _FACES.get(id(code))
    if known is not None and known[0] is code and known[1] == defaults:
        return known[2]
    face = Face(_place_by_code(code, defaults), is_async(function))
    if len(_FACES) >= MOST_FACES:
        _FACES.clear()
    _FACES[id(code)] = (code, defaults, face)
    return face


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling the function gives a coroutine, as far as its code tells."""
    code = getattr(function, "__code__", None)
    if code is not None:
        return bool(code.co_flags & _ASYNC)
    inner = getattr(function, "func", None) or type(function).__call__
    return inspect.iscoroutinefunction(inner)


def _place_by_code(code: CodeType, defaults: int) -> str | None:
    if code.co_argcount:
        if code.co_argcount > defaults or code.co_varnames[0] in _KEY_NAMES:
            return POSITION
    elif code.co_flags & inspect.CO_VARARGS:
        return POSITION
    by_name = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return next((name for name in by_name if name in _KEY_NAMES), None)


def _place_by_signature(function: Callable[..., Any]) -> str | None:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a builtin that says nothing of itself
        return None
    first = next((one for one in parameters if one.kind not in (one.KEYWORD_ONLY, one.VAR_KEYWORD)), None)
    if first is not None and (first.default is first.empty or first.name in _KEY_NAMES):
        return POSITION
    return next((one.name for one in parameters if one.name in _KEY_NAMES and one.kind is one.KEYWORD_ONLY), None)


def call_with_key(
    function: Callable[..., Any], key: str, name: str, pool: Executor, entered: Callable[[Future[Any]], None]
) -> Awaitable[Any]:
    """Await it for what the function gives. `entered` hears of the thread's future, which outlives a cancelled wait.

    Raises: what the function raises; StepMisuse for what cannot work in a thread.
    """
    face = face_of(function)
    args = (key,) if face.place == POSITION else ()
    if face.place:
        function = partial(function, **{face.place: key})
    if face.is_async:
        called: Awaitable[Any] = function(*args)
        return called
    return _through_a_thread(_submitted(partial(_uninterrupted, function, name), args, name, pool, entered))


async def _through_a_thread(thread: Future[Any]) -> Any:
    try:
        value = await asyncio.wrap_future(thread)
    except asyncio.CancelledError:
        thread.add_done_callback(_for_nobody)
        raise
    return await value if inspect.isawaitable(value) else value


def _for_nobody(thread: Future[Any]) -> None:
    """Close the coroutine that a thread gave when nobody waited for it any more."""
    if not thread.cancelled() and thread.exception() is None and inspect.iscoroutine(value := thread.result()):
        value.close()


def in_thread(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    name: str,
    pool: Executor,
    entered: Callable[[Future[Any]], None],
) -> Awaitable[Any]:
    """Run a plain function in the pool with the caller's context variables; a coroutine that it gives, on the loop."""
    return _through_a_thread(_submitted(function, args, name, pool, entered))


def _submitted(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    name: str,
    pool: Executor,
    entered: Callable[[Future[Any]], None],
) -> Future[Any]:
    future = pool.submit(copy_context().run, _guarded, function, args, name)
    entered(future)
    return future


def _uninterrupted(function: Callable[..., Any], name: str, *args: Any) -> Any:
    """Call a plain function in its thread, where no person interrupts it: what says so there would end the loop."""
    try:
        return function(*args)
    except KeyboardInterrupt as error:
        raise _cannot_cross(name, error) from error


def _guarded(function: Callable[..., Any], args: tuple[Any, ...], name: str) -> Any:
    try:
        return function(*args)
    except (StopIteration, GeneratorExit) as error:
        raise _cannot_cross(name, error) from error
    except RuntimeError as error:
        if "no running event loop" not in str(error):
            raise
        raise StepMisuse(
            f"step {name!r} needs the event loop, and a plain function runs in a thread; write it as async def",
            name=name,
        ) from error


def _cannot_cross(name: str, error: BaseException) -> StepMisuse:
    kind = type(error).__name__
    way = "catch it inside" if kind == "KeyboardInterrupt" else "use next(iterator, default) or catch it inside"
    return StepMisuse(f"step {name!r} raised {kind}, which cannot cross an await; {way}", name=name)
