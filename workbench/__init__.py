"""Durable agents that live in a Jupyter kernel.

What is promised to users is here, loaded at first use so that importing the package costs next to nothing. `durable`
and `process` are rooms too, and a room that is loaded takes its name: these two are bound at once, and stay.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.door import publish_with
from workbench.durable.definition import durable
from workbench.errors import BadInput
from workbench.events import show_with
from workbench.lazy import lazily
from workbench.process.definition import process

if TYPE_CHECKING:
    from workbench.agents.agent import Agent as Agent
    from workbench.agents.budget import Budget as Budget
    from workbench.agents.compare import compare as compare
    from workbench.agents.context import Principal as Principal
    from workbench.agents.context import ToolContext as ToolContext
    from workbench.agents.durable_agent import durable_agent as durable_agent
    from workbench.agents.history import History as History
    from workbench.agents.instructions import RunInfo as RunInfo
    from workbench.agents.policy import Policy as Policy
    from workbench.agents.policy import Rule as Rule
    from workbench.agents.tools import tool as tool
    from workbench.bench import Workbench as Workbench
    from workbench.durable.context import DurableContext as DurableContext
    from workbench.durable.retries import Retry as Retry
    from workbench.process.calls import Call as Call
    from workbench.process.context import Context as Context
    from workbench.process.selecting import derive as derive
    from workbench.process.spawn import spawn as spawn

__all__ = [
    "Agent",
    "Budget",
    "Call",
    "Context",
    "DurableContext",
    "History",
    "Principal",
    "Retry",
    "RunInfo",
    "ToolContext",
    "Workbench",
    "compare",
    "derive",
    "durable",
    "durable_agent",
    "process",
    "spawn",
    "tool",
]
__version__ = "0.1.0"

_HOMES = {
    "Agent": "workbench.agents.agent",
    "Budget": "workbench.agents.budget",
    "Call": "workbench.process.calls",
    "Context": "workbench.process.context",
    "DurableContext": "workbench.durable.context",
    "History": "workbench.agents.history",
    "Policy": "workbench.agents.policy",
    "Principal": "workbench.agents.context",
    "Retry": "workbench.durable.retries",
    "RunInfo": "workbench.agents.instructions",
    "Rule": "workbench.agents.policy",
    "ToolContext": "workbench.agents.context",
    "Workbench": "workbench.bench",
    "compare": "workbench.agents.compare",
    "derive": "workbench.process.selecting",
    "durable_agent": "workbench.agents.durable_agent",
    "spawn": "workbench.process.spawn",
    "tool": "workbench.agents.tools",
}


__getattr__ = lazily(__name__, _HOMES, __all__)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def _show(thing: Any) -> None:
    """Show a thing in a cell, loading the windows for it."""
    display = import_module("workbench.widgets.display")
    display.install()
    display.show(thing)


async def _publish(*asked: Any) -> Any:
    """Open a door, loading what serves it."""
    try:
        publishing = import_module("workbench.endpoints.publishing")
    except ModuleNotFoundError as error:
        raise BadInput(
            f'{error.name} is not installed here; pip install "jupyter-agent-workbench[endpoints]"', name=error.name
        ) from error
    return await publishing.publish(*asked)


show_with(_show)
publish_with(_publish)
