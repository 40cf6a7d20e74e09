"""Delegates: an agent as a tool of another.

Its name is `ask_<agent>`, with `_` for what a tool's name cannot have, and it takes one `message` in words. It may be
called again under the same call: the run that it asks is the same one.

Knows nothing of how a call is carried out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from workbench.agents.tools import Tool, as_tool
from workbench.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.agents.agent import Agent
    from workbench.agents.context import ToolContext

__all__ = ["by_name", "delegate"]


def delegate(agent: Agent, name: str | None = None, description: str | None = None, **policy: Any) -> Tool:
    """The tool that asks `agent`; `policy` are the options of `as_tool`."""

    async def ask(message: str, ctx: ToolContext) -> Any:
        """Ask an agent.

        :param message: What it is to do, in words; it sees nothing else of this conversation.
        """
        return await ctx.ask(agent.name, message)

    return as_tool(
        ask,
        name=name or _tool_name("ask", agent),
        description=description or agent.description or f"Ask the agent {agent.name}, who answers in words.",
        **{"idempotent": True, **policy},
    )


def by_name(agents: Iterable[Agent], of: str) -> dict[str, Agent]:
    """Agents by name. Raises: BadInput when two have one name, or the name of who has them."""
    found: dict[str, Agent] = {}
    for agent in agents:
        if agent.name == of or found.get(agent.name, agent) is not agent:
            raise BadInput(f"two agents are called {agent.name!r} in the team of {of!r}; give one another name")
        found[agent.name] = agent
    return found


def _tool_name(verb: str, agent: Agent) -> str:
    return f"{verb}_{re.sub(r'[^A-Za-z0-9_-]', '_', agent.name)}"[:64]
