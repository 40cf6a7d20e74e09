"""Forks: a new run that shares the beginning of another, and goes its own way from a step on.

- A fork is made of copied rows, brought in by one transaction: it is there whole, or not at all. It needs nothing of
  the run that it came from, which may be deleted, and it can be recovered, exported and forked again.
- What it shares is in its journal, so nothing of that runs again: neither models nor tools. What was decided in it is
  not asked again; what was pending is asked anew, under an id of the fork. A tool that waited with a question does
  again what leads there, but for its steps.
- Its first message says what it was forked from, before which step, what was edited and what was saved.
- The times of what is shared are moved so that it ends when the fork begins: a bar keeps its length.

Source: DESIGN rule 10. Knows nothing of models or views.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

from workbench.agents.agent import Agent
from workbench.agents.calls import OUTCOME
from workbench.agents.edits import Edits
from workbench.agents.fork_points import Point, Prefix
from workbench.agents.gate import INTENT
from workbench.agents.inquiry import QUESTION
from workbench.agents.loop import FIRST
from workbench.agents.stored import AGENT, run_key
from workbench.agents.usage import no_usage, with_turn
from workbench.durable.keys import step_key
from workbench.durable.requests import KIND, PENDING, request_id
from workbench.errors import BadInput, CallConflict, NoCode
from workbench.given import named
from workbench.plain import decode, digest, encode
from workbench.store.journal import StepRecord
from workbench.store.upkeep import ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workbench.agents.run import Run
    from workbench.durable.runtime import Runtime
    from workbench.store.upkeep import CopyRow

__all__ = ["Forks", "agents_among", "fork_words", "forked_from"]

_FIGURES: tuple[Literal["input_tokens", "output_tokens", "cost_microdollars"], ...] = (
    "input_tokens", "output_tokens", "cost_microdollars",
)  # fmt: skip
SEQ = 1
"""The number of the first message of a run."""
LEFT_BEHIND = ("conversation", "parent")
"""What of the first message is not shared: a fork takes no turn in a conversation, and nobody waits for it."""


def forked_from(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the first message of a run says of its fork: `of`, `before`, `edited`, `with`, `at` and `saved`; or None."""
    told = message.get("fork")
    return told if isinstance(told, dict) else None


class Forks:
    """Makes forks of the runs of one bench. `known(name)` gives the agent of a name, `run(id)` a run."""

    def __init__(
        self,
        runtime: Runtime,
        known: Callable[[Agent | str], Agent],
        run: Callable[[str], Run],
    ) -> None:
        self._runtime = runtime
        self._known = known
        self._run = run

    async def fork(self, of: Run, before: object, edit: object, id: str | None) -> Run:
        """A fork of a run. Raises: BadInput, NotPlain, NoCode, CallConflict when `id` is another run."""
        rows = await asyncio.to_thread(list, self._runtime.store.upkeep.copy(of.key))
        source = _Source(of.id, rows)
        place = self._runtime.store.conversations.exchange_now(of.key)
        if place is not None:  # a fork is told what the run was told, and takes no turn of its own
            source.message["history"] = {"owner": place.owner, "name": place.name, "before": place.number}
        edits = Edits.of(edit, source.prefix)
        point = edits.point(before, source.prefix)
        agent = self._known(edits.agent if edits.agent is not None else of.agent)
        agent.but(**edits.told)  # what cannot be is refused now
        name = named("a run's id", id) if id is not None else f"run-{secrets.token_hex(4)}"
        made = _Fork(source, edits, point, agent.name, name, self._runtime.clock.now()).rows()
        if await self._runtime.store.upkeep.restore(made, read_only=False) is not None:
            self._must_be_the_same(name, made)
        key = run_key(name)
        await self._runtime.requests.find(key=key)
        run = self._run(name)
        if self._runtime.worker:
            run.process.start()
        return run

    def _must_be_the_same(self, id: str, made: Sequence[CopyRow]) -> None:
        """Raises: CallConflict when the id is a run that is none of this fork."""
        key = run_key(id)
        first = next((e for e in self._runtime.store.history_now(key) if e.kind == "message" and e.payload), None)
        there = decode(first.payload) if first is not None and first.payload is not None else {}
        meant = decode(made[1]["payload"])
        mine = there.get("principal") == meant.get("principal")
        if not mine or _lasting(there) != _lasting(meant):
            raise CallConflict(
                f"the run {id!r} is there already and is not this fork; use a new id for a new fork",
                key=key,
                id=id,
                first=there if mine else None,  # what another asks is not told
                second=meant,
            )


