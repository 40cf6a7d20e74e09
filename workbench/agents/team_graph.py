"""The graph of a team: a place for each agent under whoever asks it, and for the tools that it called.

- What is declared has its place from the beginning, so nothing moves when somebody begins.
- One place stands for as many runs as were asked there, and stands as the most pressing of them.
- The active place is the innermost that is at work.

Source: LOOK 3 (team). A function of the runs' views and of the declared team.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.agents.delegates import MOVE
from workbench.agents.usage import no_usage, summed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.agents.agent import Agent
    from workbench.agents.views import ApprovalView, CallRow, RunView, TeamEdge, TeamNode, Usage

__all__ = [
    "AT_WORK", "Drawing", "Member", "Place", "at_work", "pending_in", "places", "share_of", "standing", "took",
]  # fmt: skip

TOOLS = 3
"""How many tools of one agent have a place; the last one stands for the rest."""
AT_WORK = frozenset(("queued", "running", "waiting"))
ORDER = ("waiting", "running", "queued", "killed", "failed", "cancelled", "completed")


@dataclass(frozen=True, slots=True)
class Member:
    """One run of a team: the agents from the outermost to its own, who asked for it, and its view."""

    path: tuple[str, ...]
    by: str | None
    view: RunView


@dataclass(slots=True)
class Place:
    """An agent's place: what is declared of it (`parts` are its tools that are no tools of its own), and its runs."""

    path: tuple[str, ...]
    part: str
    label: str
    tools: list[str]
    parts: frozenset[str] = frozenset()
    below: dict[str, Place] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)
    taken_over: list[RunView] = field(default_factory=list)


def places(members: Sequence[Member], agent: Agent | None) -> Place:
    """The outermost place with everybody seated. `agent` is the outermost one, where its code is here."""
    first = members[0].path
    top = _declared(agent, first, "", "") if agent is not None else Place(first, "", "", [])
    for member in members:
        _seat(top, member)
    top.part = "supervisor" if top.below else ""
    return top


def _declared(agent: Agent, path: tuple[str, ...], part: str, label: str) -> Place:
    """The place of an agent with those below it, by stage and then as declared."""
    others = {name for name, tool in agent.tools.items() if tool.part is not None}
    if agent.stages is not None:
        others.add(MOVE)
    place = Place(path, part, label, [name for name in agent.tools if name not in others], frozenset(others))
    order = agent.stages.names if agent.stages is not None else []
    parts = [tool.part for tool in agent.tools.values() if tool.part is not None]
    for one in sorted(parts, key=lambda part: order.index(part.stage) if part.stage in order else len(order)):
        name = one.agent.name
        if name not in path and name not in place.below:
            said = one.stage or ("takes over" if one.role == "takes over" else "")
            part = f"stage {one.stage}" if one.stage else one.role
            place.below[name] = _declared(one.agent, (*path, name), part, said)
    return place


def _seat(top: Place, member: Member) -> None:
    """Give a run its place, and whoever took it over."""
    place = top
    for depth, name in enumerate(member.path[1:], start=1):
        if name not in place.below:
            place.below[name] = Place(member.path[: depth + 1], "asked", "", [])
        place = place.below[name]
    place.members.append(member)
    for name in dict.fromkeys(row["who"] for row in member.view["rows"] if row["kind"] == "message"):
        if name not in ("you", member.view["agent"]):
            taker = place.below.setdefault(name, Place((*place.path, name), "takes over", "takes over", []))
            taker.taken_over.append(member.view)


class Drawing:
    """The places as nodes and edges of a grid."""

    def __init__(self) -> None:
        self.nodes: list[TeamNode] = []
        self.edges: list[TeamEdge] = []

    def draw(self, place: Place, column: int, slot: int) -> int:
        """Draw a place with everything right of it from `slot` on; gives how many slots that takes."""
        node = _node(place, column)
        self.nodes.append(node)
        used = 0
        for below in place.below.values():
            used += self.draw(below, column + 1, slot + used)
            self._join(node, below.path, below.label)
        used += self._draw_tools(node, place, column + 1, slot + used)
        used = max(used, 1)
        node["slot"] = slot + (used - 1) / 2
        return used

    def _draw_tools(self, node: TeamNode, place: Place, column: int, slot: int) -> int:
        calls = _calls_of(place)
        names = list(dict.fromkeys([*place.tools, *(call["tool"] for call in calls)]))
        shown = names if len(names) <= TOOLS else [*names[: TOOLS - 1], ""]
        for at, name in enumerate(shown):
            rest = names[TOOLS - 1 :]
            made = [call for call in calls if call["tool"] == name or (not name and call["tool"] in rest)]
            if made:
                tool = _tool_node(place, name or f"{len(rest)} more tools", made, column)
                tool["slot"] = float(slot + at)
                self.nodes.append(tool)
                busy = made[-1]["status"] in ("running", "waiting")
                self._edge(node["id"], tool["id"], "" if column > 2 else "calls tool", "active" if busy else "done")
        return len(shown)

    def _join(self, node: TeamNode, path: tuple[str, ...], label: str) -> None:
        target = next(one for one in self.nodes if one["id"] == "/".join(path))
        how = "open" if target["status"] == "not started" else "active" if target["status"] in AT_WORK else "done"
        self._edge(node["id"], target["id"], label, how)

    def _edge(self, source: str, target: str, label: str, how: str) -> None:
        self.edges.append({"source": source, "target": target, "label": label, "how": how})


