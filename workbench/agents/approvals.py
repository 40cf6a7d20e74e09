"""Approvals: the inbox of a bench. What waits for a person, and the verbs that decide it.

- The list is read from the store's requests, so it is the same in every view, kernel and program.
- Every verb raises when it cannot be done; the first decision stands, and a second hears whose it was.
- Edited arguments are validated against the tool before anything is decided.

Source: DESIGN 2 and rule 12, AGENTS 4 (approval record), CASES 13 to 28, u10, u25, u26.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.answers import checked_answer
from workbench.agents.questions import INPUT_REQUIRED, is_of_a_tool
from workbench.durable.requests import PENDING, Request, Requests
from workbench.errors import BadInput, NoCode
from workbench.plain import digest, encode
from workbench.process.handle import Handle
from workbench.table import Table

if TYPE_CHECKING:
    from workbench.agents.agent import Agent
    from workbench.agents.views import Action, ApprovalsView, ApprovalView
    from workbench.clock import Clock
    from workbench.loop import Home

__all__ = ["Approval", "Approvals", "approval_view"]

SHOWN = 50  # decided ones in the view


class Approval:
    """One request as code sees it: its fields are those of `ApprovalView`, e.g. `.id`, `.tool`, `.args`, `.status`."""

    def __init__(self, view: ApprovalView) -> None:
        self.view = view

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["view"][name]
        except KeyError:
            raise AttributeError(
                f"an approval has no field {name!r}; it has {sorted(self.__dict__.get('view', {}))}"
            ) from None

    def __repr__(self) -> str:
        return f"<Approval {self.view['id']} {self.view['status']}: {self.view['tool']}({self.view['args']!r})>"


class Approvals(Handle):
    """The inbox: a handle whose state is the list of what waits, and the verbs that decide."""

    def __init__(self, requests: Requests, agents: Mapping[str, Agent], home: Home, clock: Clock) -> None:
        super().__init__("approvals")
        self._requests = requests
        self._agents = agents
        self._home = home
        self._clock = clock
        self._become("running")
        self._stop = requests.changes.subscribe(self._publish)
        self._publish()

    def pending(self) -> Table:
        """What waits for a decision, expiring first, then oldest: a table of approvals."""
        rows = [Approval(approval_view(request, alive=True)) for request in self._open()]
        return Table(rows, columns=("id", "run", "agent", "tool", "args", "asked_at"))

    async def get(self, id: str) -> Approval:
        """One approval, pending or decided. Raises: NoSuchApproval."""
        return Approval(approval_view(await self._requests.get(id), alive=True))

    async def approve(
        self, id: str, args: dict[str, Any] | None = None, *, by: str = "you", via: str = "notebook"
    ) -> Approval:
        """Let the call run, with `args` instead of the arguments shown if given.

        Raises: NoSuchApproval, AlreadyDecided, ToolArgumentsInvalid when `args` do not fit the tool, BadInput or
        NotPlain when they are no arguments, NoCode when its agent is not here.
        """
        request = await self._requests.get(id)
        if request.body.get("reason") == INPUT_REQUIRED:
            raise BadInput(f"{id!r} asks for a value and not for a yes; use answer({id!r}, value)")
        if args is not None and not isinstance(args, dict):
            raise BadInput(f"the edited arguments of {id!r} are a dict of names and values, found {args!r}")
        if args is None or digest(args) == digest(request.body["args"]):  # True is not 1
            return await self._decide(id, "approved", by=by, via=via)
        self._tool(request).validate(args)
        return await self._decide(id, "edited", by=by, via=via, args=args)

    async def reject(self, id: str, reason: str | None = None, *, by: str = "you", via: str = "notebook") -> Approval:
        """Keep the call from running; the model is told the reason. Raises: NoSuchApproval, AlreadyDecided."""
        return await self._decide(id, "rejected", by=by, via=via, reason=reason)

    async def answer(self, id: str, value: Any, *, by: str = "you", via: str = "notebook") -> Approval:
        """Answer as the tool: it does not run, `value` is its result. Or answer a question that a tool asks.

        Raises: NoSuchApproval, AlreadyDecided, NotPlain, BadInput when it does not fit what is asked for.
        """
        request = await self._requests.get(id)
        if request.body.get("reason") == INPUT_REQUIRED and request.status == PENDING:
            value = checked_answer(request.body["schema"], value, id)
        return await self._decide(id, "answered", by=by, via=via, value=value)

    async def dismiss(self, id: str, *, by: str = "you", via: str = "notebook") -> Approval:
        """Close the request undecided; the model is told that nothing was done.

        Raises: NoSuchApproval, AlreadyDecided.
        """
        return await self._decide(id, "dismissed", by=by, via=via)

    async def _decide(self, id: str, status: str, **decision: Any) -> Approval:
        request = await self._requests.decide(
            id, status, {name: value for name, value in decision.items() if value is not None}
        )
        return Approval(approval_view(request, alive=True))

    def _tool(self, request: Request) -> Any:
        name = request.body["agent"]
        agent = self._agents.get(name)
        tool = agent.tools.get(request.body["tool"]) if agent is not None else None
        if tool is None:
            raise NoCode(
                f"the arguments of {request.id!r} cannot be checked: "
                f"there is no tool {request.body['tool']!r} of agent {name!r} here",
                name=name,
            )
        return tool

    def view(self) -> ApprovalsView:
        """The inbox as a person sees it."""
        pending = [approval_view(request, alive=True) for request in self._open()]
        decided = sorted(
            (request for request in self._requests.known() if request.status != PENDING and is_of_a_tool(request)),
            key=lambda r: r.decided_at or 0,
            reverse=True,
        )
        count = len(pending)
        strong = {0: "Nothing waits for you.", 1: "1 approval waits for you."}.get(
            count, f"{count} approvals wait for you."
        )
        return {
            "kind": "approvals",
            "now": self._clock.now(),
            "pending": pending,
            "decided": [approval_view(request, alive=True) for request in decided[:SHOWN]],
            "decided_total": len(decided),
            "now_line": {
                "tone": "amber" if count else "plain",
                "shape": "waiting" if count else "completed",
                "strong": strong,
                "text": "",
                "action": None,
            },
            "actions": [],
        }

    def source(self) -> Approvals:
        """The inbox is its own source."""
        return self

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after the inbox changed; gives the function that stops it."""
        return self._requests.changes.subscribe(changed)

    async def command(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Carry out a button. Raises: what its verb raises; BadInput for a command that there is not."""
        verbs: dict[str, Callable[..., Any]] = {
            "approve": self.approve,
            "edit": self.approve,
            "reject": self.reject,
            "answer": self.answer,
            "dismiss": self.dismiss,
        }
        if name not in verbs:
            raise BadInput(f"approvals have no command {name!r}; they have {sorted(verbs)}")
        allowed = {"id", "args", "reason", "value"} & set(args)
        approval = await verbs[name](**{field: args[field] for field in allowed})
        return {"id": approval.id, "status": approval.status}

    def cast(self, message: Any) -> Any:
        """The inbox takes no messages. Raises: BadInput."""
        raise BadInput("approvals take no messages; use approve, reject, answer or dismiss")

    def call(self, message: Any, *, id: str | None = None) -> Any:
        """The inbox takes no messages. Raises: BadInput."""
        raise BadInput("approvals take no messages; use approve, reject, answer or dismiss")

    def dispose(self) -> Any:
        """The inbox lives as long as its bench. Raises: BadInput."""
        raise BadInput("approvals end with their bench; use await bench.close()")

    def close(self) -> None:
        """End the inbox with its bench."""
        self._stop()
        self._become("disposed")

    def __repr__(self) -> str:
        return f"<Approvals: {len(self._open())} pending>"

    def _open(self) -> list[Request]:
        pending = [request for request in self._requests.known() if request.status == PENDING and is_of_a_tool(request)]
        return sorted(pending, key=lambda r: (r.body.get("expires_at") or float("inf"), r.asked_at))

    def _publish(self) -> None:
        views = [approval_view(request, alive=True) for request in self._open()]
        self.states.publish(
            encode([{name: value for name, value in view.items() if name != "actions"} for view in views], "approvals")
        )


def approval_view(request: Request, *, alive: bool) -> ApprovalView:
    """A request and its decision as a person sees them; `alive` when it can still be decided."""
    body, decision = request.body, request.decision or {}
    status = request.status
    return {
        "id": request.id,
        "run": body["run"],
        "key": request.key,
        "agent": body["agent"],
        "chain": _chain(body),
        "tool": body["tool"],
        "call": body["call"],
        "sentence": body["sentence"],
        "act": body["act"],
        "args": body["args"],
        "schema": body["schema"],
        "asked_at": request.asked_at,
        "expires_at": body.get("expires_at"),
        "status": status,
        "decided_by": decision.get("by"),
        "via": decision.get("via"),
        "reason": decision.get("reason"),
        "decided_at": request.decided_at,
        "effective_args": decision.get("args", body["args"] if status == "approved" else None),
        "actions": _actions(request) if alive and status == PENDING else [],
    }


def _chain(body: dict[str, Any]) -> list[str]:
    """Who asked whom, by name, and the tool at the end."""
    links = body.get("chain") or [{"agent": body["agent"]}]
    return [*(link["agent"] for link in links), body["tool"]]


def _actions(request: Request) -> list[Action]:
    labels: tuple[tuple[str, str], ...] = (
        ("Approve", "approve"),
        ("Edit…", "edit"),
        ("Reject…", "reject"),
        ("Answer as the tool…", "answer"),
        ("Dismiss", "dismiss"),
    )
    if request.body.get("reason") == INPUT_REQUIRED:
        labels = (("Answer…", "answer"), ("Dismiss", "dismiss"))
    return [
        {"label": label, "command": command, "args": {"id": request.id}, "enabled": True} for label, command in labels
    ]
