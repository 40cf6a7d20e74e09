"""Runs: agent runs of one bench, by id, whether they live here, elsewhere, or only in the file.

- A run is a durable process with the key `run:<id>`; its first message is in the journal when `start` returns.
- One id is one run: the same agent and request give the same run, others are a conflict that names both.

Source: DESIGN 2, rules 5 and 6, CASES 6, 11.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from workbench.agents.context import Principal, principal_or_none
from workbench.agents.desk import Desk
from workbench.agents.direct import DIRECT
from workbench.agents.durable_agent import DurableAgent
from workbench.agents.foreign_loop import ForeignLoop
from workbench.agents.forking import Forks, agents_among
from workbench.agents.live import Live
from workbench.agents.loop import FINAL, FIRST, Loop, first_state
from workbench.agents.run import Run
from workbench.agents.stored import AGENT, run_key
from workbench.agents.studio import Assignment, Studio
from workbench.durable.definition import DurableDefinition
from workbench.errors import BadInput, CallConflict, NoCode
from workbench.events import Changes
from workbench.given import named
from workbench.plain import decode, encode
from workbench.process.calls import Call
from workbench.store.schedules import Firing
from workbench.table import Table, in_html

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from workbench.agents.agent import Agent
    from workbench.agents.budget import Budget
    from workbench.agents.budgets import Governs
    from workbench.durable.context import DurableContext
    from workbench.durable.directory import Directory
    from workbench.durable.runtime import Runtime
    from workbench.durable.schedules import Schedule, When
    from workbench.store.glance import KeyInfo, KeyName

__all__ = ["SCHEDULED", "Runs"]

IDLE = 60.0
"""Seconds after which a run that has ended, and that nobody looks at, leaves memory; the store has it."""
LONGEST_ID = 512
"""Bytes of a run's id at most: room for the ids of the runs that it asks, which begin with its own."""
SCHEDULED = "run"
"""The kind of a schedule that begins runs; its target is `{"agent", "request"}`."""
STATUSES = ("queued", "running", "waiting", "completed", "failed", "cancelled")
"""What a run can be in."""


