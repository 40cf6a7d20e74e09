"""The view of a comparison: two runs beside each other, row by row, from their views.

- A row is `same` only when what was said, called, given and decided is the same; times and tokens make no difference.
- Secret arguments are dots before they are compared, so a comparison tells nothing of them.
- Spans are seconds from the beginning of their own run, so both stand on one axis.

Source: LOOK 3 (Compare). Knows nothing of windows.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from workbench.agents.alignment import aligned
from workbench.agents.differences import Field, Piece, changed_fields, pieces
from workbench.agents.secret_texts import DOTS, masked, places_of_row

if TYPE_CHECKING:
    from workbench.agents.views import CallRow, MessageRow, NowLine, RunView, Span, Usage

__all__ = ["CompareRow", "CompareView", "Half", "Side", "compare_view"]

How = Literal["same", "changed", "only a", "only b"]


class Side(TypedDict):
    """One of the two runs. `own` is the usage without what it shares as a fork; `elapsed` is in seconds."""

    id: str
    agent: str
    model: str
    status: str
    alive: bool
    request: str
    elapsed: float
    usage: Usage
    shared_turns: int
    calls: int
    fork: dict[str, Any] | None
    result: Any


class Half(TypedDict):
    """One half of a row: `id` is the row of its run, `text` what was said; of a call also the rest."""

    id: str
    text: str
    tool: str
    args: dict[str, Any]
    status: str
    note: str
    result: Any
    error: str
    tokens: int | None
    took: float | None
    shared: bool
    spans: list[Span]


class CompareRow(TypedDict):
    """A row: `what` is who speaks or the tool; `pieces` are of the text, `args` and `result` the leaves that differ."""

    id: str
    kind: Literal["message", "call"]
    how: How
    what: str
    a: Half | None
    b: Half | None
    pieces: list[Piece]
    args: list[Field]
    result: list[Field]


class CompareView(TypedDict):
    """Two runs beside each other. `differ` counts the rows that are not the same."""

    kind: Literal["compare"]
    now: float
    a: Side
    b: Side
    differ: int
    now_line: NowLine
    rows: list[CompareRow]


def compare_view(a: RunView, b: RunView) -> CompareView:
    """The two runs beside each other."""
    rows = [_row(number, one, other, a, b) for number, (one, other) in enumerate(aligned(a["rows"], b["rows"]))]
    sides = _side(a), _side(b)
    return {
        "kind": "compare",
        "now": max(a["now"], b["now"]),
        "a": sides[0],
        "b": sides[1],
        "differ": sum(1 for row in rows if row["how"] != "same"),
        "now_line": _now_line(rows, *sides),
        "rows": rows,
    }


def _side(view: RunView) -> Side:
    fork = view.get("fork")
    return {
        "id": view["id"],
        "agent": view["agent"],
        "model": view["model"],
        "status": view["status"],
        "alive": view["alive"],
        "request": view["request"],
        "elapsed": (view["ended_at"] or view["now"]) - view["began_at"],
        "usage": view["usage"],
        "shared_turns": fork["saved"]["turns"] if fork else 0,
        "calls": sum(1 for row in view["rows"] if row["kind"] == "call"),
        "fork": fork,
        "result": view["result"],
    }


def _row(
    number: int, one: MessageRow | CallRow | None, other: MessageRow | CallRow | None, a: RunView, b: RunView
) -> CompareRow:
    first, second = _half(one, a), _half(other, b)
    row = one or other
    assert row is not None
    said: list[Piece] = []
    args: list[Field] = []
    result: list[Field] = []
    how: How = "same"
    if first is None or second is None:
        how = "only b" if first is None else "only a"
    elif row["kind"] == "message":
        said = pieces(first["text"], second["text"]) if first["text"] != second["text"] else []
        how = "changed" if said or _what(one) != _what(other) else "same"
    else:
        args = changed_fields(first["args"], second["args"])
        result = changed_fields(first["result"], second["result"])
        alike = all(first[name] == second[name] for name in ("tool", "status", "error"))
        how = "same" if alike and not args and not result else "changed"
    return {
        "id": f"r{number}",
        "kind": row["kind"],
        "how": how,
        "what": _what(one if one is not None else other),
        "a": first,
        "b": second,
        "pieces": said,
        "args": args,
        "result": result,
    }


def _what(row: MessageRow | CallRow | None) -> str:
    if row is None:
        return ""
    return row["tool"] if row["kind"] == "call" else "request" if row["who"] == "you" else "turn"


def _half(row: MessageRow | CallRow | None, view: RunView) -> Half | None:
    if row is None:
        return None
    spans: list[Span] = [
        {
            "began_at": span["began_at"] - view["began_at"],
            "ended_at": None if span["ended_at"] is None else span["ended_at"] - view["began_at"],
            "how": span["how"],
        }
        for span in row["spans"]
        if span["how"] != "replayed"
    ]
    fork = view.get("fork")
    half: Half = {
        "id": row["id"],
        "text": "",
        "tool": "",
        "args": {},
        "status": "",
        "note": "",
        "result": None,
        "error": "",
        "tokens": None,
        "took": row["took"],
        "shared": fork is not None and row["replayed"] and bool(row["spans"]) and _began(row) <= fork["at"],
        "spans": [] if row["id"] == "request" else spans,
    }
    if row["kind"] == "message":
        return {**half, "text": row["text"], "tokens": row["tokens"]}
    error = row["error"]
    return {
        **half,
        "tool": row["tool"],
        "args": _masked(row),
        "status": row["status"],
        "note": row["note"],
        "result": row["result"],
        "error": f"{error['type']}: {error['message']}" if error is not None else "",
    }


def _began(row: MessageRow | CallRow) -> float:
    return row["spans"][0]["began_at"]


def _masked(row: CallRow) -> dict[str, Any]:
    shown: dict[str, Any] = masked(row["args"], places_of_row(row), DOTS)
    return shown


def _now_line(rows: list[CompareRow], a: Side, b: Side) -> NowLine:
    counts = Counter(row["how"] for row in rows)
    differ = len(rows) - counts["same"]
    if not differ:
        return _line("completed", "The same in every row.", _ends(a, b))
    first = next(row for row in rows if row["how"] != "same")
    strong = f"{differ} of {_plural(len(rows), 'row')} {'differs' if differ == 1 else 'differ'},"
    return _line("changed", strong, f"from {_place(first)} on. {_ends(a, b)}")


def _place(row: CompareRow) -> str:
    half = row["a"] or row["b"]
    assert half is not None
    if row["what"] == "request":
        return "the request"
    return (
        f"{row['what']} {half['id'].removeprefix('turn-')}"
        if row["kind"] == "message"
        else f"{row['what']} ({half['id']})"
    )


def _ends(a: Side, b: Side) -> str:
    if a["status"] == b["status"]:
        return f"Both are {a['status']}."
    return f"{a['id']} is {a['status']}, {b['id']} is {b['status']}."


def _line(shape: str, strong: str, text: str) -> NowLine:
    return {"tone": "plain", "shape": shape, "strong": strong, "text": text, "action": None}


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
