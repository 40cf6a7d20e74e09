"""The writer: how writes share transactions, and that whoever waits is told."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from pathlib import Path

import pytest
from stores import OpenStore, begin

from workbench.errors import Fenced, StoreError
from workbench.store.journal import Commit, StepRecord
from workbench.store.sqlite.keeper import SQLiteStore

STEP = StepRecord("", "charge", 0, "null")
FAULT = """
    CREATE TEMP TRIGGER fault BEFORE UPDATE OF last_work ON main.keys BEGIN SELECT RAISE(ABORT, 'disk on fire'); END
"""


class Watched:
    """The statements that begin and end transactions of a store, as SQLite sees them."""

    def __init__(self, store: SQLiteStore) -> None:
        self.commits = 0
        self.threads: set[int] = set()
        store._connection.set_trace_callback(self._saw)

    def _saw(self, statement: str) -> None:
        if statement == "COMMIT":
            self.commits += 1
            self.threads.add(threading.get_ident())


async def test_a_turn_of_the_loop_is_one_transaction(open_store: OpenStore) -> None:
    store = await open_store()
    epochs = {f"order:{i}": await begin(store, f"order:{i}") for i in range(100)}
    watched = Watched(store)

    await asyncio.gather(*[store.append(key, epoch, '"add"') for key, epoch in epochs.items()])

    assert watched.commits == 1


async def test_writes_that_arrive_while_the_thread_works_are_the_next_batch(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    store._ledger.quick = False
    watched = Watched(store)

    with store._writer.lock:
        first = store.append("order:1", epoch, '"one"')
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        rest = [store.append("order:1", epoch, f'"{i}"') for i in range(50)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    assert [await first, *[await each for each in rest]] == list(range(1, 52))
    assert watched.commits == 2


async def test_a_lone_write_commits_on_the_loop_while_commits_are_quick(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    watched = Watched(store)

    store._ledger.quick = True
    await store.append("order:1", epoch, '"one"')
    here, watched.threads = watched.threads, set()
    store._ledger.quick = False
    await store.append("order:1", epoch, '"two"')

    assert here == {threading.get_ident()}
    assert threading.get_ident() not in watched.threads


async def test_a_large_batch_leaves_the_loop_alone(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    store._ledger.quick = True
    watched = Watched(store)

    await asyncio.gather(*[store.append("order:1", epoch, '"add"') for _ in range(33)])

    assert threading.get_ident() not in watched.threads


async def test_a_file_that_others_write_is_left_to_the_thread(open_store: OpenStore, path: Path) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    store._ledger.quick = True
    watched = Watched(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    waiting = store.append("order:1", epoch, '"one"')
    while not store._writer._busy:
        await asyncio.sleep(0)
    assert not waiting.done()
    other.execute("COMMIT")
    other.close()

    assert await waiting == 1
    assert threading.get_ident() not in watched.threads


async def test_only_the_culprit_of_a_batch_fails(open_store: OpenStore) -> None:
    store = await open_store()
    epochs = {f"order:{i}": await begin(store, f"order:{i}") for i in range(20)}

    writes = [store.append(key, epoch, "\ud800" if key == "order:7" else '"add"') for key, epoch in epochs.items()]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)

    failed = [outcome for outcome in outcomes if outcome != 1]
    assert len(failed) == 1
    assert isinstance(failed[0], StoreError)
    assert isinstance(failed[0].__cause__, UnicodeEncodeError)
    assert str(failed[0]).startswith("a write to 'order:7' failed in ")
    assert await store.append("order:7", epochs["order:7"], '"again"') == 1


async def test_what_is_no_payload_fails_alone(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")

    nothing = store.append("order:1", epoch, None)  # type: ignore[arg-type]
    good = store.append("order:1", epoch, '"add"')

    with pytest.raises(StoreError):
        await nothing
    assert await good == 1


async def test_a_fault_inside_a_commit_leaves_nothing_half_written(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    seq = await store.append("order:1", epoch, '"pay"', "call-1", 5.0)
    before = await store.key_info("order:1"), await store.history("order:1")
    store._connection.execute(FAULT)

    with pytest.raises(StoreError, match="disk on fire"):
        await store.commit("order:1", epoch, Commit('"paid"', 1, seq, [("call-1", '"done"')]))

    assert (await store.key_info("order:1"), await store.history("order:1")) == before
    assert await store.result("order:1", "call-1") is None
    store._connection.execute("DROP TRIGGER fault")
    await store.commit("order:1", epoch, Commit('"paid"', 1, seq, [("call-1", '"done"')]))
    assert await store.result("order:1", "call-1") == '"done"'


async def test_a_fault_of_the_thread_fails_its_batch_and_ends_nothing(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    land = store._ledger.land

    def faulty(writes: object) -> list[object]:
        monkeypatch.setattr(store._ledger, "land", land)
        raise RuntimeError("a fault of ours")

    store._ledger.quick = False
    monkeypatch.setattr(store._ledger, "land", faulty)
    with pytest.raises(StoreError, match="a fault of ours"):
        await store.append("order:1", epoch, '"lost"')

    assert "could not be written" in caplog.text
    assert await store.append("order:1", epoch, '"kept"') == 1


async def test_a_failure_that_nobody_awaits_does_not_warn(open_store: OpenStore) -> None:
    store = await open_store()
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))

    store.append("order:1", 1, '"stale"')
    await store.key_info("order:1")
    gc.collect()

    assert told == []


async def test_a_cancelled_waiter_is_passed_over_and_its_write_lands(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")

    cancelled = store.append("order:1", epoch, '"one"')
    other = store.append("order:1", epoch, '"two"')
    cancelled.cancel()

    assert await other == 2
    assert len(await store.pending("order:1", 0)) == 2


async def test_waiters_are_told_when_the_store_closes_in_the_middle(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")

    waiting = [store.append("order:1", epoch, '"add"') for _ in range(2500)]
    await store.close()
    late = store.append("order:1", epoch, '"late"')

    assert [each.result() for each in waiting] == list(range(1, 2501))
    with pytest.raises(StoreError, match="is closed; open it again to write to it"):
        await late


async def test_who_writes_while_the_store_closes_is_told(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    store._ledger.quick = False
    closing = asyncio.ensure_future(store.close())
    while not store._writer._busy:
        await asyncio.sleep(0)

    meanwhile = store.append("order:1", epoch, '"add"')

    assert await meanwhile == 1
    await closing


async def test_a_read_sees_what_was_queued_before_it(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")

    store.append("order:1", epoch, '"one"')
    store.put_step("order:1", epoch, 1, STEP)

    assert [logged.seq for logged in await store.pending("order:1", 0)] == [1]
    assert len(await store.steps("order:1", 1)) == 1


async def test_a_post_now_lands_after_the_batch_that_the_thread_has(open_store: OpenStore) -> None:
    store = await open_store()
    other = await open_store()
    epoch = await begin(store, "order:1")
    store._ledger.quick = False
    handed = [store.append("order:1", epoch, f'"{i}"') for i in range(100)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    queued = store.append("order:1", epoch, '"queued"')

    store.post_now("order:2", '"now"')

    assert queued.result() == 101
    assert [await each for each in handed] == list(range(1, 101))
    assert len(await other.pending("order:1", 0)) == 101
    assert len(await other.pending("order:2", 0)) == 1


async def test_two_stores_on_one_file_fence_each_other(open_store: OpenStore) -> None:
    ours, theirs = await open_store(), await open_store()
    stale = await begin(ours, "order:1")
    await ours.append("order:1", stale, '"one"')
    await theirs.claim("order:1", force=True)

    newest = (await theirs.load("order:1")).epoch

    with pytest.raises(Fenced, match=r"'order:1' now belongs to another activation \(epoch 2, ours 1\)") as caught:
        await ours.append("order:1", stale, '"late"')
    assert caught.value.fields == {"key": "order:1", "epoch": 2}
    assert await theirs.append("order:1", newest, '"two"') == 2


async def test_an_interrupt_after_the_commit_writes_nothing_twice(open_store: OpenStore) -> None:
    store = await open_store()
    epoch = await begin(store, "order:1")
    store._ledger.quick = True
    land = store._ledger.try_to_land
    struck: list[bool] = []

    def interrupted(writes: list[tuple[object, ...]]) -> list[object]:
        outcomes = land(writes)
        if not struck:
            struck.append(True)
            raise KeyboardInterrupt
        return outcomes

    store._ledger.try_to_land = interrupted  # type: ignore[method-assign]
    waiting = store.append("order:1", epoch, '"one"')
    with pytest.raises(KeyboardInterrupt):
        store._writer._turn()

    assert await waiting == 1
    assert struck == [True]
    assert [logged.seq for logged in await store.pending("order:1", 0)] == [1]
