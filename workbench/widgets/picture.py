"""The picture: what a view says, as one heading, facts, one sentence and one table, before anything is drawn.

Made from a view of `workbench.agents.views`; what is unknown there is left out here. Every status is a word.
Knows nothing of HTML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.agents.questions import INPUT_REQUIRED
from workbench.agents.secret_texts import places_of_row
from workbench.widgets import words

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Bar", "Cell", "Picture", "Row", "picture"]

SCALES = (20, 40, 60, 120, 300, 600, 1200, 2400, 3600, 7200, 18_000, 36_000, 86_400)
OUTCOMES = {"waiting": "waiting for an approval"}


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of a table, maybe as code, with lines under it."""

    text: str
    code: bool = False
    after: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """A span as percentages of the time axis."""

    left: float
    width: float
    how: str


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells in the order of the columns, what it is, its status word, its bars."""

    cells: tuple[Cell, ...]
    kind: str = ""
    status: str = ""
    bars: tuple[Bar, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that a view says."""

    name: str
    id: str
    status: str
    shape: str
    at: float
    facts: list[tuple[str, str]]
    now: tuple[str, str]
    columns: tuple[str, ...]
    rows: list[Row]
    ticks: tuple[tuple[float, str], ...] = ()
    decide: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)


def picture(view: Mapping[str, Any]) -> Picture:
    """The picture of a run, the approvals, a process, a comparison or a team."""
    made = {"run": _run, "approvals": _approvals, "process": _process, "compare": _compare, "team": _team}
    return made[view["kind"]](view)


def _run(view: Mapping[str, Any]) -> Picture:
    usage, until = view["usage"], view["ended_at"] or view["now"]
    facts = [
        ("Elapsed", words.elapsed(until - view["began_at"])),
        ("Model calls", words.count(usage["model_calls"])),
        ("Tokens", words.tokens(usage)),
        ("Cost", words.spent(usage)),
    ]
    if fork := view.get("fork"):
        shared = words.plural(fork["saved"]["turns"], "turn")
        facts.append(("Forked from", f"{fork['of']} before {fork['before']}, {shared} shared"))
    if budget := view["budget"]:
        label = "Budget of the bench" if budget.get("of") == "bench" else "Budget"
        facts.append((label, f"{words.count(budget['used'])} of {words.count(budget['limit'])} {budget['unit']}"))
    if view.get("holder", view["agent"]) != view["agent"]:
        facts.append(("Now with", view["holder"]))
    if view.get("stages"):
        facts.append(("Stages", _stages(view["stages"])))
    pending = [row["approval"] for row in view["rows"] if row["kind"] == "call" and _waits(row["approval"])]
    status = view["status"] if view["alive"] or view["ended_at"] else f"{view['status']}, killed"
    if view["status"] == "waiting" and view["alive"] and pending:
        status = "waiting for an approval"
    decide = [line for approval in pending for line in _decide(approval)]
    if any(action["command"] == "extend" for action in view["actions"]):
        status = "waiting for a budget" if view["alive"] and not pending else status
        decide += [f'await bench.runs["{view["id"]}"].extend()', f"workbench extend {view['id']}"]
    if view["killed_at"] and not view["alive"]:
        decide.append(f'await bench.runs["{view["id"]}"].recover()')
    return Picture(
        name=view["agent"],
        id=view["id"],
        status=status,
        shape=view["status"] if view["alive"] or view["ended_at"] else "killed",
        at=view["now"],
        facts=facts,
        now=(view["now_line"]["strong"], view["now_line"]["text"]),
        columns=("At", "Who", "What", "Outcome", "Took"),
        rows=[_run_row(view, row, until) for row in view["rows"]],
        ticks=_ticks(_scale(until - view["began_at"])),
        decide=decide,
        output=view["output"],
    )


def _waits(approval: dict[str, Any] | None) -> bool:
    return approval is not None and approval["status"] == "pending"


