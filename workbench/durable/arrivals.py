"""Arrivals: posts to a durable process that somebody of this bench made in the store, beside `cast`.

A process that lives here collects them; one that does not begins to live, and finds them in its log; one that another
host has is told by that host's watch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.durable.process import DurableProcess
from workbench.plain import encode
from workbench.store.topic import Post

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.durable.runtime import Runtime
    from workbench.process.handle import Handle

__all__ = ["Arrivals"]


class Arrivals:
    """The durable processes of one bench, as the post room knows them."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._told: set[str] = set()

    def letter(self, handle: Handle) -> Callable[[Any], Post] | None:
        """What makes a post of a message to a process; None for one that lives in memory."""
        if not isinstance(handle, DurableProcess):
            return None
        args = encode(handle.args, f"the arguments of {handle.definition.name}")

        def letter(message: Any) -> Post:
            text = handle.definition.shapes[0].encode(message, "message")
            return Post(handle.key, text, self._runtime.clock.now(), handle.definition.name, args)

        return letter

    def arrived(self, handle: Handle) -> None:
        """Have a process see what was posted to it, once for all that comes in this turn of the loop."""
        if isinstance(handle, DurableProcess) and handle.key not in self._told and not self._runtime.closed:
            self._told.add(handle.key)
            self._runtime.home.loop.call_soon(self._tell, handle)

    def _tell(self, process: DurableProcess) -> None:
        self._told.discard(process.key)
        if process.elsewhere is None and not self._runtime.closed:
            process.start()
            self._runtime.attend(process.key)
