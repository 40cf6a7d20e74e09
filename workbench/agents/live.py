"""What of a run is live: shown while it happens, not in the journal, gone with the kernel.

Text that streams, progress lines, what tools print, which of them execute, and the ledger of the message in hand.
Everything else about a run is read from the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.agents.progress import Progress
from workbench.events import Changes

if TYPE_CHECKING:
    from workbench.agents.printed import Printed
    from workbench.durable.steps import Ledger
    from workbench.loop import Home

__all__ = ["Live", "Nudge"]


@dataclass(slots=True)
class Live:
    """The live part of one run in this kernel."""

    ledger: Ledger | None = None
    text: dict[int, str] = field(default_factory=dict)
    began: dict[int, float] = field(default_factory=dict)
    progress: dict[str, Progress] = field(default_factory=dict)
    printed: dict[str, Printed] = field(default_factory=dict)
    at_work: dict[object, str] = field(default_factory=dict)
    """The tools that execute now, by name; one that outlives its run stays until it ends."""
    way: list[str] = field(default_factory=list)
    """The way through the stages of its agent; the journal has it too."""
    changes: Changes = field(default_factory=Changes)

    def follow(self) -> Live:
        """What is live of the next activation; the listeners stay, and so does what still executes."""
        return Live(at_work=self.at_work, changes=self.changes)

    def said(self, branch: str) -> Progress:
        """The progress of a call. Made here, on the loop; it takes lines from any thread."""
        return self.progress.setdefault(branch, Progress())


class Nudge:
    """Tells changes from any thread, once per loop turn however often it is called."""

    def __init__(self, home: Home, changes: Changes) -> None:
        self._home = home
        self._changes = changes
        self._due = False

    def __call__(self) -> None:
        if not self._due:
            self._due = True
            self._home.hop(self._tell)

    def _tell(self) -> None:
        self._due = False
        self._changes.tell()
