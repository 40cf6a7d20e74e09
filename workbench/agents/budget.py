"""The budget: how much runs may use, in units that are counted; a unit that is left out has no limit.

- Requests are model calls; tokens are input and output together. Money is whole micro-dollars, so no sum is ever
  rounded; seconds are those at work, by the bench's clock.
- What is asked for before it is used (requests, tool calls) never passes its limit. What is known only afterwards
  (tokens, money, seconds) ends with the model turn that passes it.

Knows nothing of who spends. Source: AGENTS 4 (7), STYLE (units).
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from workbench.errors import BadInput
from workbench.given import seconds as checked_seconds
from workbench.given import shown, whole

__all__ = ["UNITS", "Amounts", "Budget", "count_of", "in_dollars", "name_of", "told"]

Amounts = dict[str, int | float]
"""How much, by unit."""

UNITS = ("requests", "tool_calls", "input_tokens", "output_tokens", "tokens", "microdollars", "seconds")
_NAMES = {"requests": "requests", "tool_calls": "tool calls", "input_tokens": "input tokens"}
_NAMES |= {"output_tokens": "output tokens", "tokens": "tokens", "microdollars": "dollars", "seconds": "seconds"}
_ONE = {"requests": "request", "tool_calls": "tool call", "tokens": "token", "seconds": "second"}
MILLION = 1_000_000


class Budget:
    """Limits of what runs may use: `Budget(requests=10, dollars="0.50")`.

    `dollars` is money as text, Decimal or number; `microdollars` is the same as a whole number. `seconds` counts model
    turns and tool calls, those at once counted once, and neither the time that a run waits for a person nor that in
    which nobody runs it. `limits` has the units that were given, money in micro-dollars. Raises: BadInput.
    """

    __slots__ = ("limits",)

    def __init__(
        self,
        *,
        requests: int | None = None,
        tool_calls: int | None = None,
        tokens: int | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        dollars: Decimal | str | float | None = None,
        microdollars: int | None = None,
        seconds: float | None = None,
    ) -> None:
        given = {
            "requests": requests,
            "tool_calls": tool_calls,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "tokens": tokens,
            "microdollars": microdollars,
        }
        self.limits: Amounts = {
            unit: whole(f"{name_of(unit)} of a budget", most, 0) for unit, most in given.items() if most is not None
        }
        if dollars is not None:
            if microdollars is not None:
                raise BadInput(f"money is given as dollars or as microdollars, found both ({dollars!r})")
            self.limits["microdollars"] = _microdollars(dollars)
        if seconds is not None:
            self.limits["seconds"] = checked_seconds("seconds of a budget", seconds)
        if not self.limits:
            raise BadInput(f"a budget limits at least one of {', '.join(_PARAMETERS)}; give it e.g. requests=10")

    @classmethod
    def of(cls, given: Budget | Mapping[str, Any]) -> Budget:
        """The budget itself, or the one of a mapping such as `{"requests": 10}`. Raises: BadInput."""
        if isinstance(given, Budget):
            return given
        if not isinstance(given, Mapping):
            raise BadInput(f"a budget is a Budget or a mapping of limits, found {given!r}; write Budget(requests=10)")
        unknown = [name for name in given if name not in _PARAMETERS]
        if unknown:
            raise BadInput(f"a budget has no unit {unknown[0]!r}; it has {', '.join(_PARAMETERS)}")
        return cls(**given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Budget) and self.limits == other.limits

    def __hash__(self) -> int:
        return hash(frozenset(self.limits.items()))

    def __repr__(self) -> str:
        shown = [
            f'dollars="{in_dollars(most)}"' if unit == "microdollars" else f"{unit}={most}"
            for unit, most in self.limits.items()
        ]
        return f"Budget({', '.join(shown)})"


_PARAMETERS = (*(unit for unit in UNITS if unit != "microdollars"), "dollars", "microdollars")


def _microdollars(dollars: object) -> int:
    """Dollars in whole micro-dollars; a float is what it shows. Raises: BadInput."""
    try:
        if isinstance(dollars, bool) or not isinstance(dollars, (Decimal, str, int, float)):
            raise InvalidOperation
        exact = Decimal(dollars if type(dollars) is int else str(dollars)) * MILLION
        if not exact.is_finite() or exact != exact.to_integral_value():
            raise InvalidOperation
    except InvalidOperation as error:
        raise BadInput(
            f'dollars of a budget are money of at most 6 decimals, found {shown(dollars)}; write e.g. dollars="0.50"'
        ) from error
    return whole("dollars of a budget, in micro-dollars,", int(exact), 0)


def in_dollars(microdollars: float) -> str:
    """Micro-dollars as dollars, exact, with two decimals at least: 0.50, 0.001234."""
    text = f"{Decimal(int(microdollars)) / MILLION:.6f}"
    return text[:-4] + text[-4:].rstrip("0")


def name_of(unit: str) -> str:
    """How people call a unit."""
    return _NAMES[unit]


def told(unit: str, amount: float) -> str:
    """An amount in words: 20,012 tokens, 1 request, 0.50 dollars."""
    if unit == "microdollars":
        return f"{in_dollars(amount)} dollars"
    return f"{count_of(unit, amount)} {_ONE.get(unit, name_of(unit)) if amount == 1 else name_of(unit)}"


def count_of(unit: str, amount: float) -> str:
    """An amount as its number alone."""
    if unit == "microdollars":
        return in_dollars(amount)
    return f"{amount:,.1f}".removesuffix(".0") if unit == "seconds" else f"{amount:,}"
