"""What the memory keepers of one place share of conversations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.store.conversations import Exchange
    from workbench.store.room import Line

__all__ = ["Talk", "Talks"]


@dataclass(slots=True)
class Talk:
    """One conversation: its exchanges by number, and the last number given."""

    exchanges: dict[int, Exchange] = field(default_factory=dict)
    last: int = 0


class Talks:
    """The conversations of a room. `lines` are the keys of the room."""

    def __init__(self, lines: dict[str, Line]) -> None:
        self.lines = lines
        self.by_name: dict[tuple[str, str], Talk] = {}

    def strike_off(self, key: str) -> None:
        """Forget the exchange of a key that was deleted, and the digests that were made of it."""
        for talk in self.by_name.values():
            gone = next((each for each in talk.exchanges.values() if each.key == key), None)
            if gone is None:
                continue
            del talk.exchanges[gone.number]
            for number, each in talk.exchanges.items():
                if each.through is not None and each.through >= gone.number:
                    talk.exchanges[number] = replace(each, digest=None, through=None)

    def prune(self, before: float) -> int:
        """Forget conversations in which nothing was entered since `before` and nothing is left to do."""
        gone = 0
        for name, talk in list(self.by_name.items()):
            kept = list(talk.exchanges.values())
            if all(each.at < before and not self.has_work(each.key) for each in kept):
                gone += len(kept)
                del self.by_name[name]
        return gone

    def has_work(self, key: str) -> bool:
        """Whether a key has a message that is not acknowledged."""
        return (line := self.lines.get(key)) is not None and line.last_seq > line.cursor
