"""The bench: the hall. Opens a store, its runtime, approvals and runs; closes them in reverse.

- The same file in the same loop is the same bench, with its definitions replaced; in another kernel it is another
  host, which claims only what no live host owns.
- `Workbench.open(…)` can be awaited or entered with `async with`. Who awaits it keeps it open until `close()`; leaving
  the last `async with` closes a bench that nobody keeps.
- What was looked up leaves when it is idle for its `evict` seconds, or when there are too many; what is watched or busy
  stays.

Source: DESIGN 2, RECIPES "Processes and the API".
"""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, overload

from workbench.agents.agent import Agent
from workbench.agents.approvals import Approvals
from workbench.agents.budget import Budget
from workbench.agents.compare import compare
from workbench.agents.conversation import Conversation, ConversationTable
from workbench.agents.conversations import SUPERSEDES
from workbench.agents.evaluation import begin_evaluation
from workbench.agents.memory import Notes
from workbench.agents.runs import Runs
from workbench.caretaker import Caretaker
from workbench.door import Doors, Limits, Publication
from workbench.durable.arrivals import Arrivals
from workbench.durable.directory import Directory
from workbench.durable.process import DurableProcess
from workbench.durable.runtime import Runtime
from workbench.durable.schedules import When
from workbench.durable.upkeep import DAY, Retention, Upkeep
from workbench.errors import BadInput, NoCode, StoreError
from workbench.given import named, several
from workbench.loop import Home
from workbench.messaging.room import PostRoom
from workbench.opening import MEMORY, Durability, Opening, Options, check, turn_at
from workbench.process.definition import Definition
from workbench.process.drive import current_owner
from workbench.process.entries import Entries
from workbench.process.spawn import spawn_for
from workbench.store.opening import store_for
from workbench.table import in_html

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping, Sequence
    from datetime import timedelta

    from workbench.agents.budgets import Account
    from workbench.agents.compare import Comparison
    from workbench.agents.context import Principal
    from workbench.agents.desk import Desk
    from workbench.agents.evaluation import Evaluation
    from workbench.agents.policy import Policy
    from workbench.agents.run import Run
    from workbench.clock import Clock
    from workbench.door import Door, Given
    from workbench.durable.definition import DurableDefinition
    from workbench.durable.schedules import Missed, Schedule, Schedules
    from workbench.process.handle import Handle
    from workbench.process.spawn import Process
    from workbench.store.store import Store

__all__ = ["Workbench"]

_open: dict[str, Workbench] = {}


