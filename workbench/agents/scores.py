"""Scores: the table of an evaluation, a row for each run, and the line that sums them up.

A mean is over the runs that have the score; how many failed is beside it. A figure that nobody reported stays unknown.

Knows nothing of how runs are scored.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from workbench.table import Table

__all__ = ["Scores"]

BEFORE, BEHIND = ("case", "repeat", "run", "output"), ("tokens", "cost", "seconds", "error")


class Scores(Table):
    """The rows of an evaluation; `scores` are the names of its scores, `summary` what they come to.

    Costs are micro-dollars, shown in dollars.
    """

    def __init__(self, rows: Iterable[dict[str, Any]], scores: Sequence[str], id: str) -> None:
        super().__init__(rows, columns=(*BEFORE, *scores, *BEHIND))
        self.scores = tuple(scores)
        self.id = id

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The rows with an error."""
        return [row for row in self if row["error"] is not None]

    @property
    def summary(self) -> dict[str, Any]:
        """`runs`, `failed`, the mean of each score, `tokens` and `cost` in all, mean `seconds`; None where unknown."""
        means = {name: _mean([row[name] for row in self if row[name] is not None]) for name in self.scores}
        return {
            "runs": len(self),
            "failed": len(self.failures),
            **means,
            "tokens": _sum(row["tokens"] for row in self),
            "cost": _sum(row["cost"] for row in self),
            "seconds": _mean([row["seconds"] for row in self]),
        }

    def _cells(self, row: Any) -> tuple[str, ...]:
        shown = {**row, "cost": _dollars(row["cost"]), "seconds": f"{row['seconds']:.2f}"}
        return super()._cells(shown)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self._line()}"

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_()}<p>{html.escape(self._line())}</p>"

    def _line(self) -> str:
        summary = self.summary
        means = [f"{name} {'none' if summary[name] is None else f'{summary[name]:.2f}'}" for name in self.scores]
        tokens = "tokens not reported" if summary["tokens"] is None else f"{summary['tokens']:,} tokens"
        price = _dollars(summary["cost"]) or "no price"
        runs = "1 run" if summary["runs"] == 1 else f"{summary['runs']} runs"
        return ", ".join([f"{self.id}: {runs}", f"{summary['failed']} failed", *means, tokens, price])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _dollars(microdollars: int | None) -> str:
    return "" if microdollars is None else f"${microdollars / 1_000_000:.3f}"
