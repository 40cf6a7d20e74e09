"""The approval: one request with its decision, as people, programs and other protocols see it.

- `approval_view` is what windows show; `Approval` is the same for code, with the record's names beside it.
- `record` is one shape for every way out: who proposed what, what was shown, and who decided what, when and through
  what.

Source: AGENTS 4 (approval record). Knows nothing of who decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.agui import interrupt
from workbench.agents.questions import INPUT_REQUIRED, TOOL_CALL
from workbench.agents.secret_texts import DOTS, masked, secret_places
from workbench.durable.requests import EXPIRED, PENDING, Request

if TYPE_CHECKING:
    from workbench.agents.views import Action, ApprovalView

__all__ = ["Approval", "approval_view"]


class Approval:
    """One request as code sees it: its fields are those of `ApprovalView` and of `record`, e.g. `.id`, `.shown_args`.

    `decided_by` is who it was by name, "rule" or "timeout"; in the record it is the kind of decider.
    """

    def __init__(self, view: ApprovalView) -> None:
        self.view = view

    def __getattr__(self, name: str) -> Any:
        view = self.__dict__.get("view", {})
        if name in view:
            return view[name]
        if view and name in (record := self.record):
            return record[name]
        raise AttributeError(f"an approval has no field {name!r}; it has {sorted(view)}")

    @property
    def record(self) -> dict[str, Any]:
        """The approval record, as plain data; `decided_by` is person, rule, timeout or test, `decider` the name."""
        view = self.view
        return {
            "id": view["id"],
            "run": view["run"],
            "step": {"turn": view["turn"], "position": view["position"]},
            "agent": view["agent"],
            "chain": view["chain"],
            "tool": view["tool"],
            "proposed_args": view["args"],
            "shown_args": view["args"],
            "digest": view["digest"],
            "args_schema": view["schema"],
            "risk": view["risk"],
            "message": view["message"] or view["sentence"],
            "created_at": view["asked_at"],
            "expires_at": view["expires_at"],
            "on_expiry": view["on_expiry"],
            "status": view["status"],
            "effective_args": view["effective_args"],
            "value": view["value"],
            "note": view["reason"],
            "decided_by": _decider(view),
            "decider": view["decided_by"],
            "via": view["via"],
            "rule_id": view["rule_id"],
            "decided_at": view["decided_at"],
        }

    def interrupt(self) -> dict[str, Any]:
        """The request as an interrupt of AG-UI; `responseSchema` says what `bench.approvals.resume` takes for it."""
        return interrupt(self.view)

    def __repr__(self) -> str:
        args = masked(self.view["args"], self.view["secret"], DOTS)
        return f"<Approval {self.view['id']} {self.view['status']}: {self.view['tool']}({args!r})>"


def _decider(view: ApprovalView) -> str | None:
    if view["status"] == PENDING:
        return None
    if view["status"] == EXPIRED:
        return "timeout"
    return "rule" if view["rule_id"] is not None else "test" if view["via"] == "test" else "person"


def approval_view(request: Request, *, alive: bool) -> ApprovalView:
    """A request and its decision as a person sees them; `alive` when it can still be decided."""
    body, decision = request.body, request.decision or {}
    status = request.status
    asks = body.get("reason", TOOL_CALL)
    return {
        "id": request.id,
        "run": body["run"],
        "key": request.key,
        "agent": body["agent"],
        "chain": _chain(body),
        "tool": body["tool"],
        "call": body["call"],
        "turn": body.get("turn", 0),
        "position": body.get("position", 0),
        "asks": asks,
        "sentence": body["sentence"],
        "act": body["act"],
        "risk": body.get("risk", "changes"),
        "message": body.get("message", ""),
        "args": body["args"],
        "secret": secret_places(body["schema"], body["args"]),
        "digest": body.get("digest", ""),
        "schema": body["schema"],
        "asked_at": request.asked_at,
        "expires_at": request.expires_at,
        "on_expiry": body.get("on_expiry", "deny"),
        "status": status,
        "decided_by": decision.get("by"),
        "via": decision.get("via"),
        "rule_id": decision.get("rule_id"),
        "reason": decision.get("reason"),
        "decided_at": request.decided_at,
        "effective_args": decision.get("args", body["args"] if status == "approved" else None),
        "value": decision.get("value"),
        "actions": _actions(request, asks) if alive and status == PENDING else [],
    }


def _chain(body: dict[str, Any]) -> list[str]:
    """Who asked whom, by name, and the tool at the end."""
    links = body.get("chain") or [{"agent": body["agent"]}]
    return [*(link["agent"] for link in links), body["tool"]]


_CALL = (
    ("Approve", "approve"),
    ("Edit…", "edit"),
    ("Reject…", "reject"),
    ("Answer as the tool…", "answer"),
    ("Always for this tool…", "always"),
    ("Dismiss", "dismiss"),
)
_INPUT = (("Answer", "answer"), ("Reject…", "reject"), ("Dismiss", "dismiss"))


def _actions(request: Request, asks: str) -> list[Action]:
    """The buttons; each says which arguments it was pressed for."""
    args = {"id": request.id, "digest": request.body.get("digest", "")}
    labels = _INPUT if asks == INPUT_REQUIRED else _CALL
    return [{"label": label, "command": command, "args": args, "enabled": True} for label, command in labels]
