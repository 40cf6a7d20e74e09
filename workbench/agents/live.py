"""What of a run is live: shown while it happens, not in the journal, gone with the kernel.

Text that streams, progress lines, what tools print, which of them execute, and the ledger of the message in hand.
Everything else about a run is read from the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.events import Changes

if TYPE_CHECKING:
    from workbench.agents.printed import Printed
    from workbench.durable.steps import Ledger

__all__ = ["LINES", "Live"]

LINES = 200
"""Lines of progress that are kept of one call, the newest ones."""


@dataclass(slots=True)
class Live:
    """The live part of one run in this kernel."""

    ledger: Ledger | None = None
    text: dict[int, str] = field(default_factory=dict)
    began: dict[int, float] = field(default_factory=dict)
    progress: dict[str, list[str]] = field(default_factory=dict)
    printed: dict[str, Printed] = field(default_factory=dict)
    at_work: dict[object, str] = field(default_factory=dict)
    """The tools that execute now, by name; one that outlives its run stays until it ends."""
    way: list[str] = field(default_factory=list)
    """The way through the stages of its agent; the journal has it too."""
    changes: Changes = field(default_factory=Changes)
    _cut: dict[str, int] = field(default_factory=dict)

    def follow(self) -> Live:
        """What is live of the next activation; the listeners stay, and so does what still executes."""
        return Live(at_work=self.at_work, changes=self.changes)

    def say(self, branch: str, line: str) -> None:
        """Add a line of progress to a call."""
        lines = self.progress.setdefault(branch, [])
        lines.append(line)
        if len(lines) > LINES:
            cut = self._cut[branch] = self._cut.get(branch, 1) + 1
            lines[:2] = [f"… {cut} earlier lines were cut …"]
        self.changes.tell()
