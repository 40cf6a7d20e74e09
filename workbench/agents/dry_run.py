"""The dry run: which past calls a policy would have stopped, told from the journal. Nothing runs and nothing changes.

A call is judged by the arguments that its model sent, as its gate would have been; what the tool says of itself is what
it says here today, and where it is not here a rule that wants to know cannot be decided, so it asks.

Source: AGENTS 4 (9). Knows nothing of rules in force.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.calls import OUTCOME, branch_of
from workbench.agents.gate import INTENT
from workbench.agents.loop import TURN
from workbench.agents.policy import Policy, Proposal
from workbench.agents.secret_texts import DOTS, masked, secret_places
from workbench.agents.stored import AGENT
from workbench.errors import BadInput, ToolArgumentsInvalid
from workbench.models.model import Turn
from workbench.plain import decode
from workbench.table import Table

if TYPE_CHECKING:
    from workbench.agents.agent import Agent
    from workbench.durable.runtime import Runtime
    from workbench.models.messages import Call
    from workbench.store.glance import Entry

__all__ = ["dry_run"]

COLUMNS = ("run", "agent", "tool", "args", "outcome", "verdict", "rule", "why")


async def dry_run(
    runtime: Runtime, agents: Mapping[str, Agent], policy_for: Callable[[str], Policy], *, every: bool
) -> Table:
    """A row for each past call that the policy of its run would have asked about or denied; with `every`, for all.

    `verdict` is allow, ask, deny, or "the tool decides" where no rule applies.
    """
    rows: list[dict[str, Any]] = []
    for info in await runtime.store.keys():
        if info.definition.startswith(AGENT):
            name = info.definition.removeprefix(AGENT)
            run = str(decode(info.args)["id"])
            policy, calls = policy_for(run), _calls(await runtime.store.history(info.key))
            for call in calls:
                judged = _judged(run, name, call, agents, policy)
                rows.append({"run": run, "agent": name, **call, "args": _shown(name, call, agents), **judged})
            await asyncio.sleep(0)  # the loop is the kernel's
    return Table([row for row in rows if every or row["verdict"] in ("ask", "deny")], columns=COLUMNS)


def _calls(entries: list[Entry]) -> Iterator[dict[str, Any]]:
    """The calls of a run with what came of them, in the order in which its model asked."""
    steps = [entry.step for entry in entries if entry.step is not None and entry.step.kind == "step"]
    outcomes = {step.branch: step.payload for step in steps if step.name == OUTCOME}
    meant = {step.branch: decode(step.payload) for step in steps if step.name == INTENT}
    for step in steps:
        if step.branch == "" and step.name == TURN:
            for position, call in enumerate(_asked(step.payload)):
                branch = branch_of(step.occurrence + 1, position)
                outcome = decode(outcomes[branch])["status"] if branch in outcomes else "open"
                what = {"call": branch, "tool": call.tool, "args": call.args, "outcome": outcome, "at": step.began_at}
                yield {**what, "secret": meant.get(branch, {}).get("secret", [])}


def _asked(text: str) -> list[Call]:
    """The calls of a turn's record; none when the row was changed by hand into none of a turn."""
    try:
        return Turn.from_plain(decode(text)).calls
    except (ValueError, TypeError, KeyError, AttributeError):
        return []


def _shown(agent: str, call: Mapping[str, Any], agents: Mapping[str, Agent]) -> dict[str, Any] | None:
    """The arguments, without what was marked as secret when it ran, or what its tool here marks so."""
    known = agents.get(agent)
    tool = known.tools.get(call["tool"]) if known is not None else None
    places = [] if tool is None else secret_places(tool.parameters, call["args"])
    shown: dict[str, Any] | None = masked(call["args"], [*call["secret"], *places], DOTS)
    return shown


def _judged(
    run: str, agent: str, call: Mapping[str, Any], agents: Mapping[str, Agent], policy: Policy
) -> dict[str, Any]:
    known = agents.get(agent)
    tool = known.tools.get(call["tool"]) if known is not None else None
    if call["args"] is None:
        return {"verdict": "not carried out", "rule": None, "why": "the model sent no arguments that could be read"}
    try:
        verdict = policy.decide(Proposal.of(run, agent, call["tool"], call["args"], tool))
    except (ToolArgumentsInvalid, BadInput) as error:
        return {"verdict": "not carried out", "rule": None, "why": str(error)}
    if verdict is None:
        return {"verdict": "the tool decides", "rule": None, "why": ""}
    return {"verdict": verdict.action, "rule": verdict.rule.id, "why": verdict.why or verdict.rule.sentence}
