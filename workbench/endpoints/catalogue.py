"""The catalogue: what a door offers to callers, made on the bench's loop, read from any thread.

- An agent is offered as `ask_<agent>`; what a name cannot have becomes `_`. Its tools are offered by their own names.
- A tool is neither offered nor known when it says so (`expose=False`), when a person must or may have to say yes to it,
  or when a rule of the policy can ask about it or refuse it.
- Two things of one name are refused, with both named, when the door is opened.

A catalogue never changes: a changed bench has a new one. Source: ENDPOINTS 1.2, DESIGN rule 13. Knows no protocol.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from workbench.errors import BadInput

if TYPE_CHECKING:
    from workbench.agents.agent import Agent
    from workbench.agents.rulebook import Rulebook
    from workbench.agents.tools import Tool
    from workbench.bench import Workbench

__all__ = ["ANSWERING", "Asking", "Catalogue", "Offer", "catalogue_of", "offered_name"]

LONGEST = 64
WAIT = 45.0
"""Seconds that an answer is waited for when the caller does not say."""
ANSWERING: dict[str, Any] = {
    "type": "object",
    "properties": {
        "run": {"type": "string"},
        "status": {"enum": ["completed", "working", "waiting", "failed", "cancelled"]},
        "output": {},
        "note": {"type": "string"},
    },
    "required": ["run", "status"],
}
"""The schema of what a caller hears of a run."""


class Asking(BaseModel):
    """What an agent is asked with."""

    model_config = ConfigDict(extra="forbid", strict=True, title="Asking")

    message: str = Field(min_length=1, description="What to do or to answer, in words.")
    conversation: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        description="A name that you choose; asking again under it continues that conversation.",
    )
    wait_seconds: float = Field(
        WAIT,
        ge=0,
        le=3600,
        description="How long to wait for the answer; then you get the run's id, and get_run has the rest.",
    )


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that can be called. `tool` is None for an agent that is asked.

    `output_schema` is that of an object: a result of another type is wrapped as `{"result": …}` (`wrapped`). It is None
    where the tool declares nothing of its result.
    """

    name: str
    description: str
    agent: str
    input_schema: Mapping[str, Any] = field(hash=False)
    output_schema: Mapping[str, Any] | None = field(default=None, hash=False)
    tool: Tool | None = None
    wrapped: bool = False


Catalogue = Mapping[str, Offer]
"""Offers by name."""


def catalogue_of(bench: Workbench) -> dict[str, Offer]:
    """What the bench offers now. Raises: BadInput when two offers have one name."""
    offers: dict[str, Offer] = {}
    for agent in bench.agents.values():
        for offer in (_asking(agent), *_tools(agent, bench.policy)):
            known = offers.get(offer.name)
            if known is None:
                offers[offer.name] = offer
            elif known.tool is None or known.tool is not offer.tool:
                raise BadInput(
                    f"{_words(known)} and {_words(offer)} would both be {offer.name!r} at the door; rename one, "
                    "or mark a tool with expose=False"
                )
    return offers


def offered_name(agent: str) -> str:
    """The name under which an agent is asked."""
    return f"ask_{re.sub(r'[^A-Za-z0-9_]', '_', agent)}"[:LONGEST]


def _tools(agent: Agent, rules: Rulebook) -> list[Offer]:
    return [
        _offer(agent, tool)
        for tool in agent.tools.values()
        if tool.expose and tool.approval is False and tool.part is None and not rules.may_stop(agent.name, tool)
    ]


def _offer(agent: Agent, tool: Tool) -> Offer:
    schema, wrapped = _of_result(tool.returns)
    return Offer(tool.name, tool.description, agent.name, tool.parameters, schema, tool, wrapped)


def _of_result(returns: Any) -> tuple[dict[str, Any] | None, bool]:
    """The schema of a result as an object, and whether it is wrapped to be one."""
    if returns is Any:
        return None, False
    try:
        schema = TypeAdapter(returns).json_schema(mode="serialization")
    except Exception:  # whatever it is, it has no schema, and its results go out as they are
        return None, False
    if "$ref" in schema:
        schema = {**schema["$defs"][schema["$ref"].rpartition("/")[2]], "$defs": schema["$defs"]}
    if schema.get("type") == "object":
        return schema, False
    defs = schema.pop("$defs", None)
    made = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return made | ({"$defs": defs} if defs else {}), True


def _asking(agent: Agent) -> Offer:
    words = agent.description or f"Ask the agent {agent.name}, who answers in words."
    return Offer(offered_name(agent.name), words, agent.name, Asking.model_json_schema(), ANSWERING)


def _words(offer: Offer) -> str:
    return f"agent {offer.agent!r}" if offer.tool is None else f"tool {offer.tool.name!r} of {offer.agent!r}"
