"""Fork points: the places of a run before which a fork can begin, by name, and what each leaves of its records.

- `t2` is the second model turn, `t2.0` its first call, `t2.0/charge` a step of that call (`t2.0/charge#1` the second of
  that name); a number is a turn. The idempotency key of a step is understood too.
- A fork before a turn keeps everything up to the calls of the turn before it. A fork before a call keeps its turn, and
  what came of the calls beside it, which do not depend on it. A fork before a step keeps what its call had done so far.

Knows nothing of edits, stores or how a fork is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.agents.budget_spending import SPENT
from workbench.agents.calls import OUTCOME, branch_of
from workbench.agents.gate import INTENT
from workbench.agents.loop import TURN
from workbench.durable.keys import step_key
from workbench.durable.steps import MARKS, Address, inside_path
from workbench.errors import BadInput
from workbench.models.model import Turn
from workbench.plain import decode

if TYPE_CHECKING:
    from workbench.store.journal import StepRecord

__all__ = ["Point", "Prefix", "call_place"]

_CALL = re.compile(r"t([1-9]\d*)\.(\d+)")
_JUDGED = re.compile(r"t([1-9]\d*)\.text")
"""The branch of what was made of the text of a turn."""
_TURN = re.compile(r"t(?:urn-)?([1-9]\d*)")


def call_place(branch: str) -> tuple[int, int] | None:
    """Turn and position of the call that a branch is, or is inside of; None for what belongs to no call."""
    found = _CALL.fullmatch(branch.partition("/")[0])
    return (int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class Point:
    """Where a fork begins: after `turns` model turns, with the calls `again` of the last of them still to be made.

    `step` is the record before which the one call of `again` goes on. `name` is how the point is called.
    """

    name: str
    turns: int
    again: frozenset[int] = frozenset()
    step: StepRecord | None = None


class Prefix:
    """The records of one run as a fork may share them. `key` and `seq` name its message in the journal."""

    def __init__(self, run: str, key: str, seq: int, records: Sequence[StepRecord]) -> None:
        self.run = run
        self.records = _in_force(run, records)
        turns = [r for r in self.records if (r.branch, r.name, r.kind) == ("", TURN, "step")]
        self.turns = [Turn.from_plain(decode(record.payload)) for record in turns]
        self._turn_records = turns
        self._by_name = self._named(key, seq)

    def _named(self, key: str, seq: int) -> dict[str, StepRecord]:
        """The records inside calls, by how people call them and by their keys."""
        names: dict[str, StepRecord] = {}
        for record in self.records:
            if call_place(record.branch) is not None:
                again = f"#{record.occurrence}" if record.occurrence else ""
                names[f"{record.branch}/{record.name}{again}"] = record
                names[step_key(key, seq, record.branch, record.name, record.occurrence)] = record
        return names

    def places(self) -> list[str]:
        """What there is to fork before, in order; the workbench's own steps are understood and not listed."""
        listed: list[str] = []
        for number, turn in enumerate(self.turns, 1):
            listed.append(f"t{number}")
            for position in range(len(turn.calls)):
                branch = branch_of(number, position)
                listed.append(branch)
                listed += [name for name, record in self._by_name.items() if _is_listed(name, record, branch)]
        if not self.turns or self.turns[-1].calls:
            listed.append(f"t{len(self.turns) + 1}")
        return listed

    def point(self, before: object) -> Point:
        """The point that is meant. Raises: BadInput naming what there is."""
        name = f"t{before}" if type(before) is int else before
        if isinstance(name, str):
            if name == "request":
                return Point("t1", 0)
            if found := _TURN.fullmatch(name):
                number = int(found[1])
                if f"t{number}" in self.places():
                    return Point(f"t{number}", number - 1)
            elif (place := call_place(name)) and "/" not in name and name in self.places():
                return Point(name, place[0], frozenset((place[1],)))
            elif (record := self._by_name.get(name)) is not None and (place := call_place(record.branch)):
                called = next(other for other, same in self._by_name.items() if same is record)
                return Point(called, place[0], frozenset((place[1],)), record)
        raise BadInput(
            f"run {self.run!r} has no step {before!r} to fork before; it has {', '.join(self.places())}",
            name=str(before),
        )

    def calls_of(self, turn: int) -> frozenset[int]:
        """The positions of the calls of a turn."""
        return frozenset(range(len(self.turns[turn - 1].calls)))

    def kept(self, point: Point) -> list[StepRecord]:
        """The records that a fork at this point shares, in order of writing."""
        last = self._end_of(point.turns)
        keeps = self._keeps_of_the_call(point)
        return [record for record in self.records if self._is_before(record, point, last) or keeps(record)]

    def _end_of(self, turn: int) -> int:
        """The position of the last record of a turn on the trunk: what it spent is a part of it."""
        if turn == 0:
            return -1
        end = self._turn_records[turn - 1].position
        places = {record.position: record.name for record in self.records if record.branch == ""}
        while places.get(end + 1) == SPENT:
            end += 1
        return end

    def _is_before(self, record: StepRecord, point: Point, last: int) -> bool:
        if record.branch == "":
            return record.position <= last
        if judged := _JUDGED.fullmatch(record.branch):
            return int(judged[1]) <= point.turns
        place = call_place(record.branch)
        return place is not None and (
            place[0] < point.turns or (place[0] == point.turns and place[1] not in point.again)
        )

    def _keeps_of_the_call(self, point: Point) -> Callable[[StepRecord], bool]:
        """Which records of the call that goes on in its middle are kept: those before its step, but for its intent."""
        step = point.step
        if step is None:
            return lambda record: False
        place, end = call_place(step.branch), self.records.index(step)
        inside = inside_path(Address(step.branch, step.name, step.occurrence, step.position))
        before = {id(record) for record in self.records[:end]}

        def keeps(record: StepRecord) -> bool:
            is_inside = record.branch == inside or record.branch.startswith(f"{inside}/")
            begun = record.name in (INTENT, OUTCOME)
            return call_place(record.branch) == place and id(record) in before and not is_inside and not begun

        return keeps


def _is_listed(name: str, record: StepRecord, branch: str) -> bool:
    inside = name.startswith(f"{branch}/") and (record.branch == branch or record.branch.startswith(f"{branch}/"))
    return inside and not record.name.startswith("@")


def _in_force(run: str, records: Sequence[StepRecord]) -> list[StepRecord]:
    """The records that answer steps now. Raises: BadInput when somebody chose what they answer."""
    start = max((index + 1 for index, record in enumerate(records) if record.kind == "replaced"), default=0)
    if any(record.kind == "drift" for record in records[start:]):
        raise BadInput(
            f"the code of run {run!r} changed under it, and what its records answer was decided by hand; "
            "begin a new run instead of a fork"
        )
    return [record for record in records[start:] if record.kind not in MARKS]
