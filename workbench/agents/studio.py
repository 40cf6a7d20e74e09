"""The studio: what all agent runs of one bench share, and what one run is about.

- A `Studio` is made once, by the bench's runs; whatever a run needs of its surroundings it finds there by name.
- An `Assignment` is read from the message that begins a run, so it is the same in every life of the run.

Knows nothing of turns, calls or views.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.budgets import Budgets
from workbench.agents.context import Principal
from workbench.agents.conversations import Conversations
from workbench.agents.rulebook import Rulebook

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.agents.agent import Agent
    from workbench.agents.forking import Forks
    from workbench.agents.runs import Runs
    from workbench.clock import Clock
    from workbench.durable.directory import Directory
    from workbench.durable.requests import Requests
    from workbench.durable.runtime import Runtime
    from workbench.loop import Home

__all__ = ["Assignment", "Studio"]


class Studio:
    """What the runs of one bench have in common."""

    def __init__(self, runtime: Runtime, agents: dict[str, Agent], runs: Runs, directory: Directory) -> None:
        self.runtime = runtime
        self.directory = directory
        self.agents = agents
        self.runs = runs
        self.rules = Rulebook(runtime, agents)
        self.conversations = Conversations(runtime)
        self.forks: Forks
        """Makes forks of the runs; filled by the runs, which it makes them among."""
        self.budgets = Budgets(runtime)

    @property
    def home(self) -> Home:
        """The loop that everything runs on."""
        return self.runtime.home

    @property
    def clock(self) -> Clock:
        """The time of the bench."""
        return self.runtime.clock

    @property
    def requests(self) -> Requests:
        """What runs ask of people."""
        return self.runtime.requests


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one run is about: its id, who carries it out, for whom, in which conversation, and the message itself."""

    run: str
    agent: Agent
    principal: Principal
    conversation: str
    message: Mapping[str, Any]

    @classmethod
    def of(cls, run: str, agent: Agent, message: Mapping[str, Any]) -> Assignment:
        """What the message that began a run says."""
        return cls(
            run=run,
            agent=_as_told(agent, message),
            principal=Principal(**message.get("principal", {})),
            conversation=message.get("conversation") or run,
            message=message,
        )

    @property
    def request(self) -> str:
        """What was asked, in words."""
        return str(self.message["text"])

    @property
    def declines(self) -> bool:
        """Whether nobody is asked on its behalf, as runs are begun through a door that declines."""
        return self.message.get("approvals") == "decline"

    @property
    def chain(self) -> list[dict[str, str]]:
        """Who asked whom, from the outermost run to this one: `{"agent", "run"}` of each."""
        return [*self.message.get("parent", {}).get("chain", ()), {"agent": self.agent.name, "run": self.run}]


def _as_told(agent: Agent, message: Mapping[str, Any]) -> Agent:
    """The agent with the instructions and the model that a fork was told to use, if it was."""
    told = message.get("fork", {}).get("with")
    return agent.but(**told) if told else agent
