"""What a view tells of budgets: whether one stops a run, and which of its limits is nearest.

Knows nothing of views or windows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.budget import in_dollars, name_of
from workbench.agents.budget_spending import ASK, WAIT
from workbench.errors import BadInput
from workbench.plain import decode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.agents.views import BudgetView
    from workbench.store.journal import StepRecord

__all__ = ["nearest", "open_refusals"]


def open_refusals(records: Iterable[StepRecord]) -> dict[str, dict[str, Any]]:
    """What budgets refused in the records of a run and nobody has extended since, by branch; "" is the run itself."""
    refused: dict[str, list[StepRecord]] = {}
    for record in records:
        if record.name == ASK and '"granted":false' in record.payload:
            refused.setdefault(record.branch, []).append(record)
        elif record.name == WAIT and record.kind == "step" and refused.get(record.branch):
            refused[record.branch].pop()
    told = {branch: _refusal(stops[-1].payload) for branch, stops in refused.items() if stops}
    return {branch: refusal for branch, refusal in told.items() if refusal is not None}


def _refusal(payload: str) -> dict[str, Any] | None:
    """The refusal of an answer; None for a row that was changed by hand into none."""
    try:
        told = decode(payload).get("refused")
    except (BadInput, AttributeError):
        return None
    return told if type(told) is dict and told.keys() >= _REFUSAL else None


_REFUSAL = {"of", "unit", "limit", "spent", "asked", "left", "uncounted", "words"}


def nearest(accounts: Iterable[dict[str, Any]], stop: dict[str, Any] | None) -> BudgetView | None:
    """The limit that is nearest to being used up, that which stops the run before all others; None without any."""
    limits = [(account, unit) for account in accounts for unit in account["limits"]]
    if not limits:
        return None

    def part(one: tuple[dict[str, Any], str]) -> tuple[bool, float]:
        account, unit = one
        stops = stop is not None and (account["of"], unit) == (stop["of"], stop["unit"])
        return stops, account["spent"][unit] / account["limits"][unit] if account["limits"][unit] else 1.0

    account, unit = max(limits, key=part)
    return {
        "used": _number(unit, account["spent"][unit]),
        "limit": _number(unit, account["limits"][unit]),
        "unit": name_of(unit),
        "of": account["of"].removeprefix("run:"),
    }


def _number(unit: str, amount: float) -> float:
    return float(in_dollars(amount)) if unit == "microdollars" else amount
