"""Comparisons: two runs beside each other, row by row, with what differs in words, arguments, results, tokens and cost.

A comparison follows both runs while they work. It is a table, a text, a picture and a window; nothing of it is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.compare_view import compare_view
from workbench.agents.run import Run
from workbench.errors import BadInput
from workbench.events import Shown
from workbench.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.agents.compare_view import CompareRow, CompareView, Half, Side

__all__ = ["Comparison", "compare"]

COLUMNS = ("step", "what", "differs", "a", "b")


def compare(a: Run, b: Run) -> Comparison:
    """Two runs beside each other. They may be of different agents, and still at work. Raises: BadInput."""
    for run in (a, b):
        if not isinstance(run, Run):
            raise BadInput(f"two runs are compared, found {run!r:.80}; bench.runs[id] gives the run of an id")
    return Comparison(a, b)


class Comparison(Shown):
    """Two runs, `a` and `b`. Shows itself in a cell; `table` has its rows, `view()` everything."""

    def __init__(self, a: Run, b: Run) -> None:
        self.a = a
        self.b = b

    @property
    def same(self) -> bool:
        """Whether both said, called, were given and were told the same; times and tokens make no difference."""
        return self.view()["differ"] == 0

    @property
    def table(self) -> Table:
        """The rows: `step` in each run, `what`, how it `differs` (empty when it does not), and the two in short."""
        return Table([_flat(row) for row in self.view()["rows"]], columns=COLUMNS)

    def view(self) -> CompareView:
        """The comparison as a person sees it."""
        return compare_view(self.a.view(), self.b.view())

    def source(self) -> Comparison:
        """The comparison is its own source."""
        return self

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after something of either run changed; gives the function that stops it."""
        stops = [run.subscribe(changed) for run in (self.a, self.b)]

        def stop_all() -> None:
            for stop in stops:
                stop()

        return stop_all

    async def command(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """A comparison changes nothing. Raises: BadInput."""
        raise BadInput(f"a comparison has no command {name!r}; the runs {self.a.id!r} and {self.b.id!r} have theirs")

    @property
    def gone(self) -> bool:
        """Whether the bench of a run is closed."""
        return self.a.gone or self.b.gone

    def __repr__(self) -> str:
        if self.gone:
            return f"<Comparison of {self.a.id} and {self.b.id}: its bench is closed>"
        view = self.view()
        line = view["now_line"]
        heads = [f"{letter}: {_said(side)}" for letter, side in (("a", view["a"]), ("b", view["b"]))]
        return "\n".join([*heads, f"{line['strong']} {line['text']}", repr(self.table)])


def _said(side: Side) -> str:
    usage = side["usage"]
    known = usage["input_tokens"] is not None or usage["output_tokens"] is not None
    tokens = (
        f"{(usage['input_tokens'] or 0) + (usage['output_tokens'] or 0):,} tokens" if known else "tokens not reported"
    )
    cost = usage["cost_microdollars"]
    price = "no price" if cost is None else f"${cost / 1_000_000:.3f}"
    shared = f" ({side['shared_turns']} shared)" if side["shared_turns"] else ""
    turns = f"{usage['model_calls']} turns{shared}" if usage["model_calls"] != 1 else f"1 turn{shared}"
    return f"{side['id']} of {side['agent']}, {side['status']}, {turns}, {tokens}, {price}"


def _flat(row: CompareRow) -> dict[str, Any]:
    steps = [half["id"] for half in (row["a"], row["b"]) if half is not None]
    differs = "" if row["how"] == "same" else _differs(row)
    return {
        "step": " / ".join(dict.fromkeys(steps)),
        "what": row["what"],
        "differs": differs,
        "a": _short(row["a"]),
        "b": _short(row["b"]),
    }


def _differs(row: CompareRow) -> str:
    if row["how"] != "changed":
        return row["how"]
    fields = [field["path"] or name for name in ("args", "result") for field in row[name]]
    return ", ".join(fields) or ("words" if row["kind"] == "message" else "outcome")


def _short(half: Half | None) -> str:
    if half is None:
        return ""
    if not half["tool"]:
        return half["text"]
    args = ", ".join(f"{name}={value!r}" for name, value in half["args"].items())
    ended = f" → {half['result']!r}" if half["status"] == "success" else f" {half['status']}"
    return f"{half['tool']}({args}){ended}"
