"""Budgets: the accounts of a bench, one for itself and one for each run that was given a budget of its own.

- An account is a durable process: its state says what is left and who spent what, from any kernel, and its journal is
  what happened to it.
- Spending is a call under a durable id. One id has one answer, so whoever is told to spend again after a crash spends
  nothing again.
- Which accounts govern a run is in its first message. The runs that it begins are governed by the same ones, and by
  their own besides, so a tree of agents spends one budget.
- Reading an account makes none: a bench without budgets has no such process and no such row.

Source: AGENTS 4 (7), PROCESSES 6.2. Knows nothing of the agent loop.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.budget import UNITS, Amounts, Budget, count_of, in_dollars, name_of, told
from workbench.agents.budget_account import as_much_again, blank, limited, named
from workbench.agents.budget_process import DEFINITION, account_state, accounting, call, key_of, post, process
from workbench.errors import BadInput, BudgetSpent
from workbench.table import Table, in_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.durable.runtime import Runtime

__all__ = ["BENCH", "Account", "Budgets", "Governs"]

BENCH = "bench"
PATIENCE = 5.0
"""Seconds that an extension waits for the host of the account; it is in the journal before."""
Governs = list[dict[str, Any]]
"""The accounts that govern a run, its own first: `{"of", "limits"}`; limits are those that the account begins with."""


class Budgets:
    """The accounts of a bench: `budgets[run.key]`, `budgets["bench"]`, iteration, a table in a cell."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        runtime.add(accounting(runtime.clock.now))

    @property
    def bench(self) -> Account:
        """The account of the whole bench: every run that begins under it spends it."""
        return self[BENCH]

    def __getitem__(self, of: str) -> Account:
        return Account(self._runtime, of)

    def __iter__(self) -> Iterator[Account]:
        for info in self._runtime.store.keys_now():
            if info.definition == DEFINITION:
                yield self[info.key.removeprefix(key_of(""))]

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def table(self) -> Table:
        """A row for every limit of every account."""
        return Table((row for account in self for row in account.rows()), columns=COLUMNS)

    def __repr__(self) -> str:
        return "<Budgets: the bench is closed>" if self._runtime.closed else repr(self.table())

    def _repr_html_(self) -> str:
        return in_html(self) if self._runtime.closed else self.table()._repr_html_()

    def governing(self, run: str, budget: Budget | Mapping[str, Any] | None, parent: Governs | None = None) -> Governs:
        """The accounts that govern the run with the key `run`; none when it is empty.

        Its own if it has a budget, then those of the run that begins it (`parent`), else the bench's if that has one.
        Raises: BadInput.
        """
        governs: Governs = [] if budget is None else [{"of": run, "limits": Budget.of(budget).limits}]
        if parent is not None:
            governs += [dict(account) for account in parent if account["of"] != run]
        elif self._runtime.store.keys_now(key=key_of(BENCH)):
            governs.append({"of": BENCH})
        return governs


COLUMNS = ("of", "unit", "limit", "spent", "left", "waiting")


