"""Holds: how a body says that it is busy although it waits for nothing that can be seen from outside.

While any hold is open its process is not evicted for being idle or for lack of room. Holds nest. An instance that ends
takes its holds with it. Source: PROCESSES 1.2 and 1.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Hold", "Holding"]


class Holding:
    """What counts the holds of one instance."""

    __slots__ = ("held",)

    def __init__(self) -> None:
        self.held = 0

    def busy(self) -> Hold:
        """Keep this process from being evicted: `with ctx.busy(): …`, or call `release()` on it later."""
        return Hold(self)


class Hold:
    """One hold; open from the start. Releasing it twice releases it once."""

    __slots__ = ("_of",)

    def __init__(self, of: Holding) -> None:
        self._of: Holding | None = of
        of.held += 1

    def release(self) -> None:
        """Give the hold up."""
        of, self._of = self._of, None
        if of is not None:
            of.held -= 1

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()
