"""The gate: whether a call may run, waits for a person, or is refused. Code, before execution, that no model reaches.

- Who was asked decides; what was begun goes on; else the policy decides where a rule applies, else the tool.
- What the policy, or a tool's predicate, said is recorded before anything follows from it, so a replay decides the
  same. Where no rule speaks of a tool and its `approval` is plain True or False, there is nothing to record.
- A decision is good for the arguments that were shown, by their digest: for others, and for edited ones that the tool
  refuses now, a person is asked again.
- A run whose first message says so (`approvals`: decline) asks nobody: a call of it that needs a person is refused.
- A rule that denies beats a person who approves, until the call has begun.

Source: DESIGN rule 12, AGENTS 4 (approval record), CASES 16, 22, 25, u31, u34.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.outcomes import outcome
from workbench.agents.policy import Proposal
from workbench.agents.questions import tool_question
from workbench.agents.secret_texts import DOTS, masked, secret_places
from workbench.errors import ToolArgumentsInvalid
from workbench.plain import digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.agents.studio import Assignment, Studio
    from workbench.agents.tools import Tool
    from workbench.durable.context import DurableContext
    from workbench.durable.requests import Request

__all__ = ["APPROVAL", "DEMANDED", "GATE", "INTENT", "Gate", "Permit"]

APPROVAL, GATE, INTENT = "@approval", "@gate", "@intent"
DECLINE = "approvals=decline"  # the rule of a door that asks nobody
DEMANDED = "@demanded"  # the question of a tool that began before it wanted a yes


@dataclass(frozen=True, slots=True)
class Permit:
    """The call may run with these arguments; `note` says who let it, `approved` whether a person or a rule did."""

    args: dict[str, Any]
    note: str = ""
    approved: bool = False


class Gate:
    """The gate of one run. `moved(branch, status)` hears that a call waits for a person."""

    def __init__(
        self,
        context: DurableContext[Any, Any],
        studio: Studio,
        assignment: Assignment,
        moved: Callable[[str, str], None],
    ) -> None:
        self._context = context
        self._studio = studio
        self._assignment = assignment
        self._moved = moved

    async def permit(
        self, tool: Tool, args: dict[str, Any], branch: str, done: frozenset[str]
    ) -> Permit | dict[str, Any]:
        """The permit of a call, or the outcome of one that may not run. `done` are the steps recorded on its branch."""
        said = await self._said(tool, args, done)
        if said["action"] == "deny":
            return _denied(said["rule"], said["why"])
        if said["action"] == "allow":
            return _allowed(args, said["rule"])
        if self._declines(APPROVAL, done):
            return _declined()
        self._moved(branch, "waiting")
        granted = await self._asked(APPROVAL, tool, args, branch, said, begun=INTENT in done)
        if isinstance(granted, Permit) and INTENT not in done:
            refused = self._studio.rules.denies(self._proposal(tool, granted.args))
            if refused is not None:
                return _denied(refused.rule.id, refused.why)
        return granted

    async def demand(self, tool: Tool, args: dict[str, Any], branch: str, reason: str) -> Permit | dict[str, Any]:
        """As `permit`, for a tool that began and wants a person's yes, for that reason."""
        if self._declines(DEMANDED, self._context.recorded()):
            return _declined()
        self._moved(branch, "waiting")
        return await self._asked(DEMANDED, tool, args, branch, _plain("ask", why=reason), begun=True)

    def _declines(self, step: str, done: frozenset[str]) -> bool:
        """Whether nobody is to be asked, by the message that began the run; who was asked decides."""
        return self._assignment.declines and step not in done and not self._context.was_asked(step)

    async def _said(self, tool: Tool, args: dict[str, Any], done: frozenset[str]) -> dict[str, Any]:
        """What is to become of a call: its `action`, and by which rule and why where a rule said so."""
        was_asked = APPROVAL in done or self._context.was_asked(APPROVAL)
        if GATE in done:
            said = await self._recorded(tool, args)
        elif was_asked or INTENT in done:
            said = _plain("allow")
        elif not isinstance(tool.approval, bool) or self._speaks(tool):
            said = await self._recorded(tool, args)
        else:
            said = _plain("ask" if tool.approval else "allow")
        return {**said, "action": "ask"} if was_asked else said

    async def _recorded(self, tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
        async def decide() -> Any:
            verdict = await self._studio.rules.decide(self._proposal(tool, args)) if self._speaks(tool) else None
            if verdict is None:
                return tool.needs_approval(args)
            said = _plain(verdict.action, verdict.rule.id, verdict.why)
            return said if verdict.rule.expires is None else {**said, "expires": verdict.rule.expires}

        said = await self._context.step(GATE, decide)
        return said if isinstance(said, dict) else _plain("ask" if said else "allow")

    def _speaks(self, tool: Tool) -> bool:
        return self._studio.rules.speaks_of(self._assignment.run, self._assignment.agent.name, tool)

    def _proposal(self, tool: Tool, args: dict[str, Any]) -> Proposal:
        return Proposal.of(self._assignment.run, self._assignment.agent.name, tool.name, args, tool)

    async def _asked(
        self, step: str, tool: Tool, args: dict[str, Any], branch: str, said: dict[str, Any], *, begun: bool
    ) -> Permit | dict[str, Any]:
        """What a person decided, asked again while the decision is not about arguments that can run."""
        message = said["why"]
        while True:
            question = self._question(tool, args, branch, said, message)
            request = await self._context.ask(step, question)
            if request.status not in ("approved", "edited"):
                return _refused(request)
            if begun:
                return _granted(request, args)
            message = _unfit(tool, request, args)
            if not message:
                return _granted(request, args)

    def _question(
        self, tool: Tool, args: dict[str, Any], branch: str, said: dict[str, Any], message: str
    ) -> dict[str, Any]:
        expires = said.get("expires", tool.expires)
        return tool_question(
            tool,
            args,
            run=self._assignment.run,
            agent=self._assignment.agent.name,
            call=branch,
            chain=self._assignment.chain,
            expires_at=None if expires is None else self._studio.clock.now() + expires,
            message=message,
            rule_id=said["rule"],
        )


def _plain(action: str, rule: str | None = None, why: str = "") -> dict[str, Any]:
    return {"action": action, "rule": rule, "why": why}


def _unfit(tool: Tool, request: Request, args: dict[str, Any]) -> str:
    """Why a decision cannot be carried out as it stands, or nothing when it can."""
    if request.status == "approved" and request.body.get("digest", digest(args)) != digest(args):
        return "The arguments are others than those that were approved."
    if request.status == "edited":
        try:
            tool.validate((request.decision or {}).get("args", {}))
        except ToolArgumentsInvalid as error:
            return f"The arguments that were edited cannot be used: {error}."
    return ""


def _granted(request: Request, args: dict[str, Any]) -> Permit:
    decision = request.decision or {}
    if request.status == "edited":
        edited, schema = decision["args"], request.body["schema"]
        was, now = (masked(each, secret_places(schema, each), DOTS) for each in (args, edited))
        return Permit(edited, f"A person changed the arguments from {was!r} to {now!r}.", approved=True)
    return Permit(args, f"approved by {_who(decision)}", approved=True)


def _allowed(args: dict[str, Any], rule: str | None) -> Permit:
    return Permit(args) if rule is None else Permit(args, f"allowed by the rule {rule}", approved=True)


def _who(decision: dict[str, Any]) -> str:
    rule = decision.get("rule_id")
    return str(decision.get("by")) if rule is None else f"the rule {rule}"


def _denied(rule: str | None, why: str) -> dict[str, Any]:
    """The outcome of a call that a rule keeps from running."""
    words = "The policy denies this call" + (f": {why}" if why else ".")
    return outcome("denied", content=words, note=f"denied by the rule {rule}" + (f": {why}" if why else ""))


def _declined() -> dict[str, Any]:
    """The outcome of a call that needs a person, in a run on whose behalf nobody is asked."""
    words = "This call needs a person's yes, and this run was begun where nobody is asked. Nothing was done."
    return outcome("denied", content=words, note=f"rejected by the rule {DECLINE}: nobody is asked on its behalf")


def _refused(request: Request) -> dict[str, Any]:
    """The outcome of a call that a decision keeps from running."""
    decision = request.decision or {}
    reason = decision.get("reason")
    match request.status:
        case "answered":
            return outcome("success", content=decision.get("value"), note=f"answered by {decision.get('by')}")
        case "rejected" if "rule_id" in decision:
            return _denied(decision["rule_id"], reason or "")
        case "rejected":
            words = "A person declined this call" + (f": {reason}" if reason else ".")
            return outcome(
                "denied", content=words, note=f"rejected by {_who(decision)}" + (f": {reason}" if reason else "")
            )
        case "expired":
            return outcome("denied", content="No decision in time. Nothing was done.", note="no decision in time")
        case other:
            return outcome("denied", content=f"The request was {other}. Nothing was done.", note=other)
