"""Usage: what the model turns of a run took, added up.

- A figure that nobody reported stays None; it never becomes a zero. How many turns lack one is counted beside it.

Knows nothing of prices, budgets or views.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.agents.views import Usage
    from workbench.models.model import Turn

__all__ = ["no_usage", "summed", "with_turn"]


def no_usage() -> Usage:
    """The usage of a run that has asked for nothing yet."""
    return {
        "model_calls": 0,
        "input_tokens": None,
        "output_tokens": None,
        "cost_microdollars": None,
        "unreported": 0,
        "unpriced": 0,
    }


def with_turn(usage: Usage, turn: Turn) -> Usage:
    """The usage with one more turn, and with what the tries before it took that failed."""
    return {
        "model_calls": usage["model_calls"] + 1,
        "input_tokens": _sum(usage["input_tokens"], turn, "input_tokens"),
        "output_tokens": _sum(usage["output_tokens"], turn, "output_tokens"),
        "cost_microdollars": _sum(usage["cost_microdollars"], turn, "cost_microdollars"),
        "unreported": usage["unreported"] + (turn.tokens is None),
        "unpriced": usage["unpriced"] + (turn.cost_microdollars is None),
    }


def summed(usages: Iterable[Usage]) -> Usage:
    """The usage of several runs together."""
    total = no_usage()
    for usage in usages:
        total = {
            "model_calls": total["model_calls"] + usage["model_calls"],
            "input_tokens": _plus(total["input_tokens"], usage["input_tokens"]),
            "output_tokens": _plus(total["output_tokens"], usage["output_tokens"]),
            "cost_microdollars": _plus(total["cost_microdollars"], usage["cost_microdollars"]),
            "unreported": total["unreported"] + usage["unreported"],
            "unpriced": total["unpriced"] + usage["unpriced"],
        }
    return total


def _plus(known: int | None, more: int | None) -> int | None:
    return known if more is None else (known or 0) + more


def _sum(known: int | None, turn: Turn, figure: str) -> int | None:
    """What is known, with the figures that the turn and its failed tries have."""
    for more in (getattr(turn, figure), *(failed.get(figure) for failed in turn.tries)):
        known = _plus(known, more)
    return known