class Workbench(Caretaker):
    """An open bench. Make one with `await Workbench.open(…)`."""

    def __init__(self, store: Store, runtime: Runtime, place: str, retention: Retention) -> None:
        self._directory = Directory(runtime)
        self.place = place
        self.store = store
        self.agents: dict[str, Agent] = {}
        self.runs = Runs(runtime, self.agents, self._directory)
        self.budgets = self.runs.studio.budgets
        self.policy = self.runs.studio.rules
        self.approvals = Approvals(runtime, self.agents, self.policy)
        self.notes = Notes(lambda: self.store.notes, runtime.clock)
        self.closed = False
        self.doors = Doors()
        self._runtime = runtime
        self._upkeep = Upkeep(runtime, retention)
        self._post = PostRoom(store, runtime.home, runtime.clock, Arrivals(runtime), worker=runtime.worker)
        self._entered = 0
        self._kept = False
        runtime.decide = self.approvals.command

    @classmethod
    def open(
        cls,
        where: str | os.PathLike[str] = MEMORY,
        *what: Agent | Definition,
        store: Store | None = None,
        lease: float = 30.0,
        worker: bool = True,
        durability: Durability = "full",
        retention: float | timedelta | None = 30 * DAY,
        letter_retention: float | timedelta | None = None,
        max_bytes: int | None = None,
        clock: Clock | None = None,
        max_entries: int | None = 10_000,
        budget: Budget | Mapping[str, Any] | None = None,
        policy: Policy | str | os.PathLike[str] | None = None,
    ) -> Opening[Workbench]:
        """Open a bench and recover whatever was interrupted; await it, or enter it with `async with`.

        `where` is a file or ":memory:"; another keeper comes as `store`. `what` are agents and process definitions.
        `lease` is in seconds; `worker=False` accepts and serves without running anything; `durability` is "full" or
        "process". Above `max_entries` processes the idle ones that were looked up longest ago leave memory (None for no
        bound).
        What was over for `retention` seconds is forgotten while the bench is open, dead letters after
        `letter_retention`, and history sooner while the store uses more than `max_bytes`; None keeps for ever.
        `budget` is what all runs that begin from now on may use together; the one that is there already goes on with
        what is spent, and with what it was extended by if it began with the same.
        `policy` says which calls of agents run, wait for a person or are refused: a `Policy`, or the TOML file of one.

        Raises: NotAStore, BadInput.
        """
        options = Options.of(
            where,
            what,
            store=store,
            lease=lease,
            worker=worker,
            durability=durability,
            retention=retention,
            letter_retention=letter_retention,
            max_bytes=max_bytes,
            clock=clock,
            max_entries=max_entries,
            policy=policy,
        )
        limits = None if budget is None else Budget.of(budget)
        return Opening(
            lambda kept: _opened(cls, options, limits, kept=kept), lambda bench: bench._leave(kept=bench._kept)
        )

    def add(self, *what: Agent | Definition) -> None:
        """Know agents and definitions of processes, or replace those of their names.

        What lives goes on under new code, a durable process from its last commit, others from their arguments, after
        the message at work is finished under the old; where the code is the same nothing is disturbed.
        Raises: BadInput for what is neither, or when the name is that of a process of the other kind.
        """
        self._runtime.home.must_be_here("a definition is added")
        for thing in what:
            check(thing)
            if isinstance(thing, Definition):
                self._directory.check(thing)
        for thing in what:
            if isinstance(thing, Agent):
                self.runs.add(thing)
            else:
                self._directory.add(thing)

    def run(
        self,
        agent: Agent | str,
        request: str,
        *,
        id: str | None = None,
        conversation: str | None = None,
        principal: Principal | None = None,
        budget: Budget | Mapping[str, Any] | None = None,
        supersede: bool = False,
    ) -> Run:
        """Run an agent; returns at once with the first message committed. `id` makes it idempotent.

        A run in a `conversation` of its principal goes on with what was said in it, once the runs before it are over;
        with `supersede` it closes what those still ask of people. `budget` is what the run, and the runs that it
        begins, may use: `Budget(requests=10)` or `{"requests": 10}`. When it is used up the run waits, and
        `run.extend(…)` lets it go on. Raises: BadInput, CallConflict when the id is another run, NoCode for the name of
        an agent that is not here.
        """
        self._check_open()
        self._runtime.home.must_be_here("a run is started")
        return self.runs.start(
            self._agent(agent),
            request,
            id=id,
            conversation=conversation,
            principal=principal,
            budget=budget,
            more={SUPERSEDES: True} if supersede else None,
        )

    @property
    def conversations(self) -> ConversationTable:
        """The conversations of the store: calling it gives a table, of those that a `principal` may see if told."""
        self._check_open()
        return ConversationTable(self.runs)

    def conversation(self, id: str, *, principal: Principal | None = None) -> Conversation:
        """What was said in a conversation of a principal, the owner if none is named, and its runs.

        Raises: NoCode where there is none, in the same words as for one of somebody else.
        """
        self._check_open()
        return ConversationTable(self.runs).get(id, principal)

    def evaluate(
        self,
        agent: Agent | str,
        cases: Iterable[Any],
        score: Any = None,
        *,
        repeats: int = 1,
        at_once: int = 4,
        id: str | None = None,
    ) -> Evaluation:
        """Run an agent on every case, `repeats` times each and `at_once` at a time; await it for a table of scores.

        A case is a text, or a dict with a `request` and whatever else a score function wants (`expected`, `name`).
        `score` is a function of a `Result`, plain or async, a list of them or a dict with names; each gives a number
        or a truth value. Durable: with an `id`, the same call after a crash goes on where it was, and what has finished
        is neither run nor scored again. Raises: BadInput, NotPlain, NoCode, CallConflict when the id is another one.
        """
        self._check_open()
        self._runtime.home.must_be_here("an evaluation is begun")
        return begin_evaluation(
            self._runtime, self.runs, self._agent(agent), cases, score, repeats=repeats, at_once=at_once, id=id
        )

    def compare(self, a: Run | str, b: Run | str, *, principal: Principal | None = None) -> Comparison:
        """Two runs, or those of these ids, beside each other, as a principal may see them. Raises: BadInput, NoCode."""
        self._check_open()
        return compare(*(self._seen(run, principal) for run in (a, b)))

    def _seen(self, run: Run | str, principal: Principal | None) -> Run:
        if not isinstance(run, str) and principal is None:
            return run
        return self.runs.get(run if isinstance(run, str) else run.id, principal=principal)

    @overload
    def lookup(self, definition: DurableDefinition, /, *, take: bool = ..., **args: Any) -> DurableProcess: ...
    @overload
    def lookup(self, definition: Definition, /, **args: Any) -> Process: ...
    @overload
    def lookup(self, definition: str, /, *, take: bool = ..., **args: Any) -> DurableProcess | Process: ...

    @overload
    def lookup(self, definition: Agent, /) -> Desk: ...

    def lookup(
        self, definition: Definition | Agent | str, /, *, take: bool = False, **args: Any
    ) -> DurableProcess | Process | Desk:
        """The process of these arguments, got or begun: a durable one, or one in memory of this bench.

        A durable one that another live host has is followed, unless `take` moves it here: its life there is fenced,
        ends quietly and says who took over. An agent's is the desk where processes ask it: `ctx.call(name, desk, "…")`.
        Raises: NoCode, BadInput.
        """
        self._check_open()
        if isinstance(definition, Agent):
            return self.runs.desk(definition)
        return self._directory.lookup(definition, args, take=take)

    def evict(self, definition: Definition | str, /, **args: Any) -> Awaitable[None]:
        """End the process of these arguments, or all of the definition when none are given, busy or not.

        Await it to wait for their finalizers. A durable one keeps what is unfinished in its journal, and the next
        lookup, message or deadline brings it back. Raises: NoCode, BadInput.
        """
        self._check_open()
        return self._directory.evict(definition, args)

    async def every(
        self,
        when: float | timedelta | str,
        target: DurableProcess | Agent | str,
        message: Any,
        *,
        name: str | None = None,
        zone: str = "UTC",
        missed: Missed = "once",
    ) -> Schedule:
        """Post `message` to a durable process, or run an agent with it, again and again; stored when this returns.

        `when` is seconds, a timedelta or a cron expression (minute, hour, day, month, weekday) in the time zone
        `zone`. A message with a field `at` that is None gets the instant there; a run is named `name@instant`. `missed`
        says what becomes of instants at which no worker ran: "once" for all of them, "all" one by one, or "skip" for
        none that is more than a minute late. `name` is the process's key or the agent's name when left out; the same
        name again replaces the schedule, an equal one goes on. Any worker on the store posts it, each instant once.
        `bench.schedules` lists them, `bench.schedules.cancel(name)` ends one. Raises: BadInput, NotPlain, NoCode.
        """
        self._check_open()
        terms = When(when, zone, missed, name)
        if isinstance(target, DurableProcess):
            return await self.schedules.post(terms, target, message)
        return await self.runs.every(terms, self._agent(target), message)

    async def kill(self, id: str, *, by: str = "you") -> None:
        """End the life of a run or a key, here or in the kernel that has it, as a crash would.

        Nothing more is written, and this bench leaves it alone until asked. Raises: NoCode, RunError or ProcessEnded
        when there is nothing to kill, StoreError when its host does not answer.
        """
        self._check_open()
        named("a run or a key", id)
        run = self.runs[id] if id in self.runs else None
        if run is not None and run.alive:
            await run.kill(by)
        else:
            await self._runtime.kill(id if run is None else run.key, by)

    @property
    def clock(self) -> Clock:
        """The time of the bench."""
        return self._runtime.clock

    @property
    def worker(self) -> bool:
        """Whether it runs what is due, or only accepts and serves."""
        return self._runtime.worker

    @property
    def definitions(self) -> list[str]:
        """The names of the durable definitions and agents that it has code for."""
        return sorted(name.removeprefix("agent:") for name in self._runtime.definitions if not name.startswith("@"))

    @property
    def budget(self) -> Account:
        """What all runs of the bench may use together: `.left`, `.by`, `.extend(…)`, `.limit(Budget(…))`."""
        self._check_open()
        return self.budgets.bench

    @property
    def processes(self) -> list[str]:
        """The names of the processes that can be looked up by name, durable ones and those in memory."""
        return self._directory.names

    @property
    def schedules(self) -> Schedules:
        """What is posted again and again from this store: `schedules[name]`, iteration, `cancel(name)`."""
        return self._runtime.schedules

    def spawn(self, definition: Definition, /, **args: Any) -> Handle:
        """Start a process in memory; it ends with the body it is spawned in, else with the bench. Raises: BadInput."""
        self._check_open()
        self._runtime.home.must_be_here("a process is spawned")
        if not isinstance(definition, Definition):
            raise BadInput(f"bench.spawn needs a process definition, found {definition!r}; decorate one with @process")
        return spawn_for(current_owner.get() or self._directory.owner, definition, args)

    async def publish(
        self,
        *,
        mcp: Given = None,
        a2a: Given = None,
        wire: Given = None,
        port: int = 0,
        host: str = "127.0.0.1",
        approvals: Literal["decline", "wait"] = "decline",
        middleware: Sequence[Any] = (),
        public_url: str | None = None,
        default_agent: str | None = None,
        limits: Limits | None = None,
    ) -> Door:
        """Open a door to this bench for others; it replaces the door that serves the same.

        `mcp`, `a2a` and `wire` say who may call: tokens of at least 16 characters by the caller's name, or True for
        those in `WORKBENCH_MCP_CALLERS_<NAME>` and its like. Port 0 is the port of last time, or a free one.
        `approvals` says what becomes of a call that needs a person: declined by rule, or left waiting for you.
        `middleware` are ASGI middlewares, the first outermost, before every check of the door's own. `public_url` is
        where others reach it, when that is not `host` and `port`. `default_agent` answers A2A callers that name none.
        Who is cancelled meanwhile leaves no new door open.
        Raises: BadInput for callers or addresses that cannot be, and for a port that is used, which leaves the door
        that is there.
        """
        self._check_open()
        self._runtime.home.must_be_here("a door is opened")
        given = {"mcp": mcp, "a2a": a2a, "wire": wire}
        around = tuple(several("middleware", middleware, "[Middleware(…)]"))
        limits = Limits() if limits is None else limits
        wanted = Publication(given, port, host, approvals, around, public_url, default_agent, limits)
        return await self.doors.open(self, wanted)

    async def close(self) -> None:
        """End what lives here and leave the store; unfinished work stays in the journal. Closing twice does nothing.

        Who is cancelled while it waits for that leaves a bench that is closed all the same.
        Raises: StoreError in another thread than its loop's.
        """
        if not self._runtime.home.here:
            raise StoreError(f"the bench on {self.place!r} is closed on its own loop, not in another thread")
        turn = turn_at(self._runtime.home, self.place)
        await turn.acquire()
        ending = self._runtime.home.start(self._end(), name=f"close {self.place}")
        ending.add_done_callback(lambda _: turn.release())
        await asyncio.shield(ending)

    async def _end(self) -> None:
        if self.closed:
            return
        self.closed = True
        if _open.get(self.place) is self:
            del _open[self.place]
        try:
            await self.doors.close()
            self.approvals.close()
            await self._upkeep.close()
            await self._post.close()
            await self._directory.close()
            await self._runtime.close()
        finally:
            self._post.shut()
            await self.store.close()

    async def __aenter__(self) -> Workbench:
        self._entered += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._leave(kept=False)

    async def _begin(self, budget: Budget | None) -> None:
        """Begin with a budget, or with the one that the store has."""
        if budget is not None:
            await self.budget.begin(budget)

    async def _leave(self, *, kept: bool) -> None:
        self._entered -= 1
        if self._entered <= 0 and not kept:
            await self.close()

    def _repr_html_(self) -> str:
        return in_html(self) if self.closed else f"{in_html(self)}{self.runs.find()._repr_html_()}"

    def __repr__(self) -> str:
        if self.closed:
            return f"<Workbench {self.place}: closed>"
        elsewhere = len(self.elsewhere)
        note = f", {elsewhere} owned elsewhere" if elsewhere else ""
        return (
            f"<Workbench {self.place}: {len(self.runs)} runs, {len(self.approvals.pending())} approvals pending{note}>"
        )

    def _agent(self, agent: Agent | str) -> Agent:
        if isinstance(agent, Agent):
            return agent
        if not isinstance(agent, str):
            raise BadInput(f"bench.run needs an agent or the name of one, found {agent!r}")
        if agent not in self.agents:
            raise NoCode(
                f"no agent {agent!r} here, there are {sorted(self.agents)}; add it with bench.add(…)", name=agent
            )
        return self.agents[agent]


