"""What Recover will do: a run that is not alive, told from its journal before anyone presses the button.

Groups in the order of LOOK 3 (killed and recovered): replayed, runs again, interrupted, still waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.agents.calls import OUTCOME, branch_of
from workbench.agents.facts import call_of
from workbench.agents.gate import INTENT
from workbench.durable.keys import step_key
from workbench.plain import decode

if TYPE_CHECKING:
    from workbench.agents.facts import Facts
    from workbench.agents.views import RecoveryGroup, RecoveryPart

__all__ = ["recovery", "sentence"]


def recovery(facts: Facts) -> list[RecoveryGroup]:
    """The groups that are not empty; none for a run that is alive or over."""
    if facts.alive or facts.final:
        return []
    groups: dict[str, list[RecoveryPart]] = {"replayed": [], "runs again": [], "interrupted": [], "still waits": []}
    turns = facts.turns()
    replayed = len(turns)
    if turns:
        groups["replayed"].append(_turns(len(turns), sum(turn.tokens or 0 for _, _, turn in turns)))
    for number, _, turn in turns:
        for position, call in enumerate(turn.calls):
            replayed += _call(facts, branch_of(number, position), call.tool, groups)
    counts = {name: len(parts) for name, parts in groups.items()} | {"replayed": replayed}
    return [{"group": name, "count": counts[name], "parts": parts} for name, parts in groups.items() if parts]


def sentence(groups: list[RecoveryGroup]) -> str:
    """What Recover does, in one sentence."""
    counts = {group["group"]: group["count"] for group in groups}
    parts = []
    if counts.get("replayed"):
        parts.append(f"replays {_plural(counts['replayed'], 'record')}")
    if counts.get("runs again"):
        parts.append(f"runs {_plural(counts['runs again'], 'step')} again")
    if counts.get("interrupted"):
        parts.append(f"tells the model about {_plural(counts['interrupted'], 'call')}")
    if counts.get("still waits"):
        parts.append(f"asks about {_plural(counts['still waits'], 'approval')} as before")
    if not parts:
        return "Recover starts it from its first message."
    return "Recover " + (parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}") + "."


def _turns(number: int, tokens: int) -> RecoveryPart:
    part = "model turn 1" if number == 1 else f"model turns 1 to {number}"
    has = "its answer" if number == 1 else f"{number} answers"
    uses = "uses the answer" if number == 1 else "uses the answers"
    return {"part": part, "has": f"{has}, {tokens:,} tokens" if tokens else has, "does": f"{uses}, calls no model"}


def _call(facts: Facts, branch: str, tool: str, groups: dict[str, list[RecoveryPart]]) -> int:
    """Put the parts of one call where they belong; gives how many records it replays."""
    records = facts.on(branch)
    names = {record.name: record for record in records if record.branch == branch}
    if OUTCOME in names:
        groups["replayed"].append({"part": tool, "has": "its result", "does": "uses the result"})
        return 1
    steps = [record for record in records if not record.name.startswith("@")]
    for record in steps:
        groups["replayed"].append(
            {"part": f"{tool} step {record.name}", "has": "its result", "does": "uses the result, repeats no effect"}
        )
    request = facts.request(branch)
    if request is not None and request.status == "pending":
        groups["still waits"].append({"part": tool, "has": "request, pending", "does": "asks you, as before"})
    elif INTENT not in names:
        groups["runs again"].append({"part": tool, "has": "asked for, not begun", "does": "runs it"})
    elif decode(names[INTENT].payload)["again"]:
        groups["runs again"].append(_again(facts, branch, tool))
    else:
        groups["interrupted"].append(
            {
                "part": f"{tool}, not idempotent",
                "has": "intent, no result",
                "does": "tells the model: it may have happened",
            }
        )
    return len(steps)


def _again(facts: Facts, branch: str, tool: str) -> RecoveryPart:
    cut = min((at for at in facts.cut if call_of(at.branch) == branch and not at.name.startswith("@")), default=None)
    if cut is not None:
        key = step_key(facts.key, facts.origin, cut.branch, cut.name, cut.occurrence)
        return {
            "part": f"{tool} step {cut.name}",
            "has": "started, no result",
            "does": f"runs it with key …{key[-24:]}",
        }
    return {"part": tool, "has": "started, no result", "does": "runs what has no result, under the same keys"}


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