def _lasting(message: Mapping[str, Any]) -> str:
    """What two forks have in common that were asked for in the same words, at whatever time."""
    told = {name: value for name, value in (forked_from(message) or {}).items() if name not in ("at", "saved")}
    return digest({"text": message.get("text"), "fork": told})


class _Source:
    """The rows of the run that is forked, as what they mean."""

    def __init__(self, id: str, rows: Sequence[CopyRow]) -> None:
        if not rows:
            raise NoCode(f"no run {id!r} in this store; bench.runs.find() lists them", name=id)
        entries = [row for row in rows if row["row"] == "entry"]
        asks = [row for row in entries if row["kind"] == "message" and _is_ask(row["payload"])]
        if not asks:
            raise BadInput(f"the journal of run {id!r} was pruned; what a fork would share is not there any more")
        self.id = id
        self.key: str = rows[0]["key"]
        self.agent: str = rows[0]["definition"].removeprefix(AGENT)
        self.seq: int = asks[-1]["seq"]
        self.message: dict[str, Any] = decode(asks[-1]["payload"])
        of_message = [row for row in entries if row["seq"] == self.seq and row["kind"] not in ("message", "commit")]
        origin = next((int(row["payload"]) for row in of_message if row["kind"] == "requeued"), self.seq)
        self.origin = origin
        self.requests = {row["id"]: row for row in rows if row["row"] == "record" and row["kind"] == KIND}
        self.prefix = Prefix(id, self.key, origin, self._to_share([_record(row) for row in of_message]))

    def _to_share(self, records: list[StepRecord]) -> list[StepRecord]:
        """The records without the intent of a call that waits with a question: it was at rest, and goes on from there.

        With its intent alone it would be one that was cut off, and is not run again.
        """
        over = {record.branch for record in records if record.name == OUTCOME}
        heard = Counter(record.branch for record in records if record.name == QUESTION)

        def rests(record: StepRecord) -> bool:
            if record.name != INTENT or record.branch.partition("/")[0] in over:
                return False
            key = step_key(self.key, self.origin, record.branch, QUESTION, heard[record.branch])
            return request_id(key) in self.requests

        return [record for record in records if not rests(record)]


def _is_ask(payload: str | None) -> bool:
    message = decode(payload) if payload is not None else None
    return isinstance(message, dict) and message.get("type") == "ask"


def _record(row: CopyRow) -> StepRecord:
    columns = ("branch", "name", "occurrence", "payload", "kind", "position", "began_at", "took")
    return StepRecord(**{column: row[column] for column in columns})


