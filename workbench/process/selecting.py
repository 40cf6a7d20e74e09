"""Selecting: values made from the states of processes, which wake their readers only when they themselves changed.

- `handle.select("/orders/3/status")` is what a JSON pointer finds in the state; `derive(fn, …)` is any function of
  states and of other such values.
- A value is made when it is read or when somebody watches, at most once per change of its sources; an equal one (types
  included) wakes nobody. Two values of one source are never seen out of step, because each is made from what is now.
- A function that raises fails the reader; the next success mends it.

Source: PROCESSES 1.9 and B.1. Knows nothing of who runs the processes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from workbench.errors import BadInput, ProcessEnded
from workbench.events import Changes
from workbench.given import predicate
from workbench.patch import keys_of, same
from workbench.plain import PLAIN, decode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from workbench.process.states import States

__all__ = ["Reading", "Watchable", "derive", "select"]

T = TypeVar("T")


class Watchable(Protocol):
    """What a reading is made from."""

    @property
    def ready(self) -> bool:
        """Whether there is a value at all."""
        ...

    @property
    def over(self) -> bool:
        """Whether no other value follows."""
        ...

    def stamp(self) -> object:
        """What differs whenever the value does."""
        ...

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after the value may have changed; gives the function that stops it."""
        ...


class Reading(Generic[T]):
    """A value made by `make` from `sources`. It costs its sources nothing while nobody watches it."""

    __slots__ = (
        "__weakref__",
        "_changes",
        "_error",
        "_make",
        "_name",
        "_seen",
        "_sources",
        "_stops",
        "_value",
        "_version",
    )

    def __init__(self, name: str, make: Callable[[], T], sources: Sequence[Watchable]) -> None:
        self._name = name
        self._make = make
        self._sources = tuple(sources)
        self._changes = Changes(self._unwatched)
        self._stops: list[Callable[[], None]] = []
        self._seen: tuple[object, ...] | None = None
        self._value: T | None = None
        self._error: Exception | None = None
        self._version = 0

    @property
    def value(self) -> T | None:
        """The value now; None until every source has one. Readers share it; treat it as immutable.

        Raises: what its function raised.
        """
        self._look()
        if self._error is not None:
            raise self._error
        return self._value

    @property
    def error(self) -> Exception | None:
        """What its function raised for the present states, or None."""
        self._look()
        return self._error

    @property
    def ready(self) -> bool:
        """Whether every source has a value."""
        return all(source.ready for source in self._sources)

    @property
    def over(self) -> bool:
        """Whether every source has ended."""
        return all(source.over for source in self._sources)

    def stamp(self) -> int:
        """A number that differs whenever the value does; 0 before the first."""
        self._look()
        return self._version

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after each loop turn that changed the value, and once after the end of all its sources.

        Gives the function that stops it.
        """
        if not self._changes:
            self._look()
            self._stops = [source.subscribe(self._changed) for source in self._sources]
        return self._changes.subscribe(changed)

    async def until(self, condition: Callable[[T], bool]) -> T:
        """The first value from now on, the present one included, for which `condition(value)` is true.

        Raises: ProcessEnded when its sources end before, what its function raises.
        """
        predicate(condition, "value")
        async for value in self:
            if condition(value):
                return value
        raise ProcessEnded(
            f"what {self._name} is made from has ended with the value {self._value!r}, "
            "and the condition was not met before",
            name=self._name,
            status="ended",
        )

    async def __aiter__(self) -> AsyncIterator[T]:
        """Values as they come, newest wins, ending with the last of its sources."""
        woken, seen = asyncio.Event(), 0
        stop = self.subscribe(woken.set)
        try:
            while True:
                woken.clear()
                if (version := self.stamp()) != seen:
                    seen = version
                    yield self.value  # type: ignore[misc]  # a version above 0 has a value
                elif self.over:
                    return
                else:
                    await woken.wait()
        finally:
            stop()

    def __repr__(self) -> str:
        self._look()
        return f"<{self._name}: {self._value!r}>" if self._error is None else f"<{self._name}: {self._error!r}>"

    def _look(self) -> None:
        """Make the value anew if its sources have changed."""
        if not self.ready:
            return
        stamps = tuple(source.stamp() for source in self._sources)
        if stamps == self._seen:
            return
        self._seen = stamps
        try:
            value = self._make()
        except Exception as error:
            self._error = error
            self._version += 1
            return
        if self._version == 0 or self._error is not None or not same(value, self._value):
            self._value, self._error = value, None
            self._version += 1

    def _changed(self) -> None:
        before = self._version
        self._look()
        if self._version != before or self.over:
            self._changes.tell()

    def _unwatched(self) -> None:
        stops, self._stops = self._stops, []
        for stop in stops:
            stop()


def select(name: str, states: States, pointers: tuple[str, ...]) -> Reading[Any]:
    """What the pointers find in the states: one value, or a tuple for several; None where one leads to nothing.

    Raises: BadInput for what is no JSON pointer (RFC 6901), or for none at all.
    """
    if not pointers or not all(isinstance(pointer, str) for pointer in pointers):
        raise BadInput(f"{name} is selected from by JSON pointers such as '/orders/3/status', found {pointers!r}")
    paths = [keys_of(pointer) for pointer in pointers]

    def make() -> Any:
        state = states.value if states.shape is PLAIN else decode(states.text or "null")
        found = tuple(_at(state, path) for path in paths)
        return found[0] if len(found) == 1 else found

    return Reading(f"{', '.join(pointers)} of {name}", make, (states,))


def derive(fn: Callable[..., T], /, *sources: Any) -> Reading[T]:
    """`fn` of the states of handles and the values of other readings, made again only when one of them changed.

    Raises: BadInput for a source that is neither a handle nor a reading.
    """
    if not callable(fn):
        raise BadInput(f"derive needs a function of the states it is made from, found {fn!r}")
    watched: list[Any] = [one if isinstance(one, Reading) else getattr(one, "states", None) for one in sources]
    if not sources or None in watched:
        raise BadInput(f"derive needs handles, or what select and derive give, found {sources!r}")
    return Reading(getattr(fn, "__name__", "derived"), lambda: fn(*(source.value for source in watched)), watched)


def _at(value: Any, path: list[str]) -> Any:
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isascii() and key.isdigit() and str(int(key)) == key:
            value = value[int(key)] if int(key) < len(value) else None
        else:
            return None
    return value
