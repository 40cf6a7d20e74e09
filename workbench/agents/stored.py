"""What the store has of a run, read as it is: also a row that was changed by hand, which shows and harms nothing else.

Knows nothing of what is live.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.loop import first_state
from workbench.durable.keys import escape
from workbench.errors import BadInput
from workbench.plain import decode

if TYPE_CHECKING:
    from workbench.agents.facts import Facts
    from workbench.store.glance import Activation, Entry

__all__ = ["AGENT", "given_up", "killer", "read_history", "read_message", "run_key", "unreadable", "whole"]

AGENT = "agent:"
"""What the definition of a run begins with; the name of its agent follows."""


def run_key(id: str) -> str:
    """The key of the run with this id."""
    return f"run:{escape(id)}"


def whole(state: Any, agent: str) -> dict[str, Any] | None:
    """The state of a run, if it is one. Raises: BadInput when it is something else."""
    if state is not None and (type(state) is not dict or type(state.get("status")) is not str):
        raise BadInput(f"the stored state {state!r:.60} is none of a run; the row was changed by hand")
    return None if state is None else {**first_state(agent, ""), **state}


def unreadable(agent: str, error: Exception) -> dict[str, Any]:
    """The state of a run whose row nobody can read: shown as failed, with the reason; nothing of it is written."""
    told = {"type": "Unreadable", "message": str(error), "traceback": ""}
    return {**first_state(agent, ""), "status": "failed", "error": told}


def given_up(state: dict[str, Any], answer: Any) -> dict[str, Any]:
    """The state of a run whose message was set aside: it never came to an end of its own, and the answer says so.

    Raises: BadInput for what is no answer.
    """
    if type(answer) is not dict or type(answer.get("words", "")) is not str:
        raise BadInput(f"the stored answer {answer!r:.60} is none; the row was changed by hand")
    if "failed" not in answer:
        return state
    return {
        **state,
        "status": "failed",
        "error": {"type": "DeadLettered", "message": answer.get("words", ""), "traceback": ""},
    }


def killer(lives: list[Activation]) -> str | None:
    """Who killed the last life, if it was killed."""
    return lives[-1].by if lives and lives[-1].how == "killed" else None


def read_message(text: str) -> dict[str, Any]:
    """The first message; one that cannot be read shows as an empty request."""
    try:
        message = decode(text)
    except BadInput as error:
        return {"text": str(error)}
    return message if type(message) is dict else {"text": repr(message)}


def read_history(facts: Facts, entries: list[Entry], *, records: bool) -> None:
    """Take the first message, and the records unless they are live, from the journal."""
    for entry in entries:
        if entry.kind == "message" and entry.payload is not None and not facts.message:
            facts.message = read_message(entry.payload)
            facts.asked_at = facts.message.get("at", entry.at)
            facts.seq = entry.seq or 1
        elif records and entry.step is not None and entry.seq == facts.seq:
            if entry.step.kind == "replaced":
                facts.records.clear()
            facts.records.append(entry.step)
