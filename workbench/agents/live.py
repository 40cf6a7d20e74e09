"""What of a run is live: shown while it happens, not in the journal, gone with the kernel.

Text that streams, progress lines, and the ledger of the message in hand. Everything else about a run is read from the
journal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.events import Changes

if TYPE_CHECKING:
    from workbench.durable.steps import Ledger

__all__ = ["Live"]


@dataclass(slots=True)
class Live:
    """The live part of one run in this kernel."""

    ledger: Ledger | None = None
    text: dict[int, str] = field(default_factory=dict)
    began: dict[int, float] = field(default_factory=dict)
    progress: dict[str, list[str]] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
