"""The press that is killed: a supervisor, a researcher and a writer on one budget, which stops them half way.

Told as a program in the folder of the store, as `story.py` is: every effect is a line in `effects`, with its key, and
every turn that a model was asked for is one in `turns`. A life stops where a run has an answer of its account and has
not kept it yet, which is where money would be spent twice. `WITHOUT=one-answer` asks under another id each time.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from typing import Any

from story import effect, stop, tell

from workbench import Agent, Budget, ToolContext, Workbench, models, tool
from workbench.agents import budget_spending
from workbench.store.sqlite.keeper import SQLiteStore

CHILD = "run:r1%2Ft1.0"


class Store(SQLiteStore):
    """The keeper of the file, which can be stopped at the door of what an account has answered."""

    def put_step(self, key: str, epoch: int, seq: int, record: Any, wake_at: float | None = None) -> Any:
        if record.kind == "step" and record.name in ("@budget", "@spent", "@spend", "@extended"):
            stop(f"{'researcher' if key == CHILD else 'supervisor'}-{record.name[1:]}")
        return super().put_step(key, epoch, seq, record, wake_at)


@tool(idempotent=True)
async def search(topic: str, ctx: ToolContext) -> str:
    """Search the archive, which costs."""
    await ctx.spend(tokens=120)
    return str(await ctx.step("search", lambda key: effect("search", key)))


@tool(idempotent=True)
async def draft(notes: str, ctx: ToolContext) -> str:
    """Draft a post, which costs more than there is."""
    await ctx.spend(tokens=200_000)
    return str(await ctx.step("draft", lambda key: effect("draft", key)))


def press() -> Agent:
    """The supervisor with its team."""
    searches = models.scripted(models.call("search", topic="packs"), "Notes.", log="turns")
    drafts = models.scripted(models.call("draft", notes="Notes."), "There is no money for it.", log="turns")
    team = [Agent("researcher", tools=[search], model=searches), Agent("writer", tools=[draft], model=drafts)]
    asks = models.call("ask_researcher", message="Packs."), models.call("ask_writer", message="Write: Notes.")
    return Agent("supervisor", tools=team, model=models.scripted(*asks, "Broke.", log="turns"))


def with_other_ids() -> None:
    """Have accounts be asked under another id each time, as if an answer were not kept."""
    call: Callable[..., Any] = budget_spending.call

    async def ask(runtime: Any, of: str, message: dict[str, Any], id: str) -> Any:
        return await call(runtime, of, message, f"{id} {secrets.token_hex(4)}")

    budget_spending.call = ask


async def life() -> None:
    """Ask for a post, extend the budget once where it stops, await. The same lines in every life."""
    if os.environ.get("WITHOUT") == "one-answer":
        with_other_ids()
    async with Workbench.open("agents.db", press(), store=Store("agents.db"), budget=Budget(tokens=100_000)) as bench:
        run = bench.run("supervisor", "A post about packs", id="r1", budget=Budget(requests=4))
        await run.until(lambda _: run.budget is not None and (run.budget.waiting or run.ended))
        if not run.ended:
            stop("stopped")
            await run.extend(requests=4, nth=1)
            stop("extended")
        output = await run
        accounts = {account.of: account.state for account in bench.budgets}
        counted = ("limits", "spent", "by", "refused", "waiting")
        tell(state=output, accounts={of: {name: state[name] for name in counted} for of, state in accounts.items()})
