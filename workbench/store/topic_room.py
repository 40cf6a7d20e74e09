"""What the memory keepers of one place share of topics.

Plain data; the rules are in `workbench.store.memory_topic`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.store.topic import Published

__all__ = ["Mark", "TopicLine", "TopicRoom"]


@dataclass(slots=True)
class Mark:
    """How far a subscriber has got, and the id of the host that it belongs to."""

    position: int
    at: float
    holder: str | None


@dataclass(slots=True)
class TopicLine:
    """Everything of one topic. `events` are those that are not forgotten: the first is number `pruned` + 1."""

    last: int = 0
    pruned: int = 0
    events: list[Published] = field(default_factory=list)
    marks: dict[str, Mark] = field(default_factory=dict)


class TopicRoom:
    """The topics of one place."""

    def __init__(self) -> None:
        self.lines: dict[str, TopicLine] = {}
