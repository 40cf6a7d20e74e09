"""Kin: the runs that a run asked, and the stages that it went through, as its journal knows them.

Knows nothing of turns or of what they answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.agents.delegation import CHILD, child_id
from workbench.durable.stages import STAGE, stages_of
from workbench.plain import decode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.agents.runs import Runs
    from workbench.store.journal import StepRecord

__all__ = ["Kin", "kin", "stages_taken"]


@dataclass(frozen=True, slots=True)
class Kin:
    """One run that a call asked: the branch that asked, its id, its agent, and its status."""

    branch: str
    id: str
    agent: str
    status: str


def stages_taken(records: Iterable[StepRecord], agent: str) -> list[str]:
    """The way that an agent took through its stages in a run, as the journal has it."""
    told = [decode(record.payload) for record in records if record.name == STAGE and record.kind == "step"]
    moves = [move for move in told if move["agent"] == agent]
    return stages_of(sorted(moves, key=lambda move: int(move["number"])))


def kin(runs: Runs, run: str, seq: int, records: Iterable[StepRecord]) -> list[Kin]:
    """The runs that `run` asked, in order of asking; one that never came to be is left out."""
    asked: dict[tuple[str, int], str] = {}
    for record in records:
        if record.name == CHILD:
            told = decode(record.payload) if record.kind == "step" else None  # a fork heard of those of its origin
            id = told["run"] if told else child_id(run, seq, record.branch, record.occurrence)
            asked[record.branch, record.occurrence] = id
    found = [(branch, id) for (branch, _), id in asked.items() if id in runs]
    return [Kin(branch, id, runs[id].agent, runs[id].status) for branch, id in found]
