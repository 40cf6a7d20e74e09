"""The view of a team: facts of all of it, who asked whom as a graph, and each run as a row of a table.

Source: LOOK 3 (team), AGENTS 4 (13). A function of the runs' views and of the declared team.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.agents.team_graph import AT_WORK, Drawing, at_work, pending_in, places, share_of, standing, took
from workbench.agents.usage import no_usage, summed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.agents.agent import Agent
    from workbench.agents.team_graph import Member, Place
    from workbench.agents.views import ApprovalView, NowLine, RunView, Span, TeamRow, TeamView

__all__ = ["team_view"]


def team_view(members: Sequence[Member], agent: Agent | None, now: float) -> TeamView:
    """The whole view. `agent` is the outermost one with its declared team, where its code is here."""
    root = members[0].view
    top = places(members, agent)
    drawn = Drawing()
    slots = drawn.draw(top, 0, 0)
    views = [member.view for member in members]
    pending = pending_in(views)
    return {
        "kind": "team",
        "id": root["id"],
        "agent": root["agent"],
        "status": root["status"],
        "alive": root["alive"],
        "killed_by": root["killed_by"],
        "now": now,
        "request": root["request"],
        "began_at": root["began_at"],
        "ended_at": root["ended_at"],
        "agents": len({node["name"] for node in drawn.nodes if node["kind"] == "agent"}),
        "active": sum(1 for view in views if view["alive"] and view["status"] in AT_WORK),
        "usage": summed([view["usage"] for view in views]),
        "budget": root["budget"],
        "stages": root["stages"],
        "nodes": drawn.nodes,
        "edges": drawn.edges,
        "columns": 1 + max(node["column"] for node in drawn.nodes),
        "slots": slots,
        "rows": _rows(top),
        "pending": pending,
        "now_line": _now_line(members, pending),
        "actions": root["actions"],
    }


def _rows(place: Place, depth: int = 0, by: str = "") -> list[TeamRow]:
    """The table: each run with those below it, and each place that nobody has begun."""
    rows = [_row(place, depth, by, member.view) for member in place.members]
    rows += [{**_row(place, depth, by, view), "usage": share_of(view, place)} for view in place.taken_over]
    if not rows:
        rows.append(_row(place, depth, by, None))
    for below in place.below.values():
        rows += _rows(below, depth + 1, place.path[-1])
    return rows


def _row(place: Place, depth: int, by: str, view: RunView | None) -> TeamRow:
    status = "not started" if view is None else standing(view)
    return {
        "id": view["id"] if view is not None else "/".join(place.path),
        "node": "/".join(place.path),
        "depth": depth,
        "agent": place.path[-1],
        "called_by": by,
        "part": place.part,
        "status": status,
        "usage": view["usage"] if view is not None else no_usage(),
        "spans": _spans(view) if view is not None else [],
        "took": took([view]) if view is not None else None,
        "active": status in AT_WORK and depth > 0 and not any(at_work(below) for below in place.below.values()),
    }


def _spans(view: RunView) -> list[Span]:
    """One bar for a run, dashed since it waits for a person."""
    began, ended = view["began_at"], view["ended_at"]
    how = {"failed": "failed", "completed": "done", "cancelled": "cut"}.get(view["status"], "running")
    if not view["alive"]:
        return [{"began_at": began, "ended_at": view["killed_at"], "how": "cut"}]
    asked = [one["asked_at"] for one in pending_in([view])]
    if asked and ended is None:
        since = min(asked)
        return [
            {"began_at": began, "ended_at": since, "how": "done"},
            {"began_at": since, "ended_at": None, "how": "waiting"},
        ]
    return [{"began_at": began, "ended_at": ended, "how": how}]


def _now_line(members: Sequence[Member], pending: list[ApprovalView]) -> NowLine:
    root = members[0].view
    if pending and root["alive"]:
        who, tools = pending[0]["agent"], ", ".join(dict.fromkeys(one["tool"] for one in pending))
        one = len(pending) == 1
        strong = f"{who} waits for you:" if one else f"{len(pending)} approvals wait for you:"
        goes_on = f" {root['agent']} goes on when it is decided." if one and who != root["agent"] else ""
        return {
            "tone": "amber",
            "shape": "waiting",
            "strong": strong,
            "text": f"{tools}.{goes_on}",
            "action": "Show approval",
        }
    busy = [member.view for member in members if member.view["alive"] and member.view["status"] in AT_WORK]
    if root["alive"] and root["ended_at"] is None and len(busy) > 1:
        return {**busy[-1]["now_line"], "action": None}
    return root["now_line"]
