"""The now line of a run: one plain sentence of what is happening, and at most one thing to do about it.

Source: LOOK 1, 5.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from workbench.agents.budget import count_of, told
from workbench.agents.recovery import recovery, sentence

if TYPE_CHECKING:
    from workbench.agents.facts import Facts
    from workbench.agents.views import CallRow, MessageRow, NowLine

__all__ = ["EXTEND", "clock_time", "now_line"]

EXTEND = "Extend and resume"


def clock_time(instant: float) -> str:
    """The time of day of an instant, where the kernel is."""
    return time.strftime("%H:%M:%S", time.localtime(instant))


def now_line(facts: Facts, rows: list[MessageRow | CallRow]) -> NowLine:
    """What is happening now."""
    if facts.final:
        return _ended(facts)
    if facts.elsewhere is not None:
        return _line("plain", "elsewhere", f"Runs elsewhere, {facts.elsewhere}.", "This view follows what it commits.")
    if not facts.alive:
        return _dead(facts)
    waiting = [row for row in rows if row["kind"] == "call" and row["status"] == "waiting"]
    running = [row for row in rows if row["kind"] == "call" and row["status"] == "running"]
    asked = [child for row in waiting if row["kind"] == "call" for child in row["children"]]
    below = [child for child in asked if child["status"] == "waiting"]
    waiting = [row for row in waiting if row["kind"] == "call" and row["approval"] is not None]
    if waiting:
        tools = ", ".join(dict.fromkeys(_asked(row) for row in waiting if row["kind"] == "call"))
        count = len(waiting)
        strong = "1 approval waits for you:" if count == 1 else f"{count} approvals wait for you:"
        meanwhile = f" Meanwhile {running[0]['tool']} is at work." if running and running[0]["kind"] == "call" else ""
        return _line("amber", "waiting", strong, f"{tools}.{meanwhile}", "Show approval")
    if running and running[0]["kind"] == "call":
        row = running[0]
        steps = [step["name"] for step in row["steps"] if step["status"] == "running"]
        return _line(
            "plain",
            "running",
            f"Working on {row['tool']}" + (":" if steps else "."),
            f"step {steps[0]}." if steps else "",
        )
    if (stop := facts.stop) is not None:
        return _line("amber", "waiting", *_stopped(stop), EXTEND)
    if below and facts.status == "waiting":
        return _line("amber", "waiting", f"{below[0]['agent']} waits:", f"its run {below[0]['id']} says for what.")
    if facts.status == "queued":
        conversation = facts.message.get("conversation")
        if conversation is not None and facts.lives:
            behind = f"It waits for the runs before it in conversation {conversation!r}."
            return _line("plain", "queued", "Queued.", behind)
        return _line("plain", "queued", "Queued.", "The message is in the journal; it has not begun.")
    failed = facts.failed_try()
    if failed is not None:
        why = failed.why.partition(": ")[2] or failed.why
        return _line("plain", "retried", f"Asks the model again at {clock_time(failed.next_at)}.", f"{why}.")
    last = rows[-1]
    if last["kind"] == "message" and last["streaming"] and last["text"]:
        return _line("plain", "running", f"{facts.holders()[-1]} is writing its answer.", "")
    return _line("plain", "running", f"{facts.holders()[-1]} is thinking.", "")


def _stopped(stop: dict[str, Any]) -> tuple[str, str]:
    """What a budget has refused, in a bold beginning and the rest."""
    if stop["uncounted"] or stop["left"]:
        return "Stopped by a budget:", f"{stop['words']}."
    spent, limit = count_of(stop["unit"], stop["spent"]), told(stop["unit"], stop["limit"])
    return "Budget used up:", f"{spent} of {limit}." + (" It is the bench's." if stop["of"] == "bench" else "")


def _asked(row: CallRow) -> str:
    """What a person is asked about: the tool, with the agents that were asked on the way to it."""
    approval = row["approval"]
    return row["tool"] if approval is None else " → ".join(approval["chain"][1:])


def _ended(facts: Facts) -> NowLine:
    state: dict[str, Any] = facts.state
    at = f" at {clock_time(state['ended_at'])}" if state.get("ended_at") else ""
    if state["status"] == "failed":
        error = state["error"] or {"type": "unknown", "message": ""}
        return _line("red", "failed", "Failed:", f"{error['type']}: {error['message']}")
    if state["status"] == "cancelled":
        text = f"by {state.get('cancelled_by', 'someone')}. It stays cancelled."
        return _line("plain", "cancelled", f"Cancelled{at}", text + _left(facts))
    cuts = sum(1 for life in facts.lives if life.how in ("killed", "lost"))
    if not cuts:
        return _line("plain", "completed", f"Completed{at}.", "")
    times = "1 kill" if cuts == 1 else f"{cuts} kills"
    return _line(
        "plain", "completed", f"Completed{at}", f"after {times}. No finished turn and no finished step was repeated."
    )


def _left(facts: Facts) -> str:
    """What nobody can stop of a run that is over, if anything."""
    if not facts.at_work:
        return ""
    verb = "executes" if len(facts.at_work) == 1 else "execute"
    return f" {', '.join(facts.at_work)} did not listen and still {verb}; what comes of that is dropped."


def _dead(facts: Facts) -> NowLine:
    life = facts.lives[-1] if facts.lives else None
    at = f" at {clock_time(life.ended_at)}" if life is not None and life.ended_at is not None else ""
    told = sentence(recovery(facts))
    if facts.threads:
        told = f"A thread of it still runs; Recover waits for that. {told}"
    if facts.killed_by is not None:
        return _line("violet", "killed", f"Killed by {facts.killed_by}{at}.", told, "Recover")
    return _line("violet", "killed", f"Cut off{at}.", told, "Recover")


def _line(tone: Any, shape: str, strong: str, text: str, action: str | None = None) -> NowLine:
    return {"tone": tone, "shape": shape, "strong": strong, "text": text, "action": action}
