"""Stored messages: how a conversation is kept, built and read.

A message is plain JSON, `{"fmt": "pai2", "lib": version, "json": …}`; `json` has the shape of the model library's
own messages, so it can be sent by it and read without it. A history is a list of them: what a person said, what tools
gave, and the messages of model turns.

- What is built here has no clock and no random id in it: the same history gives the same text on every replay.
- A call is known by its turn and position; its id is unique in its history, whatever the provider sent.
- Argument text that is no JSON object stays as it was (`Call.raw`), beside the reason: it is never run and never lost.

Knows nothing of providers. Source: AGENTS 1.2 and 1.3.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from typing import Any, Literal

from workbench.plain import is_deeper

__all__ = [
    "FORMAT",
    "Call",
    "Outcome",
    "ToolResult",
    "calls_of",
    "library_version",
    "model_message",
    "results_of",
    "stored",
    "text_of",
    "thinking_of",
    "tool_results_message",
    "turns_in",
    "unique_ids",
    "user_message",
    "user_text",
]

FORMAT = "pai2"
DEEPEST = 150  # of call arguments; the journal holds 200, and a turn wraps them in a few
Outcome = Literal["success", "failed", "denied", "interrupted", "retried"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that a model asks for. `args` is None, and `error` says why, when `raw` is no JSON object."""

    id: str
    tool: str
    args: dict[str, Any] | None
    raw: str
    error: str | None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call, as the model is told. `content` is plain data."""

    call_id: str
    tool: str
    content: Any
    outcome: Outcome = "success"


@lru_cache(maxsize=1)
def library_version() -> str:
    """The installed version of the model library, without importing it."""
    return metadata.version("pydantic-ai-slim")


def stored(message: dict[str, Any]) -> dict[str, Any]:
    """A message of the library's shape, as it is kept."""
    return {"fmt": FORMAT, "lib": library_version(), "json": message}


def user_message(text: str) -> dict[str, Any]:
    """What a person says."""
    return stored({"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]})


def tool_results_message(results: Sequence[ToolResult]) -> dict[str, Any]:
    """What came of the calls of one turn, in their order.

    Every call of the turn must have its result here, or providers refuse the history.
    """
    return stored({"kind": "request", "parts": [_result_part(result) for result in results]})


def model_message(parts: Sequence[str | Call], *, model: str) -> dict[str, Any]:
    """A turn made here rather than by a provider: texts and calls."""
    return stored({"kind": "response", "parts": [_model_part(part) for part in parts], "model_name": model})


def turns_in(history: Iterable[Mapping[str, Any]]) -> int:
    """How many model turns a history has."""
    return sum(1 for message in history if message["json"]["kind"] == "response")


def user_text(message: Mapping[str, Any]) -> str | None:
    """What a person said in a message, or None where none speaks in it."""
    said = [_plain_text(part["content"]) for part in _parts(message, "user-prompt")]
    return "\n".join(said) if said else None


def results_of(message: Mapping[str, Any]) -> list[ToolResult]:
    """The tool results in a message."""
    return [
        ToolResult(part["tool_call_id"], part["tool_name"], part.get("content"), part.get("outcome", "success"))
        for part in _parts(message, "tool-return")
    ]


def calls_of(message: Mapping[str, Any]) -> list[Call]:
    """The tool calls in a model's message, in order."""
    return [_call(part) for part in _parts(message, "tool-call")]


def text_of(message: Mapping[str, Any]) -> str:
    """What the model says in a message: neighbouring pieces as one, others as paragraphs."""
    paragraphs: list[str] = []
    adjacent = False
    for part in message["json"]["parts"]:
        is_text = part["part_kind"] == "text"
        if is_text and adjacent:
            paragraphs[-1] += part["content"]
        elif is_text:
            paragraphs.append(part["content"])
        adjacent = is_text
    return "\n\n".join(paragraphs)


def thinking_of(message: Mapping[str, Any]) -> str:
    """What the provider shows of the model's thinking."""
    return "\n\n".join(part["content"] for part in _parts(message, "thinking") if part.get("content"))


def unique_ids(ids: Sequence[str | None], history: Iterable[Mapping[str, Any]]) -> list[str]:
    """Ids for the calls of the next turn: those given, or made of turn and position if empty or repeated."""
    turn, taken = 0, set[str]()
    for message in history:
        if message["json"]["kind"] == "response":
            turn += 1
            taken.update(part["tool_call_id"] for part in _parts(message, "tool-call"))
    unique: list[str] = []
    for position, given in enumerate(ids):
        name = given or f"call_{turn}_{position}"
        while name in taken:
            name = f"call_{turn}_{position}" if name == given else name + "_"
        taken.add(name)
        unique.append(name)
    return unique


def _parts(message: Mapping[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    return (part for part in message["json"]["parts"] if part["part_kind"] == kind)


def _result_part(result: ToolResult) -> dict[str, Any]:
    return {
        "part_kind": "tool-return",
        "tool_name": result.tool,
        "content": _readable(result.content),
        "tool_call_id": result.call_id,
        "outcome": result.outcome,
    }


def _model_part(part: str | Call) -> dict[str, Any]:
    if isinstance(part, str):
        return {"part_kind": "text", "content": part}
    args = part.raw if part.args is None else part.args
    return {"part_kind": "tool-call", "tool_name": part.tool, "args": args, "tool_call_id": part.id}


def _plain_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(item if isinstance(item, str) else str(item.get("content", "")) for item in content)


def _readable(value: Any) -> Any:
    """Plain data as JSON that a model can read: tagged kinds become text or lists, what is no number becomes null."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): _readable(item) for key, item in value.items()}
        case set() | frozenset():
            return sorted((_readable(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
        case list() | tuple():
            return [_readable(item) for item in value]
        case bytes():
            return base64.b64encode(value).decode()
        case _ if hasattr(value, "isoformat"):
            return value.isoformat()
        case _:
            return str(value)


def _call(part: Mapping[str, Any]) -> Call:
    given = part.get("args")
    if isinstance(given, dict):
        raw, error = json.dumps(given, ensure_ascii=False), _unfit(given)
        return Call(part["tool_call_id"], part["tool_name"], None if error else given, raw, error)
    raw = given or ""
    args, error = _parsed(raw)
    return Call(part["tool_call_id"], part["tool_name"], args, raw, error)


def _parsed(raw: str) -> tuple[dict[str, Any] | None, str | None]:
    """The arguments in a model's text, or why there are none. No text means no arguments."""
    if not raw.strip():
        return {}, None
    try:
        args = json.loads(raw, parse_constant=_no_constant)
    except RecursionError:
        return None, "the arguments are nested too deeply"
    except ValueError as error:
        return None, f"the arguments are no JSON ({error})"
    if not isinstance(args, dict):
        return None, f"the arguments are {_kind_of(args)}, not a JSON object"
    unfit = _unfit(args)
    return (None, unfit) if unfit else (args, None)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON value")


def _kind_of(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", int: "a number", float: "a number"}
    return names.get(type(value), "null")


def _unfit(args: dict[str, Any]) -> str | None:
    """Why parsed arguments still cannot be kept and sent back, or None."""
    if is_deeper(args, DEEPEST):
        return f"the arguments are nested more than {DEEPEST} deep"
    try:
        json.dumps(args, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "the arguments hold half of a surrogate pair"
    except ValueError:
        return "the arguments hold a number that is no JSON value"
    return None
