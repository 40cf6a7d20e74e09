"""The matrix: one run with everything in it, killed after each of its writes, each time in a folder of its own.

    python matrix.py FOLDER [--without PART] [--only WRITE ...]

A supervisor charges an order and cancels another at once, the second after a person's yes; then it asks a clerk, who
looks something up; both spend one budget. The first life of a folder is killed by SIGKILL right after its `n`-th write
is in the file, the second carries on. What came of it is printed as JSON, one line for each write.

Lives are forked from here, where everything is loaded, before any loop or thread is begun. Writes land on the loop, so
that a kill finds nothing done beside the one that it follows but what tools do in threads. What two tools have to say
at once may be one write or two, so a life can be over before its `n`-th: then it is lived again in another folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from story import do_without

from workbench import Agent, ToolContext, Workbench, models, tool
from workbench.models import library  # noqa: F401 (loaded before the first fork)
from workbench.store.sqlite import ledger as ledgers
from workbench.store.sqlite.ledger import Ledger

REQUEST = "Settle A-1001 and A-1002"
TRIES = 20
"""Lives that are lived at most until one has as many writes as the undisturbed one."""
killed_at = 0
writes = 0


def note(file: str, line: str) -> None:
    with Path(file).open("a") as lines:
        lines.write(f"{line}\n")


@tool(idempotent=True)
async def charge(order_id: str, ctx: ToolContext) -> str:
    """Charge an order and write to the customer."""
    await ctx.step("charge", lambda key: note("effects", f"charge {key}"))
    await ctx.step("mail", lambda key: note("effects", f"mail {key}"))
    return f"{order_id} charged"


@tool(approval=True, idempotent=True)
def cancel_order(order_id: str, ctx: ToolContext) -> str:
    """Cancel an order."""
    note("effects", f"cancel {ctx.call_id}")
    return f"{order_id} cancelled"


@tool(read_only=True)
def look(what: str) -> str:
    """Look something up."""
    return f"nothing about {what}"


def supervisor() -> Agent:
    """The agent of the run, and the one that it asks."""
    clerk_turns = models.call("look", what="refunds"), "Nothing is owed."
    clerk = Agent("clerk", tools=[look], model=models.scripted(*clerk_turns, log="clerk"))
    both = [models.call("charge", order_id="A-1001"), models.call("cancel_order", order_id="A-1002")]
    turns = both, models.call("ask_clerk", message="Is anything owed?"), "All settled."
    return Agent("supervisor", tools=[charge, cancel_order, clerk], model=models.scripted(*turns, log="supervisor"))


def count_writes() -> None:
    """Kill this process after the write that it is to be killed at."""
    lands = Ledger._transaction

    def counted(self: Ledger, batch: Any) -> Any:
        global writes
        before = self._stored_id
        outcomes = lands(self, batch)
        if self._stored_id != before and before >= 0:
            writes += 1
            if writes == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
        return outcomes

    Ledger._transaction = counted  # type: ignore[method-assign]
    ledgers.QUICK = float("inf")  # every commit counts as quick: the next one is made on the loop


async def live() -> None:
    """Ask, say yes, await: the same lines in every life."""
    count_writes()
    do_without()
    async with Workbench.open("agents.db", supervisor()) as bench:
        run = bench.run("supervisor", REQUEST, id="r1", budget={"requests": 50, "tool_calls": 50})
        ending = asyncio.ensure_future(run._outcome())
        asking = asyncio.ensure_future(run.approval())
        await asyncio.wait([ending, asking], return_when=asyncio.FIRST_COMPLETED)
        if asking.done() and asking.exception() is None:
            await bench.approvals.approve(asking.result().id, by="ana")
        output = await ending
        steps = [row["name"] for one in bench.runs for row in bench.journal(one.id) if row["kind"] == "step"]
        decided = [(view["tool"], view["status"], view["decided_by"]) for view in bench.approvals.view()["decided"]]
        facts = {
            "output": output,
            "runs": sorted((one.agent, one.status) for one in bench.runs),
            "turns": steps.count("turn"),
            "decided": decided,
            "spent": run.budget.spent,
            "writes": writes,
        }
        await asyncio.gather(asking, return_exceptions=True)
    note("facts", json.dumps(facts))


def life(folder: Path, at: int, without: str = "") -> int:
    """Fork a life in a folder; gives how it ended, as a shell says it."""
    global killed_at
    pid = os.fork()
    if pid == 0:
        killed_at = at
        os.chdir(folder)
        if without:
            os.environ["WITHOUT"] = without
        status = 1
        try:
            asyncio.run(live())
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def outcome(folder: Path) -> dict[str, Any]:
    """What came of the lives in a folder."""
    facts: dict[str, Any] = json.loads((folder / "facts").read_text())
    effects = Counter((folder / "effects").read_text().splitlines())
    asked = {
        name: sorted(json.loads(line)["turn"] for line in (folder / name).read_text().splitlines())
        for name in ("supervisor", "clerk")
    }
    return {**facts, "effects": dict(sorted(effects.items())), "asked": asked}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--without", default="")
    parser.add_argument("--only", type=int, nargs="*", default=[])
    options = parser.parse_args()
    undisturbed = options.folder / "undisturbed"
    undisturbed.mkdir()
    if (how := life(undisturbed, 0)) != 0:
        raise SystemExit(f"the undisturbed life ended with {how}")
    clean = outcome(undisturbed)
    print(json.dumps({"at": 0, **clean}), flush=True)
    for at in options.only or range(1, clean["writes"] + 1):
        for again in range(TRIES):
            folder = options.folder / f"{at}.{again}"
            folder.mkdir()
            if (first := life(folder, at)) != 0:
                break
        else:
            raise SystemExit(f"{TRIES} lives were over before their write {at}")
        second = life(folder, 0, options.without)
        print(json.dumps({"at": at, "ends": [first, second], **(outcome(folder) if second == 0 else {})}), flush=True)


if __name__ == "__main__":
    main()
