"""Verbs of the command line for budgets: budget, extend.

Each works on an open bench and gives what Python's verb of that name gives. What it names is a run, "bench", or another
budget of the store. Knows nothing of how a store is named or a value is printed.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from workbench.agents.budget import told
from workbench.errors import NoCode
from workbench.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.agents.budgets import Account
    from workbench.bench import Workbench
    from workbench.cli_upkeep import Work

__all__ = ["add_verbs"]

COUNTED = ("requests", "tool_calls", "tokens", "input_tokens", "output_tokens")


def add_verbs(add: Callable[[str, Work, str], argparse.ArgumentParser]) -> None:
    """Add every verb by `add(name, work, words)`, which gives its parser."""
    budget = add("budget", _budget, "what is left of the budgets, and who waits for more")
    budget.add_argument("id", nargs="?", help="a run, or bench; all of them when left out")
    extend = add("extend", _extend, "raise a budget, and let go on who waits for it; by as much again if not told")
    extend.add_argument("id", help="the id of a run, or bench")
    for unit in COUNTED:
        extend.add_argument(f"--{unit.replace('_', '-')}", type=int, metavar="N", help=f"so many {unit} more")
    extend.add_argument("--dollars", metavar="D", help="so much money more, e.g. 0.50")
    extend.add_argument("--seconds", type=float, metavar="S", help="so many seconds at work more")
    extend.add_argument("--uncounted", action="store_true", help="let calls go on that have no price or no tokens")
    extend.add_argument("--by", default=os.environ.get("USER", "you"), help="who extends it")


async def _budget(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    accounts = list(bench.budgets) if options.id is None else [_account(bench, options.id)]
    rows = [row for account in accounts for row in account.rows()]
    table = Table(rows, columns=("of", "unit", "limit", "spent", "left", "waiting"))
    return [account.state for account in accounts], repr(table), 0


async def _extend(bench: Workbench, options: argparse.Namespace) -> tuple[Any, str, int]:
    given = {unit: getattr(options, unit) for unit in (*COUNTED, "dollars", "seconds")}
    amounts = {unit: amount for unit, amount in given.items() if amount is not None}
    what: Any = bench.runs[options.id] if options.id in bench.runs else _account(bench, options.id)
    more = await what.extend(**amounts, uncounted=options.uncounted, by=options.by, via="cli")
    words = ", ".join(told(unit, amount) for unit, amount in more.items())
    allowed = "what cannot be counted goes on" if options.uncounted else ""
    return {"id": options.id, "extended": more}, f"{options.id} extended: {words or allowed or 'nothing'}", 0


def _account(bench: Workbench, id: str) -> Account:
    """The budget that is meant. Raises: NoCode."""
    if id in bench.runs:
        account = bench.runs[id].budget
        if account is None:
            raise NoCode(f"run {id!r} has no budget; workbench budget lists those there are", name=id)
        return account
    if id not in [account.of for account in bench.budgets]:
        raise NoCode(f"no run and no budget {id!r} in this store; workbench budget lists the budgets", name=id)
    return bench.budgets[id]