class Runs:
    """The runs of a bench: `runs[id]`, iteration (oldest first), `find`."""

    def __init__(self, runtime: Runtime, agents: dict[str, Agent], directory: Directory) -> None:
        self.studio = Studio(runtime, agents, self, directory)
        self.studio.forks = Forks(runtime, agents_among(agents, self.add), self.__getitem__)
        self._runtime = runtime
        self._agents = agents
        self._runs: MutableMapping[str, Run] = WeakValueDictionary()
        self.known = Changes()
        """Told when agents are added or replaced."""
        runtime.schedules.kinds[SCHEDULED] = self._scheduled

    def add(self, agent: Agent) -> None:
        """Know an agent and its team by their names, and the processes that are their tools, or replace them."""
        for one in (*agent.team.values(), agent):
            for tool in one.tools.values():
                if tool.definition is not None:
                    self.studio.directory.add(tool.definition)
            self._agents[one.name] = one
            self._runtime.add(self._definition(one.name))
        self.known.tell()

    def start(
        self,
        agent: Agent,
        request: str,
        *,
        id: str | None = None,
        conversation: str | None = None,
        principal: Principal | None = None,
        parent: dict[str, Any] | None = None,
        budget: Budget | Mapping[str, Any] | None = None,
        governed_by: Governs | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> Run:
        """A run of `agent` for `request`; its first message is committed when this returns.

        `id` makes it idempotent. `parent` is the call that asks: `{"run", "call", "chain"}`. `budget` is what it may
        use, itself and the runs that it begins; `governed_by` are the accounts that govern the run that begins this
        one. `more` are further fields of its first message. Raises: BadInput, CallConflict when the id is another run.
        """
        _check_request(request)
        if id is not None and (type(id) is not str or not id):
            raise BadInput(f"a run's id is a text, found {id!r}; leave it out for a new one")
        if id is not None and parent is None:  # that of a child is made of its parent's
            named("a run's id", id, LONGEST_ID)
        if self._agents.get(agent.name) is not agent:
            self.add(agent)
        principal_or_none(principal)
        if conversation is not None and type(conversation) is not str:
            raise BadInput(f"a conversation is named by a text, found {conversation!r}")
        if conversation is not None:
            named("a conversation", conversation)
        name = id or f"run-{secrets.token_hex(4)}"
        known = self._known(name, agent, request, conversation, principal or Principal()) if id is not None else None
        if known is not None:
            return known
        governs = self.studio.budgets.governing(run_key(name), budget, governed_by)
        self._post(name, agent, request, conversation, principal, parent, governs, more)
        run = self._run(name, agent.name)
        if self._runtime.worker:
            run.process.start()
        return run

    async def every(self, when: When, agent: Agent, request: str) -> Schedule:
        """Run an agent again and again; each run is named after the schedule and its instant. Raises: BadInput."""
        _check_request(request)
        if self._agents.get(agent.name) is not agent:
            self.add(agent)
        if when.name is not None:
            named("a schedule of runs", when.name, LONGEST_ID)
        target = {"agent": agent.name, "request": request}
        return await self._runtime.schedules.put(agent.name, when, SCHEDULED, target)

    def _scheduled(self, target: dict[str, Any], name: str, at: float) -> Firing:
        """The run that a schedule begins at an instant: `morning@2026-03-29T07:00:00Z`."""
        instant = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds" if at.is_integer() else "milliseconds")
        id = f"{name}@{instant.replace('+00:00', 'Z')}"
        governs = self.studio.budgets.governing(run_key(id), None)
        return _first_post(id, target["agent"], target["request"], at, governs=governs)

    def get(self, id: str, *, principal: Principal | None = None) -> Run:
        """The run of this id, as `principal` may see it; one that they may not see is as one that there is not.

        Raises: NoCode, in the same words for both.
        """
        run = self[id]
        asks = principal_or_none(principal)
        if asks is not None and not asks.may_see(run.principal):
            raise _unknown(id)
        return run

    def _known(self, id: str, agent: Agent, request: str, conversation: str | None, principal: Principal) -> Run | None:
        """The run that has this id, if it is the same. Raises: CallConflict."""
        key = run_key(id)
        infos = self._runtime.store.keys_now(key=key)
        if not infos or not infos[0].definition:
            return None
        first = next(
            (entry for entry in self._runtime.store.history_now(key) if entry.kind == "message" and entry.payload), None
        )
        if first is None or first.payload is None:
            return None
        message, name = decode(first.payload), infos[0].definition.removeprefix(AGENT)
        text, where, whose = message["text"], message.get("conversation"), Principal(**message.get("principal", {}))
        if not principal.may_see(whose):
            raise CallConflict(
                f"the id {id!r} cannot be used; choose another one for a new run",
                key=key,
                id=id,
                first=None,
                second=request,
            )
        if (name, text, where, whose.account) != (agent.name, request, conversation, principal.account):
            there, here = ("", "") if where == conversation else (_in(where), _in(conversation))
            if whose.account != principal.account:
                there, here = f"{there} of {whose}", f"{here} of {principal}"
            raise CallConflict(
                f"the run {id!r} is {name!r} with {text!r}{there} and is asked for as {agent.name!r} with {request!r}"
                f"{here}; use a new id for a new run",
                key=key,
                id=id,
                first=text,
                second=request,
            )
        return self[id]

    def _post(
        self,
        id: str,
        agent: Agent,
        request: str,
        conversation: str | None,
        principal: Principal | None,
        parent: dict[str, Any] | None,
        governs: Governs,
        more: Mapping[str, Any] | None,
    ) -> None:
        now = self._runtime.clock.now()
        post = _first_post(id, agent.name, request, now, conversation, principal, parent, governs, more)
        takes_a_turn = parent is None and DIRECT not in (more or ())
        if conversation is not None and takes_a_turn:
            self.studio.conversations.enter(principal or Principal(), conversation, post, at=now)
            return
        self._runtime.store.post_now(
            post.key, post.message, id=post.id, wake=now, definition=post.definition, args=post.args
        )

    def __getitem__(self, id: str) -> Run:
        infos = self._runtime.store.keys_now(key=run_key(named("a run", id)))
        if not infos or not infos[0].definition.startswith(AGENT):
            raise _unknown(id)
        return self._run(id, infos[0].definition.removeprefix(AGENT))

    def by_key(self, key: str) -> Run | None:
        """The run that has this key, or None."""
        info = next(iter(self._runtime.store.keys_now(key=key)), None)
        id = _id(info) if info is not None and info.definition.startswith(AGENT) else None
        return None if id is None else self[id]

    def __iter__(self) -> Iterator[Run]:
        for name in self._names():
            yield self._run(*name)

    def __repr__(self) -> str:
        return "<Runs: the bench is closed>" if self._runtime.closed else repr(self.find())

    def _repr_html_(self) -> str:
        return in_html(self) if self._runtime.closed else self.find()._repr_html_()

    def __len__(self) -> int:
        return len(self._names())

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and any(
            info.definition.startswith(AGENT) for info in self._runtime.store.keys_now(key=run_key(id))
        )

    def desk(self, agent: Agent) -> Desk:
        """Where processes ask an agent."""
        if self._agents.get(agent.name) is not agent:
            self.add(agent)
        return Desk(self.studio, agent)

    def children(self, id: str) -> list[Run]:
        """The runs that a run asked, in order of asking."""
        return [run for run in (self._run(*name) for name in self._names(f"{id}/")) if run.parent == id]

    def _names(self, prefix: str = "") -> list[tuple[str, str]]:
        """The ids of the runs that begin with a text, and the names of their agents, oldest first."""
        found = self._runtime.store.names_now(run_key(prefix))
        agents = ((_id(one), one.definition.removeprefix(AGENT)) for one in found if one.definition.startswith(AGENT))
        return [(id, agent) for id, agent in agents if id is not None]

    def find(
        self,
        *,
        status: str | None = None,
        agent: str | None = None,
        text: str | None = None,
        parent: str | None = None,
        conversation: str | None = None,
        principal: Principal | None = None,
    ) -> Table:
        """The runs that fit: by status, by agent's name, by a text in the request or the output, by the run that asked.

        `conversation` names the one that they are in; `principal` may see them all. The newest comes first.
        Raises: BadInput.
        """
        texts = (("status", status), ("agent", agent), ("text", text), ("parent", parent))
        for name, wanted in (*texts, ("conversation", conversation)):
            if wanted is not None and not isinstance(wanted, str):
                raise BadInput(f"{name} is a text that runs are found by, or None for any, found {wanted!r}")
        if status is not None and status not in STATUSES:
            raise BadInput(f"a run's status is one of {', '.join(STATUSES)}, found {status!r}")
        principal_or_none(principal)
        among = iter(self) if parent is None else self.children(parent)
        if principal is not None:
            among = (run for run in among if principal.may_see(run.principal))
        if conversation is not None:
            among = (run for run in among if run.conversation == conversation)
        found = [run for run in among if _fits(run, status, agent, text)]
        columns = ("id", "agent", "status", "alive", "request", "output")
        nested = any(run.parent is not None for run in found)
        return Table(reversed(found), columns=("id", "parent", *columns[1:]) if nested else columns)

    def _run(self, id: str, agent: str) -> Run:
        run = self._runs.get(id)
        if run is None:
            definition = self._runtime.definitions.get(f"{AGENT}{agent}") or self._definition(agent)
            process = self._runtime.handle(definition, run_key(id), {"id": id})
            known = self._agents.get(agent)
            model = known.model_name if known is not None else "no code here"
            run = self._runs[id] = Run(self._runtime, process, id, agent, model, Live(), self.studio)
        if (owner := run.owner) is not None:
            run.process.follow(owner)
        return run

    def _definition(self, name: str) -> DurableDefinition:
        async def body(ctx: DurableContext[Any, Any], id: str) -> AsyncGenerator[Any, None]:
            agent = self._agents.get(name)
            if agent is None:
                raise NoCode(f"no agent {name!r} here; add it with bench.add(…)", name=name)
            state = ctx.restored or first_state(name, "")
            yield state
            async for message in ctx:
                reply = None
                if type(message) is Call:
                    message, reply = message.message, message.reply
                if message["type"] == "ask" and state["status"] not in FINAL:
                    of = self._run(id, name)  # kept while it works, so that who asks for the run finds this one
                    live = of.begin()
                    state = await _loop_of(agent)(ctx, self.studio, Assignment.of(id, agent, message), live).carry_out()
                elif message["type"] == "cancel" and state["status"] not in FINAL:
                    state = {
                        **state,
                        "status": "cancelled",
                        "cancelled_by": message.get("by"),
                        "ended_at": self._runtime.clock.now(),
                    }
                yield state
                if reply is not None:
                    reply({"status": state["status"], "output": state["output"]})

        return DurableDefinition(body, name=f"{AGENT}{name}", key=lambda args: run_key(args["id"]), evict=IDLE)


def _loop_of(agent: Agent) -> type[Loop]:
    """The loop that an agent is run by: ours, or that of its own library."""
    return ForeignLoop if isinstance(agent, DurableAgent) else Loop


def _check_request(request: object) -> None:
    if type(request) is not str or not request.strip():
        raise BadInput(f"a run needs a request in words, found {request!r}")


def _unknown(id: str) -> NoCode:
    return NoCode(f"no run {id!r} in this store; bench.runs.find() lists them", name=id)


def _in(conversation: str | None) -> str:
    return " in no conversation" if conversation is None else f" in conversation {conversation!r}"


def _first_post(
    id: str,
    agent: str,
    request: str,
    at: float,
    conversation: str | None = None,
    principal: Principal | None = None,
    parent: dict[str, Any] | None = None,
    governs: Governs | None = None,
    more: Mapping[str, Any] | None = None,
) -> Firing:
    """The message that makes a run."""
    who = principal or Principal()
    message = {"type": "ask", "text": request, "at": at, "principal": {"name": who.name, "channel": who.channel}}
    if conversation is not None:
        message["conversation"] = conversation
    if parent is not None:
        message["parent"] = parent
    if governs:
        message["budget"] = governs
    message.update(more or {})
    return Firing(run_key(id), encode(message, "request"), FIRST, f"{AGENT}{agent}", encode({"id": id}))


def _id(info: KeyInfo | KeyName) -> str | None:
    """The id of a run; None when its row was changed by hand into none of a run."""
    try:
        args = decode(info.args)
    except BadInput:
        return None
    id = args.get("id") if type(args) is dict else None
    return id if type(id) is str and run_key(id) == info.key else None


def _fits(run: Run, status: str | None, agent: str | None, text: str | None) -> bool:
    return (
        (status is None or run.status == status)
        and (agent is None or run.agent == agent)
        and (text is None or text in run.request or text in str(run.state["output"] or ""))
    )
