"""AG-UI: a request as an interrupt of that protocol, and an entry of its `resume` as a decision.

- Edits come as `editedArgs`, which replace all arguments; a no is in the payload, not in the status.
- The same entry again changes nothing; entries come one by one, where the protocol wants all at once, because an inbox
  has many to answer.

Source: https://docs.ag-ui.com/concepts/interrupts, AGENTS 3. Knows nothing of events, threads or connections.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from workbench.agents.questions import INPUT_REQUIRED
from workbench.errors import AlreadyDecided, BadInput
from workbench.models.checks import said_of
from workbench.models.schemas import misfits
from workbench.plain import digest

if TYPE_CHECKING:
    from workbench.agents.approval import Approval
    from workbench.agents.approvals import Approvals
    from workbench.agents.views import ApprovalView

__all__ = ["interrupt", "resume"]


def interrupt(view: ApprovalView) -> dict[str, Any]:
    """The request as an interrupt; its id is the request's, and what is ours is in its metadata."""
    ours = {
        "run": view["run"],
        "agent": view["agent"],
        "chain": view["chain"],
        "tool": view["tool"],
        "args": view["args"],
        "digest": view["digest"],
        "risk": view["risk"],
        "sentence": view["sentence"],
    }
    made = {
        "id": view["id"],
        "reason": view["asks"],
        "message": view["message"] or view["sentence"],
        "toolCallId": f"{view['run']}:{view['call']}",
        "responseSchema": view["schema"] if view["asks"] == INPUT_REQUIRED else _response(view["schema"]),
        "metadata": {"workbench": ours},
    }
    if view["expires_at"] is not None:
        instant = datetime.fromtimestamp(view["expires_at"], UTC).isoformat(timespec="milliseconds")
        made["expiresAt"] = instant.replace("+00:00", "Z")
    return made


async def resume(approvals: Approvals, entry: Mapping[str, Any], *, by: str, via: str) -> Approval:
    """Carry out one entry. Raises: NoSuchApproval, AlreadyDecided otherwise, BadInput for one that does not fit."""
    if not isinstance(entry, Mapping):
        raise BadInput(f"an entry of a resume is a dict with an 'interruptId' and a 'status', found {entry!r:.80}")
    approval, status = await approvals.get(entry.get("interruptId", "")), entry.get("status")
    payload: Any = entry.get("payload")
    if status not in ("resolved", "cancelled"):
        raise BadInput(f"an entry of a resume is 'resolved' or 'cancelled', found {status!r}")
    if status == "resolved" and (
        problems := misfits(interrupt(approval.view)["responseSchema"], payload, "the payload")
    ):
        raise BadInput(f"the payload for {approval.id!r} does not fit its responseSchema: {said_of(problems)}")
    try:
        if status == "cancelled":
            return await approvals.dismiss(approval.id, by=by, via=via)
        if approval.asks == INPUT_REQUIRED:
            return await approvals.answer(approval.id, payload, by=by, via=via)
        if payload["approved"]:
            return await approvals.approve(approval.id, payload.get("editedArgs"), by=by, via=via)
        return await approvals.reject(approval.id, payload.get("note"), by=by, via=via)
    except AlreadyDecided:
        decided = await approvals.get(approval.id)
        if _is_what(decided, status, payload):
            return decided
        raise


def _response(arguments: dict[str, Any]) -> dict[str, Any]:
    """The answer to a question about a call: yes or no, with other arguments or a reason."""
    inside = {name: part for name, part in arguments.items() if name != "$defs"}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean"},
            "editedArgs": {**inside, "description": "All arguments, in place of those that were proposed."},
            "note": {"type": "string", "description": "Why; the model is told."},
        },
        "required": ["approved"],
        "additionalProperties": False,
    }
    return {**schema, "$defs": arguments["$defs"]} if "$defs" in arguments else schema


def _is_what(decided: Approval, status: str, payload: Any) -> bool:
    """Whether a decision that stands is what an entry asks for."""
    if status == "cancelled" or decided.status == "dismissed":
        return status == "cancelled" and decided.status == "dismissed"
    match decided.status:
        case "answered":
            return digest(decided.value) == digest(payload)
        case "approved":
            return bool(payload["approved"]) and payload.get("editedArgs", decided.args) == decided.args
        case "edited":
            edited = payload.get("editedArgs")
            return edited is not None and digest(decided.effective_args) == digest(edited)
        case "rejected":
            return not payload["approved"] and payload.get("note") == decided.reason
    return False
