"""Definitions: what `@process` makes of an async generator function.

- A definition is inert: decorating starts nothing. Options belong to the decorator, arguments to `spawn` and `lookup`.
- Arguments are bound to the body's signature before anything starts, so a wrong one is an error at the call, by name.
- The types of messages and states come from the annotation of the first parameter, `ctx: Context[Message, State]`.

Source: PROCESSES 1.1, RECIPES "Processes and the API".
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncGenerator, Callable
from typing import Any, overload

from workbench.errors import BadInput
from workbench.given import LONGEST, named, shown
from workbench.plain import PLAIN, Shape, shape_of
from workbench.process.supervision import Policy

__all__ = ["Body", "Definition", "process"]

Body = Callable[..., AsyncGenerator[Any, None]]


class Definition:
    """A process body with its options.

    Call `spawn(definition, …)` or `bench.lookup(definition, …)` to have one live.
    """

    def __init__(
        self,
        body: Body,
        *,
        name: str | None = None,
        restart: str = "never",
        max_restarts: int | None = 3,
        window: float | None = None,
        backoff: float = 0.0,
        mailbox: int | None = None,
        initial: Any = None,
        evict: float | None = None,
        quiet: bool = False,
    ) -> None:
        if not inspect.isasyncgenfunction(body):
            raise BadInput(
                f"{body!r} is no process body; write an async generator function: async def …(ctx, …) with a yield"
            )
        if mailbox is not None and (type(mailbox) is not int or mailbox < 0):
            raise BadInput(f"mailbox is a whole number from 0, or None for no bound, found {shown(mailbox)}")
        if evict is not None and not (type(evict) in (int, float) and 0 <= evict <= LONGEST):
            raise BadInput(f"evict is a number of seconds from 0, or None for never, found {shown(evict)}")
        self.policy = Policy(restart, max_restarts, window, backoff)
        self.body = body
        self.name = body.__name__ if name is None else named("a definition", name)
        self.mailbox = mailbox
        self.initial = initial
        self.evict = evict
        self.quiet = quiet
        self.signature = inspect.signature(body)
        self._shapes: tuple[Shape, Shape] | None = None
        self.__doc__ = body.__doc__

    @property
    def shapes(self) -> tuple[Shape, Shape]:
        """The shapes of messages and of states."""
        if self._shapes is None:
            first = next(iter(self.signature.parameters), None)
            annotation = _hints(self.body).get(first) if first else None
            types = typing.get_args(annotation)
            self._shapes = (shape_of(types[0]), shape_of(types[1])) if len(types) == 2 else (PLAIN, PLAIN)
        return self._shapes

    def bind(self, args: dict[str, Any]) -> dict[str, Any]:
        """The arguments with defaults filled in. Raises: BadInput naming the definition and what does not fit."""
        try:
            bound = self.signature.bind(None, **args)
        except TypeError as error:
            raise BadInput(f"{self.name}{self.signature} does not take {args!r}: {error}") from None
        bound.apply_defaults()
        return dict(list(bound.arguments.items())[1:])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def _hints(body: Body) -> dict[str, Any]:
    try:
        return typing.get_type_hints(body, include_extras=True)
    except NameError:  # a name that exists only for type checkers
        return {}


@overload
def process(body: Body, /) -> Definition: ...
@overload
def process(
    *,
    restart: str = ...,
    max_restarts: int | None = ...,
    window: float | None = ...,
    backoff: float = ...,
    mailbox: int | None = ...,
    initial: Any = ...,
    evict: float | None = ...,
    quiet: bool = ...,
    name: str | None = ...,
) -> Callable[[Body], Definition]: ...


def process(body: Body | None = None, /, **options: Any) -> Definition | Callable[[Body], Definition]:
    """Make an async generator function a process definition.

    `restart` is "never" or "on-crash": at most `max_restarts` times (None for no bound) within `window` seconds (None
    for the whole life), waiting `backoff` seconds before the first and twice as long before each further one. `mailbox`
    bounds the messages that wait, dropping the oldest; `initial` is the state before the first yield. `evict` is after
    how many idle seconds an instance that was looked up ends (None for never). Observers of crashes are not told of a
    `quiet` one. Raises: BadInput for an option that cannot be.
    """
    if body is not None:
        return Definition(body)
    return lambda body: Definition(body, **options)
