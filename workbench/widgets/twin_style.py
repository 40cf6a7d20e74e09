"""How the static twin looks: its style and its shapes, inline because a saved picture brings everything it needs.

The style is `twin.css`; the drawings are those of LOOK 2. Knows nothing of views.
"""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["STYLE", "ink", "shape"]

_CSS = (Path(__file__).parent / "twin.css").read_text(encoding="utf-8")
_SPARE = re.compile(
    r"/[*].*?[*]/|(?<=[{;}]) *\n *|^ +", re.DOTALL | re.MULTILINE
)  # comments, and what only lays out the file
STYLE = f"<style>{_SPARE.sub('', _CSS).strip()}</style>"

_RING = '<circle cx="6" cy="6" r="4.7"/>'
_DRAWINGS = {
    "ring": '<circle cx="6" cy="6" r="4.7" stroke-dasharray="1.6 1.68"/>',
    "open": '<path d="M6 1.4A4.6 4.6 0 1 1 1.4 6"/><circle cx="6" cy="6" r="1" />',
    "diamond": '<path d="M6 1 11 6 6 11 1 6z" fill="currentColor"/>',
    "disc": '<circle cx="6" cy="6" r="5.2" fill="currentColor" stroke="none"/>'
    '<path d="M3.4 6.2 5.3 8.1 8.7 4.2" style="stroke:var(--paper)"/>',
    "octagon": '<path d="M3.7.5h4.6l3.2 3.2v4.6l-3.2 3.2H3.7L.5 8.3V3.7z" fill="currentColor" stroke="none"/>'
    '<path d="m4.2 4.2 3.6 3.6M7.8 4.2 4.2 7.8" style="stroke:var(--paper)"/>',
    "slashed": f'{_RING}<path d="M9.2 2.8 2.8 9.2"/>',
    "broken": '<path d="M3.4 1.7A5 5 0 0 0 3.4 10.3M8.6 1.7A5 5 0 0 1 8.6 10.3M6.9 2.6 4.6 6.2h2.8L5.1 9.6"/>',
    "check": '<path d="M2.2 6.6 4.8 9.2 9.9 3.2"/>',
    "edited": '<path d="M2.6 4.8 4.9 7.1 9.4 1.6M1.4 10.7h9.2"/>',
    "barred": f'{_RING}<path d="M3.8 6h4.4"/>',
    "again": '<path d="M9.9 7.4A4.3 4.3 0 1 1 9.4 3.3M10 1v2.9H7"/>',
    "speech": '<path d="M1.2 2h9.6v6.4H6L3.4 10.8V8.4H1.2z"/>',
    "hourglass": '<path d="M1.8 1.2h8.4M1.8 10.8h8.4M2.8 1.2c0 3 6.4 6.6 6.4 9.6M9.2 1.2c0 3-6.4 6.6-6.4 9.6"/>',
    "dash": '<path d="M2.2 6h7.6"/>',
}
_STATUSES = {
    "running": ("open", "blue"),
    "waiting": ("diamond", "amber"),
    "pending": ("diamond", "amber"),
    "completed": ("disc", "green"),
    "done": ("disc", "green"),
    "failed": ("octagon", "red"),
    "crashed": ("octagon", "red"),
    "cancelled": ("slashed", "grey"),
    "killed": ("broken", "violet"),
    "disposed": ("broken", "violet"),
    "interrupted": ("broken", "violet"),
    "success": ("check", "green"),
    "approved": ("check", "green"),
    "edited": ("edited", "green"),
    "denied": ("barred", "grey"),
    "rejected": ("barred", "grey"),
    "retried": ("again", "grey"),
    "restarting": ("again", "grey"),
    "answered": ("speech", "green"),
    "expired": ("hourglass", "grey"),
    "dismissed": ("dash", "grey"),
}


def ink(status: str) -> str:
    """The class of a status word's ink."""
    return f"wb-i-{_STATUSES.get(status, ('ring', 'grey'))[1]}"


def shape(status: str) -> str:
    """The drawing of a status word, hidden from screen readers: the word is beside it."""
    return f'<svg viewBox="0 0 12 12" aria-hidden="true">{_DRAWINGS[_STATUSES.get(status, ("ring", "grey"))[0]]}</svg>'
