"""The SQLite keeper alone: rows and whole messages per second, one at a time and a hundred at once, beside raw commits.

A message is three writes, each awaited: it is appended, one step is kept, and it is committed with a state of ten
90-byte strings. The raw limit is measured before and after each figure, in the same run.

    python benchmarks/store.py [--rounds 5] [--dir PATH]
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Literal

from disk import raw_commits
from options import parsed, parser_of, write_json
from report import Figure, as_data, as_table

from workbench.store.journal import Commit, StepRecord
from workbench.store.sqlite.keeper import SQLiteStore

SECONDS = 1.5
MESSAGE = json.dumps({"type": "add", "price": 30})
STATE = json.dumps(["x" * 90] * 10)
STEP = StepRecord("", "charge", 0, "null")
RAW: dict[Literal["full", "process"], str] = {"full": "FULL", "process": "NORMAL"}

Work = Callable[[SQLiteStore, str, int], Awaitable[int]]


async def row(store: SQLiteStore, key: str, epoch: int) -> int:
    await store.append(key, epoch, MESSAGE)
    return 1


async def message(store: SQLiteStore, key: str, epoch: int) -> int:
    seq = await store.append(key, epoch, MESSAGE, None, 5.0)
    await store.put_step(key, epoch, seq, STEP)
    await store.commit(key, epoch, Commit(STATE, 0, seq, (), None, 5.0))
    return 1


async def ten_steps(store: SQLiteStore, key: str, epoch: int) -> int:
    seq = await store.append(key, epoch, MESSAGE, None, 5.0)
    for _ in range(10):
        await store.put_step(key, epoch, seq, STEP)
    await store.commit(key, epoch, Commit(STATE, 0, seq, (), None, 5.0))
    return 10


@dataclass(frozen=True, slots=True)
class Load:
    """What one figure measures."""

    figure: Figure
    work: Work
    at_once: int
    durability: Literal["full", "process"] = "full"


def loads() -> list[Load]:
    made = []
    for durability in RAW:
        raw = RAW[durability]
        for at_once in (1, 100):
            how = f"{durability}, {at_once} at once"
            made += [
                Load(Figure(f"rows, {how}", "row/s", raw), row, at_once, durability),
                Load(Figure(f"append, step, commit, {how}", "message/s", raw), message, at_once, durability),
                Load(Figure(f"ten-step messages, {how}", "step/s", raw), ten_steps, at_once, durability),
            ]
    return made


async def rate(place: Path, load: Load) -> tuple[float, float]:
    """Units per second, and processor microseconds for each."""
    store = SQLiteStore(place / "store.db", durability=load.durability)
    await store.open(label="benchmark", lease=30.0, now=time.time)

    async def process(key: str) -> int:
        await store.claim(key)
        epoch, done = (await store.load(key)).epoch, 0
        while time.perf_counter() < end:
            done += await load.work(store, key, epoch)
        return done

    began, processor = time.perf_counter(), time.process_time()
    end = began + SECONDS
    done = sum(await asyncio.gather(*[process(f"order:{number}") for number in range(load.at_once)]))
    took, processor = time.perf_counter() - began, time.process_time() - processor
    await store.close()
    return done / took, processor / done * 1e6


def measure(load: Load, directory: Path, limits: dict[str, Figure]) -> None:
    raw = RAW[load.durability]
    with tempfile.TemporaryDirectory(prefix="workbench-store-", dir=directory) as place:
        found = [raw_commits(Path(place), raw, SECONDS / 3)]
        value, processor = asyncio.run(rate(Path(place), load))
        found.append(raw_commits(Path(place), raw, SECONDS / 3))
    limits[raw].add(mean(found))
    load.figure.add(value, raw=mean(found), cpu=processor)


def main() -> None:
    parser = parser_of(__doc__, rounds=5)
    options, kind = parsed(parser)
    limits = {raw: Figure(f"raw SQLite, WAL, {raw}", "commit/s") for raw in RAW.values()}
    measured = loads()
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        for load in measured:
            measure(load, options.dir, limits)
    figures = [*limits.values(), *(load.figure for load in measured)]
    print(f"The SQLite keeper on {kind}, {options.rounds} rounds\n")
    print(as_table(figures))
    write_json(options.json, as_data(figures))


if __name__ == "__main__":
    main()