def _decide(approval: dict[str, Any]) -> tuple[str, str]:
    id = approval["id"]
    if approval.get("asks") == INPUT_REQUIRED:
        return f'await bench.approvals.answer("{id}", …)', f"workbench answer {id} JSON"
    return f'await bench.approvals.approve("{id}")', f"workbench approve {id}"


def _run_row(view: Mapping[str, Any], row: dict[str, Any], until: float) -> Row:
    began = row["spans"][0]["began_at"] if row["spans"] else None
    at = Cell("" if began is None else words.elapsed(began - view["began_at"]))
    bars = _bars(view, row["spans"], until)
    if row["kind"] == "message":
        who = row.get("asker", "You") if row["who"] == "you" else row["who"]
        how = "replayed" if row["replayed"] else "still writing" if row["streaming"] else ""
        outcome = ", ".join(part for part in (how, row.get("note", "")) if part)
        cells = (
            at if began is not None else Cell("0:00"),
            Cell(who),
            Cell(row["text"]),
            Cell(outcome),
            Cell(words.took(row["took"])),
        )
        return Row(cells, kind="message", bars=bars)
    outcome = OUTCOMES.get(row["status"], row["status"]) + (f", {row['note']}" if row["note"] else "")
    cells = (at, Cell("tool"), _call(row), Cell(outcome), Cell(words.took(row["took"])))
    return Row(cells, kind="call", status=row["status"], bars=bars)


def _call(row: dict[str, Any]) -> Cell:
    lines = [
        ", ".join(
            [
                f"step {step['name']}: {step['status']}",
                *(["replayed"] if step["replayed"] else []),
                *(["ran again under the same key"] if step["ran_again"] else []),
                *([words.took(step["took"])] if step["took"] is not None else []),
            ]
        )
        for step in row["steps"]
    ]
    lines += [f"asked {child['agent']}, {child['id']}: {child['status']}" for child in row.get("children", ())]
    if (approval := row["approval"]) is not None and _waits(approval) and len(approval.get("chain", ())) > 2:
        asks = words.arguments(approval["args"], approval["secret"])
        lines.append(f"{' → '.join(approval['chain'])}({asks})")
    lines += [f"progress: {row['progress'][-1]}"] if row["progress"] else []
    if error := row["error"]:
        lines.append(f"{error.get('type', 'error')}: {error.get('message', '')}")
    after = f" → {words.short(row['result'])}" if row["status"] == "success" else ""
    return Cell(
        f"{row['tool']}({words.arguments(row['args'], places_of_row(row))})", code=True, after=after, lines=tuple(lines)
    )


def _bars(view: Mapping[str, Any], spans: list[dict[str, Any]], until: float) -> tuple[Bar, ...]:
    whole = _scale(until - view["began_at"])
    bars = []
    for span in spans:
        left = max(0.0, (span["began_at"] - view["began_at"]) / whole * 100)
        right = min(100.0, ((span["ended_at"] or until) - view["began_at"]) / whole * 100)
        bars.append(Bar(round(left, 2), round(max(0.5, right - left), 2), span["how"]))
    return tuple(bars)


def _scale(seconds: float) -> float:
    """The fixed scale that holds so many seconds."""
    return next((scale for scale in SCALES if seconds <= scale), seconds)


def _ticks(scale: float) -> tuple[tuple[float, str], ...]:
    return tuple((quarter * 25.0, words.elapsed(scale * quarter / 4) if quarter else "0") for quarter in range(5))


def _approvals(view: Mapping[str, Any]) -> Picture:
    pending, decided = view["pending"], view["decided"]
    return Picture(
        name="Approvals",
        id="",
        status=f"{len(pending)} pending",
        shape="pending" if pending else "completed",
        at=view["now"],
        facts=[
            ("Pending", words.count(len(pending))),
            ("Decided", words.count(view["decided_total"])),
            *(("Rule", rule["sentence"]) for rule in view.get("rules", ())),
        ],
        now=(view["now_line"]["strong"], view["now_line"]["text"]),
        columns=("Approval", "Asked by", "What", "Status", "When"),
        rows=[_approval_row(view, approval) for approval in [*pending, *decided]],
        decide=[line for approval in pending for line in _decide(approval)],
    )


