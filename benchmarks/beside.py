"""Processes beside the peers, in turns in one run: DBOS and LangGraph with durable steps, pykka with calls in memory.

    pip install 'jupyter-agent-workbench[bench]'
    python benchmarks/beside.py [--rounds 3] [--json FILE] [--dir DIRECTORY]

The work is a hundred pieces at once of ten durable steps each, and one actor that is asked again and again. Ours is
durable with synchronous FULL, has a state, and counts what it did; the peers are as they ship (`peers.py`). A peer that
is not installed is left out, and said so.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from durable import Load, messages
from options import parsed, parser_of, write_json
from peers import AT_ONCE, CALLS, STEPS
from ratio import Ratio, ratios_as_data, ratios_as_table
from report import Bar

from workbench import Call, process
from workbench.process.spawn import spawn

PEERS = Path(__file__).with_name("peers.py")
MESSAGES = 10
"""Messages for each of our processes: a hundred start at once and each has a file to begin with."""


@process
async def adder(ctx: Any) -> Any:
    """Adds what it is asked to."""
    total = 0
    yield total
    async for message in ctx:
        match message:
            case Call(number, reply):
                total += number
                reply(total)


async def calls() -> float:
    """Calls per second to one process in memory, one after the other."""
    actor = spawn(adder)
    await actor.call(1)
    began = time.perf_counter()
    for _ in range(CALLS * 10):
        await actor.call(1)
    took = time.perf_counter() - began
    await actor.dispose()
    return CALLS * 10 / took


def ours(place: Path) -> dict[str, float]:
    """Our rates of one round."""
    found = asyncio.run(messages(place, Load(AT_ONCE, MESSAGES, STEPS), "full"))
    return {"steps": found["rate"] * STEPS, "calls": asyncio.run(calls())}


def theirs(peer: str, place: Path) -> dict[str, Any]:
    """A peer's rates of one round, from a process of its own."""
    child = subprocess.run(
        [sys.executable, str(PEERS), peer, str(place)], capture_output=True, text=True, timeout=300, check=False
    )
    if child.returncode:
        raise SystemExit(f"{peer} failed:\n{child.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return found


def lines() -> dict[str, Ratio]:
    """What is compared, with the peers that are installed."""
    work = f"{STEPS} durable steps, {AT_ONCE} at once"
    compared = {
        "dbos": Ratio(work, "step/s", "dbos", Bar(50)),
        "langgraph": Ratio(work, "step/s", "langgraph", Bar(20)),
        "pykka": Ratio("calls in memory, one at a time", "call/s", "pykka", Bar(3)),
    }
    for peer in [name for name in compared if importlib.util.find_spec(name) is None]:
        print(f"{peer} is not installed and left out; pip install 'jupyter-agent-workbench[bench]'", file=sys.stderr)
        del compared[peer]
    return compared


def measure(folder: Path, rounds: int) -> list[Ratio]:
    """All rounds."""
    compared = lines()
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="workbench-bench-", dir=folder) as place:
            mine = ours(Path(place))
            for peer, line in compared.items():
                their = theirs(peer, Path(place))
                line.peer = f"{peer} {their.pop('version')}"
                for what, rate in their.items():
                    line.add(mine[what], rate)
    return list(compared.values())


def main() -> None:
    parser = parser_of(__doc__, rounds=3)
    options, kind = parsed(parser)
    found = measure(options.dir, options.rounds)
    print(f"Processes on {kind}, beside their peers, {options.rounds} rounds\n")
    print(ratios_as_table(found))
    write_json(options.json, ratios_as_data(found))


if __name__ == "__main__":
    main()
