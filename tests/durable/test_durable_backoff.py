"""Back-off between the attempts at a message, and what a handle tells of its key."""

from __future__ import annotations

import asyncio
from typing import Any

from places import Place, settle, until

from workbench import durable


def fragile(place: Place, tries: list[float], fails: int, **options: Any) -> Any:
    """Counts messages; "fail" fails so many times, "hang" hangs. `tries` hears when each was handed out."""

    @durable(key="fragile:{id}", name="fragile", **options)
    async def body(ctx, id: str):
        total = ctx.restored or 0
        yield total
        async for message in ctx:
            if message == "hang":
                await asyncio.Event().wait()
            tries.append(place.clock.now())
            if message == "fail" and len(tries) <= fails:
                raise ValueError(f"try {len(tries)}")
            total += 1
            yield total

    return body


async def failed_once(place: Place, tries: list[float], definition: Any) -> Any:
    bench = await place.open(definition)
    handle = bench.lookup("fragile", id="a")
    await handle.cast("fail")
    await until(lambda: len(tries) == 1 and handle.attempts == 1)
    return bench


async def test_attempts_are_further_and_further_apart(place: Place) -> None:
    tries: list[float] = []
    bench = await failed_once(place, tries, fragile(place, tries, 3, max_attempts=4, backoff=10.0))
    handle = bench.lookup("fragile", id="a")

    await place.clock.advance(75)

    assert await handle.until(lambda total: total == 1) == 1
    assert [later - tries[0] for later in tries] == [0, 10, 30, 70]


async def test_what_is_sent_in_a_back_off_is_in_the_journal_at_once(place: Place) -> None:
    tries: list[float] = []
    bench = await failed_once(place, tries, fragile(place, tries, 1, backoff=1000.0))
    handle = bench.lookup("fragile", id="a")

    assert await handle.cast("later") == 2
    assert (handle.pending, handle.unacked, len(tries)) == (1, 2, 1)
    await place.clock.advance(1001)
    assert await handle.until(lambda total: total == 2) == 2


async def test_a_back_off_is_the_wake_of_its_key_and_outlives_the_host(place: Place) -> None:
    tries: list[float] = []
    definition = fragile(place, tries, 1, backoff=100.0)
    bench = await failed_once(place, tries, definition)
    began = place.clock.now()
    handle = bench.lookup("fragile", id="a")
    assert (handle.attempts, handle.next_wake) == (1, began + 100.0)
    await place.clock.advance(60)
    await place.crash(bench)

    bench = await place.open(definition)
    handle = bench.lookup("fragile", id="a")
    await until(lambda: handle.attempts == 1)
    await place.clock.advance(39)
    assert len(tries) == 1
    await place.clock.advance(2)

    assert await handle.until(lambda total: total == 1) == 1
    assert (handle.attempts, handle.next_wake, handle.unacked) == (0, None, 0)


async def test_deaths_in_a_back_off_count_nothing(place: Place) -> None:
    tries: list[float] = []
    definition = fragile(place, tries, 1, max_attempts=2, backoff=1_000_000.0)
    bench = await failed_once(place, tries, definition)
    for _ in range(4):
        await place.crash(bench)
        bench = await place.open(definition)
        handle = bench.lookup("fragile", id="a")
        await until(lambda: handle.attempts == 1)  # noqa: B023 - waited for in this turn
        await settle()

    assert (list(bench.dead_letters), len(tries)) == ([], 1)


async def test_a_death_is_backed_off_too(place: Place) -> None:
    tries: list[float] = []
    definition = fragile(place, tries, 0, backoff=50.0)
    bench = await place.open(definition)
    await bench.lookup("fragile", id="a").cast("hang")
    await until(lambda: bench.lookup("fragile", id="a").activation.in_hand)
    await place.crash(bench)
    bench = await place.open(definition)
    handle = bench.lookup("fragile", id="a")

    await until(lambda: handle.attempts == 1)

    assert handle.next_wake == place.clock.now() + 50.0


async def test_attempts_older_than_the_window_are_forgotten(place: Place) -> None:
    tries: list[float] = []
    bench = await failed_once(place, tries, fragile(place, tries, 5, max_attempts=2, backoff=10.0, window=5.0))
    handle = bench.lookup("fragile", id="a")

    await place.clock.advance(1_000)

    assert await handle.until(lambda total: total == 1) == 1
    assert (len(tries), list(bench.dead_letters)) == (6, [])


async def test_a_handle_tells_what_is_known_of_its_key(place: Place) -> None:
    tries: list[float] = []
    definition = fragile(place, tries, 0)
    bench = await place.open(definition)
    handle = bench.lookup("fragile", id="a")
    for message in ("hang", "one", "two"):
        await handle.cast(message)
    await until(lambda: handle.activation.in_hand)

    assert (handle.pending, handle.unacked, handle.epoch, handle.attempts) == (2, 3, 1, 0)
    assert handle.owner == bench.store.host
    assert handle.next_wake >= place.clock.now()
    other = await place.open(definition)
    there = other.lookup("fragile", id="a")
    await until(lambda: there.elsewhere)
    assert (there.owner, there.unacked, there.epoch) == (bench.store.host, 3, None)

    await handle.dispose()

    await until(lambda: there.owner is not None and there.owner.id == other.store.host.id)
