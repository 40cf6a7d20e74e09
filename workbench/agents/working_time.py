"""The time at work: how long the turns and the calls of a run took, as its journal has it.

- What was at work at once is counted once. Waiting for a person, before the intent of a call or in a question that its
  tool asks, is no work; neither is waiting for another agent, whose own run counts it.
- A call that a kill cut off is not counted: what it was doing when its host died is nowhere written down.

Knows nothing of budgets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.agents.calls import OUTCOME
from workbench.agents.delegation import CHILD
from workbench.agents.gate import INTENT
from workbench.agents.inquiry import QUESTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.store.journal import StepRecord

__all__ = ["seconds_of_calls", "took"]

Span = tuple[float, float]


def took(records: Sequence[StepRecord], name: str) -> float:
    """The seconds that the newest step of this name on the trunk took."""
    return next((record.took for record in reversed(records) if record.branch == "" and record.name == name), 0.0)


def seconds_of_calls(records: Iterable[StepRecord], turn: int) -> float:
    """The seconds that the calls of a turn were at work."""
    calls: dict[str, list[StepRecord]] = {}
    for record in records:
        if record.kind == "step" and record.branch.startswith(f"t{turn}."):
            calls.setdefault(record.branch.partition("/")[0], []).append(record)
    work = [span for branch, steps in calls.items() for span in _at_work(branch, steps)]
    return round(sum(ended - began for began, ended in _together(work)), 6)


def _at_work(branch: str, steps: list[StepRecord]) -> list[Span]:
    """When a call was at work: from its intent to its outcome, but for what it waited for."""
    begun = next((step for step in steps if (step.branch, step.name) == (branch, INTENT)), None)
    ended = next((step for step in steps if (step.branch, step.name) == (branch, OUTCOME)), None)
    if begun is None or ended is None or begun.epoch != ended.epoch:
        return []
    waits = [(step.began_at, step.began_at + step.took) for step in steps if step.name in (CHILD, QUESTION)]
    spans, at = [], begun.began_at
    for since, until in _together(waits):
        spans.append((at, max(at, since)))
        at = max(at, until)
    return [*spans, (at, max(at, ended.began_at + ended.took))]


def _together(spans: Iterable[Span]) -> list[Span]:
    """Spans of time in order, those that overlap as one."""
    made: list[Span] = []
    for began, ended in sorted(spans):
        if made and began <= made[-1][1]:
            made[-1] = made[-1][0], max(made[-1][1], ended)
        else:
            made.append((began, ended))
    return made
