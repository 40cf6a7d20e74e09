"""The facts of a run: what its view is made of, from the journal and from what is live.

The same facts come from a run that lives here, one that lives elsewhere, and one that is only a file; a view is a
function of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.agents.budget_facts import open_refusals
from workbench.agents.calls import OUTCOME, branch_of
from workbench.agents.kin import stages_taken
from workbench.agents.loop import FINAL, TURN
from workbench.agents.questions import asked_through
from workbench.durable.retries import Try
from workbench.durable.steps import MARKS
from workbench.models.model import Turn
from workbench.plain import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.agents.kin import Kin
    from workbench.agents.tools import Tool
    from workbench.durable.requests import Request
    from workbench.durable.stages import StageGraph, Stages
    from workbench.durable.steps import Address
    from workbench.store.glance import Activation
    from workbench.store.journal import StepRecord

__all__ = ["Facts", "Memo", "call_of"]

Memo: TypeAlias = "dict[str, tuple[tuple[Any, ...], Any]]"


@dataclass(slots=True)
class Facts:
    """`state` is the newest known; `records` are those of the run's message; `open` are the steps that run now.

    `kin` are the runs that it asked, `nested` the requests of those and of whom they asked, `stages` and
    `tools` those of agents that are known here. `in_line` says that runs of its conversation are before it.
    """

    id: str
    key: str
    agent: str
    model: str
    now: float
    state: dict[str, Any]
    message: dict[str, Any]
    seq: int = 1
    asked_at: float = 0.0
    records: list[StepRecord] = field(default_factory=list)
    open: dict[Address, float] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    kin: list[Kin] = field(default_factory=list)
    nested: list[Request] = field(default_factory=list)
    stages: Mapping[str, Stages | None] = field(default_factory=dict)
    tools: Mapping[str, Mapping[str, Tool]] = field(default_factory=dict)
    lives: list[Activation] = field(default_factory=list)
    text: dict[int, str] = field(default_factory=dict)
    turn_began: dict[int, float] = field(default_factory=dict)
    progress: dict[str, list[str]] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)
    at_work: list[str] = field(default_factory=list)
    alive: bool = True
    killed_by: str | None = None
    elsewhere: str | None = None
    cut: frozenset[Address] = frozenset()
    threads: int = 0
    accounts: list[dict[str, Any]] = field(default_factory=list)
    stop_below: dict[str, Any] | None = None
    in_line: bool = False
    memo: Memo = field(default_factory=dict)
    """What was made of finished turns and calls before, by their branch, with what it was made from."""
    _turns: list[tuple[int, StepRecord, Turn]] | None = field(default=None, init=False)
    _origin: int | None = field(default=None, init=False)
    _requests: dict[str, list[Request]] | None = field(default=None, init=False)
    _holders: list[str] | None = field(default=None, init=False)
    _calls: dict[str, list[StepRecord]] | None = field(default=None, init=False)
    _stops: dict[str, dict[str, Any]] | None = field(default=None, init=False)

    @property
    def final(self) -> bool:
        """Whether the run has ended for good."""
        return self.state["status"] in FINAL

    @property
    def status(self) -> str:
        """The status that is true in the journal: waiting while a request is open and nothing else moves."""
        if self.final or self.alive:
            return str(self.state["status"])
        if any(request.status == "pending" for request in (*self.requests, *self.nested)) or self.stop is not None:
            return "waiting"
        return "running" if (self.records or self.lives) and not self.in_line else "queued"

    @property
    def stops(self) -> dict[str, dict[str, Any]]:
        """What budgets refused and nobody has extended since, by the branch that waits for it."""
        if self._stops is None:
            self._stops = open_refusals(self.records) if self.message.get("budget") and not self.final else {}
        return self._stops

    @property
    def stop(self) -> dict[str, Any] | None:
        """The first of what it, or one that it asked, waits for and a budget refused; None when nothing is."""
        return next(iter(self.stops.values()), None if self.final else self.stop_below)

    @property
    def origin(self) -> int:
        """The number that its message had when it was first delivered, under which its keys are."""
        if self._origin is None:
            self._origin = next((int(record.payload) for record in self.records if record.kind == "requeued"), self.seq)
        return self._origin

    def once(self, place: str, made_from: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What `make` gives, made again only where something of what it is made from has changed."""
        known = self.memo.get(place)
        if known is None or known[0] != made_from:
            known = self.memo[place] = made_from, make()
        return known[1]

    @property
    def epoch(self) -> int:
        """The newest life."""
        return max((life.epoch for life in self.lives), default=0)

    def turns(self) -> list[tuple[int, StepRecord, Turn]]:
        """The model turns in the journal, in order: number, record, turn. Read once."""
        if self._turns is None:
            self._turns = self._read_turns()
        return self._turns

    def _read_turns(self) -> list[tuple[int, StepRecord, Turn]]:
        found = [
            record for record in self.records if record.branch == "" and record.name == TURN and record.kind == "step"
        ]
        read = [(record.occurrence + 1, record, self._turn(record)) for record in found]
        return [(number, record, turn) for number, record, turn in read if turn is not None]

    def _turn(self, record: StepRecord) -> Turn | None:
        turn: Turn | None = self.once(f"turn {record.occurrence}", (record.payload,), lambda: _turn_of(record.payload))
        return turn

    def failed_try(self) -> Try | None:
        """The last try of the turn that is asked for now, where it failed and the next one is waited for."""
        at = len(self.turns())
        marks = [r for r in self.records if r.kind == "try" and (r.branch, r.name, r.occurrence) == ("", TURN, at)]
        found = Try.of(marks[-1]) if marks else None
        return found if found is not None and found.next_at > self.now else None

    def holders(self) -> list[str]:
        """The agent of each model turn in the journal, and last the one that has the run now. Read once."""
        if self._holders is None:
            holder, self._holders = self.agent, []
            for number, _, turn in self.turns():
                self._holders.append(holder)
                handed = self._handed(number, len(turn.calls))
                holder = handed["to"] if handed else holder
            self._holders.append(holder)
        return self._holders

    def stage_graph(self) -> StageGraph | None:
        """The stages of who has the run, else of who began it; None where neither has any, as far as is known here."""
        for agent in dict.fromkeys((self.holders()[-1], self.agent)):
            way, stages = stages_taken(self.records, agent), self.stages.get(agent)
            if stages is not None:
                return stages.graph(way)
        return None

    def handed(self, turn: int) -> dict[str, str] | None:
        """Whom the calls of a turn handed the run `to`, and with which `message`: the first of them decides."""
        return self._handed(turn, next((len(each.calls) for number, _, each in self.turns() if number == turn), 0))

    def _handed(self, turn: int, calls: int) -> dict[str, str] | None:
        for position in range(calls):
            branch = branch_of(turn, position)
            for record in self.on(branch):
                if record.branch == branch and record.name == OUTCOME and '"handed"' in record.payload:
                    handed: dict[str, str] | None = decode(record.payload).get("handed")
                    return handed
        return None

    def on(self, branch: str) -> list[StepRecord]:
        """The records of a call, those inside its steps included."""
        if self._calls is None:
            self._calls = {}
            for record in self.records:
                if record.kind not in MARKS:
                    self._calls.setdefault(call_of(record.branch), []).append(record)
        return self._calls.get(branch, [])

    def request(self, branch: str) -> Request | None:
        """The request of a call: the one that waits, else the newest."""
        if self._requests is None:
            self._requests = {}
            for request in self.requests:
                self._requests.setdefault(str(request.body.get("call")), []).append(request)
        asked = self._requests.get(branch, [])
        return next((request for request in asked if request.status == "pending"), asked[-1] if asked else None)

    def asked(self, branch: str) -> list[Kin]:
        """The runs that a call asked."""
        return [one for one in self.kin if call_of(one.branch) == branch]

    def waits_for_others(self, branch: str) -> bool:
        """Whether all that a call does is to wait for runs that wait themselves."""
        out = [one.status for one in self.asked(branch) if one.status not in FINAL]
        return bool(out) and all(status == "waiting" for status in out)

    def waits_below(self, branch: str) -> Request | None:
        """The oldest open request of the runs that a call asked, however far below."""
        below = [one.id for one in self.asked(branch)]
        if not below:
            return None
        pending = (request for request in self.nested if request.status == "pending")
        return next((request for request in pending if any(asked_through(request, id) for id in below)), None)

    def replayed(self, record: StepRecord) -> bool:
        """Whether a later life used the record instead of doing it again."""
        return bool(self.later(record))

    def later(self, record: StepRecord) -> list[Activation]:
        """The lives that used a record of a life before them; those that came after the end used none."""
        end = self.state.get("ended_at")
        first = 0 if "fork" in self.message else 1  # what a fork shares was written before its first life
        lives = self.lives if record.epoch >= first else []
        return [life for life in lives if record.epoch < life.epoch and (end is None or life.began_at <= end)]


def call_of(branch: str) -> str:
    """The branch of the call that a branch is, or is inside of."""
    return branch.partition("/")[0]


def _turn_of(text: str) -> Turn | None:
    """The turn of a record; None when the row was changed by hand into none of a turn."""
    try:
        return Turn.from_plain(decode(text))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