class _Fork:
    """One fork on its way to being rows."""

    def __init__(self, source: _Source, edits: Edits, point: Point, agent: str, id: str, at: float) -> None:
        self.source = source
        self.edits = edits
        self.point = point
        self.agent = agent
        self.id = id
        self.key = run_key(id)
        self.at = at
        self.records = edits.applied(source.prefix.kept(point), source.prefix, source.agent)
        ends = [record.began_at + record.took for record in self.records]
        self.later = at - max(ends) if ends else at - source.message.get("at", at)

    def rows(self) -> list[CopyRow]:
        """The rows of the fork, as a copy of a key has them: the key first, its message next."""
        entries: list[CopyRow] = []
        requests: list[CopyRow] = []
        for record in self.records:
            record, request = self._own(record)
            entries.append(self._entry(record.kind, record.payload, _placed(record, self.later)))
            requests += request
        return [self._of_key(), self._entry("message", self._message(), {"call_id": FIRST}), *entries, _CALL, *requests]

    def _of_key(self) -> CopyRow:
        return {
            "row": "key",
            "key": self.key,
            "definition": f"{AGENT}{self.agent}",
            "args": encode({"id": self.id}),
            "version": 0,
            "snapshot": None,
            "cursor": 0,
            "last_seq": SEQ,
            "epoch": 0,
            "wake_at": self.at,
            "created_at": self.at,
        }

    def _entry(self, kind: str, payload: str, more: Mapping[str, Any]) -> CopyRow:
        row: CopyRow = {"row": "entry", **dict.fromkeys(ROWS["entry"])}
        return row | {"kind": kind, "seq": SEQ, "epoch": 0, "at": self.at, "payload": payload} | dict(more)

    def _message(self) -> str:
        shared = {name: value for name, value in self.source.message.items() if name not in LEFT_BEHIND}
        fork = {
            "of": self.source.id,
            "before": self.point.name,
            "edited": list(self.edits.names),
            "with": {**(forked_from(self.source.message) or {}).get("with", {}), **self.edits.told},
            "at": self.at,
            "saved": self._saved(),
        }
        if "budget" in shared:  # its own account is another one, with the limits that the run began with
            mine = {self.source.key: self.key}
            shared["budget"] = [{**each, "of": mine.get(each["of"], each["of"])} for each in shared["budget"]]
        text = self.edits.request if self.edits.request is not None else shared["text"]
        return encode({**shared, "text": text, "at": shared.get("at", self.at) + self.later, "fork": fork}, "request")

    def _saved(self) -> dict[str, Any]:
        """What the fork shares and so does not do again; a figure is None where nobody reported it."""
        usage = reduce(with_turn, self.source.prefix.turns[: self.point.turns], no_usage())
        calls = sum(1 for record in self.records if record.name == OUTCOME)
        return {"turns": usage["model_calls"], "calls": calls} | {name: usage[name] for name in _FIGURES}

    def _own(self, record: StepRecord) -> tuple[StepRecord, list[CopyRow]]:
        """A record as the fork's own, and the row of the request that it is the decision of, if it is one."""
        place = (record.branch, record.name, record.occurrence)
        asked = self.source.requests.get(request_id(step_key(self.source.key, self.source.origin, *place)))
        if asked is None or asked["status"] == PENDING:
            return record, []
        id = request_id(step_key(self.key, SEQ, *place))
        decided = decode(record.payload)
        body = {**decided["body"], "run": self.id} if "run" in decided["body"] else decided["body"]
        mine = StepRecord(
            *place,
            encode({**decided, "id": id, "key": self.key, "body": body}),
            record.kind,
            record.position,
            record.began_at,
            record.took,
        )
        return mine, [{**asked, "id": id, "body": encode(body, "request")}]


def _placed(record: StepRecord, later: float) -> dict[str, Any]:
    where = {column: getattr(record, column) for column in ("branch", "name", "occurrence", "position", "took")}
    return where | {"began_at": record.began_at + later}


_CALL: CopyRow = {
    "row": "call",
    "call_id": FIRST,
    "seq": SEQ,
    "logged": True,
    "epoch": None,
    "at": None,
    "payload": None,
}


def fork_words(fork: Mapping[str, Any]) -> str:
    """A fork in words: "forked from run-1 before t2, saved 1 turn, 2 calls, 812 tokens, $0.003"."""
    saved = fork["saved"]
    parts = [_plural(saved["turns"], "turn"), _plural(saved["calls"], "call")]
    if saved["input_tokens"] is not None or saved["output_tokens"] is not None:
        parts.append(_plural((saved["input_tokens"] or 0) + (saved["output_tokens"] or 0), "token"))
    if saved["cost_microdollars"] is not None:
        parts.append(f"${saved['cost_microdollars'] / 1_000_000:.3f}")
    return f"forked from {fork['of']} before {fork['before']}, saved {', '.join(parts)}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def agents_among(agents: Mapping[str, Agent], add: Callable[[Agent], None]) -> Callable[[Agent | str], Agent]:
    """How an agent, or its name, is found among those of a bench; one that is new to it is added."""

    def known(agent: Agent | str) -> Agent:
        if isinstance(agent, Agent):
            if agents.get(agent.name) is not agent:
                add(agent)
            return agent
        if agent not in agents:
            there = ", ".join(agents) or "none"
            raise NoCode(f"no agent {agent!r} here, there are {there}; add it with bench.add(…)", name=agent)
        return agents[agent]

    return known
