"""The record of a run: everything that can be read of it, wherever it lives or when it lives nowhere.

- What was published here is read from memory, all else from the store; reading asks nobody and changes nothing.
- What a stranger changed in the file is shown as what it is, and hides no other run.
- Runs are read often by views: what is finished is read once.

Source: DESIGN 2 and 3. Knows nothing of waiting for a run, or of what is done to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.approval import Approval, approval_view
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
from workbench.durable.requests import PENDING
from workbench.errors import (
    BadInput,
    RunError,
    StoreError,
)
from workbench.events import Shown
from workbench.plain import decode

if TYPE_CHECKING:
    from workbench.agents.budgets import Governs
    from workbench.agents.facts import Memo
    from workbench.agents.live import Live
    from workbench.agents.studio import Studio
    from workbench.agents.team import Team
    from workbench.agents.views import RunView
    from workbench.durable.process import DurableProcess
    from workbench.durable.runtime import Runtime
    from workbench.durable.steps import Address
    from workbench.store.claims import Host
    from workbench.store.journal import StepRecord

__all__ = ["RunRecord"]


class RunRecord(Shown):
    """What is known of a run. `id`, `key`, `agent`, `process` (the durable process below it)."""

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
        self._accounts: Governs | None = None
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
                    state = self._from_afar(state or first_state(self.agent, ""), begun=info.epoch > 0)
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
        return {**state, "status": "waiting" if waits else "running" if begun and not self._in_line() else "queued"}

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
    def message(self) -> Mapping[str, Any]:
        """The message that began the run; empty while nobody has it, or when its row was changed by hand."""
        return self._message()

    def _message(self) -> dict[str, Any]:
        if self._first is not None:
            return self._first[0]
        try:
            text = self._runtime.store.message_now(self.key, FIRST)
        except StoreError:  # its row lost what it held, which hides no other run
            return {}
        return {} if text is None else read_message(text)

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

    def _over(self) -> bool:
        return self._has_ended() or not self.alive

    def _has_ended(self) -> bool:
        """Whether it has come to its end, and the journal has it."""
        activation = self.process.activation
        return (activation is None or activation.in_hand is None) and self.state["status"] in FINAL

    def _pending(self) -> Approval | None:
        for request in self._runtime.requests.known():
            if request.status == PENDING and is_of_a_tool(request) and asked_through(request, self.id):
                return Approval(approval_view(request, alive=True))
        return None

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

    def _account(self, account: dict[str, Any]) -> Account:
        return Account(self._runtime, account["of"], account.get("limits"))

    def _governs(self) -> Governs:
        """The accounts that govern it, as its first message says, which never changes."""
        if self._accounts is None and (message := self._message()):
            self._accounts = list(message.get("budget") or ())
        return self._accounts or []

    @property
    def forked_from(self) -> dict[str, Any] | None:
        """What this run was forked from: `of`, `before`, `edited`, `with`, `at`, `saved`; None for one begun anew."""
        return forked_from(self.facts().message)

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
        facts.tools = {name: agent.tools for name, agent in self._studio.agents.items()}
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
