"""A host in a process of its own: `python child.py PATH WHAT …` prints a line for everything that was acknowledged."""

from __future__ import annotations

import asyncio
import sys
import time

from workbench.errors import Fenced
from workbench.store.journal import Commit, StepRecord
from workbench.store.sqlite import hosts
from workbench.store.sqlite.keeper import SQLiteStore


def say(*words: object) -> None:
    print(*words, flush=True)


async def own(store: SQLiteStore, key: str) -> None:
    """Own a key until the end of the input."""
    await store.claim(key)
    await store.load(key)
    say("owns", store.host.id)
    await asyncio.to_thread(sys.stdin.read)


async def write(store: SQLiteStore, name: str, count: str) -> None:
    """Post `count` messages to a key that everyone posts to, and as many to a key of its own."""
    await store.claim(name)
    epoch = (await store.load(name)).epoch
    for i in range(int(count)):
        await store.post("shared", f"{name} {i}")
        await store.append(name, epoch, str(i))
    say("wrote")


async def work(store: SQLiteStore, name: str) -> None:
    """Handle messages of four keys at once until killed, one line for each acknowledged write."""

    async def handle(key: str) -> None:
        await store.claim(key)
        epoch = (await store.load(key)).epoch
        say("loaded", key)
        while True:
            seq = await store.append(key, epoch, "message", f"call-{time.monotonic_ns()}")
            say("append", key, seq)
            await store.put_step(key, epoch, seq, StepRecord("", "charge", 0, str(seq)))
            say("step", key, seq)
            await store.commit(key, epoch, Commit(str(seq), 0, seq, [(f"answer-{seq}", str(seq))]))
            say("commit", key, seq)

    await asyncio.gather(*[handle(f"{name}:{i}") for i in range(4)])


async def touch(store: SQLiteStore) -> None:
    """Open, register and close."""
    await store.register("shared", "order", "{}")
    say("opened")


async def paused(store: SQLiteStore, key: str) -> None:
    """Own a key until a line of the input, then write to it, whoever has it by then."""
    await store.claim(key)
    epoch = (await store.load(key)).epoch
    seq = await store.append(key, epoch, '"first"')
    say("owns", store.host.id)
    await asyncio.to_thread(sys.stdin.readline)
    for what, written in (
        ("append", store.append(key, epoch, '"late"')),
        ("put_step", store.put_step(key, epoch, seq, StepRecord("", "charge", 0, "1"))),
        ("commit", store.commit(key, epoch, Commit('"theirs"', 0, seq))),
    ):
        try:
            say(what, await written)
        except Fenced as error:
            say(what, type(error).__name__)


LEASES = {"paused": 1.0, "busy": 2.0}
"""Seconds of lease of those that have nothing else to live by; a slow disk must not be what ends it."""


async def busy(store: SQLiteStore, key: str) -> None:
    """Own a key, and block the loop for three times the lease."""
    await store.claim(key)
    await store.load(key)
    say("owns", store.host.id)
    time.sleep(3 * LEASES["busy"])  # noqa: ASYNC251 - a cell that blocks
    say("awake")


def without_locks() -> None:
    """Be on a machine where record locks do not work, so that the lease alone decides."""
    hosts.LockFile._lock = lambda self, slot, *, exclusive: False  # type: ignore[method-assign]


async def main(path: str, what: str, *rest: str) -> None:
    store = SQLiteStore(path)
    if what in LEASES:
        without_locks()
    await store.open(label=what, lease=LEASES.get(what, 30.0), now=time.time)
    await globals()[what](store, *rest)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
