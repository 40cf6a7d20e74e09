"""Kills: what was published is there, and a subscriber goes on where it had got to, in a kernel that follows."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from children import child, lines, until

from workbench import Workbench


async def test_what_was_published_before_the_kill_is_there(tmp_path: Path) -> None:
    async with child(tmp_path, "publish", 100_000) as dies:
        await until(lambda: len(lines(tmp_path, "published")) >= 20, "twenty events")
        dies.kill()
        await dies.wait()

    async with Workbench.open(tmp_path / "post.db") as bench:
        orders = bench.topic("orders")
        acknowledged = [int(line) for line in lines(tmp_path, "published")]
        kept = orders.history(limit=100_000)

    assert acknowledged == list(range(1, len(acknowledged) + 1))
    assert [(row["position"], row["body"]) for row in kept[: len(acknowledged)]] == [
        (position, position - 1) for position in acknowledged
    ]
    assert len(kept) <= len(acknowledged) + 1  # the one that was on its way


@pytest.mark.slow
async def test_six_kills_skip_no_event_and_the_durable_process_has_each_once(tmp_path: Path) -> None:
    events, chance = 300, random.Random(11)
    async with Workbench.open(tmp_path / "post.db") as bench:
        await asyncio.gather(*(bench.topic("orders").publish(number) for number in range(events)))
    for kill in range(6):
        enough = min(len(lines(tmp_path, "heard")) + chance.randrange(1, 40), events)
        async with child(tmp_path, "collect", events) as dies:
            await until(lambda enough=enough: len(lines(tmp_path, "heard")) >= enough, f"kill {kill}")
            dies.kill()
    async with child(tmp_path, "collect", events) as lives:
        assert await lives.wait() == 0

    everything = [str(position) for position in range(1, events + 1)]
    assert lines(tmp_path, "book")[-1].split() == everything
    heard = lines(tmp_path, "heard")
    assert list(dict.fromkeys(heard)) == everything  # in order, none skipped; a kill may repeat what it cut off
    assert len(heard) >= events