class Account:
    """One budget as code holds it: `limits`, `spent`, `left` and `by` agent, in units; `extend`, `limit`, `spend`.

    `opening` is what it begins with where nobody has spent of it yet.
    """

    def __init__(self, runtime: Runtime, of: str, opening: Amounts | None = None) -> None:
        self.of = of
        self.key = key_of(of)
        self._runtime = runtime
        self._opening = opening

    @property
    def state(self) -> dict[str, Any]:
        """What its process says: `limits`, `spent`, `left`, `by`, `waiting`, `refused`, `extensions`, `uncounted`."""
        state = account_state(self._runtime, self.of) or blank(self.of)
        return limited(state, self._opening) if state["opening"] is None and self._opening is not None else state

    @property
    def limits(self) -> Amounts:
        """The limits as they are now, by unit, money in micro-dollars; empty when nothing is limited."""
        return dict(self.state["limits"])

    @property
    def left(self) -> Amounts:
        """What is left of each limit."""
        return dict(self.state["left"])

    @property
    def spent(self) -> Amounts:
        """What was spent, in every unit."""
        return dict(self.state["spent"])

    @property
    def by(self) -> dict[str, Amounts]:
        """What each agent spent."""
        return dict(self.state["by"])

    @property
    def waiting(self) -> list[dict[str, Any]]:
        """Who waits for more, longest first: `run` (a key), `agent`, `asked`, `since`."""
        return list(self.state["waiting"])

    async def extend(
        self,
        *,
        uncounted: bool = False,
        by: str = "you",
        via: str = "notebook",
        nth: int | None = None,
        **amounts: Any,
    ) -> Amounts:
        """Raise the limits, and let those go on who wait for it; gives by how much.

        `amounts` are those of a `Budget`, e.g. `requests=5` or `dollars="1"`; without any it is as much again as the
        budget began with, of whatever is used up. `uncounted=True` lets model calls go on whose price or tokens nobody
        knows. It
        is in the journal when this returns, also where nobody runs it yet. `nth` is the number of the extension that
        this is meant to be: once another one was quicker it changes nothing. Raises: BadInput.
        """
        state = self.state
        if not state["limits"]:
            raise BadInput(f"{named(self.of)} has no budget to extend; give it one with budget=Budget(…)")
        more = Budget.of(amounts).limits if amounts else {}
        unlimited = [name_of(unit) for unit in more if unit not in state["limits"]]
        if unlimited:
            limits = ", ".join(name_of(unit) for unit in state["limits"])
            raise BadInput(
                f"the budget of {named(self.of)} limits {limits}, and not {unlimited[0]}; extend what it limits"
            )
        if not more and not uncounted:
            more, uncounted = as_much_again(state)
        message = {"type": "extend", "amounts": more, "uncounted": uncounted, "by": by, "via": via, "nth": nth}
        answer = await self._sent(message)
        return more if answer is None else dict(answer["extended"] or {})

    async def limit(self, budget: Budget | Mapping[str, Any] | None) -> None:
        """Put these limits in the place of those that are there; what is spent stays spent. None limits nothing.

        It is in the journal when this returns. Raises: BadInput.
        """
        await self._sent({"type": "limit", "limits": None if budget is None else Budget.of(budget).limits})

    async def begin(self, budget: Budget) -> None:
        """Limit it as `budget` says, unless that is what it began with: then what was extended since stays."""
        if self.state["opening"] != budget.limits:
            await self.limit(budget)

    async def spend(self, *, agent: str = "you", id: str | None = None, **amounts: Any) -> Amounts:
        """Spend amounts, all of them or nothing; gives what is left. `id` makes it happen once.

        `amounts` are those of a `Budget`. Raises: BudgetSpent when less is left, BadInput.
        """
        asked = Budget.of(amounts).limits
        message: dict[str, Any] = {"type": "ask", "agent": agent, "asked": asked, "needs": [], "opening": self._opening}
        answer = await call(self._runtime, self.of, message, id or f"spend-{secrets.token_hex(8)}")
        if not answer["granted"]:
            raise spent_error(answer["refused"])
        return dict(answer["left"])

    async def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first state, the present one included, for which the condition holds."""
        state: dict[str, Any] = await process(self._runtime, self.of).until(condition)
        return state

    async def _sent(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Have a message in the journal; gives its answer, or None while no host carries it out."""
        id = f"{message['type']}-{secrets.token_hex(8)}"
        message = {**message, "opening": self._opening}
        if not self._runtime.worker:
            await post(self._runtime, self.of, message, id)
            return None
        answered = asyncio.ensure_future(call(self._runtime, self.of, message, id))
        try:
            done, _ = await asyncio.wait([answered], timeout=PATIENCE)
            return dict(answered.result()) if done else None
        finally:
            answered.cancel()

    def rows(self) -> list[dict[str, Any]]:
        """A row for each limit: `of`, `unit`, `limit`, `spent`, `left`, `waiting` (runs)."""
        state, of = self.state, self.of.removeprefix("run:")
        waiting = len({waits["run"] for waits in state["waiting"]})
        return [
            {
                "of": of,
                "unit": name_of(unit),
                "limit": _shown(unit, limit),
                "spent": _shown(unit, state["spent"][unit]),
                "left": _shown(unit, state["left"][unit]),
                "waiting": waiting,
            }
            for unit, limit in state["limits"].items()
        ]

    def __repr__(self) -> str:
        if self._runtime.closed:
            return f"<Budget of {named(self.of)}: its bench is closed>"
        state = self.state
        limits = [
            f"{told(unit, left)} left of {count_of(unit, self.limits[unit])}" for unit, left in state["left"].items()
        ]
        waits = f"; {len(state['waiting'])} wait for more" if state["waiting"] else ""
        return f"<Budget of {named(self.of)}: {', '.join(limits) or 'no limits'}{waits}>"

    def _repr_html_(self) -> str:
        if self._runtime.closed or not self.limits:
            return in_html(self)
        agents = [
            {"agent": agent, **{name_of(unit): _shown(unit, amounts.get(unit, 0)) for unit in UNITS}}
            for agent, amounts in self.by.items()
        ]
        spent = Table(agents, columns=("agent", *(name_of(unit) for unit in UNITS)))._repr_html_() if agents else ""
        return Table(self.rows(), columns=COLUMNS)._repr_html_() + spent


def _shown(unit: str, amount: float) -> int | float | str:
    """An amount in a table: money in dollars."""
    return in_dollars(amount) if unit == "microdollars" else amount


def spent_error(refused: dict[str, Any]) -> BudgetSpent:
    """The error of what a budget refused."""
    return BudgetSpent(
        f"{refused['words']}; extend it with bench.budget.extend(…) or run.extend(…)",
        of=refused["of"],
        unit=refused["unit"],
        limit=refused["limit"],
        asked=refused["asked"],
        left=refused["left"],
    )
