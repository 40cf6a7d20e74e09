"""Tool calls: from what a model asked for to what it is told, once, whatever happens in between.

- Each call is a branch, `t<turn>.<position>`: intent, the tool's own steps, outcome. The model's ids and arguments
  make no key.
- Every call passes the gate (`workbench.agents.gate`) before it runs.
- The intent is journaled before the tool runs. A call found with an intent and no outcome is run again only if its
  tool says that it may be; otherwise it is `interrupted`, and the model is told that it may or may not have happened.
- Whatever comes of a call is an outcome, never the end of the run.

Source: DESIGN rules 8 and 12, AGENTS 1.2, CASES 10, 16, 49, u28, u34, u35, u48.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from workbench.agents.execution import ASKS, Execution
from workbench.agents.gate import INTENT, Gate, Permit
from workbench.agents.inquiry import rests_at_a_question
from workbench.agents.outcomes import error_of, outcome, told
from workbench.agents.secret_texts import places_of_call, secret_places, secret_texts, secret_texts_of_raw, without
from workbench.errors import BadInput
from workbench.models.messages import ToolResult, calls_of
from workbench.plain import decode

if TYPE_CHECKING:
    from workbench.agents.budget_spending import Spending
    from workbench.agents.context import Stopped
    from workbench.agents.live import Live
    from workbench.agents.studio import Assignment, Studio
    from workbench.agents.tools import Tool
    from workbench.durable.context import DurableContext
    from workbench.models.messages import Call
    from workbench.store.journal import StepRecord

__all__ = ["DEMAND", "OUTCOME", "ToolCalls", "branch_of", "with_places"]

OUTCOME = "@outcome"
DEMAND = "@demand"  # a tool that began wants a person's yes
INTERRUPTED = "This call was interrupted. It may or may not have happened. Look before you repeat it, or ask."


def branch_of(turn: int, position: int) -> str:
    """The branch of a call, which is also its id within the run."""
    return f"t{turn}.{position}"


def calls_done(
    records: Sequence[StepRecord], messages: Sequence[dict[str, Any]]
) -> Callable[[int, int], ToolResult | None]:
    """What came of each call of a run by turn and position, by its journal; None where nothing did."""
    outcomes = {record.branch: record.payload for record in records if record.name == OUTCOME}

    def done(turn: int, position: int) -> ToolResult | None:
        text = outcomes.get(branch_of(turn, position))
        if text is None:
            return None
        call = calls_of(messages[-1])[position]
        ended = decode(text)
        return ToolResult(call.id, call.tool, told(ended), ended["status"])

    return done


class ToolCalls:
    """Carries out the calls of one message of one run. `moved(branch, status)` hears where each call stands."""

    def __init__(
        self,
        context: DurableContext[Any, Any],
        studio: Studio,
        assignment: Assignment,
        live: Live,
        *,
        stopped: Stopped,
        moved: Callable[[str, str], None],
        spending: Spending | None = None,
    ) -> None:
        self._context = context
        self._studio = studio
        self._assignment = assignment
        self._agent = assignment.agent
        self._gate = Gate(context, studio, assignment, moved)
        self._execution = Execution(context, studio, assignment, live, stopped=stopped, moved=moved, spending=spending)
        self._moved = moved
        self._spending = spending
        self._handed: dict[int, dict[str, str]] = {}

    @property
    def handed(self) -> dict[str, str] | None:
        """Who takes the run over, and with which message, by the calls of the last turn: the first of them decides."""
        return self._handed[min(self._handed)] if self._handed else None

    async def carry_out(self, turn: int, calls: list[Call], but: Collection[int] = ()) -> list[ToolResult]:
        """What came of the calls of a turn, in their order; they run at once, each on its branch.

        Those at the positions `but` are left to others.
        """
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(
                    self._on_branch(turn, position, call),
                    name=f"{self._assignment.run} {branch_of(turn, position)} {call.tool}",
                )
                for position, call in enumerate(calls)
                if position not in but
            ]
        return [task.result() for task in tasks]

    async def _on_branch(self, turn: int, position: int, call: Call) -> ToolResult:
        branch = branch_of(turn, position)
        async with self._context.branch(branch):
            outcome = self._context.concluded(OUTCOME)
            if outcome is None:
                outcome = await self._settle(branch, call)
            if "handed" in outcome:
                self._handed[position] = outcome["handed"]
            self._moved(branch, outcome["status"])
            return ToolResult(call.id, call.tool, told(outcome), outcome["status"])

    async def _settle(self, branch: str, call: Call) -> dict[str, Any]:
        done = self._context.recorded()
        checked = self._checked(call)
        if isinstance(checked, dict):  # what was begun by earlier code may have happened
            return await self._conclude(outcome("interrupted", content=INTERRUPTED) if INTENT in done else checked)
        tool, args = checked
        permit = await self._gate.permit(tool, args, branch, done)
        if isinstance(permit, dict):
            return await self._conclude(with_places(permit, tool, args))
        if self._spending is not None:
            await self._spending.before_call(branch, self._moved)
        self._moved(branch, "running")
        if DEMAND not in done:
            made = await self._begun(branch, tool, permit)
            if made["status"] != ASKS:
                return await self._conclude(made)
            reason = made["content"]
        else:
            args = (await self._intent(tool, permit.args))[0]["args"]
            self._context.conclude()  # what the tool did before it asked is done, and is not done again
            reason = ""
        return await self._conclude(await self._demanded(branch, tool, args, reason))

    async def _demanded(self, branch: str, tool: Tool, args: dict[str, Any], reason: str) -> dict[str, Any]:
        """The outcome of a call whose tool began, and then wanted a person's yes: it runs again once there is one."""
        reason = await self._context.step(DEMAND, _immediate(lambda: reason))
        permit = await self._gate.demand(tool, args, branch, reason)
        if isinstance(permit, dict):
            return permit
        self._moved(branch, "running")
        async with self._context.branch("approved"):
            return await self._begun(branch, tool, permit)

    async def _begun(self, branch: str, tool: Tool, permit: Permit) -> dict[str, Any]:
        """The outcome of a tool, its intent in the journal; one that was there before goes on if it may."""
        intent, fresh = await self._intent(tool, permit.args)
        if not fresh and not intent["again"] and not await rests_at_a_question(self._context, self._studio, branch):
            return outcome("interrupted", content=INTERRUPTED, note=permit.note)
        return await self._execution.run(tool, intent["args"], branch, note=permit.note, approved=permit.approved)

    async def _intent(self, tool: Tool, args: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        """What is meant to be run, by the journal, and whether that is new there."""
        fresh = False

        def intend() -> dict[str, Any]:
            nonlocal fresh
            fresh = True
            again = tool.idempotent or tool.read_only
            return {"tool": tool.name, "args": args, "again": again, "secret": secret_places(tool.parameters, args)}

        return await self._context.step(INTENT, _immediate(intend)), fresh

    def _checked(self, call: Call) -> tuple[Tool, dict[str, Any]] | dict[str, Any]:
        """The tool and the arguments of a call that can be carried out, else the outcome of one that cannot."""
        tool = self._agent.tools.get(call.tool)
        if tool is None:
            answering = [] if self._agent.output is None else [self._agent.output.spec.name]
            known = ", ".join([*self._agent.tools, *answering]) or "none"
            words = f"{call.tool!r} does not exist, available: {known}"
            return outcome("retried", error=error_of("UnknownTool", words))
        if call.args is None:
            words = without(f"{call.error}; send a JSON object", secret_texts_of_raw(tool.parameters, call.raw))
            return with_places(outcome("retried", error=error_of("BadArguments", words)), tool, None)
        try:
            tool.validate(call.args)
        except BadInput as error:
            words = without(str(error), secret_texts(tool.parameters, call.args))
            return with_places(outcome("retried", error=error_of("BadArguments", words)), tool, call.args)
        return tool, call.args

    async def _conclude(self, outcome: dict[str, Any]) -> dict[str, Any]:
        if outcome["status"] != "success":  # a call that did not come to its end asks for no more steps
            self._context.conclude()
        recorded: dict[str, Any] = await self._context.step(OUTCOME, _immediate(lambda: outcome))
        return recorded


def with_places(made: dict[str, Any], tool: Tool, args: dict[str, Any] | None) -> dict[str, Any]:
    """An outcome without an intent, with the places of the arguments that are shown to nobody."""
    places = places_of_call(tool.parameters, args)
    return {**made, "secret": places} if places else made


def _immediate(function: Callable[[], Any]) -> Callable[[], Any]:
    """A step function that runs on the loop: it computes nothing that takes time."""

    async def run() -> Any:
        return function()

    return run
