"""The style of the static twin, inline because a saved picture brings everything it needs. Colours are those of LOOK 2.

Knows nothing of what it styles but the class names of `static_twin`.
"""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = "<style>.wb-twin{font-size:13px}</style>"
