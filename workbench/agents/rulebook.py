"""The rulebook of a bench: the policy of its code, and the rules that people wrote since.

- A rule that a person writes ("always for this tool") is a row of the store: every bench on it sees it, lists it and
  can revoke it. One for the session is kept here alone, and ends with this kernel.
- Rules of people come before those of the code, the newest first; a `deny` beats all, wherever it stands.
- A new rule decides what already waits, as itself: by "rule", with its id. A rule of another kernel does so too, for
  what was asked before anybody there knew of it.
- What would let a call pass is looked up in the store once more, so a rule that was revoked elsewhere allows nothing.

Source: AGENTS 4 (9), CASES u31. Knows nothing of journals: `workbench.agents.gate` asks, and records what it hears.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from workbench.agents.dry_run import dry_run
from workbench.agents.policy import Hints, Policy, Proposal, Rule, Verdict
from workbench.agents.policy_file import read_policy
from workbench.agents.questions import TOOL_CALL, is_of_a_tool
from workbench.agents.stored import run_key
from workbench.durable.requests import PENDING, Request
from workbench.errors import AlreadyDecided, BadInput, NoCode, ToolArgumentsInvalid
from workbench.events import Changes
from workbench.given import named
from workbench.plain import decode, encode
from workbench.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping

    from workbench.agents.agent import Agent
    from workbench.agents.tools import Tool
    from workbench.durable.runtime import Runtime
    from workbench.store.records import Record

__all__ = ["Kept", "Rulebook", "Scope"]

Scope: TypeAlias = Literal["run", "session", "notebook"]
"""Where a rule of a person holds: in one run, until this kernel ends, or wherever the store is."""

KIND, ACTIVE, REVOKED = "rule", "active", "revoked"
PLACE = "policy"
"""The key under which rules for the whole store are kept; no process has it."""

log = logging.getLogger("workbench")


@dataclass(frozen=True, slots=True)
class Kept:
    """A rule that is in force. `scope` is run, session, notebook, or code for one of the policy that was given."""

    id: str
    rule: Rule
    scope: str
    run: str | None = None
    by: str = ""
    at: float | None = None

    @property
    def sentence(self) -> str:
        """The rule in words, with where it holds."""
        where = {"run": f", in {self.run}", "session": ", until this kernel ends", "notebook": ", in this notebook"}
        return self.rule.sentence + where.get(self.scope, "")

    @property
    def reason(self) -> str:
        """Why, as it was given."""
        return self.rule.reason


class Rulebook:
    """`bench.policy`: `rules` in force, `add`, `revoke`, `dry_run`."""

    def __init__(self, runtime: Runtime, agents: Mapping[str, Agent]) -> None:
        self.changes = Changes()
        self.policy = Policy()
        self._runtime = runtime
        self._agents = agents
        self._stored: dict[str, Kept] = {}
        self._session: dict[str, Kept] = {}
        runtime.looks.append(self._look)

    @property
    def rules(self) -> Table:
        """Every rule in force, in the order in which they are asked, as a table."""
        code = [Kept(rule.id, rule, "code") for rule in self.policy.rules]
        return Table([*self._kept(), *code], columns=("id", "sentence", "scope", "by", "at", "reason"))

    def kept(self) -> list[Kept]:
        """The rules of people that are in force, the newest first."""
        return self._kept()

    async def use(self, policy: Policy | str | os.PathLike[str]) -> None:
        """Take a policy, or the file of one, in place of the code's rules; what it denies waits no longer.

        Raises: BadInput.
        """
        self.policy = policy if isinstance(policy, Policy) else read_policy(policy)
        self.changes.tell()
        await self._resolve()

    async def add(self, rule: Rule, *, scope: Scope = "notebook", run: str | None = None, by: str = "you") -> Kept:
        """Put a rule in force, and let it decide what already waits; gives it with the id under which it is listed.

        `run` is the run's id where `scope` is "run". Raises: BadInput when it cannot be kept there.
        """
        if not isinstance(rule, Rule):
            raise BadInput(f"a rule is a Rule, found {rule!r}; write Rule('allow', 'lookup_*')")
        if scope not in get_args(Scope) or (scope == "run") is not isinstance(run, str):
            raise BadInput(f"a rule holds for a run, with run=…, a session or a notebook, found {scope!r} with {run!r}")
        now = self._runtime.clock.now()
        id = f"{rule.id}-{secrets.token_hex(3)}"
        kept = Kept(id, replace(rule, id=id), scope, run, by, now)
        if scope == "session":
            self._session[id] = kept
        else:
            body = {"rule": kept.rule.to_plain(), "scope": scope, "run": run, "by": by}
            key = PLACE if run is None else run_key(run)
            await self._runtime.store.put_record(KIND, id, key, encode(body, "rule"), status=ACTIVE, at=now)
            self._stored[id] = kept
        self.changes.tell()
        await self._resolve({id})
        return kept

    async def revoke(self, id: str, *, by: str = "you") -> None:
        """Take a rule of a person out of force; what it decided stays decided.

        Raises: NoCode for a rule that is not in force, BadInput for one of the code.
        """
        if self._session.pop(named("the id of a rule", id), None) is None:
            if any(rule.id == id for rule in self.policy.rules):
                raise BadInput(f"the rule {id!r} is one of the code; change the policy that Workbench.open was given")
            store, now = self._runtime.store, self._runtime.clock.now()
            decision = encode({"by": by})
            revoked = await store.decide_record(KIND, id, expect=ACTIVE, status=REVOKED, decision=decision, at=now)
            if not revoked:
                raise NoCode(f"no rule {id!r} is in force, there are {[kept.id for kept in self._kept()]}", name=id)
            self._stored.pop(id, None)
        self.changes.tell()

    def speaks_of(self, run: str, agent: str, tool: Tool) -> bool:
        """Whether some rule could apply to a call of this tool."""
        if not (self._stored or self._session or self.policy.rules):
            return False
        return self._for(run).speaks_of(agent, tool.name, Hints.of(tool))

    def may_stop(self, agent: str, tool: Tool) -> bool:
        """Whether some rule can ask about a call of this tool or refuse it: also one that allows, where it can fail."""
        rules = [*(kept.rule for kept in self._kept() if kept.run is None), *self.policy.rules]
        return any(
            rule.speaks_of(agent, tool.name, Hints.of(tool))
            for rule in rules
            if rule.action != "allow" or rule.args is not None or rule.when is not None
        )

    async def decide(self, proposal: Proposal) -> Verdict | None:
        """The verdict on a call, or None where no rule applies."""
        while True:
            verdict = self._for(proposal.run).decide(proposal)
            if verdict is None or verdict.action != "allow" or verdict.rule.id not in self._stored:
                return verdict
            record = await self._runtime.store.get_record(KIND, verdict.rule.id)
            if record is not None and record.status == ACTIVE:
                return verdict
            self._stored.pop(verdict.rule.id, None)  # revoked in another kernel a moment ago
            self.changes.tell()

    def denies(self, proposal: Proposal) -> Verdict | None:
        """The verdict that refuses a call, whoever approved it; None where no rule does."""
        verdict = self._for(proposal.run).decide(proposal)
        return verdict if verdict is not None and verdict.action == "deny" else None

    async def dry_run(self, policy: Policy | str | os.PathLike[str] | None = None, *, every: bool = False) -> Table:
        """Which past calls would a policy have stopped? A table of those that it would have asked about or denied.

        `policy` is one, the file of one, or None for the rules in force; with `every` the table has all past calls.
        """
        asked = policy if isinstance(policy, Policy) else None if policy is None else read_policy(policy)
        return await dry_run(
            self._runtime, self._agents, self._for if asked is None else lambda run: asked, every=every
        )

    async def refresh(self) -> set[str]:
        """Read the rules of the store; gives the ids of those that were not known here."""
        found: dict[str, Kept] = {}
        before = set(self._stored)
        for record in await self._runtime.store.find_records(KIND, status=ACTIVE):
            try:
                found[record.id] = _kept(record)
            except (BadInput, KeyError, TypeError) as error:
                log.error("the rule %r cannot be read and is left out: %s", record.id, error)
        meanwhile = {id: kept for id, kept in self._stored.items() if id not in before}
        revoked = before - self._stored.keys()
        found = {id: kept for id, kept in {**found, **meanwhile}.items() if id not in revoked}
        new = found.keys() - self._stored.keys()
        if found.keys() != self._stored.keys():
            self._stored = found
            self.changes.tell()
        return new

    async def _look(self) -> None:
        if (new := await self.refresh()) and self._runtime.worker:
            await self._resolve(new)

    def _kept(self) -> list[Kept]:
        kept = [*self._stored.values(), *self._session.values()]
        return sorted(kept, key=lambda one: one.at or 0.0, reverse=True)

    def _for(self, run: str) -> Policy:
        """The rules that hold for a run, in their order."""
        return Policy([*(one.rule for one in self._kept() if one.run in (None, run)), *self.policy.rules])

    async def _resolve(self, new: Collection[str] = ()) -> None:
        """Refuse what waits and is denied now, and approve what one of the new rules allows."""
        for request in self._runtime.requests.known():
            if request.status == PENDING and is_of_a_tool(request) and request.body.get("reason") == TOOL_CALL:
                verdict = await self._verdict(request)
                if verdict is not None and verdict.action == "deny":
                    await self._decide(request, "rejected", verdict)
                elif verdict is not None and verdict.action == "allow" and verdict.rule.id in new:
                    await self._decide(request, "approved", verdict)

    async def _verdict(self, request: Request) -> Verdict | None:
        body = request.body
        agent = self._agents.get(body["agent"])
        tool = agent.tools.get(body["tool"]) if agent is not None else None
        try:
            proposal = Proposal.of(body["run"], body["agent"], body["tool"], body["args"], tool)
        except ToolArgumentsInvalid:  # the tool is another one now: a person looks
            return None
        return await self.decide(proposal)

    async def _decide(self, request: Request, status: str, verdict: Verdict) -> None:
        decision: dict[str, Any] = {"by": "rule", "via": "rule", "rule_id": verdict.rule.id}
        if verdict.why:
            decision["reason"] = verdict.why
        with suppress(AlreadyDecided):  # a person was quicker
            await self._runtime.requests.decide(request.id, status, decision)

    def __repr__(self) -> str:
        return repr(self.rules)

    def _repr_html_(self) -> str:
        return self.rules._repr_html_()


def _kept(record: Record) -> Kept:
    body = decode(record.body)
    rule = Rule.from_plain({**body["rule"], "id": record.id})
    return Kept(record.id, rule, body["scope"], body["run"], body["by"], record.at)
