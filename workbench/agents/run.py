"""The run: one agent run as a person holds it. Await it for its output; every button is a verb here that raises.

- Awaiting waits beside the run, never in it: interrupting the cell ends the cell, and the run goes on.
- While it is awaited a slow ticker keeps the loop awake, without which a kernel notices an interrupt only when the
  awaited thing ends.
- A killed run keeps the last status of its journal; `alive` is False, and `recover()` carries on.

Source: DESIGN 2 and 3, KERNEL B, CASES u8, u16, u17, u19.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.approval import Approval, approval_view
from workbench.agents.as_test import source_of_test, write_test
from workbench.agents.budget_process import account_state
from workbench.agents.budgets import Account
from workbench.agents.context import Principal
from workbench.agents.facts import Facts
from workbench.agents.forking import fork_words, forked_from
from workbench.agents.kin import kin
from workbench.agents.loop import FINAL, FIRST, first_state
from workbench.agents.questions import asked_through, is_of_a_tool
from workbench.agents.run_view import run_view
from workbench.agents.stored import given_up, killer, read_history, read_message, unreadable, whole
from workbench.agents.team import Team
from workbench.durable.requests import PENDING
from workbench.errors import (
    BadInput,
    NeedsDecision,
    NoCode,
    ProcessEnded,
    RunCancelled,
    RunError,
    RunFailed,
    RunInterrupted,
    StoreError,
)
from workbench.events import Shown, republish
from workbench.plain import decode
from workbench.process.handle import ENDED

if TYPE_CHECKING:
    from workbench.agents.budget import Amounts
    from workbench.agents.budgets import Governs
    from workbench.agents.facts import Memo
    from workbench.agents.live import Live
    from workbench.agents.studio import Studio
    from workbench.agents.views import RunView
    from workbench.durable.process import DurableProcess
    from workbench.durable.runtime import Runtime
    from workbench.durable.steps import Address
    from workbench.store.claims import Host
    from workbench.store.journal import StepRecord

__all__ = ["Run"]

TICK = 0.2
PATIENCE = 5.0
"""Seconds that a cancel waits for what is cancelled."""


class Run(Shown):
    """A run. `id`, `key`, `agent`, `process` (the durable process below it)."""

    def __init__(
        self, runtime: Runtime, process: DurableProcess, id: str, agent: str, model: str, live: Live, studio: Studio
    ) -> None:
        self.id = id
        self.key = process.key
        self.agent = agent
        self.model = model
        self.process = process
        self.live = live
        self._runtime = runtime
        self._studio = studio
        self._cut: frozenset[Address] = frozenset()
        self._team: Team | None = None
        self._first: tuple[dict[str, Any], float] | None = None
        self._memo: Memo = {}
        self._over_with: tuple[dict[str, Any], float, int, list[StepRecord]] | None = None

    def begin(self) -> Live:
        """What is live of a new activation of this run."""
        self.live = self.live.follow()
        return self.live

    @property
    def alive(self) -> bool:
        """Whether it runs, waits to be run, or has ended; False for a killed or cut off run."""
        if self.state["status"] in FINAL or self.owner is not None:
            return True
        if not self._runtime.worker:
            owned = any(info.owner is not None for info in self._runtime.store.keys_now(key=self.key))
            return owned or not self._runtime.store.activations_now(self.key)
        return self.process.lives

    @property
    def ended(self) -> bool:
        """Whether it has come to its end, and the journal has it."""
        return self._has_ended()

    @property
    def owner(self) -> Host | None:
        """The other live host that has the run; None while this one may run it."""
        if self.process.elsewhere is not None or self.process.activation is not None:
            return self.process.elsewhere
        mine = self._runtime.store.host.id
        owners = (info.owner for info in self._runtime.store.keys_now(key=self.key) if info.owner is not None)
        return next((owner for owner in owners if owner.id != mine), None)

    @property
    def state(self) -> dict[str, Any]:
        """The newest state: published here, or committed in the store."""
        store = self._runtime.store
        try:
            state = whole(self.process.state, self.agent)
            if state is None or self.process.activation is None:
                for info in store.keys_now(key=self.key):
                    state = whole(None if info.snapshot is None else decode(info.snapshot), self.agent) or state
                    begun = info.epoch > 0 and not self._in_line()
                    state = self._from_afar(state or first_state(self.agent, ""), begun=begun)
            state = state or first_state(self.agent, "")
            activation = self.process.activation
            at_work = activation is not None and activation.in_hand is not None  # so there is no answer yet
            if state["status"] not in FINAL and not at_work:
                answer = store.result_now(self.key, FIRST)
                state = state if answer is None else given_up(state, decode(answer))
        except (BadInput, StoreError) as error:
            state = unreadable(self.agent, error)
        return state

    def _in_line(self) -> bool:
        """Whether runs of its conversation are before it that are not over."""
        store = self._runtime.store.conversations
        place = store.exchange_now(self.key)
        return place is not None and bool(store.ahead_now(place.owner, place.name, place.number))

    def _from_afar(self, state: dict[str, Any], *, begun: bool) -> dict[str, Any]:
        """The state of a run that does not live here: the journal has states of ends only, and more to tell from."""
        if state["status"] in FINAL:
            return state
        waits = self._pending() is not None or self._waits_for_a_budget()
        return {**state, "status": "waiting" if waits else "running" if begun else "queued"}

    def _waits_for_a_budget(self) -> bool:
        """Whether an account says so, where the run itself cannot."""
        states = (account_state(self._runtime, account["of"]) for account in self._governs())
        return any(waits["run"] == self.id for state in states if state is not None for waits in state["waiting"])

    @property
    def at_work(self) -> list[str]:
        """The tools of it that execute in this kernel now; after its end, those that did not listen to its cancel."""
        return sorted(set(self.live.at_work.values()))

    @property
    def status(self) -> str:
        """queued, running, waiting, completed, failed or cancelled; a killed run keeps its last."""
        status = str(self.state["status"])
        return status if status in FINAL or self.alive else self.facts().status

    @property
    def request(self) -> str:
        """What was asked."""
        return str(self.state["request"] or self._message().get("text", ""))

    @property
    def parent(self) -> str | None:
        """The id of the run that asked for this one; None for one that a person, a door or a schedule began."""
        parent = self._message().get("parent")
        return parent["run"] if type(parent) is dict else None

    @property
    def principal(self) -> Principal:
        """Who asked for it: you in a notebook, or a caller of a door."""
        who = self._message().get("principal")
        return Principal(**who) if type(who) is dict and who.keys() == {"name", "channel"} else Principal()

    @property
    def conversation(self) -> str | None:
        """The conversation that it belongs to; None for a run of its own."""
        conversation = self._message().get("conversation")
        return conversation if type(conversation) is str else None

    @property
    def asked_at(self) -> float:
        """The instant at which it was asked for; 0 while nobody has its first message."""
        at = self._message().get("at")
        return at if type(at) is float else 0.0

    @property
    def children(self) -> list[Run]:
        """The runs that this one asked, in order of asking."""
        return self._studio.runs.children(self.id)

    @property
    def team(self) -> Team:
        """The run with all that it asked, as one thing to look at: a graph and a table."""
        if self._team is None:
            self._team = Team(self, self._studio)
        return self._team

    @property
    def message(self) -> Mapping[str, Any]:
        """The message that began the run; empty while nobody has it, or when its row was changed by hand."""
        return self._message()

    def _message(self) -> dict[str, Any]:
        """The message that began the run; empty while nobody has it, or when its row was changed by hand."""
        if self._first is None:
            text = self._runtime.store.message_now(self.key, FIRST)
            return {} if text is None else read_message(text)
        return self._first[0]

    @property
    def output(self) -> Any:
        """The answer, once it has completed: a text, or a value of the agent's output type.

        Plain data where this bench does not have the agent, or where that type has changed and takes it no more.
        """
        try:
            return self._typed(self.state["output"])
        except RunError:
            return self.state["output"]

    def _typed(self, plain: Any) -> Any:
        """The output that was kept as `plain`. Raises: RunError when its type has changed and takes it no more."""
        agent = self._studio.agents.get(self.state.get("holder", self.agent))
        if plain is None or agent is None or agent.output is None:
            return plain
        try:
            return agent.output.value(plain)
        except ValueError as error:
            raise RunError(
                f"the output of run {self.id!r} does not fit {agent.output.name} any more ({error}); "
                "run.state['output'] is what was kept",
                run=self.id,
            ) from error

    def __await__(self) -> Generator[Any, None, Any]:
        return self._outcome().__await__()

    async def _outcome(self) -> Any:
        """The output, waited for. Raises: RunFailed, RunCancelled, RunInterrupted, NeedsDecision."""
        while not self._over():
            if self._cannot_hear() and (self._pending() is not None or self.reason is not None):
                raise NeedsDecision(
                    f"run {self.id!r} waits for {'a budget' if self._pending() is None else 'an approval'}, and this "
                    "kernel takes no clicks while a cell waits; decide it in the panel or with bench.approvals or "
                    "run.extend, then await the run again; ipykernel 7.4 or newer can do both at once",
                    run=self.id,
                )
            await self._change()
        republish(self)
        return self._end()

    def _over(self) -> bool:
        return self._has_ended() or not self.alive

    def _has_ended(self) -> bool:
        """Whether it has come to its end, and the journal has it."""
        activation = self.process.activation
        return (activation is None or activation.in_hand is None) and self.state["status"] in FINAL

    def _end(self) -> Any:
        state = self.state
        if state["status"] == "completed":
            return self._typed(state["output"])
        if state["status"] == "failed":
            error = state["error"]
            failed = RunFailed(f"run {self.id!r} failed with {error['type']}: {error['message']}", run=self.id, **error)
            if error.get("traceback"):
                failed.add_note(error["traceback"])
            raise failed
        if state["status"] == "cancelled":
            raise RunCancelled(
                f"run {self.id!r} was cancelled by {state.get('cancelled_by') or 'someone'}", run=self.id
            )
        if self.process.error is not None:
            raise RunFailed(
                f"run {self.id!r} stopped with {type(self.process.error).__name__}: {self.process.error}",
                run=self.id,
                type=type(self.process.error).__name__,
                message=str(self.process.error),
                traceback="",
            ) from self.process.error
        raise RunInterrupted(
            f"run {self.id!r} is not running, its journal is whole; await run.recover() carries on", run=self.id
        )

    async def _change(self) -> None:
        """Return when a state or a request of the run may have changed, or after a tick."""
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def changed() -> None:
            if not change.done():
                change.set_result(None)

        stops = [source.changes.subscribe(changed) for source in (self.process.states, self._runtime.requests)]
        try:
            await asyncio.wait([change], timeout=TICK)
        finally:
            for stop in stops:
                stop()

    @staticmethod
    def _cannot_hear() -> bool:
        """Whether this kernel delivers clicks only after the awaiting cell."""
        kernel = sys.modules.get("ipykernel")
        return (
            kernel is not None
            and tuple(kernel.version_info[:2]) < (7, 4)
            and sys.modules.get("ipykernel.kernelapp") is not None
        )

    async def approval(self) -> Approval:
        """The oldest request that the run, or one that it asked, waits for; waited for.

        Raises: RunError when the run ends without asking.
        """
        while (request := self._pending()) is None:
            if self._over():
                raise RunError(f"run {self.id!r} is {self.status} and asks for nothing", run=self.id)
            await self._change()
        return request

    def _pending(self) -> Approval | None:
        for request in self._runtime.requests.known():
            if request.status == PENDING and is_of_a_tool(request) and asked_through(request, self.id):
                return Approval(approval_view(request, alive=True))
        return None

    async def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first state, the present one included, for which the condition holds.

        Raises: what awaiting the run raises.
        """
        while not condition(state := self.state):
            if self._over():
                self._end()
                raise RunError(f"run {self.id!r} is {self.status}, and the condition was not met before", run=self.id)
            await self._change()
        return state

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """States as they come, newest wins, ending with the run."""
        return self._states()

    async def _states(self) -> AsyncIterator[dict[str, Any]]:
        seen = None
        while True:
            state = self.state
            if state != seen:
                seen = state
                yield state
            elif self._over():
                return
            else:
                await self._change()

    async def kill(self, by: str = "you") -> None:
        """End it as a crash would: nothing more is written, its approvals stay pending.

        Who awaits it gets RunInterrupted. This bench leaves the run alone until `recover()`. One that runs elsewhere is
        killed there, by its host. Raises: RunError when it has ended, StoreError when its host does not answer.
        """
        if self._has_ended():
            raise RunError(f"run {self.id!r} is {self.status}; there is nothing to kill", run=self.id)
        if self.owner is not None:
            await self._runtime.kill(self.key, by)
            self.process.held_by = by
            return self._tell()
        ledger = self.live.ledger
        if ledger is not None:
            self._cut = frozenset(ledger.open)
        await self.process.kill(by)
        self._tell()

    async def recover(self, *, beside: bool = False) -> None:
        """Replay from the journal and carry on. Does nothing to a run that is alive.

        A plain function that still runs in a thread is waited for first; `beside=True` goes on next to it. Raises:
        RunError when it has ended, or when this bench runs nothing.
        """
        if self._has_ended():
            raise RunError(f"run {self.id!r} is {self.status} and needs no recovery", run=self.id)
        if not self.alive:
            if not self._runtime.worker:
                raise RunError(
                    f"run {self.id!r} is not running, and this bench runs nothing (worker=False); "
                    "open its store in a bench that does",
                    run=self.id,
                )
            await self.process.recover(beside=beside)
        self._tell()

    @property
    def reason(self) -> str | None:
        """Why it waits for more of a budget, in words; None while it does not."""
        stop = self.facts().stop
        return None if stop is None else str(stop["words"])

    @property
    def budget(self) -> Account | None:
        """The budget that governs it most closely: its own, else that of who began it; None when nothing limits it."""
        governs = self._governs()
        return self._account(governs[0]) if governs else None

    async def extend(self, **amounts: Any) -> Amounts:
        """Raise the budget that stops it, else its own, and let it go on where it stopped; gives by how much.

        Takes what `Account.extend` takes: `requests=5`, `dollars="1"`, or nothing for as much again. Raises: BadInput
        when it has no budget.
        """
        governs = self._governs()
        if not governs:
            raise BadInput(f"run {self.id!r} has no budget to extend; give the next one bench.run(…, budget=Budget(…))")
        stop = self.facts().stop
        of = governs[0]["of"] if stop is None else stop["of"]
        account = next((one for one in governs if one["of"] == of), {"of": of})
        extended = await self._account(account).extend(**amounts)
        self._tell()
        return extended

    def _account(self, account: dict[str, Any]) -> Account:
        return Account(self._runtime, account["of"], account.get("limits"))

    def _governs(self) -> Governs:
        """The accounts that govern it, as its first message says."""
        return list(self._message().get("budget") or ())

    async def cancel(self, by: str = "you") -> str:
        """Stop it for good and close its approvals; gives the status that became true, which may be an earlier end.

        A tool or model that swallows it for `PATIENCE` seconds is left behind: what it does is written no more, and
        `at_work` names the tools that still execute.
        Raises: RunInterrupted or RunFailed when it stops running before that, RunError when nobody carries it out; what
        is in the journal of the cancel is carried out when the run is recovered.
        """
        if not self._has_ended():
            posted = asyncio.ensure_future(self._in_the_journal(self._sent({"type": "cancel", "by": by})))
            try:
                await self._carried_out(posted, by)
            finally:
                posted.cancel()
        self._tell()
        return str(self.state["status"])

    async def _carried_out(self, posted: asyncio.Future[None], by: str) -> None:
        """Return when the run has ended, whatever of it does not listen."""
        now, insisted = asyncio.get_running_loop().time, False
        ends = now() + PATIENCE
        while not self._has_ended():
            if posted.done():
                posted.result()
                if self._runtime.worker and self.process.status in ENDED:
                    self._end()
            if now() > ends:
                if insisted or self.process.activation is None:
                    raise RunError(
                        f"the cancel of run {self.id!r} is on its way to its journal, and no host carries it out yet; "
                        "it ends with the next one that runs it",
                        run=self.id,
                    )
                insisted = True
                await self.process.insist(by)
                ends = now() + PATIENCE
            await self._change()

    def _sent(self, cancel: dict[str, Any]) -> Awaitable[int]:
        if self.process.activation is None and self.process.threads and self._runtime.worker and self.owner is None:
            return self.process.send_beside(cancel)
        return self.process.cast(cancel)

    async def _in_the_journal(self, cancel: Awaitable[int]) -> None:
        try:
            await cancel
        except ProcessEnded as error:
            raise RunInterrupted(
                f"run {self.id!r} stopped before the cancel was in its journal; cancel it again", run=self.id
            ) from error

    async def fork(
        self, before: int | str | None = None, *, edit: Mapping[str, Any] | None = None, id: str | None = None
    ) -> Run:
        """A new run that shares everything before a step of this one, and goes its own way from there.

        `before` is a turn (2 or "t2"), a call ("t2.0") or a step of a call ("t2.0/charge"); left out, it is right
        behind what is edited last. `edit` changes what is shared: `request`, `instructions`, `model` (a provider
        string), `agent`, what the model said in a turn ("t1": as in a script), what a call gave ("t1.0": a value, or
        an exception to raise). Nothing before the step runs again; approvals decided there are not asked again. The
        fork is there whole or not at all, and `id` makes it idempotent. `forked_from` says what was saved.
        Raises: BadInput naming what there is to fork before or to edit, NotPlain, NoCode, CallConflict.
        """
        return await self._studio.forks.fork(self, before, edit, id)

    def to_test(
        self, path: str | os.PathLike[str] | None = None, *, agent: str | None = None, ignore: Iterable[str] = ()
    ) -> str:
        """A Python test of this run: its turns and decisions are played again, and what its tools give is asserted.

        Gives the text, and writes it to a new file at `path`. `agent` says where the test imports the agent from
        ("shop:support"), for one that is in no module yet; `ignore` are calls whose result is another each time
        ("t1.0"). Secret arguments are not written. Raises: BadInput for a run that has not ended, a file that is there.
        """
        known = self._studio.agents.get(self.agent)
        if known is None:
            raise NoCode(f"no agent {self.agent!r} here to make a test of; add it with bench.add(…)", name=self.agent)
        text = source_of_test(self, known, agent, ignore, importable=path is not None)
        if path is not None:
            write_test(text, path)
        return text

    @property
    def forked_from(self) -> dict[str, Any] | None:
        """What this run was forked from: `of`, `before`, `edited`, `with`, `at`, `saved`; None for one begun anew."""
        return forked_from(self.facts().message)

    def _tell(self) -> None:
        self.process.states.tell()
        self.live.changes.tell()

    def facts(self) -> Facts:
        """What a view of the run is made of, read now."""
        store = self._runtime.store
        live_ledger = self.live.ledger if self.process.activation is not None else None
        lives = store.activations_now(self.key)
        alive, owner = self.alive, self.owner
        facts = Facts(
            id=self.id,
            key=self.key,
            agent=self.agent,
            model=self.model,
            now=self._runtime.clock.now(),
            state=self.state,
            message={},
            lives=lives,
            alive=alive,
            killed_by=None if alive else self.process.held_by or killer(lives),
            elsewhere=owner.label if owner is not None else None,
            requests=[r for r in self._runtime.requests.known() if r.key == self.key and is_of_a_tool(r)],
            text=self.live.text if alive else {},
            turn_began=self.live.began,
            progress={branch: said.lines for branch, said in self.live.progress.items()},
            printed={branch: printed.text for branch, printed in self.live.printed.items()},
            at_work=self.at_work,
            cut=self._cut,
            threads=len(self.process.threads),
            in_line=not alive and self._in_line(),
            memo=self._memo,
        )
        if live_ledger is not None:
            facts.records = list(live_ledger.records)
            facts.open = dict(live_ledger.open)
            facts.seq = live_ledger.seq
        if not facts.final:
            self._over_with = None
        if self._over_with is not None:
            facts.message, facts.asked_at, facts.seq, facts.records = self._over_with
        elif live_ledger is None or self._first is None:
            read_history(facts, store.history_now(self.key), records=live_ledger is None)
            if facts.message:
                self._first = facts.message, facts.asked_at
            if facts.final and live_ledger is None:  # nothing more is written
                self._over_with = facts.message, facts.asked_at, facts.seq, facts.records
        else:
            facts.message, facts.asked_at = self._first
        facts.stages = {name: agent.stages for name, agent in self._studio.agents.items() if agent.stages is not None}
        facts.kin = kin(self._studio.runs, self.id, facts.seq, facts.records)
        if facts.kin:
            facts.nested = [
                r
                for r in self._runtime.requests.known()
                if r.key != self.key and is_of_a_tool(r) and asked_through(r, self.id)
            ]
            facts.stop_below = self._stop_below(facts)
        facts.accounts = [self._account(account).state for account in facts.message.get("budget") or ()]
        return facts

    def _stop_below(self, facts: Facts) -> dict[str, Any] | None:
        """What a budget refused to one of those that it asked, which waits for it."""
        waiting = (self._studio.runs[one.id] for one in facts.kin if one.status == "waiting")
        return next((stop for run in waiting if (stop := run.facts().stop) is not None), None)

    def view(self) -> RunView:
        """The run as a person sees it."""
        return run_view(self.facts())

    def source(self) -> Run:
        """The run is its own source."""
        return self

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after something of the run changed; gives the function that stops it."""
        stops = [
            self.process.states.changes.subscribe(changed),
            self.live.changes.subscribe(changed),
            self._runtime.requests.changes.subscribe(changed),
        ]

        def stop_all() -> None:
            for stop in stops:
                stop()

        return stop_all

    async def command(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Carry out a button. Raises: what its verb raises; BadInput for a command that there is not."""
        match name:
            case "kill":
                await self.kill()
            case "recover":
                await self.recover()
            case "cancel":
                return {"status": await self.cancel()}
            case "approve" | "edit" | "reject" | "answer" | "dismiss" | "always":
                return await self._runtime.decide(name, args)
            case "extend":
                return {"extended": await self.extend(**args), "status": self.status}
            case _:
                raise BadInput(
                    f"a run has no command {name!r}; it has kill, recover, cancel, extend and those of its approvals"
                )
        return {"status": self.status}

    @property
    def gone(self) -> bool:
        """Whether its bench is closed."""
        return self._runtime.closed

    def __repr__(self) -> str:
        if self.gone:
            return f"<Run {self.id} of {self.agent}: its bench is closed>"
        killed = "" if self.alive else ", killed" if self.process.held_by else ", cut off"
        fork = self.forked_from
        origin = f", {fork_words(fork)}" if fork is not None else ""
        return f"<Run {self.id} of {self.agent}: {self.status}{killed}{origin}>"
