"""Opening a bench: what may be asked for, the one name of a place, and taking turns there.

- What makes no sense is refused when it is asked for, not when the bench begins.
- Opening and closing one place take turns, so that one kernel never has two hosts on one file; every bench in memory
  is a place of its own.

Source: DESIGN 2, RECIPES "Processes and the API". Knows nothing of what a bench does once it is open.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, Self, TypeVar
from weakref import WeakValueDictionary

from workbench.agents.agent import Agent
from workbench.agents.policy import Policy
from workbench.agents.policy_file import read_policy
from workbench.clock import Clock, SystemClock
from workbench.durable.upkeep import DAY, Retention
from workbench.errors import BadInput
from workbench.given import duration, seconds, whole
from workbench.process.definition import Definition

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from datetime import timedelta

    from workbench.loop import Home
    from workbench.store.store import Store

__all__ = ["MEMORY", "Durability", "Opening", "Options", "check", "turn_at"]

MEMORY = ":memory:"
SHORTEST_LEASE = 0.001
Durability = Literal["full", "process"]
_turns: WeakValueDictionary[tuple[Home, str], asyncio.Lock] = WeakValueDictionary()


class Entered(Protocol):
    """What can be entered with `async with`."""

    async def __aenter__(self) -> Self:
        """Itself."""
        ...


B = TypeVar("B", bound=Entered)


class Opening(Generic[B]):
    """A bench that is being opened: await it, or enter it.

    `begin(kept)` opens it, to be kept until it is closed or not; `left` is told when who entered it leaves.
    """

    def __init__(
        self, begin: Callable[[bool], Coroutine[Any, Any, B]], left: Callable[[B], Coroutine[Any, Any, None]]
    ) -> None:
        self._begin = begin
        self._left = left
        self._bench: B | None = None

    def __await__(self) -> Generator[Any, None, B]:
        return self._begin(True).__await__()

    async def __aenter__(self) -> B:
        self._bench = await self._begin(False)
        return await self._bench.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        if self._bench is not None:
            await self._left(self._bench)


@dataclass(frozen=True, slots=True)
class Options:
    """What `Workbench.open` was asked for."""

    place: str
    what: tuple[Agent | Definition, ...]
    store: Store | None
    lease: float
    worker: bool
    durability: Durability
    retention: Retention
    clock: Clock
    max_entries: int | None
    policy: Policy | str | os.PathLike[str] | None

    @classmethod
    def of(
        cls,
        where: str | os.PathLike[str],
        what: tuple[Agent | Definition, ...],
        *,
        store: Store | None,
        lease: float,
        worker: bool,
        durability: Durability,
        retention: float | timedelta | None,
        letter_retention: float | timedelta | None,
        max_bytes: int | None,
        clock: Clock | None,
        max_entries: int | None,
        policy: Policy | str | os.PathLike[str] | None,
    ) -> Options:
        """What was asked for, once it makes sense. Raises: BadInput."""
        for thing in what:
            check(thing)
        seconds("lease", lease, SHORTEST_LEASE, DAY)
        if max_entries is not None:
            whole("max_entries", max_entries, 1)
        if max_bytes is not None:
            whole("max_bytes", max_bytes, 1)
        if clock is not None and (isinstance(clock, type) or not callable(getattr(clock, "sleep_until", None))):
            raise BadInput(f"clock is a workbench.clock.Clock, or None for the machine's, found {clock!r}")
        if store is not None and (isinstance(store, type) or not callable(getattr(store, "begin", None))):
            raise BadInput(f"store is a keeper of workbench.store, not yet open, found {store!r}; or name a file")
        if type(worker) is not bool:
            raise BadInput(f"worker is True or False, found {worker!r}")
        place = place_of(where) if store is None else f"store {id(store):x}"
        keep = Retention(duration("retention", retention), duration("letter_retention", letter_retention), max_bytes)
        clock = SystemClock() if clock is None else clock
        if policy is not None and not isinstance(policy, Policy):
            policy = read_policy(policy)
        return cls(place, what, store, float(lease), worker, durability, keep, clock, max_entries, policy)


def turn_at(home: Home, place: str) -> asyncio.Lock:
    """The turn of who opens or closes `place`; every bench in memory is a place of its own."""
    if place == MEMORY:
        return asyncio.Lock()
    lock = _turns.get((home, place))
    if lock is None:
        lock = _turns[home, place] = asyncio.Lock()
    return lock


def place_of(where: object) -> str:
    """The one name of a place. Raises: BadInput for what can be none."""
    text = os.fspath(where) if isinstance(where, (str, os.PathLike)) else None
    if not isinstance(text, str) or not text or "\0" in text or not _encodes(text):
        raise BadInput(f"a bench is opened on a file's path or ':memory:', found {where!r}; write e.g. 'agents.db'")
    return text if text == MEMORY or "://" in text else str(Path(text).expanduser().resolve())


def _encodes(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def check(thing: object) -> None:
    """Raises: BadInput for what a bench cannot take."""
    if not isinstance(thing, (Agent, Definition)):
        raise BadInput(
            f"a bench takes agents and definitions of processes, found {thing!r}; "
            "decorate a process body with @process or @durable(key=…)"
        )
