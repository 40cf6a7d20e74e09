"""Following: the writes of others are noticed, our own are not, and nobody who does not watch pays."""

from __future__ import annotations

import asyncio
import logging

import pytest
from stores import OpenStore, begin


async def test_our_own_writes_are_no_news(open_store: OpenStore) -> None:
    store = await open_store()
    heard: list[int] = []
    store.watch(lambda: heard.append(1))

    for quick in (True, False):
        store._ledger.quick = quick
        await begin(store, f"order:{quick}")
        store.post_now(f"order:{quick}", '"now"')
        store._follower._poll()

    assert heard == []


async def test_a_write_of_another_is_told_once(open_store: OpenStore) -> None:
    ours, theirs = await open_store(), await open_store()
    heard: list[int] = []
    ours.watch(lambda: heard.append(1))
    ours._follower._disarm()  # it looks when the test says so

    await theirs.post("order:1", '"one"')
    await theirs.post("order:1", '"two"')
    ours._follower._poll()
    ours._follower._poll()

    assert heard == [1]


async def test_a_write_that_our_own_batch_noticed_is_told(open_store: OpenStore) -> None:
    ours, theirs = await open_store(), await open_store()
    heard: list[int] = []
    ours.watch(lambda: heard.append(1))

    await theirs.post("order:1", '"one"')
    await begin(ours, "order:2")
    ours._follower._poll()

    assert heard == [1]


async def test_nobody_polls_when_nobody_watches(open_store: OpenStore) -> None:
    store = await open_store()
    assert store._follower._timer is None

    stop, other = store.watch(lambda: None), store.watch(lambda: None)
    stop()
    assert store._follower._timer is not None
    other()

    assert store._follower._timer is None


async def test_a_watcher_that_fails_keeps_the_others(open_store: OpenStore, caplog: pytest.LogCaptureFixture) -> None:
    ours, theirs = await open_store(), await open_store()
    heard: list[int] = []
    ours.watch(lambda: 1 // 0)
    ours.watch(lambda: heard.append(1))

    await theirs.post("order:1", '"one"')
    with caplog.at_level(logging.CRITICAL, "workbench"):
        ours._follower._poll()

    assert heard == [1]


async def test_a_write_is_noticed_within_a_moment(open_store: OpenStore) -> None:
    ours, theirs = await open_store(), await open_store()
    noticed = asyncio.Event()
    ours.watch(noticed.set)

    await theirs.post("order:1", '"one"')

    async with asyncio.timeout(2):
        await noticed.wait()
