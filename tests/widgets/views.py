"""Views as a kernel would make them: a run that waits for an approval, an inbox, a process."""

from __future__ import annotations

from typing import Any

from workbench.agents.secret_texts import secret_places

__all__ = ["START", "action", "approval", "call", "comparison", "inbox", "message", "process", "run", "team"]

START = 1_795_960_951.0  # 29 Nov 2026, 14:02:31 UTC


def action(label: str, command: str, **args: Any) -> dict[str, Any]:
    return {"label": label, "command": command, "args": args, "enabled": True}


def span(began: float, ended: float | None, how: str) -> dict[str, Any]:
    return {"began_at": START + began, "ended_at": None if ended is None else START + ended, "how": how}


def message(who: str, text: str, turn: int = 0, **more: Any) -> dict[str, Any]:
    base = {"kind": "message", "id": f"m{turn}", "who": who, "turn": turn, "text": text, "tokens": None}
    return {**base, "streaming": False, "replayed": False, "spans": [], "took": None, **more}


def call(tool: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    base = {"kind": "call", "id": "t1.0", "turn": 1, "tool": tool, "args": args, "call_id": "x", "status": "success"}
    rest = {"note": "", "steps": [], "progress": [], "result": None, "error": None, "approval": None, "replayed": False}
    return {**base, **rest, "spans": [], "took": None, **more}


def approval(id: str = "ap-31", **more: Any) -> dict[str, Any]:
    base = {
        "id": id,
        "run": "run-7f3a",
        "key": "run:run-7f3a",
        "agent": "support",
        "tool": "cancel_order",
        "call": "t1.0",
    }
    said = {"sentence": "Cancels order A-1002.", "act": "Changes data.", "args": {"order_id": "A-1002"}, "schema": {}}
    when = {"asked_at": START + 5, "expires_at": None, "decided_at": None, "status": "pending"}
    by = {"decided_by": None, "via": None, "reason": None, "effective_args": None, "actions": []}
    view = {**base, **said, **when, **by, **more}
    return {"secret": secret_places(view["schema"], view["args"]), **view}


def run(**more: Any) -> dict[str, Any]:
    step = {"key": "k", "replayed": False, "ran_again": False}
    rows = [
        message("you", "Please refund A-1001 and cancel A-1002."),
        message("support", "I will look first.", 1, spans=[span(0.1, 1.9, "turn")], took=1.8),
        call(
            "refund_order",
            {"order_id": "A-1001"},
            result="rf_8812",
            spans=[span(2, 4, "done")],
            took=2.0,
            steps=[{**step, "name": "refund", "status": "success", "spans": [span(2, 4, "done")], "took": 1.9}],
        ),
        call(
            "cancel_order",
            {"order_id": "A-1002"},
            id="t1.1",
            status="waiting",
            approval=approval(),
            spans=[span(5, None, "waiting")],
        ),
    ]
    base = {"kind": "run", "id": "run-7f3a", "key": "run:run-7f3a", "agent": "support", "model": "offline"}
    now_line = {
        "tone": "amber",
        "shape": "waiting",
        "strong": "1 approval waits for you:",
        "text": "cancel_order.",
        "action": "Show approval",
    }
    return {
        **base,
        "status": "waiting",
        "alive": True,
        "killed_at": None,
        "killed_by": None,
        "elsewhere": None,
        "now": START + 15,
        "request": rows[0]["text"],
        "began_at": START,
        "ended_at": None,
        "lives": [{"epoch": 1, "began_at": START, "ended_at": None, "how": None, "by": None}],
        "usage": {
            "model_calls": 2,
            "input_tokens": 1284,
            "output_tokens": 212,
            "cost_microdollars": None,
            "unreported": 0,
            "unpriced": 2,
        },
        "budget": {"used": 1496, "limit": 20_000, "unit": "tokens"},
        "now_line": now_line,
        "rows": rows,
        "recovery": [],
        "output": ["payments: accepted"],
        "result": None,
        "error": None,
        "committed": 17,
        "uncommitted": 0,
        "actions": [action("Cancel", "cancel"), action("Kill", "kill")],
        **more,
    }


def inbox(**more: Any) -> dict[str, Any]:
    decided = approval("ap-27", status="rejected", decided_by="ana", via="cli", reason="wrong order", decided_at=START)
    line = {"tone": "amber", "shape": "waiting", "strong": "1 approval waits for you.", "text": "", "action": None}
    base = {"kind": "approvals", "now": START + 15, "pending": [approval()], "decided": [decided], "decided_total": 27}
    return {**base, "now_line": line, "actions": [], **more}


def process(**more: Any) -> dict[str, Any]:
    line = {"tone": "plain", "shape": "running", "strong": "Waiting for a message.", "text": "", "action": None}
    base = {"kind": "process", "name": "order", "key": "order:A-1001", "status": "running", "alive": True}
    rest = {"elsewhere": None, "now": START, "epoch": 3, "pending": 2, "next_wake": START + 3600, "error": None}
    state = {"state": {"status": "charged", "total": 70}, "changed": ["/total"], "committed": True}
    return {**base, **rest, **state, "now_line": line, "lives": [], "actions": [action("Kill", "kill")], **more}


def comparison(**more: Any) -> dict[str, Any]:
    """A comparison of two short runs, as `workbench.agents.compare_view` makes it."""
    usage = {
        "model_calls": 1,
        "input_tokens": 20,
        "output_tokens": 5,
        "cost_microdollars": None,
        "unreported": 0,
        "unpriced": 1,
    }
    side = {"agent": "support", "model": "offline", "status": "completed", "alive": True, "request": "Hi", "calls": 1}
    rest = {"elapsed": 3.0, "usage": usage, "shared_turns": 0, "fork": None, "result": "Done."}
    half = {"id": "t1.0", "text": "", "tool": "look_up", "args": {"pin": "••••••"}, "status": "success", "note": ""}
    ends = {"result": "paid", "error": "", "tokens": None, "took": 1.0, "shared": False, "spans": []}
    field = {"path": "", "how": "changed", "a": "paid", "b": "<b>lost</b>"}
    row = {"id": "r1", "kind": "call", "how": "changed", "what": "look_up", "pieces": [], "args": [], "result": [field]}
    return {
        "kind": "compare",
        "now": START,
        "a": {**side, **rest, "id": "run-1"},
        "b": {**side, **rest, "id": "run-2", "shared_turns": 1},
        "differ": 1,
        "now_line": {"tone": "plain", "shape": "changed", "strong": "1 of 1 row differs,", "text": "", "action": None},
        "rows": [{**row, "a": {**half, **ends}, "b": {**half, **ends, "result": "<b>lost</b>", "shared": True}}],
        **more,
    }


def team(**more: Any) -> dict[str, Any]:
    """A team of a supervisor and one that it asks, with another that has not begun."""
    usage = {
        "model_calls": 3,
        "input_tokens": 1_284,
        "output_tokens": 212,
        "cost_microdollars": 4_100,
        "unreported": 0,
        "unpriced": 0,
    }
    row = {"part": "supervisor", "called_by": "you", "usage": usage, "took": 15.0, "spans": []}
    rows = [
        {**row, "id": "run-7f3a", "agent": "editor", "status": "waiting"},
        {
            **row,
            "id": "run-91bc",
            "agent": "researcher",
            "status": "completed",
            "part": "stage 1",
            "called_by": "editor",
        },
        {**row, "id": "", "agent": "writer", "status": "not started", "part": "stage 2", "called_by": "", "took": None},
    ]
    line = {"tone": "amber", "shape": "waiting", "strong": "editor waits for you:", "text": "publish.", "action": None}
    return {
        "kind": "team",
        "id": "run-7f3a",
        "agent": "editor",
        "status": "waiting",
        "alive": True,
        "now": START + 15,
        "began_at": START,
        "ended_at": None,
        "usage": usage,
        "agents": 3,
        "active": 1,
        "budget": None,
        "stages": None,
        "pending": [],
        "now_line": line,
        "rows": rows,
        **more,
    }
