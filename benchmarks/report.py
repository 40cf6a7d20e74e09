"""The report: figures of several rounds as medians with their range, beside the raw limit, the shape and the bars.

- A figure is kept as one number per round, as a share of the raw limit of the disk, and as a share of the shape
  (`shape.py`), both measured around it.
- A bar is a least rate, or a longest time, on the machine that it was set on, quiet. On another machine it is held as a
  ratio: to the raw limit, and to the shape, which moves with the machine as the real thing does. All three are said.

Knows nothing of how figures are measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

__all__ = ["Bar", "Figure", "as_data", "as_table"]

HEAD = ("", "median", "min", "max", "unit", "bar", "", "of raw", "bar", "", "of shape", "bar", "", "cpu µs")
LEFT = (0, 4, 6, 9, 12)
REFERENCE = {"FULL": 8_956, "NORMAL": 76_635}
"""Raw commits per second of the machine that the bars were set on."""


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
        return f"{'<=' if self.at_most else '>='} {_number(self.value)}"


@dataclass(slots=True)
class Figure:
    """One line of the report.

    `raw` names the limit that it is divided by; `shape` is what the shape did on the machine that the bar was set on;
    `cpu` is processor microseconds for each unit.
    """

    name: str
    unit: str
    raw: str | None = None
    bar: Bar | None = None
    shape: float | None = None
    rounds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    of_raw: list[float] = field(default_factory=list)
    of_shape: list[float] = field(default_factory=list)

    def add(
        self, value: float, *, raw: float | None = None, shape: float | None = None, cpu: float | None = None
    ) -> None:
        """Add a round, with the raw limit and the shape of that round."""
        self.rounds.append(value)
        if raw is not None:
            self.of_raw.append(value / raw)
        if shape is not None:
            self.of_shape.append(value / shape)
        if cpu is not None:
            self.cpu.append(cpu)

    @property
    def raw_bar(self) -> Bar | None:
        """The bar as a ratio to the raw limit."""
        return (
            Bar(self.bar.value / REFERENCE[self.raw], self.bar.at_most)
            if self.bar is not None and self.raw is not None
            else None
        )

    @property
    def shape_bar(self) -> Bar | None:
        """The bar as a share of the shape."""
        return (
            Bar(self.bar.value / self.shape, self.bar.at_most)
            if self.bar is not None and self.shape is not None
            else None
        )


def as_table(figures: list[Figure]) -> str:
    """The figures as lines of text with aligned columns."""
    rows = [HEAD, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "  ".join(cell.ljust(width) if at in LEFT else cell.rjust(width) for at, cell, width in _cells(row, widths))
        for row in rows
    ]
    return "\n".join(line.rstrip() for line in (lines[0], "-" * len(lines[0]), *lines[1:]))


def _cells(row: tuple[str, ...], widths: list[int]) -> list[tuple[int, str, int]]:
    return [(at, cell, width) for at, (cell, width) in enumerate(zip(row, widths, strict=True))]


def _row(figure: Figure) -> tuple[str, ...]:
    middle, bar = median(figure.rounds), figure.bar
    return (
        figure.name,
        *(_number(value) for value in (middle, min(figure.rounds), max(figure.rounds))),
        figure.unit,
        str(bar or ""),
        bar.verdict(middle) if bar is not None else "",
        *_ratio(figure.of_raw, figure.raw_bar),
        *_ratio(figure.of_shape, figure.shape_bar),
        f"{median(figure.cpu):.0f}" if figure.cpu else "",
    )


def _ratio(shares: list[float], bar: Bar | None) -> tuple[str, str, str]:
    if not shares:
        return "", "", ""
    middle = median(shares)
    return f"{middle:.2f} x", "" if bar is None else f"{bar} x", "" if bar is None else bar.verdict(middle)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def as_data(figures: list[Figure]) -> list[dict[str, Any]]:
    """The figures as JSON can hold them, every round included."""
    return [
        {
            "name": figure.name,
            "unit": figure.unit,
            "median": median(figure.rounds),
            "rounds": figure.rounds,
            "raw": figure.raw,
            "of_raw": figure.of_raw,
            "of_shape": figure.of_shape,
            "raw_verdict": None if figure.raw_bar is None else figure.raw_bar.verdict(median(figure.of_raw)),
            "shape_verdict": None if figure.shape_bar is None else figure.shape_bar.verdict(median(figure.of_shape)),
            "cpu_microseconds": figure.cpu,
            "bar": figure.bar.value if figure.bar is not None else None,
            "verdict": figure.bar.verdict(median(figure.rounds)) if figure.bar is not None else None,
        }
        for figure in figures
    ]
