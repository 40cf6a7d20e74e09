"""The static twin: a view that needs no kernel, no script and no network, for exports, untrusted notebooks and terminals.

- Written as one heading, one sentence and one table with a word for every status; styled second, so that where a sanitiser
  takes styles and drawings away the same document still reads.
- Everything that came from outside is escaped as text.

Source: LOOK 3 "No kernel (08)", KERNEL C.
"""

from __future__ import annotations

from html import escape
from typing import Any

from workbench.widgets import words
from workbench.widgets.picture import Cell, Picture, Row, picture
from workbench.widgets.twin_style import STYLE

__all__ = ["html", "line", "text"]

WIDE = 100


def html(view: dict[str, Any]) -> str:
    """The view as an HTML fragment."""
    if not view:
        return "<p>Nothing to show yet.</p>"
    shown = picture(view)
    parts = [_heading(shown), _facts(shown), _table(shown), _output(shown), _decide(shown)]
    return f'<div class="wb-twin wb-twin-{escape(view["kind"])}">{STYLE}{"".join(parts)}</div>'


def text(view: dict[str, Any]) -> str:
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
    return "\n".join([*filter(None, lines), *(f"To decide: {command}" for command in shown.decide)])


def line(view: dict[str, Any]) -> str:
    """The view in one line, as a repr: the same for the same view."""
    return f"<{_visible(_title(picture(view)))}>" if view else "<an empty window>"


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
    name = f'<span class="wb-t-name">{escape(shown.name)}</span>'
    id = f'<span class="wb-t-sep">, </span><span class="wb-t-id">{escape(shown.id)}</span>' if shown.id else ""
    status = f'<span class="wb-t-status wb-t-{escape(shown.shape)}">{escape(shown.status)}</span>'
    return f'<h4>{name}{id}<span class="wb-t-sep">: </span>{status}</h4>'


def _facts(shown: Picture) -> str:
    facts = '<span class="wb-t-sep">, </span>'.join(
        f'<span class="wb-t-fact"><span class="wb-t-label">{escape(label)}</span> {escape(value)}</span>'
        for label, value in shown.facts
    )
    strong, rest = shown.now
    now = f'<p class="wb-t-said"><b>{escape(strong)}</b> {escape(rest)}</p>' if strong or rest else ""
    stamp = f'<span class="wb-t-at">Picture of {words.moment(shown.at)}<span class="wb-t-sep">. </span></span>'
    return f'<p class="wb-t-facts">{stamp}{facts}<span class="wb-t-sep">.</span></p>{now}'


def _table(shown: Picture) -> str:
    if not shown.rows:
        return ""
    head = "".join(f"<th>{escape(column)}</th>" for column in shown.columns)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(map(_row, shown.rows))}</tbody></table>"


def _row(row: Row) -> str:
    cells = [_cell(cell) for cell in row.cells]
    lane = "".join(
        f'<i class="wb-t-bar wb-t-{escape(bar.how)}" style="left:{bar.left}%;width:{bar.width}%"></i>'
        for bar in row.bars
    )
    if lane:
        cells[-1] = f'<span class="wb-t-lane">{lane}</span>{cells[-1]}'
    return f'<tr class="wb-t-row wb-t-{escape(row.status)}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'


def _cell(cell: Cell) -> str:
    said = escape(cell.text)
    if len(cell.text) > words.WIDTH * 25:
        said = f"<details><summary>{escape(cell.text[: words.WIDTH])}… ({words.plural(len(cell.text), 'character')})</summary>{said}</details>"
    shown = f"<code>{said}</code>" if cell.code else said
    return shown + escape(cell.after) + "".join(f"<br>{escape(under)}" for under in cell.lines)


def _output(shown: Picture) -> str:
    if not shown.output:
        return ""
    lines = escape("\n".join(shown.output))
    return f"<details><summary>Output, {words.plural(len(shown.output), 'line')}</summary><pre>{lines}</pre></details>"


def _decide(shown: Picture) -> str:
    commands = " or ".join(f"<code>{escape(command)}</code>" for command in shown.decide[:4])
    more = f" and {len(shown.decide) - 4} more" if len(shown.decide) > 4 else ""
    decide = f" To decide: {commands}{more}" if commands else ""
    return f'<p class="wb-t-now"><b>Saved picture, not live.</b>{decide}</p>'
