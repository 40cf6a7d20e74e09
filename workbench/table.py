"""A table: a list of rows that shows itself as one in a cell.

Plain on purpose: it is a list in every other way, and awaiting it gives itself, so `await` before it does no harm.
Instants are shown as dates and times in UTC; the rows have their seconds.
"""

from __future__ import annotations

import html
from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

__all__ = ["Table", "in_html"]

INSTANTS = frozenset(("at", "asked_at", "last", "next", "next_at", "put_at", "until"))
"""The columns whose floats are instants."""

STYLE = (
    "<style>.wb-table{max-width:100%;overflow-x:auto}.wb-table.wb-table table{margin:0}"
    ".wb-table.wb-table.wb-table :is(td,th){text-align:left;vertical-align:top}</style>"
)
"""A table that is too wide scrolls inside itself, and not the page that it stands in."""

WIDTH = 60
MOST = 300


class Table(list[Any]):
    """Rows with the columns that are shown; a row is a mapping or has the columns as attributes."""

    def __init__(self, rows: Iterable[Any], columns: Sequence[str]) -> None:
        super().__init__(rows)
        self.columns = tuple(columns)

    def __await__(self) -> Generator[Any, None, Table]:
        yield from ()
        return self

    def __repr__(self) -> str:
        cells = [self.columns, *(self._cells(row) for row in self[:MOST])]
        widths = [max(len(line[index]) for line in cells) for index in range(len(self.columns))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
        ]
        return "\n".join([*lines, *self._more()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in self._cells(row)) + "</tr>"
            for row in self[:MOST]
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div class="wb-table">{STYLE}{table}</div>' + "".join(f"<p>{line}</p>" for line in self._more())

    def _more(self) -> list[str]:
        return [f"{len(self) - MOST} more rows"] if len(self) > MOST else []

    def _cells(self, row: Any) -> tuple[str, ...]:
        values = [row.get(name) if isinstance(row, Mapping) else getattr(row, name, None) for name in self.columns]
        return tuple(
            _instant(value) if type(value) is float and name in INSTANTS else _short(value)
            for name, value in zip(self.columns, values, strict=True)
        )


def _instant(value: float) -> str:
    try:
        return datetime.fromtimestamp(value, UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    except (OverflowError, ValueError, OSError):  # a row that was changed by hand
        return _short(value)


def in_html(thing: object) -> str:
    """The `repr` of a thing as a paragraph, for what has no rows to show."""
    return f"<p>{html.escape(repr(thing))}</p>"


def _short(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
