"""Edits: what a fork changes of the run that it shares a beginning with, each by the name of what it changes.

- `request`, `instructions`, `model` (a provider string) and `agent` (an agent, or its name) are about the whole run.
- `t1` is what the model said in its first turn: a text, a call, or a list of both, as in a script. `t1.0` is what a
  call gave: a plain value, or an exception that the tool raises.
- An edit is part of the fork's first message or of its records, so the fork needs nobody to say it again.

Knows nothing of stores or of how a fork is made.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.agents.agent import Agent
from workbench.agents.calls import OUTCOME, branch_of
from workbench.agents.fork_points import Point, Prefix, call_place
from workbench.agents.instructions import INSTRUCTIONS
from workbench.agents.loop import TURN
from workbench.agents.outcomes import error_of, outcome
from workbench.errors import BadInput
from workbench.models.messages import Call, model_message, unique_ids
from workbench.models.model import Turn
from workbench.models.script import scripted
from workbench.plain import encode
from workbench.store.journal import StepRecord

__all__ = ["EDITED", "Edits"]

EDITED = "edited"
"""The name of who said a turn that a person wrote, and the note of a result that a person gave."""
WHOLE = ("request", "instructions", "model", "agent")


@dataclass(frozen=True, slots=True)
class Edits:
    """The edits of one fork. `told` are those of the instructions and the model, as the fork's message has them."""

    request: str | None = None
    agent: Agent | str | None = None
    told: dict[str, Any] = field(default_factory=dict)
    turns: dict[int, Any] = field(default_factory=dict)
    results: dict[tuple[int, int], Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: object, prefix: Prefix) -> Edits:
        """The edits that were given, once they fit the run. Raises: BadInput naming the one that does not."""
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise BadInput(f"an edit is a dict such as {{'t1.0': …}}, found {given!r:.80}")
        edits = cls(names=tuple(given))
        for name, value in given.items():
            edits = edits._with(name, value, prefix)
        return edits

    def _with(self, name: object, value: Any, prefix: Prefix) -> Edits:
        if name == "request":
            return dataclasses.replace(self, request=_words("request", value))
        if name == "agent":
            if not isinstance(value, (Agent, str)):
                raise BadInput(f"the edit 'agent' is an agent or the name of one, found {value!r:.80}")
            return dataclasses.replace(self, agent=value)
        if name == "instructions" or name == "model":
            return dataclasses.replace(self, told={**self.told, name: _told(name, value)})
        turn = re.fullmatch(r"t(\d+)", name) if isinstance(name, str) else None
        if turn and 1 <= int(turn[1]) <= len(prefix.turns):
            return dataclasses.replace(self, turns={**self.turns, int(turn[1]): value})
        place = call_place(name) if isinstance(name, str) and "/" not in name else None
        if place and name in prefix.places():
            return dataclasses.replace(self, results={**self.results, place: value})
        there = ", ".join([*WHOLE, *(place for place in prefix.places() if "/" not in place)])
        raise BadInput(f"run {prefix.run!r} has no {name!r} to edit; it has {there}", name=str(name))

    def point(self, before: object, prefix: Prefix) -> Point:
        """Where the fork begins: where it is told to, else right after what is edited last.

        Raises: BadInput for an edit behind that point.
        """
        if before is None and not self.names:
            raise BadInput(
                f"run {prefix.run!r} is forked before a step of it, such as before='t2', or with an edit; "
                f"it has {', '.join(prefix.places())}"
            )
        point = self._earliest(prefix) if before is None else prefix.point(before)
        if point.turns in self.turns and point.again and point.step is None:  # its calls are others now
            point = dataclasses.replace(point, again=prefix.calls_of(point.turns))
        for turn in self.turns:
            if turn != point.turns or point.again != prefix.calls_of(turn):
                raise self._misplaced(f"t{turn}", point, prefix)
        for turn, position in self.results:
            if turn > point.turns or (turn == point.turns and position in point.again):
                raise self._misplaced(branch_of(turn, position), point, prefix)
        return point

    def _earliest(self, prefix: Prefix) -> Point:
        last = max([*self.turns, *(turn for turn, _ in self.results)], default=0)
        if last == 0:
            return Point("t1", 0)
        if last in self.turns:
            return Point(f"t{last}.0", last, prefix.calls_of(last))
        return Point(f"t{last + 1}", last)

    def _misplaced(self, edited: str, point: Point, prefix: Prefix) -> BadInput:
        return BadInput(
            f"a fork of run {prefix.run!r} before {point.name} cannot edit {edited}: it does not go on from there; "
            "leave before out, and it goes on right behind what is edited last",
            name=edited,
        )

    def applied(self, records: list[StepRecord], prefix: Prefix, agent: str) -> list[StepRecord]:
        """The shared records of a run that began with `agent`, with the edits of turns and results in them.

        Raises: BadInput, NotPlain.
        """
        told = {f"{INSTRUCTIONS} {agent}"} if self.agent is not None or "instructions" in self.told else set()
        judged = {f"t{turn}.text" for turn in self.turns}
        kept = [r for r in records if (r.branch != "" or r.name not in told) and r.branch not in judged]
        made = [self._turn_of(record, prefix) if _is_turn(record) else record for record in kept]
        for (turn, position), value in self.results.items():
            branch = branch_of(turn, position)
            text = encode(_outcome(value), f"the edited result of {branch}")
            there = [record for record in made if record.branch == branch and record.name == OUTCOME]
            for record in there:
                made[made.index(record)] = dataclasses.replace(record, payload=text)
            if not there:
                made.append(StepRecord(branch, OUTCOME, 0, text, began_at=made[-1].began_at + made[-1].took))
        return made

    def _turn_of(self, record: StepRecord, prefix: Prefix) -> StepRecord:
        number = record.occurrence + 1
        if number not in self.turns:
            return record
        script = scripted(self.turns[number]).turns[0]
        history = [turn.message for turn in prefix.turns[: number - 1]]
        calls = [part for part in script if not isinstance(part, str)]
        ids = iter(unique_ids([None] * len(calls), history))
        parts = [p if isinstance(p, str) else Call(next(ids), p.tool, p.args, "", None) for p in script]
        turn = Turn.of(model_message(parts, model=EDITED), model=EDITED)
        return dataclasses.replace(record, payload=encode(turn.to_plain(), f"the edited turn {number}"), took=0.0)


def _is_turn(record: StepRecord) -> bool:
    return record.branch == "" and record.name == TURN


def _words(name: str, value: object) -> str:
    if type(value) is not str or not value.strip():
        raise BadInput(f"the edit {name!r} is a text, found {value!r:.80}")
    return value


def _told(name: str, value: Any) -> str | None:
    if name == "instructions" and value is None:
        return None
    if name == "model" and not isinstance(value, str):
        raise BadInput(
            f"the edit 'model' is a provider string such as 'openai:gpt-5.2', found {value!r:.80}; what is no text "
            "cannot be kept in a journal, so make an agent of it: edit={'agent': agent.but('other', model=…)}"
        )
    return _words(name, value)


def _outcome(value: Any) -> dict[str, Any]:
    if isinstance(value, Exception):
        return outcome("failed", error=error_of(type(value).__qualname__, str(value)), note=EDITED)
    return outcome("success", content=value, note=EDITED)
