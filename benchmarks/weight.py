"""Weight: what a process, a key and a conversation take, in memory, on disk and in time to come back.

    python benchmarks/weight.py [--rounds 3] [--json FILE] [--dir DIRECTORY] [--keys 10000]

- Memory is the growth of the resident set by so many idle processes, over their number.
- A conversation is a state to which each of 1,000 messages of 100 bytes adds its text; its size is that of the file
  after closing, less that of an empty store, over the text. Both are shown.
- Recovery is the time from a lookup of one key to its state, in a process that has just opened the file, over the time
  that a key with one message takes: a long history must cost nothing.

Linux only, because of the resident set.
"""

from __future__ import annotations

import asyncio
import gc
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from options import parsed, parser_of, write_json
from report import Bar, Figure, as_data, as_table

from workbench import Workbench, durable, process
from workbench.process.spawn import spawn

MESSAGES = 1000
TEXT = "x" * 100
HISTORIES = (1, 100, 10_000)
LOOKUPS = 20


@process
async def idle(ctx: Any) -> Any:
    """Waits for its first message."""
    yield 0
    async for _ in ctx:
        pass


@durable(key="idle:{id}")
async def idle_key(ctx: Any, id: int) -> Any:
    """Waits for its first message."""
    yield 0
    async for _ in ctx:
        pass


@durable(key="conversation:{id}")
async def conversation(ctx: Any, id: int) -> Any:
    """Keeps everything that was said."""
    said = ctx.restored or []
    yield said
    async for message in ctx:
        said = [*said, message]
        yield said


@durable(key="counter:{id}")
async def counter(ctx: Any, id: int) -> Any:
    """Counts its messages."""
    count = ctx.restored or 0
    yield count
    async for _ in ctx:
        count += 1
        yield count


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def in_memory(count: int) -> float:
    """Bytes of an idle process."""
    gc.collect()
    before = resident()
    idlers = [spawn(idle) for _ in range(count)]
    while any(one.status != "running" for one in idlers):
        await asyncio.sleep(0)
    gc.collect()
    grown = resident() - before
    for one in idlers:
        one.dispose()
    await asyncio.sleep(0)
    return grown / count


async def in_journal(place: Path, count: int) -> tuple[float, float]:
    """Bytes of an idle durable process, and milliseconds until each of them had come to life."""
    async with Workbench.open(place / "idle.db", idle_key) as bench:
        gc.collect()
        before, began = resident(), time.perf_counter()
        idlers = [bench.lookup(idle_key, id=number) for number in range(count)]
        while any(one.status != "running" for one in idlers):
            await asyncio.sleep(0.001)
        took = time.perf_counter() - began
        gc.collect()
        return (resident() - before) / count, took * 1e3


async def on_disk(place: Path) -> tuple[float, int]:
    """Bytes that the file grows by for each byte of the conversation, and the bytes of an empty store."""
    path = place / "conversation.db"
    async with Workbench.open(path):
        pass
    empty = path.stat().st_size
    async with Workbench.open(path, conversation) as bench:
        talk = bench.lookup(conversation, id=1)
        for _ in range(MESSAGES):
            await talk.cast(TEXT)
        await talk.until(lambda said: len(said) == MESSAGES)
    return (path.stat().st_size - empty) / (MESSAGES * len(TEXT)), empty


async def with_history(place: Path, messages: int) -> float:
    """Seconds from lookup to state of a key with so many messages behind it; the least of several keys."""
    path = place / f"history-{messages}.db"
    async with Workbench.open(path, counter) as bench:
        counters = [bench.lookup(counter, id=number) for number in range(LOOKUPS)]
        for one in counters:
            for sent in [one.cast("on") for _ in range(messages // LOOKUPS or 1)]:
                await sent
        first = counters[0]
        for sent in [first.cast("on") for _ in range(messages - (messages // LOOKUPS or 1))]:
            await sent
        await first.until(lambda count: count >= messages)
    times = []
    for _ in range(LOOKUPS):
        async with Workbench.open(path, counter) as bench:
            began = time.perf_counter()
            await bench.lookup(counter, id=0).until(lambda count: count is not None and count >= messages)
            times.append(time.perf_counter() - began)
    return median(times)


class Run:
    """All figures of one run of this file."""

    def __init__(self, folder: Path, keys: int) -> None:
        self._folder, self._keys = folder, keys
        self._process = Figure("an idle process", "bytes", bar=Bar(3_000, at_most=True))
        self._key = Figure("an idle durable process", "bytes", bar=Bar(6_000, at_most=True))
        self._living = Figure(f"{keys:,} durable keys brought to life", "ms")
        self._disk = Figure("file for each byte of a conversation", "bytes", bar=Bar(5, at_most=True))
        self._empty = Figure("file of an empty store", "bytes")
        self._recovery = {
            messages: Figure(f"recovery after {messages:,} messages, over 1", "x", bar=Bar(1.5, at_most=True))
            for messages in HISTORIES[1:]
        }

    def round(self) -> None:
        """One round in a fresh directory."""
        with tempfile.TemporaryDirectory(prefix="workbench-bench-", dir=self._folder) as directory:
            place = Path(directory)
            self._process.add(asyncio.run(in_memory(self._keys)))
            grown, took = asyncio.run(in_journal(place, self._keys))
            self._key.add(grown)
            self._living.add(took)
            growth, empty = asyncio.run(on_disk(place))
            self._disk.add(growth)
            self._empty.add(empty)
            times = {messages: asyncio.run(with_history(place, messages)) for messages in HISTORIES}
            for messages, figure in self._recovery.items():
                figure.add(times[messages] / times[HISTORIES[0]])

    def figures(self) -> list[Figure]:
        """What was measured."""
        return [self._process, self._key, self._living, self._disk, self._empty, *self._recovery.values()]


def main() -> None:
    parser = parser_of(__doc__, rounds=3)
    parser.add_argument("--keys", type=int, default=10_000, help="how many idle processes there are")
    options, kind = parsed(parser)
    run = Run(options.dir, options.keys)
    for _ in range(options.rounds):
        run.round()
    print(f"What processes weigh, on {kind}, {options.rounds} rounds\n")
    print(as_table(run.figures()))
    write_json(options.json, as_data(run.figures()))


if __name__ == "__main__":
    main()
