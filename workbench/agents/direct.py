"""Direct calls: a run that is one tool call, asked for by name and arguments instead of in words.

It is a run of the agent whose tool it is, with everything that a run has: a journal, a call id, steps, gates, Kill. No
model is asked: its only turn is made of the request, so that it reads as any other. Its output is what the tool gave; a
call that came to anything else ends it as failed, in the words that a model would have heard.

Knows nothing of who asks.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from workbench.errors import StepFailed
from workbench.models.messages import Call, model_message
from workbench.models.model import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workbench.models.messages import ToolResult

__all__ = ["DIRECT", "asked_directly", "direct", "given_directly", "words_of"]

DIRECT = "direct"
"""The field of a run's first message that makes it one: `{"tool", "args"}`."""


def direct(tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The field for a call of `tool`."""
    return {DIRECT: {"tool": tool, "args": dict(args)}}


def words_of(tool: str, args: Mapping[str, Any]) -> str:
    """The request of such a run, as people read it."""
    return f"{tool} {json.dumps(dict(args), ensure_ascii=False, default=str)}"


def asked_directly(call: Mapping[str, Any]) -> Turn:
    """The turn that a model would have asked for the call in."""
    args = dict(call["args"])
    asked = Call("direct", call["tool"], args, json.dumps(args, ensure_ascii=False), None)
    message = model_message([asked], model=DIRECT)
    return Turn.of(message, model=DIRECT, finish="tool_call", input_tokens=0, output_tokens=0, cost_microdollars=0)


def given_directly(result: ToolResult) -> Any:
    """What the tool gave. Raises: StepFailed when it gave nothing, with the outcome in its words."""
    if result.outcome == "success":
        return result.content
    kind, _, words = str(result.content).partition(": ")
    kind, words = (kind, words) if kind.isidentifier() and words else (result.outcome, str(result.content))
    raise StepFailed(f"{result.tool}: {words}", type=kind, message=words, traceback="", retryable=False)
