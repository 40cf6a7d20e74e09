"""Size: what a store weighs, and that neither large values nor a long history slow it down."""

# ruff: noqa: ASYNC240 - a test may wait for the disk and for its children

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from stores import OpenStore, begin

from workbench.store.journal import Commit, StepRecord
from workbench.store.sqlite.keeper import SQLiteStore

LARGE = '"' + "x" * 50_000_000 + '"'


async def test_a_value_of_fifty_megabytes_works(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")

    seq = await store.append("order:1", epoch, LARGE, "call-1")
    await store.put_step("order:1", epoch, seq, StepRecord("", "fetch", 0, LARGE))

    assert [logged.message for logged in await store.pending("order:1", 0)] == [LARGE]
    assert [record.payload for record in await store.steps("order:1", seq)] == [LARGE]
    await store.commit("order:1", epoch, Commit(LARGE, 0, seq, [("call-1", LARGE)]))
    assert await store.result("order:1", "call-1") == LARGE
    assert (await store.load("order:1")).snapshot == LARGE


async def test_a_large_payload_is_stored_once_and_swept_when_unused(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    text = '"' + "long " * 100_000 + '"'
    for _ in range(10):
        seq = await store.append("order:1", epoch, text)
        await store.put_step("order:1", epoch, seq, StepRecord("", "fetch", 0, text))
        await store.commit("order:1", epoch, Commit("1", 0, seq))
    await store.append("order:2", await begin(store, "order:2"), text)
    assert blobs(store) == 1

    await store.prune(10.0**10)
    assert blobs(store) == 1
    await store.commit("order:2", 1, Commit("1", 0, 1))
    last = await store.append("order:2", 1, '"last"')
    await store.commit("order:2", 1, Commit("1", 0, last))
    await store.prune(10.0**10)

    assert blobs(store) == 0


async def test_what_is_pruned_is_never_numbered_again(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    for _ in range(10):
        seq = await store.append("order:1", epoch, '"add"')
        await store.commit("order:1", epoch, Commit("1", 0, seq))
    newest = (await store.history("order:1"))[-1].id

    await store.prune(10.0**10)
    await store.close()
    again = await open_store()

    epoch = await begin(again, "order:1")
    assert await again.append("order:1", epoch, '"add"') == 11
    assert (await again.history("order:1"))[-1].id > newest


async def test_a_conversation_weighs_less_than_five_times_its_content(open_store: OpenStore, path: Path) -> None:
    store = await open_store(durability="process")
    epoch = await begin(store, "chat")
    ids: list[int] = []
    content = 0
    for i in range(1000):
        message = json.dumps({"n": i, "text": "t" * 80})
        content += len(message)
        seq = await store.append("chat", epoch, message)
        ids.append(seq)
        await store.commit("chat", epoch, Commit(json.dumps(ids), 0, seq))

    await store.close()

    assert path.stat().st_size < 5 * content


async def test_recovery_costs_the_same_whatever_the_history(open_store: OpenStore) -> None:
    store = await open_store(durability="process")
    costs = []
    for length in (1, 1, 100, 3000):
        key = f"order:{len(costs)}"
        epoch = await begin(store, key)
        for i in range(length):
            store.append(key, epoch, '"add"')
            store.put_step(key, epoch, i + 1, StepRecord("", "charge", 0, "null"))
            store.commit(key, epoch, Commit("1", 0, i + 1))
        store.append(key, epoch, '"waiting"')
        await store.put_step(key, epoch, length + 1, StepRecord("", "charge", 0, "null"))

        costs.append(await _cost_of_recovery(store, key, length))

    assert costs[1] == costs[2] == costs[3]  # the first has SQLite read its own tables


async def _cost_of_recovery(store: SQLiteStore, key: str, cursor: int) -> int:
    """Instructions of SQLite's machine that claim, load, pending and steps take."""
    ticks = 0

    def tick() -> int:
        nonlocal ticks
        ticks += 1
        return 0

    for connection in (store._connection, store._reader):
        connection.set_progress_handler(tick, 1)
    await begin(store, key)
    assert len(await store.pending(key, cursor)) == 1
    assert len(await store.steps(key, cursor + 1)) == 1
    for connection in (store._connection, store._reader):
        connection.set_progress_handler(None, 1)
    return ticks


async def test_the_write_ahead_log_stays_small(open_store: OpenStore, path: Path) -> None:
    store, reader = await open_store(durability="process"), await open_store()
    epoch = await begin(store, "order:1")
    state = json.dumps("s" * 50_000)

    for i in range(1000):
        await store.commit("order:1", epoch, Commit(state[:-2] + f'{i % 10}"', 0, 0))
        if i % 100 == 0:
            await reader.history("order:1")

    assert Path(f"{path}-wal").stat().st_size < 40_000_000
    await asyncio.gather(store.close(), reader.close())
    assert not Path(f"{path}-wal").exists()


def blobs(store: SQLiteStore) -> int:
    (count,) = store._reader.execute("SELECT count(*) FROM blobs").fetchone()
    return int(count)
