"""The report: figures of several rounds as medians with their range, beside the raw limit and the bars.

A figure is kept as one number per round. A bar is a least rate, or a longest time.
Knows nothing of how they were measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

__all__ = ["Bar", "Figure", "as_data", "as_table"]


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure is held to: at least `value`, or at most when less is better."""

    value: float
    at_most: bool = False

    def verdict(self, found: float) -> str:
        """`met`, or how far it is."""
        share = self.value / found if self.at_most else found / self.value
        return "met" if share >= 1 else f"{share:.2f} of the bar"

    def __str__(self) -> str:
        return f"{'<=' if self.at_most else '>='} {self.value:,.0f}"


@dataclass(slots=True)
class Figure:
    """One line of the report. `raw` names the limit it is divided by; `cpu` is processor microseconds for each unit."""

    name: str
    unit: str
    raw: str | None = None
    bar: Bar | None = None
    rounds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)

    def add(self, value: float, *, raw: float | None = None, cpu: float | None = None) -> None:
        """Add a round, with the raw limit of that round."""
        self.rounds.append(value)
        if raw is not None:
            self.ratios.append(value / raw)
        if cpu is not None:
            self.cpu.append(cpu)


HEAD = ("", "median", "min", "max", "unit", "of raw", "cpu µs", "bar", "")


def as_table(figures: list[Figure]) -> str:
    """The figures as lines of text with aligned columns."""
    rows = [HEAD, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "  ".join(_cell(cell, width, column) for column, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in (lines[0], "-" * len(lines[0]), *lines[1:]))


def _row(figure: Figure) -> tuple[str, ...]:
    middle = median(figure.rounds)
    return (
        figure.name,
        _number(middle),
        _number(min(figure.rounds)),
        _number(max(figure.rounds)),
        figure.unit,
        f"{median(figure.ratios):.2f} x" if figure.ratios else "",
        f"{median(figure.cpu):.0f}" if figure.cpu else "",
        str(figure.bar) if figure.bar is not None else "",
        figure.bar.verdict(middle) if figure.bar is not None else "",
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def _cell(text: str, width: int, column: int) -> str:
    return text.ljust(width) if column in (0, 4, 8) else text.rjust(width)


def as_data(figures: list[Figure]) -> list[dict[str, Any]]:
    """The figures as JSON can hold them, every round included."""
    return [
        {
            "name": figure.name,
            "unit": figure.unit,
            "median": median(figure.rounds),
            "rounds": figure.rounds,
            "of_raw": median(figure.ratios) if figure.ratios else None,
            "raw": figure.raw,
            "cpu_microseconds": median(figure.cpu) if figure.cpu else None,
            "bar": str(figure.bar) if figure.bar is not None else None,
            "verdict": figure.bar.verdict(median(figure.rounds)) if figure.bar is not None else None,
        }
        for figure in figures
    ]
