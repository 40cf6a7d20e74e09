"""What a durable run costs over the bare model layer: ten tool calls, one a turn and all in one turn, beside DBOS.

    pip install 'jupyter-agent-workbench[bench]'
    python benchmarks/agents.py [--rounds 5] [--json FILE] [--dir DIRECTORY]

The bare layer asks the same scripted model through `pydantic_ai.direct`, streamed, and calls the same function, with
nothing kept. Ours is a run on a bench with SQLite and synchronous FULL; DBOS is its integration with pydantic-ai as it
ships, its tool a step, on SQLite (`peers.py`). The overhead is what is left of the time of a run when the bare time is
taken away, over ten. The bar is one of the machine of the README, quiet; on another it is held as a number of raw
commits, measured in the same round.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from beside import theirs
from disk import raw_commits
from options import parsed, parser_of, write_json
from report import REFERENCE, Bar
from scripted_agent import CALLS, add, played

from workbench import Agent, Workbench
from workbench.models.providers import resolve

RUNS = 30
SHAPES = {"one a turn": False, "all in one turn": True}
BAR = Bar(1.5, at_most=True)
IN_COMMITS = Bar(BAR.value * REFERENCE["FULL"] / 1000, at_most=True)
"""The bar in raw commits: what the machine that it was set on makes in that time."""


@dataclass(slots=True)
class Line:
    """One shape of a run: milliseconds of a run in each round, bare, ours and theirs."""

    name: str
    bare: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    dbos: list[float] = field(default_factory=list)
    raw: list[float] = field(default_factory=list)

    def overhead(self, runs: list[float]) -> float | None:
        """Milliseconds that a tool call costs over the bare layer: the median of the rounds."""
        each = [(run - bare) / CALLS for run, bare in zip(runs, self.bare, strict=False)]
        return median(each) if each else None


async def bare(at_once: bool) -> float:
    """Milliseconds of a run with nothing kept."""
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import Tool

    parameters = ModelRequestParameters(function_tools=[Tool(add).tool_def])
    model = played(at_once)

    async def run() -> None:
        messages: list[Any] = [ModelRequest([UserPromptPart("Add them up")])]
        while True:
            async with model_request_stream(model, messages, model_request_parameters=parameters) as stream:
                async for _ in stream:
                    pass
                response = stream.get()
            messages.append(response)
            calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
            if not calls:
                return
            results = [(call, add(**call.args_as_dict())) for call in calls]
            messages.append(ModelRequest([ToolReturnPart(c.tool_name, value, c.tool_call_id) for c, value in results]))

    return await _milliseconds(run)


async def ours(at_once: bool, place: Path) -> float:
    """Milliseconds of a run of ours."""

    async def adds(number: int) -> int:
        return add(number)

    agent = Agent("adder", tools=[adds], model=resolve(played(at_once, "adds")))
    async with await Workbench.open(place / f"agents-{at_once}.db", agent) as bench:

        async def run() -> None:
            await bench.run(agent, "Add them up")

        return await _milliseconds(run)


async def _milliseconds(run: Any) -> float:
    """The median time of a run."""
    took = []
    for number in range(RUNS + 3):
        began = time.perf_counter()
        await run()
        if number >= 3:
            took.append(time.perf_counter() - began)
    return median(took) * 1000


def measure(folder: Path, rounds: int) -> list[Line]:
    """All rounds."""
    lines = {name: Line(name) for name in SHAPES}
    peer = importlib.util.find_spec("dbos") is not None
    if not peer:
        print("dbos is not installed and left out; pip install 'jupyter-agent-workbench[bench]'", file=sys.stderr)
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="workbench-bench-", dir=folder) as place:
            found = theirs("dbos-agent", Path(place)) if peer else {}
            for name, at_once in SHAPES.items():
                lines[name].raw.append(raw_commits(Path(place), "FULL", 1.0))
                lines[name].bare.append(asyncio.run(bare(at_once)))
                lines[name].ours.append(asyncio.run(ours(at_once, Path(place))))
                if found:
                    lines[name].dbos.append(found[name])
    return list(lines.values())


def as_table(lines: list[Line]) -> str:
    """The lines as text."""
    head = ("bare", "ours", "dbos", "ms a call over bare", "dbos", "ratio", "bar", "", "in raw commits", "bar", "")
    rows = [("ten tool calls", *head)]
    for line in lines:
        mine, peers = line.overhead(line.ours), line.overhead(line.dbos)
        assert mine is not None
        commits = mine * median(line.raw) / 1000
        rows.append(
            (
                line.name,
                *(f"{median(runs):.1f} ms" if runs else "-" for runs in (line.bare, line.ours, line.dbos)),
                f"{mine:.2f}",
                "-" if peers is None else f"{peers:.2f}",
                "-" if peers is None else f"{peers / mine:.1f} x",
                str(BAR),
                BAR.verdict(mine),
                f"{commits:.1f}",
                str(IN_COMMITS),
                IN_COMMITS.verdict(commits),
            )
        )
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def as_data(lines: list[Line]) -> list[dict[str, Any]]:
    """The lines as JSON can hold them, every round included."""
    return [
        {
            "name": line.name,
            "bare": line.bare,
            "ours": line.ours,
            "dbos": line.dbos,
            "raw_commits": line.raw,
            "overhead": line.overhead(line.ours),
            "dbos_overhead": line.overhead(line.dbos),
            "bar": BAR.value,
        }
        for line in lines
    ]


def main() -> None:
    options, kind = parsed(parser_of(__doc__, rounds=5))
    found = measure(options.dir, options.rounds)
    print(f"A run with {CALLS} tool calls on {kind}, {options.rounds} rounds of {RUNS} runs\n")
    print(as_table(found))
    write_json(options.json, as_data(found))


if __name__ == "__main__":
    main()
