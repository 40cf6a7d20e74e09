"""Spending: how a run spends the budgets that govern it, inside steps, so that a replay never spends twice.

- Before a model turn and before a tool runs each account is asked, the run's own first. A refusal is journaled, and the
  run waits behind it until somebody extends that budget: then it carries on exactly there.
- After a turn what it used is written down: tokens, cost, seconds, all read from its record in the journal, so that
  doing it again says the same.
- A run that no budget governs has no spending, and takes no such step.

Source: AGENTS 4 (7), DESIGN 3 (a budget stop is waiting with a reason).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.budget_process import call, key_of, post
from workbench.agents.budgets import spent_error
from workbench.process.handle import Handle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.agents.budget import Amounts
    from workbench.agents.budgets import Governs
    from workbench.agents.studio import Assignment
    from workbench.durable.context import DurableContext
    from workbench.durable.runtime import Runtime
    from workbench.models.model import Turn

__all__ = ["ASK", "SPEND", "SPENT", "WAIT", "Spending"]

ASK, WAIT, SPENT, SPEND = "@budget", "@extended", "@spent", "@spend"
TURN_NEEDS = ["input_tokens", "output_tokens", "tokens", "microdollars", "seconds"]
CALL_NEEDS = ["seconds"]


class Spending:
    """The budgets of one run. `waits(True)` hears that one of them stops it, `waits(False)` that it goes on."""

    def __init__(self, context: DurableContext[Any, Any], runtime: Runtime, assignment: Assignment) -> None:
        self._context = context
        self._runtime = runtime
        self._governs: Governs = assignment.message["budget"]
        self._reasons: dict[str, str] = {}
        self._who = {"run": assignment.run, "agent": assignment.agent.name}

    @classmethod
    def of(cls, context: DurableContext[Any, Any], runtime: Runtime, assignment: Assignment) -> Spending | None:
        """The spending of a run, or None for one that no budget governs."""
        return cls(context, runtime, assignment) if assignment.message.get("budget") else None

    @property
    def reason(self) -> str | None:
        """Why it waits for a budget, or None while it does not."""
        return next(iter(self._reasons.values()), None)

    async def before_turn(self, worked: float, waits: Callable[[bool], None]) -> None:
        """Take a request from every account, waited for, and write down the seconds that calls worked since."""
        await self._take("", {"requests": 1}, TURN_NEEDS, waits, worked)

    async def before_call(self, branch: str, moved: Callable[[str, str], None]) -> None:
        """Take a tool call from every account, waited for; on the branch of the call."""
        await self._take(branch, {"tool_calls": 1}, CALL_NEEDS, lambda stops: moved(branch, _status(stops)))

    async def _take(
        self, at: str, asked: Amounts, needs: list[str], waits: Callable[[bool], object], worked: float = 0.0
    ) -> None:
        for account in self._governs:
            of = account["of"]
            message = {"asked": asked, "needs": needs, "opening": account.get("limits"), **self._who}
            answer = await self._asked(ASK, of, {"type": "ask", "worked": worked, **message})
            if not answer["granted"]:
                self._reasons[at] = answer["refused"]["words"]
                waits(True)
                await self._context.call(WAIT, _Patient(self._runtime, of), {"type": "wait", **message})
                del self._reasons[at]
                waits(False)

    async def _asked(self, name: str, of: str, message: dict[str, Any]) -> dict[str, Any]:
        async def ask(key: str) -> dict[str, Any]:
            answer: dict[str, Any] = await call(self._runtime, of, message, key)
            return answer

        answer: dict[str, Any] = await self._context.step(name, ask)
        return answer

    async def after_turn(self, turn: Turn, took: float) -> None:
        """Write down what a turn used, which took so many seconds as its record says."""
        took_of: dict[str, float | None] = {
            "input_tokens": turn.input_tokens,
            "output_tokens": turn.output_tokens,
            "tokens": turn.tokens,
            "microdollars": turn.cost_microdollars,
        }
        amounts: Amounts = {unit: amount for unit, amount in took_of.items() if amount is not None}
        for failed in turn.tries:
            amounts = _with(amounts, failed)
        unknown = [unit for unit, amount in took_of.items() if amount is None]
        message = {"type": "spent", "amounts": {**amounts, "seconds": took}, "unknown": unknown, **self._who}
        for account in self._governs:
            await self._asked(SPENT, account["of"], {**message, "opening": account.get("limits")})

    async def spend(self, amounts: Amounts) -> None:
        """Spend amounts from every account, or from none. Raises: BudgetSpent with the first that has less left."""
        spent: list[dict[str, Any]] = []
        for account in self._governs:
            opening = account.get("limits")
            message: dict[str, Any] = {"type": "ask", "asked": amounts, "needs": [], "opening": opening, **self._who}
            answer = await self._asked(SPEND, account["of"], message)
            if not answer["granted"]:
                back = {"type": "spent", "amounts": {unit: -amount for unit, amount in amounts.items()}, **self._who}
                for before in spent:
                    await self._asked(SPENT, before["of"], {**back, "opening": before.get("limits")})
                raise spent_error(answer["refused"])
            spent.append(account)

    async def leave(self) -> None:
        """Wait for nothing any more: an extension that comes after the end of a run is none of its."""
        for account in self._governs:
            await post(self._runtime, account["of"], {"type": "leave", **self._who}, f"leave {self._who['run']}")


def _with(amounts: Amounts, failed: Mapping[str, Any]) -> Amounts:
    """Amounts with what a try took that failed; where it did not say, there is nothing to count."""
    taken = {unit: failed.get(figure) or 0 for unit, figure in _FIGURES.items()}
    taken["tokens"] = taken["input_tokens"] + taken["output_tokens"]
    return {**amounts, **{unit: amounts.get(unit, 0) + amount for unit, amount in taken.items() if amount}}


_FIGURES = {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "microdollars": "cost_microdollars"}


def _status(stops: bool) -> str:
    return "waiting" if stops else "running"


class _Patient(Handle):
    """An account as `ctx.call` knows processes: its call is asked again, under its id, for as long as it takes."""

    __slots__ = ("_of", "_runtime", "key")

    def __init__(self, runtime: Runtime, of: str) -> None:
        super().__init__(key_of(of))
        self.key = key_of(of)
        self._runtime = runtime
        self._of = of

    async def call(self, message: Any, *, id: str | None = None) -> Any:
        """The answer of the account, whenever it comes."""
        return await call(self._runtime, self._of, message, id or "")
