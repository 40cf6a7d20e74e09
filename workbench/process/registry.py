"""The registry: processes in memory by what they are and their arguments. A lookup gets the one that is, or begins it.

- The same arguments are the same process: the order of keys does not matter, types do, and what is not plain counts by
  identity.
- A process that has ended is forgotten, and the next lookup begins another. Nobody who looks one up owns it.
- A definition that is added again replaces the one of its name, and its instances go on under the new code.

Source: PROCESSES 1.10. Knows nothing of journals; `workbench.process.entries` says what may leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.process.spawn import Process, spawn_for

if TYPE_CHECKING:
    from collections.abc import Hashable

    from workbench.clock import Clock
    from workbench.process.definition import Definition
    from workbench.process.entries import Entries

__all__ = ["Registry", "same_arguments"]


class Registry:
    """The processes in memory of one bench."""

    def __init__(self, entries: Entries, clock: Clock) -> None:
        self.definitions: dict[str, Definition] = {}
        self._entries = entries
        self._clock = clock
        self._live: dict[tuple[str, Hashable], Process] = {}

    def __len__(self) -> int:
        return sum(not process.states.over for process in self._live.values())

    def add(self, definition: Definition) -> None:
        """Know a definition by its name, or replace it; what lives goes on under the new code."""
        self.definitions[definition.name] = definition
        for (name, _), process in list(self._live.items()):
            if name == definition.name and process.definition is not definition:
                process.replace(definition)

    def lookup(self, definition: Definition, args: dict[str, Any]) -> Process:
        """The process of these arguments, got or begun. Raises: BadInput when they do not fit the body."""
        if self.definitions.get(definition.name) is not definition:
            self.add(definition)
        key = definition.name, same_arguments(definition.bind(args))
        process = self._live.get(key)
        if process is None or process.states.over:
            if len(self._live) > 2 * len(self._entries) + 16:
                self._live = {at: one for at, one in self._live.items() if not one.states.over}
            process = self._live[key] = spawn_for(None, definition, args, clock=self._clock)
        self._entries.looked_up(process, idle=definition.evict, leave=process.dispose)
        return process

    def find(self, definition: Definition, args: dict[str, Any] | None = None) -> list[Process]:
        """The live processes of a definition: all of them, or the one of these arguments."""
        if args is None:
            return [one for (name, _), one in self._live.items() if name == definition.name and not one.states.over]
        process = self._live.get((definition.name, same_arguments(definition.bind(args))))
        return [] if process is None or process.states.over else [process]

    def all(self) -> list[Process]:
        """The live processes."""
        return [process for process in self._live.values() if not process.states.over]


def same_arguments(value: Any, inside: frozenset[int] = frozenset()) -> Hashable:
    """What is equal for equal arguments, and for no others."""
    kind = type(value)
    if id(value) in inside:
        return "cycle", id(value)
    if kind is dict and all(type(key) is str for key in value):
        deeper = inside | {id(value)}
        return "dict", frozenset((key, same_arguments(inner, deeper)) for key, inner in value.items())
    if kind in (list, tuple):
        deeper = inside | {id(value)}
        return kind.__name__, tuple(same_arguments(inner, deeper) for inner in value)
    if kind in (set, frozenset):
        return kind.__name__, frozenset(same_arguments(inner, inside) for inner in value)
    if kind is float:
        return "float", repr(value)  # tells -0.0 from 0.0, and knows nan
    if kind in _BY_VALUE:
        return kind.__name__, value
    return "identity", id(value)


_BY_VALUE = frozenset((str, int, bool, bytes, type(None)))
