"""The time at work: how long the turns and the calls of a run took, as its journal has it.

- What was at work at once is counted once. Waiting for a person comes before the intent of a call and is no work.
- A call that was cut off and done again counts from its last life, so nobody's downtime is counted.

Knows nothing of budgets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.agents.calls import OUTCOME
from workbench.agents.gate import INTENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workbench.store.journal import StepRecord

__all__ = ["seconds_of_calls", "took"]


def took(records: Sequence[StepRecord], name: str) -> float:
    """The seconds that the newest step of this name on the trunk took."""
    return next((record.took for record in reversed(records) if record.branch == "" and record.name == name), 0.0)


def seconds_of_calls(records: Iterable[StepRecord], turn: int) -> float:
    """The seconds that the calls of a turn were at work."""
    begun: dict[str, StepRecord] = {}
    spans = []
    for record in records:
        if record.name == INTENT and record.branch.startswith(f"t{turn}."):
            begun[record.branch] = record
        elif record.name == OUTCOME and (intent := begun.get(record.branch)) is not None:
            since = intent.began_at if intent.epoch == record.epoch else record.began_at
            spans.append((since, record.began_at + record.took))
    total = reached = 0.0
    for began, ended in sorted(spans):
        total += max(0.0, ended - max(began, reached))
        reached = max(reached, ended)
    return round(total, 6)
