"""Messages of durable processes: in the journal first, handled in order, acknowledged when the body asks on."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

import pytest
from places import Place, settle, until
from tallies import tally

from workbench import Call, durable
from workbench.errors import BadInput, NotPlain, StoreBroken, StoreError


async def test_a_cast_is_in_the_journal_when_its_receipt_says_so(place: Place) -> None:
    bench = await place.open(tally())
    handle = bench.lookup("tally", id="a")

    receipt = handle.cast(3)
    assert repr(receipt) == "<Receipt: on its way>"
    number = await receipt

    assert repr(receipt) == f"<Receipt: in the journal as {number}>"
    messages = [entry for entry in await bench.store.history(handle.key) if entry.kind == "message"]
    assert [(entry.seq, entry.payload) for entry in messages] == [(number, "3")]


async def test_messages_are_numbered_and_handled_in_the_order_of_sending(place: Place) -> None:
    seen: list[Any] = []
    bench = await place.open(tally(seen))
    handle = bench.lookup("tally", id="a")

    numbers = [await receipt for receipt in [handle.cast(number) for number in range(1, 21)]]
    await handle.until(lambda total: total == 210)

    assert numbers == sorted(set(numbers))
    assert seen == list(range(1, 21))


async def test_a_committed_message_is_not_handled_again(place: Place) -> None:
    seen: list[Any] = []
    bench = await place.open(tally(seen))
    handle = bench.lookup("tally", id="a")
    handle.cast(5)
    assert await handle.call({"type": "total"}, id="1") == 5

    await place.crash(bench)
    again = (await place.open(tally(seen))).lookup("tally", id="a")

    assert await again.call({"type": "total"}, id="2") == 5
    assert seen == [5]


async def test_messages_never_handled_are_delivered_after_a_crash(place: Place) -> None:
    gate, seen = asyncio.Event(), []

    @durable(key="slow:{id}", name="slow")
    async def slow(ctx, id: str):
        yield ctx.restored or []
        async for message in ctx:
            await gate.wait()
            seen.append(message)
            yield list(seen)

    bench = await place.open(slow)
    handle = bench.lookup(slow, id="a")
    for number in range(3):
        await handle.cast(number)
    await place.crash(bench)
    gate.set()

    again = (await place.open(slow)).lookup(slow, id="a")

    assert await again.until(lambda state: len(state) == 3) == [0, 1, 2]


async def test_opening_recovers_without_a_lookup(place: Place) -> None:
    gate, seen = asyncio.Event(), []

    @durable(key="slow:{id}", name="slow")
    async def slow(ctx, id: str):
        async for message in ctx:
            await gate.wait()
            seen.append((id, message))
            yield 1

    bench = await place.open(slow)
    for id in ("a", "b"):
        await bench.lookup(slow, id=id).cast(id)
    await place.crash(bench)
    gate.set()

    bench = await place.open(slow)
    await until(lambda: len(seen) == 2)

    assert sorted(seen) == [("a", "a"), ("b", "b")]
    assert sorted(bench._runtime.live) == ["slow:a", "slow:b"]


async def test_a_state_before_the_commit_can_be_taken_back(place: Place) -> None:
    gate = asyncio.Event()

    @durable(key="slow:{id}", name="slow")
    async def slow(ctx, id: str):
        yield ctx.restored or "fresh"
        async for message in ctx:
            yield f"half of {message}"
            await gate.wait()
            yield f"all of {message}"

    bench = await place.open(slow)
    handle = bench.lookup(slow, id="a")
    handle.cast("it")
    await handle.until(lambda state: state == "half of it")
    await place.crash(bench)

    bench = await place.open(slow, worker=False)
    info = await bench.store.key_info("slow:a")

    assert info.snapshot is None


async def test_a_body_that_returns_commits_its_message(place: Place) -> None:
    @durable(key="once:{id}", name="once")
    async def once(ctx, id: str):
        yield ctx.restored or "open"
        async for message in ctx:
            yield message
            return

    bench = await place.open(once)
    handle = bench.lookup(once, id="a")
    handle.cast("closed")
    assert [state async for state in handle][-1] == "closed"
    await until(lambda: handle.status == "done")

    info = await bench.store.key_info("once:a")
    assert (info.snapshot, info.cursor, info.owner, info.wake_at) == ('"closed"', 1, None, None)


async def test_self_casts_are_handled_once_behind_what_waits(place: Place) -> None:
    seen: list[Any] = []
    bench = await place.open(tally(seen))
    handle = bench.lookup("tally", id="a")

    handle.cast({"type": "again", "left": 2})
    handle.cast(100)
    await handle.until(lambda total: total == 103)

    assert seen == [2, 100, 1, 0]


async def test_a_self_cast_lands_with_the_commit_or_not_at_all(place: Place) -> None:
    seen: list[Any] = []
    bench = await place.open(tally(seen))
    store: Any = bench.store
    appended: list[Any] = []
    store.failing = lambda name, args: appended.append(args[2]) if name == "append" else None
    handle = bench.lookup("tally", id="a")

    await handle.cast({"type": "again", "left": 2})
    await handle.until(lambda total: total == 3)

    assert seen == [2, 1, 0]
    assert appended == ['{"type":"again","left":2}']


async def test_self_casts_of_a_failed_delivery_are_not_sent(place: Place) -> None:
    tries, seen = [], []

    @durable(key="flaky:{id}", name="flaky")
    async def flaky(ctx, id: str):
        yield 0
        async for message in ctx:
            seen.append(message)
            if message == "go":
                ctx.cast("echo")
                tries.append(1)
                if len(tries) == 1:
                    raise ValueError("broken on purpose")
            yield len(seen)

    handle = (await place.open(flaky)).lookup(flaky, id="a")
    handle.cast("go")
    await handle.until(lambda state: state == 3)
    await settle()

    assert seen == ["go", "go", "echo"]


async def test_latest_skips_casts_and_acknowledges_them(place: Place) -> None:
    gate = asyncio.Event()

    @durable(key="newest:{id}", name="newest")
    async def newest(ctx, id: str):
        seen = ctx.restored or []
        yield seen
        async for message in ctx.latest():
            if type(message) is Call:
                message.reply(len(seen))
                continue
            seen = [*seen, message]
            yield seen
            await gate.wait()

    bench = await place.open(newest)
    handle = bench.lookup(newest, id="a")
    handle.cast(1)
    await handle.until(lambda seen: seen == [1])
    for number in (2, 3, 4):
        await handle.cast(number)
    gate.set()

    assert await handle.until(lambda seen: len(seen) == 2) == [1, 4]
    assert await handle.call({"type": "how many"}, id="1") == 2
    info = await bench.store.key_info("newest:a")
    assert (info.cursor, info.wake_at) == (5, None)


async def test_latest_never_skips_a_call(place: Place) -> None:
    gate = asyncio.Event()

    @durable(key="newest:{id}", name="newest")
    async def newest(ctx, id: str):
        yield 0
        async for message in ctx.latest():
            await gate.wait()
            if type(message) is Call:
                message.reply("heard")
            yield 1

    handle = (await place.open(newest)).lookup(newest, id="a")
    handle.cast(1)
    answer = handle.call({"type": "ask"}, id="1")
    handle.cast(2)
    gate.set()

    assert await answer == "heard"


async def test_what_is_not_plain_is_refused_when_it_is_sent(place: Place) -> None:
    handle = (await place.open(tally())).lookup("tally", id="a")

    with pytest.raises(NotPlain) as caught:
        handle.cast({"when": [object()]})

    assert caught.value.path == "message.when[0]"
    assert await handle.call({"type": "total"}, id="1") == 0


async def test_a_refused_append_ends_the_activation_and_loses_nothing(place: Place) -> None:
    bench = await place.open(tally())
    handle = bench.lookup("tally", id="a")
    await handle.cast(1)
    await handle.until(lambda total: total == 1)
    bench.store.failing = lambda name, args: StoreError("the disk is full") if name == "append" else None

    receipt = handle.cast(2)
    with pytest.raises(StoreError, match="the disk is full"):
        await receipt
    await until(lambda: handle.status == "crashed")
    assert isinstance(handle.error, StoreBroken)

    bench.store.failing = lambda name, args: None
    await handle.cast(3)
    assert await handle.until(lambda total: total >= 4) == 4


async def test_casts_to_a_crashed_process_begin_its_next_life(place: Place) -> None:
    lives = []

    @durable(key="fragile:{id}", name="fragile")
    async def fragile(ctx, id: str):
        lives.append(id)
        if len(lives) == 1:
            raise ValueError("broken on purpose")
        async for message in ctx:
            yield message

    handle = (await place.open(fragile)).lookup(fragile, id="a")
    await until(lambda: handle.status == "crashed")

    handle.cast("hello")

    assert await handle.until(lambda state: state == "hello") == "hello"
    assert handle.error is None


async def test_one_key_with_other_arguments_is_refused(place: Place) -> None:
    @durable(key="shared", name="shared")
    async def shared(ctx, id: str):
        yield id

    bench = await place.open(shared)
    first = bench.lookup(shared, id="a")
    assert await first.until(lambda state: True) == "a"
    await first.dispose()

    second = bench.lookup(shared, id="b")
    await until(lambda: second.status == "crashed")

    assert isinstance(second.error, BadInput)
    assert "'shared' belongs to shared({'id': 'a'}) and is asked for as shared({'id': 'b'})" in str(second.error)


async def test_a_key_that_lives_with_other_arguments_is_refused_at_the_lookup(place: Place) -> None:
    @durable(key="shared", name="shared")
    async def shared(ctx, id: str):
        yield id
        async for _ in ctx:
            yield id

    @durable(key="shared", name="stranger")
    async def stranger(ctx, id: str):
        yield "stranger"

    bench = await place.open(shared, stranger)
    first = bench.lookup(shared, id="a")
    await first.until(lambda state: state == "a")

    for definition, args in ((shared, {"id": "b"}), (stranger, {"id": "a"})):
        with pytest.raises(BadInput) as caught:
            bench.lookup(definition, **args)
        words = f"'shared' belongs to shared({{'id': 'a'}}) and is asked for as {definition.name}({args!r})"
        assert words in str(caught.value)

    assert bench.lookup(shared, id="a") is first


async def test_who_asked_with_other_arguments_is_in_nobodys_way(place: Place) -> None:
    @durable(key="shared", name="shared")
    async def shared(ctx, id: str):
        yield id
        async for _ in ctx:
            yield id

    bench = await place.open(shared)
    first = bench.lookup(shared, id="a")
    await first.until(lambda state: state == "a")
    await first.dispose()

    mistaken = bench.lookup(shared, id="b")
    await until(lambda: mistaken.status == "crashed")
    again = bench.lookup(shared, id="a")

    assert await again.until(lambda state: True) == "a"
    assert again is not mistaken


async def test_a_lookup_gives_one_handle_per_key(place: Place) -> None:
    bench = await place.open(tally())

    assert bench.lookup("tally", id="a") is bench.lookup("tally", id="a")
    assert bench.lookup("tally", id="a") is not bench.lookup("tally", id="b")


async def test_threads_wait_for_receipts_together(place: Place) -> None:
    handle = (await place.open(tally())).lookup("tally", id="a")
    receipts = [handle.cast(number) for number in range(4)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        loop = asyncio.get_running_loop()
        numbers = await asyncio.gather(*(loop.run_in_executor(pool, receipt.result, 10) for receipt in receipts))

    assert numbers == [1, 2, 3, 4]
    with pytest.raises(BadInput, match="await receipt"):
        receipts[0].result()


async def test_a_thread_is_told_to_hop_and_sends_nothing(place: Place) -> None:
    bench = await place.open(tally())
    handle = bench.lookup("tally", id="a")
    await handle.cast(1)

    for send in (lambda: handle.cast(2), lambda: handle.call({"type": "total"}, id="1")):
        with pytest.raises(BadInput, match="from a thread, hop there"):
            await asyncio.to_thread(send)

    assert await handle.call({"type": "total"}, id="1") == 1
    assert [logged.kind for logged in bench.store.history_now("tally:a")].count("message") == 2
