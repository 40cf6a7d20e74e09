"""The directory: the definitions of a bench by name, durable ones and those in memory, and the processes of both.

One name is one kind. A definition is known once it was added or looked up; who gives another of its name replaces it.

Source: DESIGN 2, PROCESSES 1.10.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from workbench.durable.definition import DurableDefinition
from workbench.errors import BadInput, NoCode
from workbench.process.definition import Definition
from workbench.process.drive import Owner
from workbench.process.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from workbench.durable.process import DurableProcess
    from workbench.durable.runtime import Runtime
    from workbench.process.spawn import Process

__all__ = ["Directory"]


class Directory:
    """The definitions and processes of one bench. `owner` is whose children its spawned processes are."""

    def __init__(self, runtime: Runtime) -> None:
        self.memory = Registry(runtime.entries, runtime.clock)
        self.owner = Owner(runtime.clock)
        self._runtime = runtime

    @property
    def names(self) -> list[str]:
        """The names of the definitions that are somebody's own, no agents and none of the workbench's."""
        known = {**self._runtime.definitions, **self.memory.definitions}
        return sorted(name for name in known if not name.startswith(("@", "agent:")))

    def add(self, definition: Definition) -> None:
        """Know a definition, or replace the one of its name. Raises: BadInput when its name is of the other kind."""
        self._runtime.home.must_be_here("a definition is added")
        self.check(definition)
        if isinstance(definition, DurableDefinition):
            self._runtime.add(definition)
        else:
            self.memory.add(definition)

    def check(self, definition: Definition) -> None:
        """Raises: BadInput when the name of a definition is that of a process of the other kind."""
        durable = isinstance(definition, DurableDefinition)
        others: Mapping[str, Definition] = self.memory.definitions if durable else self._runtime.definitions
        if definition.name in others:
            kinds = ("in memory", "durable") if durable else ("durable", "in memory")
            raise BadInput(
                f"{definition.name!r} is a process {kinds[0]} on this bench and is now given as {kinds[1]}; "
                "give one of them another name"
            )

    def lookup(self, given: object, args: dict[str, Any], *, take: bool) -> DurableProcess | Process:
        """The process of these arguments, got or begun. Raises: NoCode, BadInput."""
        self._runtime.home.must_be_here("a process is looked up")
        definition = self._definition(given, "lookup")
        if isinstance(definition, DurableDefinition):
            if self._runtime.definitions.get(definition.name) is not definition:
                self.add(definition)
            return self._runtime.lookup(definition, args, take=take)
        if take:
            raise BadInput(f"{definition.name!r} is a process in memory, which cannot be taken from another kernel")
        self.check(definition)
        return self.memory.lookup(definition, args)

    def evict(self, given: object, args: dict[str, Any]) -> asyncio.Task[None]:
        """End the process of these arguments, or all of a definition when there are none. Raises: NoCode, BadInput."""
        self._runtime.home.must_be_here("a process is evicted")
        definition = self._definition(given, "evict")
        here: list[DurableProcess] | list[Process]
        if isinstance(definition, DurableDefinition):
            here = self._runtime.find(definition, args or None)
        else:
            here = self.memory.find(definition, args or None)
        return self._runtime.home.start(_all([process.dispose() for process in here]), name=f"evict {definition.name}")

    async def close(self) -> None:
        """End the processes in memory."""
        for process in self.memory.all():
            self.owner.adopt(process)
        await self.owner.end()

    def _definition(self, given: object, verb: str) -> Definition:
        if isinstance(given, str):
            known: dict[str, Definition] = {**self._runtime.definitions, **self.memory.definitions}
            if given not in known:
                own = sorted(name for name in known if not name.startswith("@"))  # those are the workbench's
                raise NoCode(f"no definition {given!r} here, there are {own}; add it with bench.add(…)", name=given)
            return known[given]
        if not isinstance(given, Definition):
            raise BadInput(
                f"bench.{verb} needs a definition of a process or the name of one, found {given!r}; "
                "decorate a process body with @process or @durable(key=…)"
            )
        return given


async def _all(ends: list[Awaitable[None]]) -> None:
    for end in ends:
        await end
