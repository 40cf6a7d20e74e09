"""Flags: what a process is about, apart from its state. A reader of them does not wake for every state.

- `working`: it works towards its next state; false once it has yielded, and while it waits for a message.
- `stale`: the state has outlived a crash or the process; the first good state of the next instance clears it.

Source: PROCESSES 1.3 and 1.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.process.selecting import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.process.handle import Handle

__all__ = ["Flags", "flags_of"]


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags of a process at one time. `error` is its last failure, which the next good state clears."""

    status: str
    working: bool
    stale: bool
    error: BaseException | None


class _Lifecycle:
    """The lifecycle of a handle as something to read from: it may have changed whenever it says so."""

    __slots__ = ("_handle",)

    ready = True

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    @property
    def over(self) -> bool:
        return self._handle.states.over

    def stamp(self) -> object:
        return self.flags()

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        return self._handle.states.subscribe(changed)

    def flags(self) -> Flags:
        handle = self._handle
        return Flags(handle.status, handle.working, handle.stale, handle.error)


def flags_of(handle: Handle) -> Reading[Flags]:
    """The flags of a handle, which wake their readers only when one of them changed."""
    lifecycle = _Lifecycle(handle)
    return Reading(f"the flags of {handle.name}", lifecycle.flags, (lifecycle,))