def _approval_row(view: Mapping[str, Any], approval: dict[str, Any]) -> Row:
    if approval["status"] == "pending":
        status, when = "pending", f"asked {words.elapsed(view['now'] - approval['asked_at'])} ago"
        if approval["expires_at"] is not None:
            when += f", expires {words.moment(approval['expires_at'])}"
    else:
        status, when = _decision(approval), words.moment(approval["decided_at"] or approval["asked_at"])
    what = Cell(
        f"{approval['tool']}({words.arguments(approval['args'], approval['secret'])})",
        code=True,
        lines=tuple(filter(None, (" ".join(filter(None, (approval["sentence"], approval["act"]))), _why(approval)))),
    )
    askers = approval.get("chain", [approval["agent"], ""])[:-1]
    asked_by = Cell(f"{' → '.join(askers)}, {approval['run']}")
    return Row((Cell(approval["id"]), asked_by, what, Cell(status), Cell(when)), status=approval["status"])


def _why(approval: dict[str, Any]) -> str:
    """Why a person is asked, where somebody said."""
    message = approval.get("message", "")
    return f"Asked because: {message}" if message and approval.get("asks") != INPUT_REQUIRED else ""


def _decision(approval: dict[str, Any]) -> str:
    said: str = approval["status"]
    if approval.get("rule_id"):
        return f"{said} by the rule {approval['rule_id']}" + (f": {approval['reason']}" if approval["reason"] else "")
    if approval["decided_by"]:
        said += f" by {approval['decided_by']}"
    if approval["via"]:
        said += f", {approval['via']}"
    return said + (f": {approval['reason']}" if approval["reason"] else "")


def _process(view: Mapping[str, Any]) -> Picture:
    facts = [("Mailbox", words.plural(view["pending"], "message"))]
    if view["epoch"] is not None:
        facts.insert(0, ("Epoch", words.count(view["epoch"])))
    if view["next_wake"] is not None:
        facts.append(("Next wake", words.moment(view["next_wake"])))
    if view["elsewhere"]:
        facts.insert(0, ("Owner", view["elsewhere"]))
    if view.get("stages"):
        facts.append(("Stages", _stages(view["stages"])))
    state = view["state"]
    items = state.items() if isinstance(state, dict) else [("state", state)]
    changed = {path.split("/")[1] for path in view["changed"] if path.startswith("/")}
    rows = [
        Row((Cell(str(name)), Cell(words.short(value), code=True), Cell("changed" if str(name) in changed else "")))
        for name, value in items
    ]
    if error := view["error"]:
        rows.append(Row((Cell("error"), Cell(f"{error.get('type', '')}: {error.get('message', '')}"), Cell(""))))
    return Picture(
        name=view["name"],
        id=view["key"] or "",
        status=view["status"] + ("" if view["committed"] else ", not committed yet"),
        shape=view["status"],
        at=view["now"],
        facts=facts,
        now=(view["now_line"]["strong"], view["now_line"]["text"]),
        columns=("State", "Value", "Change"),
        rows=rows,
    )


def _team(view: Mapping[str, Any]) -> Picture:
    usage, until = view["usage"], view["ended_at"] or view["now"]
    facts = [
        ("Elapsed", words.elapsed(until - view["began_at"])),
        ("Agents", f"{words.count(view['agents'])}, {words.count(view['active'])} active"),
        ("Model calls", words.count(usage["model_calls"])),
        ("Tokens", words.tokens(usage)),
        ("Cost", words.spent(usage)),
    ]
    if budget := view["budget"]:
        said = f"{words.count(budget['used'])} of {words.count(budget['limit'])} {budget['unit']}"
        facts.append(("Budget of the whole team", said))
    if stages := view["stages"]:
        facts.append(("Stages", _stages(stages)))
    killed = not view["alive"] and not view["ended_at"]
    return Picture(
        name=f"Team of {view['agent']}",
        id=view["id"],
        status=f"{view['status']}, killed" if killed else view["status"],
        shape="killed" if killed else view["status"],
        at=view["now"],
        facts=facts,
        now=(view["now_line"]["strong"], view["now_line"]["text"]),
        columns=("Status", "Agent", "Called by", "Part", "Model calls", "Tokens", "Cost", "Took"),
        rows=[_team_row(row, until) for row in view["rows"]],
        decide=[line for approval in view["pending"] for line in _decide(approval)],
    )


