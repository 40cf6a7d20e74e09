"""Instructions: what an agent's model is told first, a text or a function of the run.

- A function is called once when its agent takes a run up, before its first turn, and what it said is in the journal: a
  replay, and every later turn, sees the same.
- A text is no step: it is read from the agent in every life.

Source: DESIGN rule 8. Knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.durable.functions import call_with_key
from workbench.errors import BadInput, RunFailed

if TYPE_CHECKING:
    from workbench.agents.context import Principal
    from workbench.agents.studio import Assignment
    from workbench.durable.context import DurableContext

__all__ = ["INSTRUCTIONS", "Instructions", "RunInfo", "instructions_of"]

INSTRUCTIONS = "@instructions"


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What instructions may depend on: the run, what was asked, by whom, where and when (UTC seconds)."""

    id: str
    agent: str
    request: str
    principal: Principal
    conversation: str
    asked_at: float


Instructions: TypeAlias = str | Callable[[RunInfo], "str | Awaitable[str]"] | None


async def instructions_of(
    context: DurableContext[Any, Any], assignment: Assignment, request: str, *, begun: bool
) -> str | None:
    """The instructions of the agent that has the run, for `request`; the same in every life of it.

    `begun` says whether the journal has turns of it already. Raises: RunFailed when the function fails.
    """
    given = assignment.agent.instructions
    name = f"{INSTRUCTIONS} {assignment.agent.name}"
    if name not in context.recorded():
        if not callable(given):
            return given
        if begun:  # the agent had a text then
            return await _made(context, assignment, request, given)

    async def make() -> str | None:
        return await _made(context, assignment, request, given)

    told: str | None = await context.step(name, make)
    return told


async def _made(context: DurableContext[Any, Any], assignment: Assignment, request: str, given: Any) -> str | None:
    """What the function says of the run; a plain one is called in a thread."""
    info = RunInfo(
        id=assignment.run,
        agent=assignment.agent.name,
        request=request,
        principal=assignment.principal,
        conversation=assignment.conversation,
        asked_at=float(assignment.message.get("at", 0.0)),
    )
    whose = f"the instructions of agent {info.agent!r} for run {info.id!r}"
    try:
        told = await call_with_key(lambda key: given(info), "", INSTRUCTIONS, context.pool, context.entered)
    except Exception as error:
        words = f"{whose} raised {type(error).__qualname__}: {error}; mend the function"
        raise RunFailed(words, run=info.id) from error
    if told is not None and type(told) is not str:
        raise BadInput(f"{whose} are {told!r:.80}; the function returns a text, or None for none")
    return told
