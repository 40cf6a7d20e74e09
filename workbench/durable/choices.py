"""Choices: what somebody decided about a message whose code asks for other steps than its journal has.

- *started over*: what the message had recorded before is marked replaced. It stays in the journal, and answers no step
  any more: its effects run again, under the keys that they had.
- *accepted*: where the code asks for a step in the place of a recorded one, the new name takes the place and gets what
  the old one gave; nothing runs. Where the code ends without a recorded step, the step is settled.
- *added*: the new step is an addition and runs; the recorded ones answer by their names as before, and those that
  nobody asks for are settled when the message ends.
- *set aside*: the message becomes a dead letter.

Source: DESIGN rule 8, PROCESSES B.2 (7). Knows nothing of stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.store.journal import StepRecord

__all__ = ["ACCEPTED", "ADDED", "CHOICES", "SET_ASIDE", "STARTED_OVER", "Choice", "Choices", "Place", "place_of"]

STARTED_OVER, ACCEPTED, ADDED, SET_ASIDE = "started over", "accepted", "added", "set aside"
CHOICES = (STARTED_OVER, ACCEPTED, ADDED, SET_ASIDE)


class Place(NamedTuple):
    """Where a record of a step stands: enough to find it."""

    branch: str
    name: str
    occurrence: int


def place_of(record: StepRecord) -> Place:
    """The place of a record."""
    return Place(record.branch, record.name, record.occurrence)


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice, with the two steps that it is about. `asked` is None where a recorded step was left out."""

    what: str
    asked: Place | None
    recorded: Place
    by: str = "you"

    @classmethod
    def of(cls, what: str, drift: Mapping[str, Any], by: str) -> Choice:
        """The choice about a drift as `workbench.durable.drifts` keeps it."""
        asked = drift["asked"]
        return cls(what, None if asked is None else Place(*asked), Place(*drift["recorded"]), by)


class Choices:
    """What the choices about one message make of its records. `by_drift` has them by the payload of their mark."""

    def __init__(self, records: Sequence[StepRecord], by_drift: Mapping[str, Choice]) -> None:
        self.kept: list[StepRecord] = []
        self.renamed: dict[Place, Place] = {}
        self.added: set[Place] = set()
        self.settled: set[Place] = set()
        self.set_aside: Choice | None = None
        self.count = 0
        self.to_be_replaced = False
        """Whether the message starts over now, so that the mark of it is to be left."""
        for record in records:
            if record.kind == "replaced":
                self._begin_anew()
                self.to_be_replaced = False
            choice = by_drift.get(record.payload) if record.kind == "drift" else None
            self.kept.append(record)
            if choice is not None:
                self.count += 1
                self._take(choice)

    def _begin_anew(self) -> None:
        self.kept, self.renamed, self.added, self.settled = [], {}, set(), set()

    def _take(self, choice: Choice) -> None:
        if choice.what == STARTED_OVER:
            self._begin_anew()
            self.to_be_replaced = True
        elif choice.what == SET_ASIDE:
            self.set_aside = choice
        elif choice.what == ACCEPTED and choice.asked is not None:
            self.renamed[choice.asked] = choice.recorded
        else:
            self.settled.update(place_of(record) for record in self.kept)
            if choice.asked is not None:
                self.added.add(choice.asked)
