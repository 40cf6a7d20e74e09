"""Ratios: the same work done by us and by a peer, in turns in one run, a rate of each per round."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from report import Bar

__all__ = ["Ratio", "ratios_as_data", "ratios_as_table"]


@dataclass(slots=True)
class Ratio:
    """One line of the report. `bar` is what the ratio is held to."""

    name: str
    unit: str
    peer: str
    bar: Bar | None = None
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    def add(self, ours: float, theirs: float) -> None:
        """Add a round."""
        self.ours.append(ours)
        self.theirs.append(theirs)

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios."""
        return median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    def row(self) -> tuple[str, ...]:
        """The cells of the line."""
        verdict = "" if self.bar is None else self.bar.verdict(self.ratio)
        rates = (f"{median(self.ours):,.0f}", f"{median(self.theirs):,.0f}")
        bar = "" if self.bar is None else f"{self.bar} x"
        return (self.name, self.unit, rates[0], rates[1], self.peer, f"{self.ratio:.1f} x", bar, verdict)


def ratios_as_table(lines: list[Ratio]) -> str:
    """The lines as text with aligned columns."""
    rows = [("", "", "ours", "theirs", "peer", "ratio", "bar", ""), *(line.row() for line in lines)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    cells = [list(zip(row, widths, strict=True)) for row in rows]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at in (0, 1, 4) else cell.rjust(width) for at, (cell, width) in enumerate(row)
        ).rstrip()
        for row in cells
    )


def ratios_as_data(lines: list[Ratio]) -> list[dict[str, Any]]:
    """The lines as JSON can hold them, every round included."""
    return [
        {
            "name": line.name,
            "unit": line.unit,
            "peer": line.peer,
            "ours": line.ours,
            "theirs": line.theirs,
            "ratio": line.ratio,
            "bar": None if line.bar is None else line.bar.value,
            "verdict": None if line.bar is None else line.bar.verdict(line.ratio),
        }
        for line in lines
    ]
