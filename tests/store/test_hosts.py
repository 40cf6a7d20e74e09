"""Hosts: who is alive, by record locks where they work and by the lease where they do not."""

# ruff: noqa: ASYNC240 - a test may wait for the disk and for its children

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from stores import OpenStore, begin

from workbench.store.sqlite import hosts
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.testing import ManualClock


async def test_two_stores_of_one_process_are_two_hosts(open_store: OpenStore) -> None:
    ours, theirs = await open_store(), await open_store()
    await begin(ours, "order:1")

    owner = await theirs.claim("order:1")

    assert owner is not None
    assert owner.id == ours.host.id != theirs.host.id


async def test_closing_one_store_keeps_the_locks_of_the_others(open_store: OpenStore, path: Path) -> None:
    ours, theirs = await open_store(), await open_store()
    await theirs.close()
    probe = (
        "import fcntl, os, sys\n"
        "file = os.open(sys.argv[1], os.O_RDWR)\n"
        "try: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(sys.argv[2]))\n"
        "except OSError: print('held')\n"
        "else: print('free')\n"
    )
    import sys

    async def ask(slot: int) -> bytes:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", probe, f"{path}-hosts", str(slot), stdout=asyncio.subprocess.PIPE
        )
        return (await child.communicate())[0].strip()

    assert await ask(ours._member.slot) == b"held"
    assert await ask(ours._member.slot + 1) == b"free"


async def test_a_host_without_locks_lives_as_long_as_its_lease(open_store: OpenStore) -> None:
    clock = ManualClock()
    ours, theirs = await open_store(now=clock.now), await open_store(now=clock.now)
    await begin(ours, "order:1")
    ours._connection.execute("UPDATE hosts SET locks = 0 WHERE id = ?", (ours._member.slot,))

    clock._now += 29.9
    assert await theirs.claim("order:1") is not None
    clock._now += 0.2
    assert await theirs.claim("order:1") is None


async def test_the_writer_renews_the_lease_in_its_own_commits(open_store: OpenStore) -> None:
    clock = ManualClock()
    store = await open_store(now=clock.now)
    epoch = await begin(store, "order:1")
    await clock.advance(9)
    await store.append("order:1", epoch, '"one"')
    assert until(store) == clock.now() + 21

    await clock.advance(2)
    await store.append("order:1", epoch, '"two"')

    assert until(store) == clock.now() + 30


async def test_a_quiet_store_renews_while_a_cell_blocks_the_loop(open_store: OpenStore) -> None:
    store = await open_store(lease=0.3)
    before = until(store)

    time.sleep(0.5)  # noqa: ASYNC251 - the cell that blocks

    assert until(store) > before + 0.2


async def test_a_clock_set_back_does_not_stop_the_renewal(open_store: OpenStore) -> None:
    clock = ManualClock()
    store = await open_store(now=clock.now)

    clock.set_back(3600)
    await store.register("order:1", "order", "{}")

    assert until(store) == clock.now() + 30


async def test_a_lease_is_renewed_on_request(open_store: OpenStore) -> None:
    store = await open_store(now=ManualClock().now)

    await store.renew(5_000_000_000.0)

    assert until(store) == 5_000_000_000.0


async def test_the_last_store_closes_the_lock_file(path: Path) -> None:
    stores = [SQLiteStore(path), SQLiteStore(path)]
    for store in stores:
        await store.open(label="test", lease=30.0, now=time.time)
    file = f"{path.resolve()}-hosts"
    assert hosts._files[file].users == 2

    for store in stores:
        await store.close()

    assert file not in hosts._files


def test_a_store_whose_loop_is_closed_is_a_dead_host(path: Path) -> None:
    async def abandon() -> SQLiteStore:
        store = SQLiteStore(path)
        await store.open(label="abandoned", lease=30.0, now=time.time)
        await begin(store, "order:1")
        return store

    async def take() -> bool:
        store = SQLiteStore(path)
        await store.open(label="next", lease=30.0, now=time.time)
        taken = await store.claim("order:1") is None
        await store.close()
        return taken

    abandoned = asyncio.run(abandon())

    assert asyncio.run(take())
    asyncio.run(abandoned._disconnect())
    hosts.forget(abandoned._member)


def until(store: SQLiteStore) -> float:
    (found,) = store._reader.execute("SELECT until FROM hosts WHERE id = ?", (store._member.slot,)).fetchone()
    return float(found)
