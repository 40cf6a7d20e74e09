"""The static twin: a view without kernel, script or network, for exports, untrusted notebooks and terminals.

- Written as one heading, one sentence and one table with a word for every status; styled second, so that where a
  sanitiser takes styles and drawings away the same document still reads.
- Everything that came from outside is escaped as text, and what would turn its direction or hide in it is a mark.

Source: LOOK 3 "No kernel (08)", KERNEL C.
"""

from __future__ import annotations

import html as markup
from typing import TYPE_CHECKING, Any

from workbench.widgets import words
from workbench.widgets.picture import Cell, Picture, Row, picture
from workbench.widgets.twin_style import STYLE, ink, shape

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["html", "line", "text"]

WIDE = 100
FEW = 4
_TIME = '<span class="wb-t-time">'


def html(view: Mapping[str, Any]) -> str:
    """The view as an HTML fragment."""
    if not view:
        return "<p>Nothing to show yet.</p>"
    shown = picture(view)
    parts = [_heading(shown), _facts(shown), _table(shown), _output(shown), _decide(shown)]
    return f'<div class="wb-twin wb-twin-{_escaped(view["kind"])}">{STYLE}{"".join(parts)}</div>'


def text(view: Mapping[str, Any]) -> str:
    """The view as plain text: heading, sentence, one line a row."""
    if not view:
        return "nothing to show yet"
    shown = picture(view)
    facts = ", ".join(f"{label.lower()} {value}" for label, value in shown.facts)
    lines = [_title(shown), " ".join(filter(None, shown.now)), f"Picture of {words.moment(shown.at)}: {facts}."]
    for row in shown.rows:
        said = [cell for cell in row.cells if cell.text]
        lines.append("  " + "  ".join(_clipped(_visible(cell.text + cell.after)) for cell in said))
        lines += [f"        {_clipped(_visible(under))}" for cell in said for under in cell.lines]
    return "\n".join(
        [*(_visible(line) for line in lines if line), *(f"To decide: {command}" for command in shown.decide)]
    )


def line(view: Mapping[str, Any]) -> str:
    """The view in one line, as a repr: the same for the same view."""
    return f"<{_visible(_title(picture(view)))}>" if view else "<an empty window>"


def _escaped(said: str) -> str:
    return markup.escape(words.visible(said))


def _title(shown: Picture) -> str:
    return f"{shown.name}, {shown.id}: {shown.status}" if shown.id else f"{shown.name}: {shown.status}"


def _visible(said: str) -> str:
    """Text without control characters, so that a terminal shows it and does nothing else."""
    return "".join(
        char if char.isprintable() else " " if char.isspace() else "\N{REPLACEMENT CHARACTER}" for char in said
    )


def _clipped(said: str) -> str:
    return said if len(said) <= WIDE else f"{said[: WIDE - 1]}… ({words.plural(len(said), 'character')})"


def _heading(shown: Picture) -> str:
    name = f'<span class="wb-t-name">{_escaped(shown.name)}</span>'
    id = f'<span class="wb-t-sep">, </span><span class="wb-t-id">{_escaped(shown.id)}</span>' if shown.id else ""
    status = (
        f'<span class="wb-t-word {ink(shown.shape)}">{shape(shown.shape)}<span>{_escaped(shown.status)}</span></span>'
    )
    return f'<h4>{name}{id}<span class="wb-t-sep">: </span>{status}</h4>'


def _facts(shown: Picture) -> str:
    facts = '<span class="wb-t-sep">, </span>'.join(
        f'<span class="wb-t-fact"><span class="wb-t-label">{_escaped(label)}</span> {_escaped(value)}</span>'
        for label, value in shown.facts
    )
    strong, rest = shown.now
    now = f'<p class="wb-t-said"><b>{_escaped(strong)}</b> {_escaped(rest)}</p>' if strong or rest else ""
    stamp = f'<span class="wb-t-at">Picture of {words.moment(shown.at)}<span class="wb-t-sep">. </span></span>'
    return f'<p class="wb-t-facts">{stamp}{facts}<span class="wb-t-sep">.</span></p>{now}'


def _table(shown: Picture) -> str:
    if not shown.rows:
        return ""
    heads = [_escaped(column) for column in shown.columns]
    if shown.ticks:
        ticks = "".join(f'<i style="left:{at}%" data-label="{label}"></i>' for at, label in shown.ticks)
        heads[-1] = f'<span class="wb-t-ticks">{ticks}</span>{_TIME}{heads[-1]}</span>'
    head = "".join(f"<th>{column}</th>" for column in heads)
    rows = "".join(_row(shown.columns, row) for row in shown.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _row(columns: tuple[str, ...], row: Row) -> str:
    cells = dict(zip(columns, map(_cell, row.cells), strict=True))
    if row.kind:  # a row of a run, beside the time axis
        bars = "".join(
            f'<i class="wb-t-bar wb-h-{_escaped(bar.how)}" style="left:{bar.left}%;width:{bar.width}%"></i>'
            for bar in row.bars
        )
        cells["Took"] = f'<span class="wb-t-lane">{bars}</span>{_TIME}{cells["Took"]}</span>'
    if row.status:
        said = "Outcome" if "Outcome" in cells else "Status"
        cells[said] = f'<span class="{ink(row.status)}">{shape(row.status)}</span> <span>{cells[said]}</span>'
    made = "".join(
        f'<td class="wb-t-{name.split()[0].lower().rstrip(":")}"{"" if row.kind else _label(name)}>{cell}</td>'
        for name, cell in cells.items()
    )
    return f'<tr class="wb-t-{row.kind or "row"}">{made}</tr>'


def _label(column: str) -> str:
    """The name of a column at its cell, for where the columns stand below each other."""
    return f' data-label="{_escaped(column)}"'


def _cell(cell: Cell) -> str:
    said = _escaped(cell.text)
    if len(cell.text) > words.WIDTH * 25:
        size = words.plural(len(cell.text), "character")
        said = f"<details><summary>{_escaped(cell.text[: words.WIDTH])}… ({size})</summary>{said}</details>"
    shown = f"<code>{said}</code>" if cell.code else said
    under = "".join(f'<br><span class="wb-t-line">{_escaped(line)}</span>' for line in cell.lines)
    return shown + _escaped(cell.after) + under


def _output(shown: Picture) -> str:
    if not shown.output:
        return ""
    lines = _escaped("\n".join(shown.output))
    return f"<details><summary>Output, {words.plural(len(shown.output), 'line')}</summary><pre>{lines}</pre></details>"


def _decide(shown: Picture) -> str:
    commands = " or ".join(f"<code>{_escaped(command)}</code>" for command in shown.decide[:FEW])
    more = f" and {len(shown.decide) - FEW} more" if len(shown.decide) > FEW else ""
    decide = f" To decide: {commands}{more}" if commands else ""
    return f'<p class="wb-t-now"><b>Saved picture, not live.</b>{decide}</p>'
