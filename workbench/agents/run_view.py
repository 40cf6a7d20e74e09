"""The view of a run, made from its facts. Source: LOOK 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.agents.budget_facts import nearest
from workbench.agents.nowline import EXTEND, now_line
from workbench.agents.recovery import recovery
from workbench.agents.transcript import rows
from workbench.agents.usage import no_usage, with_turn

if TYPE_CHECKING:
    from workbench.agents.facts import Facts
    from workbench.agents.views import Action, CallRow, Life, MessageRow, RunView, Usage

__all__ = ["run_view"]


def run_view(facts: Facts) -> RunView:
    """The whole view."""
    made = rows(facts)
    life = facts.lives[-1] if facts.lives else None
    fork = facts.message.get("fork")
    uncommitted = sum(1 for row in made if row["kind"] == "message" and row["streaming"] and row["text"])
    view: RunView = {
        "kind": "run",
        "id": facts.id,
        "key": facts.key,
        "agent": facts.agent,
        "holder": facts.holders()[-1],
        "stages": facts.stage_graph(),
        "model": fork["with"].get("model", facts.model) if fork else facts.model,
        "status": facts.status,
        "alive": facts.alive or facts.final,
        "killed_at": life.ended_at if life is not None and not facts.alive and not facts.final else None,
        "killed_by": facts.killed_by,
        "elsewhere": facts.elsewhere,
        "now": facts.now,
        "request": facts.message.get("text", ""),
        "began_at": facts.asked_at,
        "ended_at": facts.state.get("ended_at"),
        "lives": [_life(facts, index) for index in range(len(facts.lives))],
        "usage": _usage(facts),
        "budget": nearest(facts.accounts, facts.stop),
        "now_line": now_line(facts, made),
        "rows": made,
        "recovery": recovery(facts),
        "output": _printed(made),
        "result": facts.state["output"],
        "error": facts.state["error"],
        "committed": 1 + len(facts.records) + (1 if facts.final else 0),
        "uncommitted": uncommitted,
        "actions": _actions(facts),
    }
    if fork:
        view["fork"] = fork
    return view


def _printed(rows: list[MessageRow | CallRow]) -> list[str]:
    """The lines that the tools of the run printed, each call by its name where several did."""
    texts = [(row["tool"], row["stdout"]) for row in rows if row["kind"] == "call" and row.get("stdout")]
    return [
        f"{tool}: {line}" if len(texts) > 1 else line for tool, text in texts for line in text.rstrip("\n").split("\n")
    ]


def _life(facts: Facts, index: int) -> Life:
    life = facts.lives[index]
    return {"epoch": life.epoch, "began_at": life.began_at, "ended_at": life.ended_at, "how": life.how, "by": life.by}


def _usage(facts: Facts) -> Usage:
    usage = no_usage()
    for _, _, turn in facts.turns():
        usage = with_turn(usage, turn)
    return usage


def _actions(facts: Facts) -> list[Action]:
    here = facts.alive and not facts.final and facts.elsewhere is None
    actions: list[Action] = [
        {"label": "Cancel", "command": "cancel", "args": {}, "enabled": not facts.final},
        {"label": "Kill", "command": "kill", "args": {}, "enabled": here},
    ]
    if (stop := facts.stop) is not None:
        nths = [{"nth": 1 + account["extensions"]} for account in facts.accounts if account["of"] == stop["of"]]
        actions.append({"label": EXTEND, "command": "extend", "args": nths[0] if nths else {}, "enabled": True})
    if not facts.alive and not facts.final:
        actions.append({"label": "Recover", "command": "recover", "args": {}, "enabled": True})
    return [] if facts.final else actions