def _node(place: Place, column: int) -> TeamNode:
    views = [member.view for member in place.members]
    status = _status(views, place.path[-1], place.taken_over)
    busy = status in AT_WORK and not any(at_work(below) for below in place.below.values())
    usage = summed([*(share_of(view, place) for view in views), *(share_of(view, place) for view in place.taken_over)])
    waits = [one["tool"] for one in pending_in(views)]
    return {
        "id": "/".join(place.path),
        "kind": "agent",
        "name": place.path[-1],
        "part": place.part,
        "status": status,
        "runs": [view["id"] for view in (*views, *place.taken_over)],
        "calls": len(_calls_of(place)),
        "usage": usage,
        "took": took(views),
        "waits_for": waits[0] if waits else None,
        "active": busy and column > 0,
        "column": column,
        "slot": 0.0,
    }


def _tool_node(place: Place, name: str, calls: list[CallRow], column: int) -> TeamNode:
    newest = calls[-1]
    pending = newest["approval"] is not None and newest["approval"]["status"] == "pending"
    return {
        "id": f"{'/'.join(place.path)}#{name}",
        "kind": "tool",
        "name": name,
        "part": "tool, needs approval" if any(call["approval"] is not None for call in calls) else "tool",
        "status": "pending" if pending else newest["status"],
        "runs": [],
        "calls": len(calls),
        "usage": no_usage(),
        "took": sum(call["took"] or 0.0 for call in calls),
        "waits_for": None,
        "active": False,
        "column": column,
        "slot": 0.0,
    }


def _status(views: Iterable[RunView], agent: str, taken_over: Iterable[RunView] = ()) -> str:
    """How a place stands: the most pressing of its runs."""
    found = {standing(view) for view in views} | {standing(view) for view in taken_over if view["holder"] == agent}
    if not found:
        return "completed" if list(taken_over) else "not started"
    return next((status for status in ORDER if status in found), "completed")


def standing(view: RunView) -> str:
    """The status of a run, or killed."""
    return view["status"] if view["alive"] else "killed"


def at_work(place: Place) -> bool:
    """Whether a run of the place is at work, or waits."""
    return _status([member.view for member in place.members], place.path[-1], place.taken_over) in AT_WORK


def _calls_of(place: Place) -> list[CallRow]:
    """The calls of tools of one's own that were made in a place, in the order of asking."""
    views = [*(member.view for member in place.members), *place.taken_over]
    return [call for view in views for call in _calls_in(view, place)]


def _calls_in(view: RunView, place: Place) -> list[CallRow]:
    turns = {row["turn"] for row in view["rows"] if row["kind"] == "message" and row["who"] == place.path[-1]}
    calls = [row for row in view["rows"] if row["kind"] == "call" and row["turn"] in turns]
    return [call for call in calls if not call["children"] and call["tool"] not in place.parts]


def share_of(view: RunView, place: Place) -> Usage:
    """What an agent used of a run; of one that was handed over only the turns and tokens are known apart."""
    agent = place.path[-1]
    turns = [row for row in view["rows"] if row["kind"] == "message" and row["who"] == agent and not row["streaming"]]
    if view["usage"]["model_calls"] <= len(turns):
        return view["usage"]
    tokens = [row["tokens"] for row in turns if row["tokens"] is not None]
    return {**no_usage(), "model_calls": len(turns), "input_tokens": sum(tokens) if tokens else None}


def pending_in(views: Iterable[RunView]) -> list[ApprovalView]:
    """What waits for a person, of the runs themselves, each once."""
    found: dict[str, ApprovalView] = {}
    for view in views:
        for row in view["rows"]:
            if row["kind"] == "call" and row["approval"] is not None and row["approval"]["status"] == "pending":
                found.setdefault(row["approval"]["id"], row["approval"])
    return list(found.values())


def took(views: Iterable[RunView]) -> float | None:
    """Seconds from the first beginning to the last end; None while one is at work, and for none."""
    ends = [(view["began_at"], view["ended_at"]) for view in views]
    if not ends or any(ended is None for _, ended in ends):
        return None
    return max(ended or 0.0 for _, ended in ends) - min(began for began, _ in ends)
