"""The report: which rounds were played, how many hosts died in them, and what they broke."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.testing.crashes.promises import Breach

__all__ = ["Played", "Report"]


@dataclass(frozen=True, slots=True)
class Played:
    """One round: its schedule, and what it broke."""

    schedule: object
    breaches: list[Breach]

    def __str__(self) -> str:
        return "\n".join([str(self.schedule), *(f"    {breach}" for breach in self.breaches)])


@dataclass(slots=True)
class Report:
    """What a suite played, and which rounds broke a promise. `crashes` hosts died, over `rounds` rounds."""

    seed: int
    rounds: int = 0
    crashes: int = 0
    broken: list[Played] = field(default_factory=list)

    def add(self, played: Played, crashes: int) -> None:
        """Take in a round in which so many hosts died."""
        self.rounds, self.crashes = self.rounds + 1, self.crashes + crashes
        if played.breaches:
            self.broken.append(played)

    @property
    def promises(self) -> set[str]:
        """The names of the promises that were broken."""
        return {breach.promise for played in self.broken for breach in played.breaches}

    def __str__(self) -> str:
        head = f"{self.crashes} hosts died in {self.rounds} rounds (seed {self.seed})"
        found = f"in {len(self.broken)} of them a promise broke" if self.broken else "every promise held"
        return "\n".join([f"{head}; {found}", *map(str, self.broken)])
