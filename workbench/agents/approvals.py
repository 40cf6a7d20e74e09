"""Approvals: the inbox of a bench. What waits for a person, and the verbs that decide it.

- The list is read from the store's requests, so it is the same in every view, kernel and program.
- Every verb raises when it cannot be done; the first decision stands, and a second hears whose it was.
- Edited arguments are validated against the tool before anything is decided, and a value against what was asked for.
- A decision is about the arguments that were shown: their digest goes with it.

Source: DESIGN 2 and rule 12, AGENTS 4 (approval record), CASES 13 to 28, u10, u25, u26.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.agui import resume
from workbench.agents.answers import checked_answer
from workbench.agents.approval import Approval, approval_view
from workbench.agents.batch import Batch, decide_each
from workbench.agents.policy import Rule
from workbench.agents.questions import INPUT_REQUIRED, TOOL_CALL, is_of_a_tool
from workbench.durable.requests import PENDING, Request
from workbench.errors import BadInput
from workbench.given import named, several
from workbench.models.checks import arguments_invalid
from workbench.models.schemas import misfits
from workbench.plain import digest as digest_of
from workbench.plain import encode
from workbench.process.handle import Handle
from workbench.table import Table

if TYPE_CHECKING:
    from workbench.agents.agent import Agent
    from workbench.agents.rulebook import Kept, Rulebook, Scope
    from workbench.agents.tools import Tool
    from workbench.agents.views import ApprovalsView, RuleView
    from workbench.durable.runtime import Runtime

__all__ = ["Always", "Approvals"]

SHOWN = 50  # decided ones in the view


@dataclass(frozen=True, slots=True)
class Always:
    """What "always" came to: the approval it was said of, the rule that was written, and what that rule decided."""

    approval: Approval
    rule: Kept
    resolved: list[Approval]


class Approvals(Handle):
    """The inbox: a handle whose state is the list of what waits, and the verbs that decide.

    Every verb takes `by` (who decides) and `via` (through what: notebook, cli, test …), which the record keeps. With
    `digest`, the digest of the arguments that were shown, a decision about others is refused.
    """

    def __init__(self, runtime: Runtime, agents: Mapping[str, Agent], rules: Rulebook) -> None:
        super().__init__("approvals")
        self._requests = runtime.requests
        self._agents = agents
        self._rules = rules
        self._clock = runtime.clock
        self._become("running")
        self._stops = [self._requests.changes.subscribe(self._publish)]
        self._publish()

    def pending(self) -> Table:
        """What waits for a decision, expiring first, then oldest: a table of approvals."""
        rows = [_seen(request) for request in self._open()]
        return Table(rows, columns=("id", "run", "agent", "tool", "args", "asked_at"))

    def all(self) -> Table:
        """What waits, then what was decided, newest first: a table of approvals."""
        decided = [_seen(request) for request in self._closed()]
        return Table(
            [*self.pending(), *decided], columns=("id", "run", "tool", "status", "decided_by", "via", "reason")
        )

    async def get(self, id: str) -> Approval:
        """One approval, pending or decided. Raises: NoSuchApproval."""
        return _seen(await self._requests.get(id))

    async def approve(
        self,
        id: str,
        args: dict[str, Any] | None = None,
        *,
        by: str = "you",
        via: str = "notebook",
        digest: str | None = None,
    ) -> Approval:
        """Let the call run, with `args` instead of the arguments shown if given.

        Raises: NoSuchApproval, AlreadyDecided, ToolArgumentsInvalid when `args` do not fit the tool, BadInput or
        NotPlain when they are no arguments, or when a value is asked for and no yes.
        """
        request = await self._shown(id, digest)
        if request.body.get("reason") == INPUT_REQUIRED:
            raise BadInput(f"{id!r} asks for a value and not for a yes; use answer({id!r}, value)")
        if args is not None and not isinstance(args, dict):
            raise BadInput(f"the edited arguments of {id!r} are a dict of names and values, found {args!r}")
        if args is None or digest_of(args) == digest_of(request.body["args"]):  # True is not 1
            return await self._decide(id, "approved", by=by, via=via)
        self._check(request, args)
        return await self._decide(id, "edited", by=by, via=via, args=args)

    async def reject(
        self,
        id: str,
        reason: str | None = None,
        *,
        by: str = "you",
        via: str = "notebook",
        digest: str | None = None,
    ) -> Approval:
        """Keep the call from running; the model is told the reason.

        Raises: NoSuchApproval, AlreadyDecided, BadInput.
        """
        await self._shown(id, digest)
        if reason is not None and not isinstance(reason, str):
            raise BadInput(f"the reason for rejecting {id!r} is a text, found {reason!r}")
        return await self._decide(id, "rejected", by=by, via=via, reason=reason)

    async def answer(
        self, id: str, value: Any, *, by: str = "you", via: str = "notebook", digest: str | None = None
    ) -> Approval:
        """Answer as the tool, which does not run: `value` is its result. Or give the value that is asked for.

        Raises: NoSuchApproval, AlreadyDecided, NotPlain, BadInput when it is not the value that is asked for.
        """
        request = await self._shown(id, digest)
        if request.body.get("reason") == INPUT_REQUIRED and request.status == PENDING:
            value = checked_answer(request.body["schema"], value, id)
        return await self._decide(id, "answered", by=by, via=via, value=value)

    async def dismiss(self, id: str, *, by: str = "you", via: str = "notebook", digest: str | None = None) -> Approval:
        """Close the request undecided; the model is told that nothing was done.

        Raises: NoSuchApproval, AlreadyDecided, BadInput.
        """
        await self._shown(id, digest)
        return await self._decide(id, "dismissed", by=by, via=via)

    async def always(
        self,
        id: str,
        *,
        scope: Scope = "notebook",
        args: Mapping[str, Any] | None = None,
        by: str = "you",
        via: str = "notebook",
        digest: str | None = None,
    ) -> Always:
        """Approve, and write the rule that lets this tool of this agent run from now on, what waits of it included.

        The rule holds in the request's run, in this session, or in the notebook, that is wherever its store is; with
        `args`, for arguments of which these conditions hold. It is listed in `bench.policy.rules` and can be revoked
        there; a rule that denies beats it. Raises: as `approve`; AlreadyDecided writes no rule.
        """
        request = await self._requests.get(id)
        body = request.body
        rule = Rule("allow", body["tool"], agent=body["agent"], args=args)
        run = body["run"] if scope == "run" else None
        approval = await self.approve(id, by=by, via=via, digest=digest)
        kept = await self._rules.add(rule, scope=scope, run=run, by=by)
        decided = (one for one in self._requests.known() if (one.decision or {}).get("rule_id") == kept.id)
        return Always(approval, kept, [_seen(one) for one in decided])

    async def approve_all(
        self,
        ids: Iterable[str] | Mapping[str, str] | None = None,
        *,
        run: str | None = None,
        agent: str | None = None,
        tool: str | None = None,
        by: str = "you",
        via: str = "notebook",
    ) -> Batch:
        """Let several calls run: those of these ids, or all that wait now and are of this run, agent and tool.

        `ids` may be a mapping of ids to the digests that were shown. Gives which were decided, and why others not.
        """
        shown = self._several(ids, run=run, agent=agent, tool=tool, asks=TOOL_CALL)
        return await decide_each(shown, lambda id: self.approve(id, by=by, via=via, digest=shown[id]))

    async def reject_all(
        self,
        ids: Iterable[str] | Mapping[str, str] | None = None,
        reason: str | None = None,
        *,
        run: str | None = None,
        agent: str | None = None,
        tool: str | None = None,
        by: str = "you",
        via: str = "notebook",
    ) -> Batch:
        """Keep several calls from running; otherwise as `approve_all`."""
        shown = self._several(ids, run=run, agent=agent, tool=tool, asks=None)
        return await decide_each(shown, lambda id: self.reject(id, reason, by=by, via=via, digest=shown[id]))

    async def resume(self, entry: Mapping[str, Any], *, by: str = "you", via: str = "ag-ui") -> Approval:
        """Carry out one entry of AG-UI's `resume`; the same entry again changes nothing.

        `{"interruptId", "status": "resolved" | "cancelled", "payload"}`; the payload is what the `responseSchema` of
        `Approval.interrupt()` asks for. Entries come one by one, in any order.
        Raises: NoSuchApproval, AlreadyDecided otherwise, BadInput for an entry or a payload that does not fit.
        """
        return await resume(self, entry, by=by, via=via)

    async def _shown(self, id: str, digest: str | None) -> Request:
        """The request, if the arguments shown are its own. Raises: BadInput when they are others."""
        request = await self._requests.get(id)
        if digest is not None and digest != request.body.get("digest", digest):
            raise BadInput(
                f"the arguments of {id!r} are others than those that were shown; look at it again, then decide"
            )
        return request

    def _check(self, request: Request, args: dict[str, Any]) -> None:
        """Raises: ToolArgumentsInvalid for arguments that the tool does not take.

        Where the tool is not, its JSON schema is asked; who runs the call asks the tool itself, before it runs.
        """
        tool = self._tool(request)
        if tool is not None:
            tool.validate(args)
        elif problems := misfits(request.body["schema"], args):
            raise arguments_invalid(request.body["tool"], problems)

    async def _decide(self, id: str, status: str, **decision: Any) -> Approval:
        given = {name: value for name, value in decision.items() if value is not None or name == "value"}
        return _seen(await self._requests.decide(id, status, given))

    def _several(
        self,
        ids: Iterable[str] | Mapping[str, str] | None,
        *,
        run: str | None,
        agent: str | None,
        tool: str | None,
        asks: str | None,
    ) -> dict[str, str | None]:
        """The ids that are meant, each with the digest that was shown of it if that is told."""
        if isinstance(ids, Mapping):
            return dict(ids)
        if isinstance(ids, str):
            raise BadInput(f"several approvals are a list of ids, found {ids!r}; write [{ids!r}]")
        if ids is not None:
            return dict.fromkeys(named("the id of an approval", id) for id in several("several approvals", ids, "[id]"))
        wanted = {name: value for name, value in (("run", run), ("agent", agent), ("tool", tool)) if value is not None}
        found = (one for one in self._open() if all(one.body[name] == value for name, value in wanted.items()))
        return {one.id: one.body.get("digest") for one in found if asks in (None, one.body.get("reason", asks))}

    def _tool(self, request: Request) -> Tool | None:
        agent = self._agents.get(request.body["agent"])
        return None if agent is None else agent.tools.get(request.body["tool"])

    def view(self) -> ApprovalsView:
        """The inbox as a person sees it."""
        pending = [approval_view(request, alive=True) for request in self._open()]
        decided = self._closed()
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
            "rules": [_rule_view(kept) for kept in self._rules.kept()],
            "now_line": {
                "tone": "amber" if count else "plain",
                "shape": "waiting" if count else "completed",
                "strong": strong,
                "text": f"{pending[0]['tool']} expires first." if pending and pending[0]["expires_at"] else "",
                "action": None,
            },
            "actions": [],
        }

    def source(self) -> Approvals:
        """The inbox is its own source."""
        return self

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after the inbox changed; gives the function that stops it."""
        stops = [self._requests.changes.subscribe(changed), self._rules.changes.subscribe(changed)]

        def stop() -> None:
            for each in stops:
                each()

        return stop

    async def command(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Carry out a button. Raises: what its verb raises; BadInput for a command that there is not."""
        match name, args:
            case "always", {"id": id}:
                always = await self.always(id, **_named(args, "scope", "digest"))
                return {
                    "id": id,
                    "status": always.approval.status,
                    "rule": always.rule.id,
                    "resolved": len(always.resolved),
                }
            case "approve_all", {"ids": dict(ids)}:
                return _told(await self.approve_all(ids))
            case "reject_all", {"ids": dict(ids)}:
                return _told(await self.reject_all(ids, args.get("reason")))
            case "revoke", {"rule": rule}:
                await self._rules.revoke(rule)
                return {"rule": rule, "status": "revoked"}
        verbs: dict[str, Callable[..., Any]] = {
            "approve": self.approve,
            "edit": self.approve,
            "reject": self.reject,
            "answer": self.answer,
            "dismiss": self.dismiss,
        }
        if name not in verbs:
            known = sorted([*verbs, "always", "approve_all", "reject_all", "revoke"])
            raise BadInput(f"approvals have no command {name!r}; they have {known}")
        approval = await verbs[name](**_named(args, "id", "args", "reason", "value", "digest"))
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
        for stop in self._stops:
            stop()
        self._become("disposed")

    def __repr__(self) -> str:
        return f"<Approvals: {len(self._open())} pending>"

    def _open(self) -> list[Request]:
        pending = [request for request in self._requests.known() if request.status == PENDING and is_of_a_tool(request)]
        return sorted(pending, key=lambda r: (r.body.get("expires_at") or float("inf"), r.asked_at))

    def _closed(self) -> list[Request]:
        decided = [request for request in self._requests.known() if request.status != PENDING and is_of_a_tool(request)]
        return sorted(decided, key=lambda request: request.decided_at or 0.0, reverse=True)

    def _publish(self) -> None:
        views = [approval_view(request, alive=True) for request in self._open()]
        self.states.publish(
            encode([{name: value for name, value in view.items() if name != "actions"} for view in views], "approvals")
        )


def _seen(request: Request) -> Approval:
    return Approval(approval_view(request, alive=True))


def _named(args: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: args[name] for name in names if name in args}


def _told(batch: Batch) -> dict[str, Any]:
    """A batch as the answer to a button."""
    return {
        "decided": [approval.id for approval in batch.decided],
        "undecided": {id: str(why) for id, why in batch.undecided.items()},
    }


def _rule_view(kept: Kept) -> RuleView:
    return {
        "id": kept.id,
        "sentence": kept.sentence,
        "action": kept.rule.action,
        "scope": kept.scope,
        "by": kept.by,
        "at": kept.at or 0.0,
        "actions": [{"label": "Revoke", "command": "revoke", "args": {"rule": kept.id}, "enabled": True}],
    }
