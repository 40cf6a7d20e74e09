"""The keepers agree: whatever two hosts do to a queue or a topic, in memory and in a file the same comes of it."""

from __future__ import annotations

import asyncio
import random
import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from workbench.errors import LeaseLost
from workbench.store.claims import Host
from workbench.store.memory import MemoryStore, Room
from workbench.store.queue import NewJob
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.store.store import Store
from workbench.store.topic import Post
from workbench.testing import ManualClock

SECONDS = (0.0, 1.0, 5.0, 20.0)


def words(error: Exception) -> str:
    """What an error says, without the number of the job."""
    return re.sub(r"job \d+", "job", str(error))


class Place:
    """Two hosts of one place, what was leased there so far, and numbers instead of ids that differ between keepers."""

    def __init__(self, make: Callable[[], Store]) -> None:
        self.clock = ManualClock()
        self.stores = [make(), make()]
        self.numbers: dict[int, int] = {}
        self.holds: list[tuple[int, int]] = []

    async def open(self) -> None:
        for at, store in enumerate(self.stores):
            await store.open(label=f"host {at}", lease=30.0, now=self.clock.now)

    async def close(self) -> None:
        for store in self.stores:
            await store.close()

    def number(self, id: int) -> int:
        return self.numbers.setdefault(id, len(self.numbers))

    def plain(self, value: Any) -> Any:
        """A result without ids and hosts."""
        if isinstance(value, (list, tuple)):
            return [self.plain(each) for each in value]
        if isinstance(value, dict):
            return {self.number(id): words(error) for id, error in value.items()}
        changes: dict[str, Any] = {}
        if hasattr(value, "id"):
            changes["id"] = self.number(value.id)
        if getattr(value, "holder", None) is not None:
            changes["holder"] = [store.host.id for store in self.stores].index(value.holder)
        if isinstance(getattr(value, "owner", None), Host):
            changes["owner"] = value.owner.label
        return replace(value, **changes) if changes else value

    async def do(self, chance: random.Random) -> Any:
        """One thing that somebody does; gives what came of it."""
        store = chance.choice(self.stores)
        queues, topics = store.queues, store.topics
        some = list(dict(chance.sample(self.holds, min(len(self.holds), 3))).items())
        hold = some[0] if some else (10**9, 1)
        delay = chance.choice(SECONDS)
        match chance.randrange(16):
            case 0 | 1 | 2:
                new = [
                    NewJob(str(chance.random()), chance.choice([None, "a", "b"]), chance.choice([0, 0, 1]), delay)
                    for _ in range(3)
                ]
                return await queues.put("mail", new)
            case 3 | 4 | 5:
                taken = await queues.lease(
                    "mail", chance.choice([1, 4]), seconds=delay + 1, max_attempts=3, kept=chance.random() < 0.5
                )
                self.holds += [(job.id, job.number) for job in taken]
                return taken
            case 6:
                return await queues.finish("mail", some)
            case 7:
                return await queues.extend("mail", some, delay)
            case 8:
                return await queues.release("mail", hold, delay=delay, error="boom", counted=chance.random() < 0.5)
            case 9:
                return await queues.bury("mail", hold, "boom")
            case 10:
                return await queues.requeue("mail", hold[0], chance.choice([None, "mended"]))
            case 11:
                return await queues.discard("mail", hold[0])
            case 12:
                return await queues.pause("mail", chance.random() < 0.2)
            case 13:
                await self.clock.advance(delay)
                return await store.prune(self.clock.now() - 30)
            case 14:
                await topics.publish("orders", [str(chance.random())] * chance.choice([1, 3]))
                return await topics.forget("orders", keep=chance.choice([None, 4, 9]), before=self.clock.now() - 10)
            case _:
                name, expect = chance.choice("xy"), chance.randrange(4)
                joined = await topics.join("orders", name, 0)
                moved = await topics.deliver("orders", name, expect, expect + 1, Post("till", f"{name} {expect}"))
                parted = await topics.part("orders", name) if chance.random() < 0.3 else None
                return [joined, moved, parted]

    async def step(self, chance: random.Random) -> Any:
        """One thing and everything that is seen afterwards."""
        try:
            done = self.plain(await self.do(chance))
        except LeaseLost as error:
            done = words(error)
        seen = []
        for store in self.stores:
            outlook = store.queues.outlook_now()
            seen += [
                [self.plain(job) for job in store.queues.jobs_now("mail")],
                store.queues.stats_now("mail"),
                outlook,
                store.topics.read_now("orders", 0, 100),
                store.topics.topics_now(),
                self.plain(store.topics.subscribers_now("orders")),
                await store.pending("till", 0),
            ]
        return [done, seen]


async def play(seed: int, steps: int) -> None:
    """The same things done to both keepers."""
    with tempfile.TemporaryDirectory() as folder:
        places = [
            Place(partial(MemoryStore, Room())),
            Place(partial(SQLiteStore, Path(folder) / "post.db", durability="process")),
        ]
        for place in places:
            await place.open()
        chances = [random.Random(seed), random.Random(seed)]
        try:
            for step in range(steps):
                memory, sqlite = [await place.step(one) for place, one in zip(places, chances, strict=True)]
                assert sqlite == memory, f"seed {seed}, step {step}"
        finally:
            await asyncio.gather(*(place.close() for place in places))


@pytest.mark.parametrize("seed", range(8))
async def test_what_is_done_to_one_keeper_does_the_same_to_the_other(seed: int) -> None:
    await play(seed, 120)
