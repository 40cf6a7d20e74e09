"""A kernel's worth of workers in a process of its own: `python child.py FOLDER WHAT …`.

What it does to the world is a line in a file beside the store, written before anything else could go wrong.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from workbench import Workbench, durable
from workbench.messaging.event import Event
from workbench.messaging.job import Job

LEASE = 3600.0
"""Longer than any test: only a dead host frees these jobs in time."""


def note(folder: Path, file: str, *words: object) -> None:
    """Add a line to a file, for good."""
    with (folder / file).open("a") as lines:
        lines.write(" ".join(str(word) for word in words) + "\n")
        lines.flush()
        os.fsync(lines.fileno())


async def hang(folder: Path, bench: Workbench) -> None:
    """Begin jobs and never end them."""

    async def handle(job: Job) -> None:
        note(folder, "begun", job.body, job.attempts)
        await asyncio.Event().wait()

    bench.queue("mail").work(handle, workers=2, lease=LEASE)
    await asyncio.Event().wait()


async def work(folder: Path, bench: Workbench, count: str) -> None:
    """Handle jobs until `count` are done, one effect each."""

    async def handle(job: Job) -> None:
        note(folder, "begun", job.body, job.attempts)
        await asyncio.sleep(0)
        note(folder, "effects", job.body)

    queue = bench.queue("mail")
    queue.work(handle, workers=4, lease=LEASE, max_attempts=1000)
    while queue.stats.done < int(count):
        await asyncio.sleep(0.005)
    await bench.close()


async def fuse(folder: Path, bench: Workbench) -> None:
    """Handle jobs; one of them takes the process down."""

    async def handle(job: Job) -> None:
        note(folder, "begun", job.body, job.attempts)
        if job.body == "poison":
            os._exit(7)

    queue = bench.queue("mail")
    queue.work(handle, lease=LEASE)
    while queue.stats.waiting or queue.stats.leased:
        await asyncio.sleep(0.005)
    await bench.close()


@durable(key="ledger:{name}")
async def ledger(ctx: Any, name: str) -> AsyncGenerator[list[Any], None]:
    """Keep what was published, in the order in which it came."""
    entries = ctx.restored or []
    yield entries
    async for message in ctx:
        entries = [*entries, message["position"]]
        yield entries


async def collect(folder: Path, bench: Workbench, count: str) -> None:
    """Have every event of `orders` in a durable process and in a file, until `count` are."""
    orders, book = bench.topic("orders"), bench.lookup(ledger, name="all")

    async def handle(event: Event) -> None:
        note(folder, "heard", event.position)

    orders.subscribe(book, after=0)
    orders.subscribe(handle, name="file", after=0)
    while len(book.state or ()) < int(count) or any(row["behind"] for row in orders.subscribers()):
        await asyncio.sleep(0.005)
    note(folder, "book", *book.state)
    await bench.close()


async def publish(folder: Path, bench: Workbench, count: str) -> None:
    """Publish `count` events, one line for each that was acknowledged."""
    for number in range(int(count)):
        note(folder, "published", await bench.topic("orders").publish(number))
    await bench.close()


async def main(folder: Path, what: str, *rest: str) -> None:
    bench = await Workbench.open(folder / "post.db", ledger)
    await globals()[what](folder, bench, *rest)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
