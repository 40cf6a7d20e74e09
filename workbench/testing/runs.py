"""Runs under test: a team whose models are scripted, people whose decisions are, and what the calls of a run came to.

- A script is found by the agent and by what it was asked, so an agent that is asked for several things plays each.
- A question that no decision is scripted for, or a decision that nobody asks for, fails the test at once and by name.

What `run.to_test()` writes is made of these. Knows nothing of pytest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.agents.as_test import call_outcomes
from workbench.errors import ModelFailed
from workbench.models.messages import user_text
from workbench.models.script import ScriptedTurn, scripted

if TYPE_CHECKING:
    from workbench.agents.agent import Agent
    from workbench.agents.run import Run
    from workbench.bench import Workbench
    from workbench.models.model import Request, Turn

__all__ = ["call_outcomes", "decided", "scripted_team"]

Decision = tuple[str, Mapping[str, Any]]


class _ByRequest:
    """A model that plays the script of what it was asked."""

    name = "scripted"

    def __init__(self, agent: str, scripts: Mapping[str, Sequence[ScriptedTurn]]) -> None:
        self._agent = agent
        self._scripts = {asked: scripted(*turns) for asked, turns in scripts.items()}

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        asked = next((text for message in request.history if (text := user_text(message)) is not None), "")
        if asked not in self._scripts:
            raise ModelFailed(
                f"agent {self._agent!r} is asked {asked!r}, and its scripts are for {list(self._scripts)}; add one",
                kind="script",
                retryable=False,
                status=None,
            )
        return await self._scripts[asked].ask(request, on_text)


def scripted_team(agent: Agent, scripts: Mapping[str, Mapping[str, Sequence[ScriptedTurn]]]) -> list[Agent]:
    """The agent and those of its team with scripted models: `{agent: {what it is asked: its turns}}`.

    An agent without a script keeps its place and fails when it is asked.
    """
    team = [agent, *agent.team.values()]
    return [one.but(model=_ByRequest(one.name, scripts.get(one.name, {}))) for one in team]


async def decided(bench: Workbench, run: Run, decisions: Mapping[str, Sequence[Decision]]) -> Run:
    """The run at its end, with each of its questions decided as scripted.

    A decision is a verb of the inbox with its arguments: `("approve", {})`, `("edit", {"args": {…}})`,
    `("reject", {"reason": "…"})`, `("answer", {"value": …})`, `("dismiss", {})`. They are found by call: `t1.0`, or
    `t2.0/t1.0` for one of a run that the call `t2.0` asked. Raises: AssertionError for a question that is not
    scripted, or a decision that nobody asked for.
    """
    inside = f"{run.id}/"
    left = {call: list(each) for call, each in decisions.items()}
    changed = asyncio.Event()
    stop = run.subscribe(changed.set)
    try:
        while not run.ended:
            for approval in bench.approvals.pending():
                call = f"{approval.run}/{approval.call}".removeprefix(inside)
                if f"{approval.run}/{approval.call}" == call:
                    continue  # of a run that has nothing to do with this one
                if not left.get(call):
                    raise AssertionError(f"call {call!r} asks for a decision that is not scripted: {approval.sentence}")
                verb, args = left[call].pop(0)
                await bench.approvals.command(verb, {"id": approval.id, **args})
            await changed.wait()
            changed.clear()
    finally:
        stop()
    if unasked := sorted(call for call, each in left.items() if each):
        raise AssertionError(f"run {run.id!r} is {run.status} and never asked for the decisions of {unasked}")
    return run
