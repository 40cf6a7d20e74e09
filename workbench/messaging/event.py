"""An event of a topic, as whoever reads or handles it sees it.

A row that was changed by hand into none of an event is refused. Knows nothing of who reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.plain import decode

if TYPE_CHECKING:
    from workbench.store.topic import Published

__all__ = ["Event"]


@dataclass(frozen=True, slots=True)
class Event:
    """What was published, where in its topic it stands, and when (`at`, an instant)."""

    topic: str
    position: int
    at: float
    body: Any

    @classmethod
    def of(cls, topic: str, published: Published) -> Event:
        """The event of a row. Raises: BadInput when its body was changed by hand."""
        return cls(topic, published.position, published.at, decode(published.body))

    def message(self) -> dict[str, Any]:
        """The event as a message that is cast to a process."""
        return {"type": "event", "topic": self.topic, "position": self.position, "at": self.at, "body": self.body}