def _team_row(row: Mapping[str, Any], until: float) -> Row:
    usage, begun = row["usage"], row["status"] != "not started"
    took = row["took"] if row["took"] is not None or not row["spans"] else until - row["spans"][0]["began_at"]
    cells = (
        Cell(row["status"]),
        Cell(row["agent"], lines=(row["id"],) if begun else ()),
        Cell(row["called_by"]),
        Cell(row["part"]),
        Cell(words.count(usage["model_calls"])),
        Cell(words.tokens(usage) if begun else ""),
        Cell(words.spent(usage) if begun else ""),
        Cell("" if took is None else words.elapsed(took)),
    )
    return Row(cells, status=row["status"])


def _stages(graph: Mapping[str, Any]) -> str:
    """Where it is, and which way it took: writing, after researching."""
    if graph["current"] is None:
        return f"{words.plural(len(graph['stages']), 'stage')}, not begun"
    return " → ".join(graph["path"])


def _compare(view: Mapping[str, Any]) -> Picture:
    a, b = view["a"], view["b"]
    asked = [
        words.count(side["usage"]["model_calls"]) + (f", {side['shared_turns']} shared" if side["shared_turns"] else "")
        for side in (a, b)
    ]
    facts = [
        (
            "Model calls",
            " | ".join(asked),
        ),
        ("Tool calls", f"{words.count(a['calls'])} | {words.count(b['calls'])}"),
        ("Tokens", f"{words.tokens(a['usage'])} | {words.tokens(b['usage'])}"),
        ("Cost", f"{words.spent(a['usage'])} | {words.spent(b['usage'])}"),
        ("Elapsed", f"{words.elapsed(a['elapsed'])} | {words.elapsed(b['elapsed'])}"),
    ]
    return Picture(
        name=f"{a['id']} and {b['id']}",
        id="",
        status="the same"
        if not view["differ"]
        else f"{words.plural(view['differ'], 'row')} of {len(view['rows'])} differ",
        shape="completed" if not view["differ"] else "edited",
        at=view["now"],
        facts=facts,
        now=(view["now_line"]["strong"], view["now_line"]["text"]),
        columns=("Step", f"A: {a['id']}", f"B: {b['id']}", "Differs"),
        rows=[_compare_row(row) for row in view["rows"]],
    )


def _compare_row(row: Mapping[str, Any]) -> Row:
    first, second = row["a"], row["b"]
    steps = dict.fromkeys(half["id"] for half in (first, second) if half is not None)
    halves = [Cell("") if half is None else _compare_half(half) for half in (first, second)]
    changed = [
        f"{field['path'] or name}: {words.short(field['a'])} → {words.short(field['b'])}"
        for name in ("args", "result")
        for field in row[name]
    ]
    return Row(
        (Cell(" / ".join(steps)), *halves, Cell("" if row["how"] == "same" else row["how"], lines=tuple(changed)))
    )


def _compare_half(half: Mapping[str, Any]) -> Cell:
    under = (*(["shared with the other run"] if half["shared"] else []),)
    if not half["tool"]:
        return Cell(half["text"], lines=under)
    ended = f" → {words.short(half['result'])}" if half["status"] == "success" else f" {half['status']}"
    said = (*([half["error"]] if half["error"] else []), *under)
    return Cell(f"{half['tool']}({words.arguments(half['args'])})", code=True, after=ended, lines=said)
