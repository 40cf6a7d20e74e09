"""Fencing: the words with which a stale write is refused, the same in every keeper.

Knows nothing of how a keeper compares epochs.

Source: DESIGN rule 4.
"""

from __future__ import annotations

from workbench.errors import Fenced

__all__ = ["fenced"]


def fenced(key: str, epoch: int, current: int) -> Fenced:
    """The refusal of a write under `epoch`, where `current` is the newest of the key, or 0 when it was never loaded."""
    if not current:
        words = f"{key!r} was never loaded, so epoch {epoch} is not its owner's; nothing was written, load it first"
    else:
        words = (
            f"{key!r} now belongs to another activation (epoch {current}, ours {epoch}); "
            "nothing was written here, reload to follow it"
        )
    return Fenced(words, key=key, epoch=current)
