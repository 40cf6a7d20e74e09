"""The agent that `agents.py` measures: a model of the library that plays ten calls and an answer, and its tool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

__all__ = ["CALLS", "add", "played"]

CALLS = 10


def add(number: int) -> int:
    """Add one."""
    return number + 1


def played(at_once: bool, tool: str = "add") -> FunctionModel:
    """A model that calls a tool ten times, all in its first turn or one a turn, and then answers."""

    def turn(messages: list[ModelMessage]) -> list[int]:
        done = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
        if done >= CALLS:
            return []
        return list(range(CALLS)) if at_once else [done]

    def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        numbers = turn(messages)
        calls = [ToolCallPart(tool, {"number": number}, f"c{number}") for number in numbers]
        return ModelResponse(calls or [TextPart("Done.")])

    async def streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        numbers = turn(messages)
        if not numbers:
            yield "Done."
            return
        yield {
            at: DeltaToolCall(name=tool, json_args=f'{{"number": {number}}}', tool_call_id=f"c{number}")
            for at, number in enumerate(numbers)
        }

    return FunctionModel(whole, stream_function=streamed)
