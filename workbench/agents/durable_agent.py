"""Durable agents: an agent of Pydantic AI as an agent of a bench, run by its own loop on our journal.

    support = durable_agent(pydantic_ai.Agent("openai:gpt-5.2", name="support", tools=[…]))
    run = bench.run(support, "Cancel order A-1002")

It is taken as it is: its instructions, output type, toolsets, retries and limits are the library's business. Model
requests and tool calls are recorded, calls that need approval wait in the inbox, and whatever a crash cut off goes on
where it was. A tool that may be done twice says so in its metadata: `{"workbench": {"idempotent": True}}`.
"""

from __future__ import annotations

from typing import Any

from workbench.agents.agent import Agent
from workbench.errors import BadInput
from workbench.models.durability import is_library_agent

__all__ = ["DurableAgent", "durable_agent"]


class DurableAgent(Agent):
    """An agent that its own library runs. `foreign` is that agent; `options` go to each of its runs."""

    def __init__(self, foreign: Any, name: str, options: dict[str, Any], tools: list[Any]) -> None:
        super().__init__(name, tools=tools)
        self.foreign = foreign
        self.options = options

    @property
    def model_name(self) -> str:
        """How people call the model of the foreign agent."""
        model = self.foreign.model
        return model if isinstance(model, str) else str(getattr(model, "model_name", "none of its own"))

    def but(self, name: str | None = None, **changes: Any) -> DurableAgent:
        """This agent under another name. Raises: BadInput for whatever its own library decides."""
        if changes:
            raise BadInput(
                f"{min(changes)!r} of {self.name!r} is the business of its own library; change its agent there, and "
                "give it to durable_agent"
            )
        return DurableAgent(self.foreign, name or self.name, self.options, list(self.tools.values()))

    def __repr__(self) -> str:
        return (
            f"<DurableAgent {self.name}: {self.model_name}, tools {', '.join(self.tools) or 'unknown until it runs'}>"
        )


def durable_agent(agent: Any, *, name: str | None = None, **options: Any) -> DurableAgent:
    """An agent of Pydantic AI as one that a bench runs durably.

    `name` is its own unless given; `options` go to each run of it (`deps`, `usage_limits`, `model_settings`, …) and are
    code, given again in each life. Raises: BadInput for what is no such agent, or has no name.
    """
    if not is_library_agent(agent):
        raise BadInput(f"durable_agent takes an agent of pydantic-ai, found {agent!r:.80}")
    called = name or agent.name
    if not called:
        raise BadInput("an agent needs a name to be found by after a restart; give durable_agent(agent, name=…)")
    if taken := {"capabilities", "run_id", "message_history", "deferred_tool_results"} & options.keys():
        raise BadInput(f"{min(taken)!r} is what a durable run has of its own; leave it out")
    try:
        described = DurableAgent(agent, called, options, [agent])
    except BadInput:  # a toolset that lists its tools over a connection only: they are known once it runs
        described = DurableAgent(agent, called, options, [])
    return described