async def _opened(cls: type[Workbench], options: Options, budget: Budget | None, *, kept: bool) -> Workbench:
    home = Home.of_running()
    async with turn_at(home, options.place):
        bench = _known(home, options.place)
        if bench is None:
            bench = await _new(cls, home, options, budget)
        else:
            bench.add(*options.what)
            if options.policy is not None:
                await bench.policy.use(options.policy)
            await bench._runtime.recover()
            await bench._begin(budget)
        bench._kept = bench._kept or kept
        return bench


def _known(home: Home, place: str) -> Workbench | None:
    """The bench that is open on `place` in this loop. Raises: StoreError when it is open in another one."""
    known = _open.get(place)
    if known is not None and known._runtime.home.loop.is_closed():
        del _open[place]
        return None
    if known is not None and known._runtime.home is not home:
        raise StoreError(
            f"{place!r} is open in another running event loop of this process; use that one, or close it there"
        )
    return known


async def _new(cls: type[Workbench], home: Home, options: Options, budget: Budget | None) -> Workbench:
    place, clock = options.place, options.clock
    keeper = options.store if options.store is not None else store_for(place, durability=options.durability)
    await keeper.open(label=_label(), lease=options.lease, now=clock.now)
    entries = Entries(home, clock, options.max_entries)
    runtime = Runtime(keeper, home, clock, worker=options.worker, redeliver=options.lease, entries=entries)
    bench = cls(keeper, runtime, place, options.retention)
    if place != MEMORY:
        _open[place] = bench
    try:
        bench.add(*options.what)
        await bench._runtime.requests.find()
        await bench.policy.refresh()
        if options.policy is not None:
            await bench.policy.use(options.policy)
        bench.approvals._publish()
        await bench._runtime.open()
        bench._upkeep.start()
        await bench._begin(budget)
    except BaseException:
        await bench._end()
        raise
    return bench


def _label() -> str:
    return f"pid {os.getpid()}"
