"""Durability: an agent of the model library run by its own loop, with every model request and tool call recorded.

- It is attached through the library's public durability surface as a capability of one run, so an agent that somebody
  has is taken as it is and stays as it was.
- What is recorded is plain data: what a unit of work gave, as the library's own codec writes it. A unit that has a
  record is not done again, and its caller cannot tell.
- A call that needs a person is decided in the run, by whoever the recorder asks.

A part of the embassy of the model library (`workbench.models.library`), which loads at first use. Knows nothing of
journals: a `Recorder` keeps the records. Source: the library's guide to durable backends, `pydantic_ai.durable_exec`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import BadInput
from workbench.models.library import messages_of
from workbench.models.messages import stored
from workbench.models.model import Turn

if TYPE_CHECKING:
    from pydantic_ai import Agent

__all__ = [
    "Body",
    "Deferred",
    "Recorder",
    "Refused",
    "Verdict",
    "current_recorder",
    "is_library_agent",
    "play",
    "turn_of",
]

Body = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A call that the library cannot carry out by itself: a person approves it, or gives its result (`elsewhere`)."""

    id: str
    tool: str
    args: dict[str, Any]
    elsewhere: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a deferred call: `args` if it may run, else the words that refuse it, or its result."""

    args: dict[str, Any] | None = None
    refusal: str | None = None
    result: Any = None


class Recorder(Protocol):
    """Who keeps the records of one run. Each verb gives what `body` gives, or gave in an earlier life."""

    async def turn(self, body: Body) -> Any:
        """A model request; its record is the message."""
        ...

    async def call(self, id: str, tool: str, args: dict[str, Any], again: bool, body: Body) -> Any:
        """A tool call; `again` says that it may be done twice. Raises: Refused."""
        ...

    async def other(self, name: str, call: str | None, body: Body) -> Any:
        """Anything else, maybe inside a call."""
        ...

    async def decide(self, asked: Sequence[Deferred]) -> dict[str, Verdict]:
        """What a person says of calls, by id."""
        ...


class Refused(Exception):
    """A call that is not made: begun in an earlier life and never ended, or denied. Its words are for the model."""


current_recorder: ContextVar[Recorder | None] = ContextVar("workbench_recorder", default=None)
"""Who keeps the records of the run that the current task belongs to; None outside of one."""


def is_library_agent(value: object) -> bool:
    """Whether `value` is an agent of the library; imports nothing to find out."""
    return any(
        kind.__module__.partition(".")[0] == "pydantic_ai" and kind.__name__ == "AbstractAgent"
        for kind in type(value).__mro__
    )


async def play(
    agent: Agent[Any, Any],
    request: str,
    recorder: Recorder,
    id: str,
    options: Mapping[str, Any],
    earlier: Sequence[dict[str, Any]] = (),
) -> Any:
    """The output of a run of the library's agent under its own loop, as plain data; `id` is the run's.

    `earlier` are the stored messages that it is told first.

    Raises: what the library raises, BadInput when the agent cannot be recorded.
    """
    from pydantic_ai.exceptions import UserError
    from pydantic_core import to_jsonable_python

    try:
        from workbench.models.durable_units import Durability
    except ImportError as error:
        raise BadInput(
            f"this pydantic-ai has no durability surface to build on ({error}); run pip install -U pydantic-ai-slim"
        ) from error
    token = current_recorder.set(recorder)
    try:
        capability = Durability(name=agent.name or "agent").for_agent(agent)
        given = [*options.get("capabilities", ()), capability]
        history = messages_of(list(earlier)) or None
        own = {"capabilities": given, "run_id": id, "message_history": history}
        result = await agent.run(request, **{**options, **own})
    except UserError as error:
        raise BadInput(f"the agent {agent.name!r} cannot be run durably: {error}") from error
    finally:
        current_recorder.reset(token)
    output = result.output
    return output if isinstance(output, str) else to_jsonable_python(output)


def turn_of(message: dict[str, Any]) -> Turn:
    """The turn that a recorded message is."""
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse

    response = ModelMessagesTypeAdapter.validate_python([message])[0]
    assert isinstance(response, ModelResponse)
    usage = message.get("usage") or {}
    try:
        cost = round(response.cost().total_price * 1_000_000)
    except (LookupError, ValueError, AssertionError):  # no price is known
        cost = None
    return Turn.of(
        stored(message),
        model=message.get("model_name") or "unknown",
        finish=message.get("finish_reason"),
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cost_microdollars=cost,
    )
