"""Progress: the lines that one tool call says while it works. Bounded, and safe from any thread."""

from __future__ import annotations

import threading
from collections import deque

__all__ = ["LENGTH", "LINES", "Progress"]

LINES = 200
"""Lines that are kept, the newest ones."""

LENGTH = 2_000
"""Characters of a line that are kept."""


class Progress:
    """The newest lines, and a notice of how many came before them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lines: deque[str] = deque(maxlen=LINES)
        self._count = 0

    def say(self, line: str) -> None:
        """Add a line."""
        with self._lock:
            self._lines.append(line if len(line) <= LENGTH else line[: LENGTH - 1] + "…")
            self._count += 1

    def after(self, told: int) -> tuple[list[str], int]:
        """The lines after the first `told`, as far as they are kept, and how many there were in all."""
        with self._lock:
            new = min(self._count - told, len(self._lines))
            return (list(self._lines)[-new:] if new > 0 else []), self._count

    @property
    def lines(self) -> list[str]:
        """The lines that are kept."""
        with self._lock:
            if self._count <= LINES:
                return list(self._lines)
            return [f"… {self._count - LINES + 1} earlier lines were cut …", *list(self._lines)[1:]]
