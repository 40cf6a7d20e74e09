"""Tasks: a run as the A2A protocol tells it.

A task is a run, its context the conversation. What waits for a person is `input-required`; an answer in words is one
artifact with a text part, any other value one with a data part; what no data part can hold, nested too deep or with a
number that is no double, is its JSON in a text part. A task is made anew from the run each time: there is no second
record of it.

Source: A2A 1.0, section 4.1 (data model); ENDPOINTS 2.3. Knows nothing of requests.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from a2a.types.a2a_pb2 import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value
from google.protobuf.timestamp_pb2 import Timestamp

from workbench.endpoints.told import as_json
from workbench.plain import is_deeper
from workbench.words import as_text

if TYPE_CHECKING:
    from workbench.endpoints.errands import Standing

__all__ = ["FINAL", "artifact_update", "said", "status_update", "task_of", "text_of"]

STATES = {
    "working": TaskState.TASK_STATE_WORKING,
    "waiting": TaskState.TASK_STATE_INPUT_REQUIRED,
    "completed": TaskState.TASK_STATE_COMPLETED,
    "failed": TaskState.TASK_STATE_FAILED,
    "cancelled": TaskState.TASK_STATE_CANCELED,
}
DEEPEST = 30
"""Levels of a data part: the SDK's own client reads no more than 32."""

EXACT = 1 << 53
"""Up to this every whole number is a double."""

JSON = "application/json"
FINAL = frozenset(STATES[status] for status in ("completed", "failed", "cancelled"))


def task_of(standing: Standing) -> Task:
    """A run as a task, whole."""
    context = _context(standing)
    asked = Message(
        message_id=f"{standing.run}-request",
        task_id=standing.run,
        context_id=context,
        role=Role.ROLE_USER,
        parts=[Part(text=as_text(standing.request))],
    )
    artifacts = [_artifact(standing)] if standing.status == "completed" else []
    return Task(id=standing.run, context_id=context, status=_status(standing), artifacts=artifacts, history=[asked])


def status_update(standing: Standing, words: str = "") -> TaskStatusUpdateEvent:
    """How a run stands, as an event; with `words` that say more."""
    return TaskStatusUpdateEvent(task_id=standing.run, context_id=_context(standing), status=_status(standing, words))


def artifact_update(standing: Standing) -> TaskArtifactUpdateEvent:
    """The answer of a completed run, as an event."""
    return TaskArtifactUpdateEvent(
        task_id=standing.run, context_id=_context(standing), artifact=_artifact(standing), last_chunk=True
    )


def text_of(message: Message) -> str:
    """What a message says in words; data parts as JSON."""
    return "\n".join(filter(None, (_words_of(part) for part in message.parts))).strip()


def said(standing: Standing, words: str) -> Message:
    """A message of the agent."""
    return Message(
        message_id=f"{standing.run}-{standing.status}",
        task_id=standing.run,
        context_id=_context(standing),
        role=Role.ROLE_AGENT,
        parts=[Part(text=as_text(words))],
    )


def _words_of(part: Part) -> str:
    if part.HasField("data"):
        return json.dumps(MessageToDict(part.data), ensure_ascii=False)
    return part.text


def _status(standing: Standing, words: str = "") -> TaskStatus:
    words = words or standing.words
    at = Timestamp()
    at.FromMicroseconds(round(standing.changed * 1e6))
    message = said(standing, words) if words else None
    return TaskStatus(state=STATES[standing.status], message=message, timestamp=at)


def _context(standing: Standing) -> str:
    return as_text(standing.conversation or standing.run)


def _artifact(standing: Standing) -> Artifact:
    return Artifact(artifact_id=f"{standing.run}-answer", name="answer", parts=[_part(as_json(standing.output))])


def _part(output: Any) -> Part:
    if isinstance(output, str):
        return Part(text=output)
    if is_deeper(output, DEEPEST) or not _is_exact(output):
        return Part(text=json.dumps(output, ensure_ascii=False), media_type=JSON)
    return Part(data=ParseDict(output, Value()))


def _is_exact(value: Any) -> bool:
    """Whether every number of a value is a double."""
    if isinstance(value, dict):
        return all(map(_is_exact, value.values()))
    if isinstance(value, list):
        return all(map(_is_exact, value))
    return not isinstance(value, int) or -EXACT <= value <= EXACT
