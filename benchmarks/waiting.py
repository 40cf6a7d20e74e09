"""Waiting: what ten thousand parked calls cost a bench while nothing happens.

    python benchmarks/waiting.py [--calls 10000] [--seconds 5] [--dir DIRECTORY]

Prints threads, SQL statements a second, the lag of the loop and the memory of a call, before and while they wait. Calls
are parked durably: each is in the journal, and is answered in the end.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from workbench import Call, Workbench, durable


@durable(key="desk:{id}")
async def desk(ctx: Any, id: str) -> Any:
    count = ctx.restored or 0
    yield count
    async for message in ctx:
        match message:
            case Call("ask", reply):
                _ = reply.id  # parked
                count += 1
            case {"release": last}:
                for number in range(last):
                    ctx.reply(str(number), number)
        yield count


async def measured(bench: Workbench, seconds: float) -> dict[str, float]:
    """What the bench does in so many seconds of doing nothing."""
    statements: list[str] = []
    connections = (bench.store._connection, bench.store._reader)  # type: ignore[attr-defined]
    for connection in connections:
        connection.set_trace_callback(statements.append)
    lags, ends = [], time.perf_counter() + seconds
    while (began := time.perf_counter()) < ends:
        await asyncio.sleep(0.005)
        lags.append(time.perf_counter() - began - 0.005)
    for connection in connections:
        connection.set_trace_callback(None)
    return {
        "threads": threading.active_count(),
        "statements a second": len(statements) / seconds,
        "loop lag, p99, ms": sorted(lags)[int(len(lags) * 0.99)] * 1000,
        "memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


async def measure(folder: Path, calls: int, seconds: float) -> list[tuple[str, float, float]]:
    """The figures with nobody waiting, and with `calls` waiting."""
    async with Workbench.open(folder / "waiting.db", desk) as bench:
        handle = bench.lookup(desk, id="a")
        await handle.until(lambda count: True)
        quiet = await measured(bench, seconds)
        waiting = [handle.call("ask", id=str(number)) for number in range(calls)]
        await handle.until(lambda count: count == calls)
        await asyncio.sleep(0.1)
        busy = await measured(bench, seconds)
        await handle.cast({"release": calls})
        if await asyncio.gather(*waiting) != list(range(calls)):
            raise SystemExit("a parked call has another's answer")
    return [(name, quiet[name], busy[name]) for name in quiet]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--dir", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        rows = asyncio.run(measure(Path(folder), options.calls, options.seconds))
    print(f"{'':22}{'nobody waits':>14}{f'{options.calls:,} wait':>16}")
    for name, quiet, busy in rows:
        print(f"{name:22}{quiet:>14,.1f}{busy:>16,.1f}")


if __name__ == "__main__":
    main()
