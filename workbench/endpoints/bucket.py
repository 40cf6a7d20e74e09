"""The bucket: how much a caller may still have now, of what fills with time.

Instants are of a clock that never jumps. Knows nothing of who takes what.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bucket"]


@dataclass(slots=True)
class Bucket:
    """Holds `burst` at most and `left` now, and fills by `rate` a second; `at` is when that was last true."""

    rate: float
    burst: float
    left: float
    at: float = 0.0

    def take(self, now: float) -> bool:
        """Take one; False when there is none."""
        self.left = min(self.burst, self.left + max(0.0, now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            return False
        self.left -= 1
        return True
