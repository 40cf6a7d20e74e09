"""The agent: a name, a model, instructions and tools. Inert: `bench.run(agent, …)` makes a run of it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.delegates import delegate, handoff, mover, parts
from workbench.agents.foreign import accepted
from workbench.agents.history import History
from workbench.agents.output import Output
from workbench.agents.tools import Tool, toolset
from workbench.durable.stages import Stages
from workbench.errors import BadInput
from workbench.given import several
from workbench.models.model import Model, ToolSpec
from workbench.models.providers import resolve

if TYPE_CHECKING:
    from workbench.agents.instructions import Instructions

__all__ = ["Agent"]

_NAME = re.compile(r"[A-Za-z_][\w.-]*")


class Agent:
    """What runs are made of.

    `tools` are callables, processes, tools and toolsets of other libraries (`workbench.agents.foreign`), and other
    agents that it may ask, as `ask_<name>`; `handoffs` are agents that it may hand its
    run over to, as `hand_off_to_<name>`; `description` is what others are told that it does. `stages` declares what may
    follow each stage of a run, `{"researching": ["writing"], …}`, which begins at the first one: the model moves with
    `move_to`, or by asking an agent that is there `as_tool(stage=…)`. `model` is "offline", a
    provider string such as "openai:gpt-5.2", an object of `workbench.models`, or a model of pydantic-ai. `instructions`
    are a text, or a function of a `RunInfo` that gives one, plain or async, called once for a run. `output` is the type
    of the answer: text when it is left out, else a pydantic model, a dataclass, a TypedDict, a scalar, a list of them.
    `max_turns` bounds the model turns that it takes in one run, however often that is handed to it; `history` how much
    of its conversation its model is told; `retries` says how often in a row a model may give
    what cannot be used (calls of tools that are not there or with arguments that do not fit, an output that does not
    fit) and be told so, before the run fails. Raises: BadInput naming the agent and what cannot be.
    """

    def __init__(
        self,
        name: str,
        *,
        tools: Iterable[Any] = (),
        handoffs: Iterable[Agent] = (),
        stages: Mapping[str, Iterable[str]] | None = None,
        instructions: Instructions = None,
        description: str | None = None,
        model: str | Model = "offline",
        output: Any = str,
        max_turns: int = 20,
        retries: int = 2,
        settings: dict[str, Any] | None = None,
        history: History | None = None,
    ) -> None:
        if type(name) is not str or not _NAME.fullmatch(name):
            raise BadInput(f"an agent's name is letters, digits, _ . and - beginning with a letter, found {name!r}")
        if type(max_turns) is not int or max_turns < 1:
            raise BadInput(f"max_turns of agent {name!r} is a whole number from 1, found {max_turns!r}")
        if type(retries) is not int or retries < 0:
            raise BadInput(f"retries of agent {name!r} is a whole number from 0, found {retries!r}")
        if instructions is not None and not isinstance(instructions, str) and not callable(instructions):
            raise BadInput(f"instructions of agent {name!r} are a text or a function, found {instructions!r}")
        if description is not None and not isinstance(description, str):
            raise BadInput(f"the description of agent {name!r} is a text, found {description!r:.80}")
        if settings is not None and not isinstance(settings, Mapping):
            raise BadInput(
                f"settings of agent {name!r} are a dict, such as {{'temperature': 0}}, found {settings!r:.80}"
            )
        if history is not None and not isinstance(history, History):
            raise BadInput(f"the history of agent {name!r} is a History, found {history!r:.80}; write History(runs=10)")
        self.name = name
        self.output = None if output is str or output is None else Output(output, name)
        self.retries = retries
        self.description = description
        self.stages = None if stages is None else Stages(stages, f"agent {name!r}")
        asked = [each.as_tool() if isinstance(each, Agent) else each for each in accepted(tools)]
        moves = [] if self.stages is None else [mover(self.stages)]
        self.tools = toolset(
            [*asked, *(handoff(_an_agent(each, name)) for each in several("handoffs", handoffs, "[writer]")), *moves]
        )
        _check_parts(self)
        if self.output is not None and self.output.spec.name in self.tools:
            raise BadInput(
                f"agent {name!r} has a tool {self.output.spec.name!r}, which is how a model gives a typed output; "
                "give the tool another name"
            )
        self.instructions = instructions
        self.max_turns = max_turns
        self.history = history or History()
        self.settings = dict(settings or {})
        self._given = model
        self._model: Model | None = None if isinstance(model, str) else resolve(model)
        if isinstance(model, str) and not model.strip():
            raise BadInput(f'agent {name!r} has an empty model; use "offline" or e.g. "openai:gpt-5.2"')

    @property
    def model(self) -> Model:
        """Who answers.

        Raises: BadInput at first use when the model string is not understood, or its extra or key is missing.
        """
        if self._model is None:
            self._model = resolve(self._given)
        return self._model

    @property
    def model_name(self) -> str:
        """How people call the model, without loading it."""
        return self._given if isinstance(self._given, str) else self.model.name

    def but(self, name: str | None = None, **changes: Any) -> Agent:
        """This agent with another name, or with what is given of `tools`, `instructions`, `model` and the others.

        Raises: BadInput, TypeError as making an agent does.
        """
        if changes.keys() & {"handoffs", "stages"} and "tools" not in changes:
            raise BadInput(f"agent {self.name!r} with other handoffs or stages needs its tools said too: tools=[…]")
        given = Agent(self.name if name is None else name, **changes)
        other = copy.copy(self)
        for attribute in ("name", *(changes.keys() - {"model", "handoffs"})):
            setattr(other, attribute, getattr(given, attribute))
        if "model" in changes:
            other._given, other._model = given._given, given._model
        return other

    def as_tool(
        self, *, name: str | None = None, description: str | None = None, stage: str | None = None, **policy: Any
    ) -> Tool:
        """The tool that asks this agent; `policy` are the options of `as_tool` of a function.

        With `stage`, asking it is moving to that stage of who asks; it is not asked where that is not declared.
        """
        return delegate(self, name, description, stage, **policy)

    def as_handoff(self, *, name: str | None = None, description: str | None = None, **policy: Any) -> Tool:
        """The tool that hands a run over to this agent; `policy` are the options of `as_tool` of a function."""
        return handoff(self, name, description, **policy)

    @property
    def team(self) -> dict[str, Agent]:
        """Every agent that it may ask or hand over to, and those of them, by name."""
        found: dict[str, Agent] = {}
        for agent in parts(self.tools.values(), self.name).values():
            found |= {agent.name: agent} | agent.team
        return found

    def specs(self) -> list[ToolSpec]:
        """The tools as a model is told of them."""
        return [ToolSpec(tool.name, tool.description, tool.parameters) for tool in self.tools.values()]

    def __repr__(self) -> str:
        return f"<Agent {self.name}: {self.model_name}, tools {', '.join(self.tools) or 'none'}>"


def _an_agent(given: object, name: str) -> Agent:
    if not isinstance(given, Agent):
        raise BadInput(f"agent {name!r} hands over to agents, found {given!r:.80} in its handoffs")
    return given


def _check_parts(agent: Agent) -> None:
    """Raises: BadInput for a team with two agents of one name, or with one whose stage is not declared."""
    parts(agent.tools.values(), agent.name)
    for tool in agent.tools.values():
        stage = tool.part.stage if tool.part is not None else None
        if stage is not None and (agent.stages is None or stage not in agent.stages.names):
            declared = "none" if agent.stages is None else ", ".join(agent.stages.names)
            raise BadInput(
                f"tool {tool.name!r} of agent {agent.name!r} has the stage {stage!r}; declared are {declared}",
                tool=tool.name,
            )
