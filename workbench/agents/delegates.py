"""Delegates: an agent as a tool of another, which asks it or hands the run over to it, and the tool that moves a stage.

The tools are `ask_<agent>` and `hand_off_to_<agent>`, with `_` for what a tool's name cannot have, and take one
`message` in words. They may be called again under the same call: the run that is asked is the same one.

Knows nothing of how a call is carried out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from workbench.agents.tools import Tool, as_tool
from workbench.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.agents.agent import Agent
    from workbench.agents.context import ToolContext
    from workbench.durable.stages import Stages

__all__ = ["MOVE", "Part", "delegate", "handoff", "mover", "parts"]

MOVE = "move_to"
"""The tool by which a model moves the stage of its run."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a tool has to do with an agent: it is asked, or takes over, in a stage of who asks if one is named."""

    agent: Agent
    role: Literal["asked", "takes over"]
    stage: str | None = None


def delegate(
    agent: Agent, name: str | None = None, description: str | None = None, stage: str | None = None, **policy: Any
) -> Tool:
    """The tool that asks `agent`, once its run is in `stage` if one is named; `policy` are the options of `as_tool`."""

    async def ask(message: str, ctx: ToolContext) -> Any:
        """Ask an agent.

        :param message: What it is to do, in words; it sees nothing else of this conversation.
        """
        if stage is not None:
            await ctx.move_to(stage)
        return await ctx.ask(agent.name, message)

    made = as_tool(
        ask,
        name=name or _tool_name("ask", agent),
        description=description or agent.description or f"Ask the agent {agent.name}, who answers in words.",
        **{"idempotent": True, "expose": False, **policy},
    )
    made.part = Part(agent, "asked", stage)
    return made


def handoff(agent: Agent, name: str | None = None, description: str | None = None, **policy: Any) -> Tool:
    """The tool that hands the run over to `agent`; `policy` are the options of `as_tool`."""

    async def hand_off(message: str, ctx: ToolContext) -> str:
        """Hand over.

        :param message: All that the next agent is to know and do, in words; it sees nothing else of this conversation.
        """
        ctx.hand_off(agent.name, message)
        return f"{agent.name} takes over"

    more = f" {agent.description}" if agent.description else ""
    made = as_tool(
        hand_off,
        name=name or _tool_name("hand_off_to", agent),
        description=description or f"Hand over to the agent {agent.name}, who finishes this.{more}",
        **{"idempotent": True, "expose": False, **policy},
    )
    made.part = Part(agent, "takes over")
    return made


def mover(stages: Stages) -> Tool:
    """The tool `move_to`, by which an agent says in which of its stages it is."""

    async def move_to(stage: Any, ctx: ToolContext) -> dict[str, Any]:
        """Move to the next stage."""
        return {"stage": await ctx.move_to(stage), "next": list(stages.after(stage))}

    move_to.__annotations__["stage"] = Literal[tuple(stages.names)]
    ways = "; ".join(f"after {stage}: {', '.join(after)}" for stage, after in stages.following.items() if after)
    return as_tool(
        move_to,
        name=MOVE,
        description=f"Say which stage begins now. The first is {stages.names[0]}; {ways}.",
        idempotent=True,
        expose=False,
    )


def parts(tools: Iterable[Tool], of: str) -> dict[str, Agent]:
    """The agents behind tools, by name. Raises: BadInput when two have one name, or the name of who has them."""
    found: dict[str, Agent] = {}
    for tool in tools:
        if tool.part is not None:
            agent = tool.part.agent
            if agent.name == of or found.get(agent.name, agent) is not agent:
                raise BadInput(f"two agents are called {agent.name!r} in the team of {of!r}; give one another name")
            found[agent.name] = agent
    return found


def _tool_name(verb: str, agent: Agent) -> str:
    return f"{verb}_{re.sub(r'[^A-Za-z0-9_-]', '_', agent.name)}"[:64]
