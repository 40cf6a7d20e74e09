"""The transcript: the rows of a run, what was said and which tools were called, in time order, from its facts.

Source: LOOK 3 (run panel). Knows nothing of windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.approval import approval_view
from workbench.agents.calls import OUTCOME, branch_of
from workbench.agents.context import Principal
from workbench.agents.facts import call_of
from workbench.agents.gate import INTENT
from workbench.agents.secret_texts import RAW, places_of_call
from workbench.durable.keys import step_key
from workbench.plain import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from workbench.agents.facts import Facts
    from workbench.agents.views import CallRow, MessageRow, Span, StepRow
    from workbench.models.messages import Call
    from workbench.models.model import Turn
    from workbench.store.journal import StepRecord

__all__ = ["rows"]

CUT = {"length": "cut off by the output limit", "content_filter": "cut off by the provider's filter"}
"""Why the words of a turn are not all that the model meant to say."""


def rows(facts: Facts) -> list[MessageRow | CallRow]:
    """Everything that happened, oldest first."""
    made: list[MessageRow | CallRow] = [_request(facts)]
    turns = facts.turns()
    for number, record, turn in turns:
        made.append(_turn(facts, number, record, turn))
        made.extend(_call(facts, number, position, call) for position, call in enumerate(turn.calls))
    following = len(turns) + 1
    if facts.alive and not facts.final and following in facts.turn_began and _turn_is_open(facts):
        made.append(_streaming(facts, following))
    return made


def _request(facts: Facts) -> MessageRow:
    row: MessageRow = {
        "kind": "message",
        "id": "request",
        "who": "you",
        "turn": 0,
        "text": facts.message.get("text", ""),
        "tokens": None,
        "streaming": False,
        "replayed": False,
        "spans": [{"began_at": facts.asked_at, "ended_at": facts.asked_at, "how": "done"}],
        "took": None,
    }
    if asker := _asker(facts.message):
        row["asker"] = asker
    return row


def _asker(message: Mapping[str, Any]) -> str:
    """Who asked, where it was another than you."""
    parent = message.get("parent")
    if type(parent) is dict:
        return str(parent["chain"][-1]["agent"])
    who = Principal(**message.get("principal", {}))
    if not who.is_owner:
        return str(who)
    return "" if who.name == Principal().name else who.name


def _turn(facts: Facts, number: int, record: StepRecord, turn: Turn) -> MessageRow:
    spans: list[Span] = [{"began_at": record.began_at, "ended_at": record.began_at + record.took, "how": "turn"}]
    row: MessageRow = {
        "kind": "message",
        "id": f"turn-{number}",
        "who": facts.holders()[number - 1],
        "turn": number,
        "text": turn.text,
        "tokens": turn.tokens,
        "streaming": False,
        "replayed": facts.replayed(record),
        "spans": spans + _replays(facts, record),
        "took": record.took,
    }
    if note := _aside(turn):
        row["note"] = note
    return row


def _aside(turn: Turn) -> str:
    """What a person should know of a turn beside its words."""
    notes = [CUT[turn.finish]] if turn.finish in CUT else []
    if turn.tries:
        failed = ", ".join(f"{each['model']} ({each['kind']})" for each in turn.tries)
        notes.append(f"answered by {turn.model}, after {failed}")
    return "; ".join(notes)


def _turn_is_open(facts: Facts) -> bool:
    return any(address.branch == "" for address in facts.open)


def _streaming(facts: Facts, number: int) -> MessageRow:
    return {
        "kind": "message",
        "id": f"turn-{number}",
        "who": facts.holders()[-1],
        "turn": number,
        "text": facts.text.get(number, ""),
        "tokens": None,
        "streaming": True,
        "replayed": False,
        "spans": [{"began_at": facts.turn_began[number], "ended_at": None, "how": "turn"}],
        "took": None,
    }


def _call(facts: Facts, number: int, position: int, call: Call) -> CallRow:
    """The row of a call; that of one that has its outcome, and asked no other run, is made once."""
    branch = branch_of(number, position)
    outcome = _named(reversed(facts.on(branch)), branch, OUTCOME)  # it is the last one of its branch
    if outcome is None or facts.asked(branch):
        return _made_call(facts, number, branch, call)
    request = facts.request(branch)
    asked = None if request is None else (request.id, request.status)
    ends = len(facts.lives), facts.state.get("ended_at"), facts.alive or not facts.final, "fork" in facts.message
    made_from = call, len(facts.on(branch)), outcome.epoch, outcome.payload, asked, *ends, facts.progress.get(branch)
    made: CallRow = facts.once(branch, made_from, lambda: _made_call(facts, number, branch, call))
    return made


def _made_call(facts: Facts, number: int, branch: str, call: Call) -> CallRow:
    records = facts.on(branch)
    intent = _named(records, branch, INTENT)
    outcome = _named(records, branch, OUTCOME)
    result = decode(outcome.payload) if outcome is not None else None
    shown = facts.waits_below(branch) or facts.request(branch)
    begun = [record for record in records if record.name == INTENT]
    meant: dict[str, Any] = decode(begun[-1].payload) if begun else {"args": call.args}
    args = meant["args"]
    status = result["status"] if result is not None else _status(facts, branch, intent is not None)
    spans = _call_spans(facts, branch, intent, outcome, status)
    row: CallRow = {
        "kind": "call",
        "id": branch,
        "turn": number,
        "tool": call.tool,
        "args": args if args is not None else {RAW: call.raw},
        "secret": meant["secret"] if "secret" in meant else _secret(facts, number, call, result),
        "call_id": f"{facts.key}#{facts.origin}#{branch}",
        "status": status,
        "note": _note(facts, branch, status, result),
        "steps": _steps(facts, branch, records),
        "progress": facts.progress.get(branch) or (result or {}).get("progress", []),
        "result": result["content"] if result is not None else None,
        "error": result["error"] if result is not None else None,
        "approval": approval_view(shown, alive=facts.alive or not facts.final) if shown is not None else None,
        "children": [{"id": one.id, "agent": one.agent, "status": one.status} for one in facts.asked(branch)],
        "replayed": outcome is not None and facts.replayed(outcome),
        "spans": spans,
        "took": _took(spans),
    }
    if stdout := (result or {}).get("stdout") or facts.printed.get(branch):
        row["stdout"] = stdout
    return row


def _secret(facts: Facts, number: int, call: Call, result: dict[str, Any] | None) -> list[str]:
    """Where the secrets of a call stand that has no intent: by its outcome, and by its tool where that is known."""
    tool = facts.tools.get(facts.holders()[number - 1], {}).get(call.tool)
    here = [] if tool is None else places_of_call(tool.parameters, call.args)
    return list(dict.fromkeys([*(result or {}).get("secret", []), *here]))


def _named(records: Iterable[StepRecord], branch: str, name: str) -> StepRecord | None:
    return next((record for record in records if record.branch == branch and record.name == name), None)


def _status(facts: Facts, branch: str, begun: bool) -> str:
    request = facts.request(branch)
    waits = facts.waits_below(branch) is not None or facts.waits_for_others(branch) or branch in facts.stops
    if waits or (request is not None and request.status == "pending"):
        return "waiting"
    if facts.final:
        return "interrupted" if begun else "denied"
    return "running" if facts.alive else "interrupted" if begun else "running"


def _note(facts: Facts, branch: str, status: str, result: dict[str, Any] | None) -> str:
    if result is not None:
        return "the model was told" if status == "interrupted" else str(result["note"])
    return "" if facts.alive or status != "interrupted" else "was running when the run was cut off"


def _call_spans(
    facts: Facts, branch: str, intent: StepRecord | None, outcome: StepRecord | None, status: str
) -> list[Span]:
    spans: list[Span] = []
    request = facts.request(branch)
    if request is not None:
        decided = (
            request.decided_at
            if request.status != "pending"
            else None
            if facts.alive
            else _cut_at(facts, request.asked_at)
        )
        spans.extend(_over_lives(facts, request.asked_at, decided, "waiting", "waiting"))
    if intent is None:
        return spans
    began = intent.began_at
    ended = (
        outcome.began_at + outcome.took
        if outcome is not None
        else None
        if facts.alive and not facts.final
        else _cut_at(facts, began)
    )
    how = {"success": "done", "running": "running", "failed": "failed", "retried": "failed"}.get(status, "cut")
    if status == "interrupted" and outcome is not None:
        ended = _cut_at(facts, began)
    spans.extend(_over_lives(facts, began, ended, how, "cut"))
    return spans


def _over_lives(facts: Facts, began: float, ended: float | None, how: str, cut: str) -> list[Span]:
    """A bar from `began` to `ended`, broken where nobody was alive."""
    spans: list[Span] = []
    at = began
    for life, following in zip(facts.lives, facts.lives[1:], strict=False):
        if life.ended_at is not None and at <= life.ended_at and (ended is None or following.began_at < ended):
            spans.append({"began_at": at, "ended_at": life.ended_at, "how": cut})
            at = following.began_at
    spans.append({"began_at": at, "ended_at": ended, "how": how})
    return spans


def _cut_at(facts: Facts, began: float) -> float:
    """When the life that was on at `began` ended."""
    ends = [life.ended_at for life in facts.lives if life.ended_at is not None and life.ended_at >= began]
    return min(ends, default=facts.now)


def _replays(facts: Facts, record: StepRecord) -> list[Span]:
    """The moments at which later lives used a record."""
    return [{"began_at": life.began_at, "ended_at": life.began_at, "how": "replayed"} for life in facts.later(record)]


def _took(spans: list[Span]) -> float | None:
    """How long it worked; how long it waited for a person only while that is all there is."""
    if not spans or spans[-1]["ended_at"] is None:
        return None
    worked = [span for span in spans if span["how"] != "waiting"] or spans
    return sum((span["ended_at"] or 0.0) - span["began_at"] for span in worked)


def _steps(facts: Facts, branch: str, records: list[StepRecord]) -> list[StepRow]:
    made: list[StepRow] = []
    intent = _named(records, branch, INTENT)
    epoch = intent.epoch if intent is not None else 0
    for record in records:
        if record.name.startswith("@"):
            continue
        again = epoch > 0 and record.epoch > epoch
        epoch = max(epoch, record.epoch)
        spans: list[Span] = [
            {
                "began_at": record.began_at,
                "ended_at": record.began_at + record.took,
                "how": "failed" if record.kind == "failure" else "done",
            }
        ]
        made.append(
            {
                "name": _step_name(branch, record.branch, record.name),
                "key": step_key(facts.key, facts.origin, record.branch, record.name, record.occurrence),
                "status": "failed" if record.kind == "failure" else "success",
                "replayed": facts.replayed(record),
                "ran_again": again,
                "spans": spans + _replays(facts, record),
                "took": record.took,
            }
        )
    for address, began in facts.open.items():
        if call_of(address.branch) == branch and not address.name.startswith("@"):
            made.append(
                {
                    "name": _step_name(branch, address.branch, address.name),
                    "key": step_key(facts.key, facts.origin, address.branch, address.name, address.occurrence),
                    "status": "running",
                    "replayed": False,
                    "ran_again": epoch > 0 and facts.epoch > epoch,
                    "spans": [{"began_at": began, "ended_at": None, "how": "running"}],
                    "took": None,
                }
            )
    return made


def _step_name(call: str, branch: str, name: str) -> str:
    return f"{branch[len(call) + 1 :]}/{name}" if branch != call else name
