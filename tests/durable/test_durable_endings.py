"""How durable processes end: disposed, replaced, closed; and what becomes of what was under way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from places import Place, settle, until
from tallies import tally

from workbench import Call, durable


async def test_a_disposed_process_ends_its_iteration_and_lets_the_body_finish(place: Place) -> None:
    order = []

    @durable(key="tidy:{id}", name="tidy")
    async def tidy(ctx, id: str):
        yield 0
        async for message in ctx:
            await ctx.step("work", _work)
            yield message
        await asyncio.sleep(0)
        order.append("after the loop")

    bench = await place.open(tidy)
    handle = bench.lookup(tidy, id="a")
    handle.cast(1)
    await handle.until(lambda state: state == 1)
    await until(lambda: handle.activation.parked_on_mailbox())
    await handle.dispose()

    assert order == ["after the loop"]
    assert (handle.status, handle.error) == ("disposed", None)
    lives = await bench.store.activations("tidy:a")
    assert [life.how for life in lives] == ["disposed"]


async def _work() -> int:
    return 1


async def test_a_message_cut_off_by_disposal_is_delivered_again(place: Place) -> None:
    gate, seen = asyncio.Event(), []

    @durable(key="slow:{id}", name="slow", max_attempts=1)
    async def slow(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            seen.append(message)
            await gate.wait()
            yield message

    bench = await place.open(slow)
    handle = bench.lookup(slow, id="a")
    handle.cast(1)
    await until(lambda: seen == [1])
    await handle.dispose()
    gate.set()
    again = bench.lookup(slow, id="a")

    assert await again.until(lambda state: state == 1) == 1
    assert seen == [1, 1]
    assert await bench.store.dead("slow:a") == []


async def test_a_lookup_during_the_end_begins_the_next_life(place: Place) -> None:
    handle = (bench := await place.open(tally())).lookup("tally", id="a")
    await handle.until(lambda total: True)

    ending = handle.dispose()
    await asyncio.sleep(0)
    again = bench.lookup("tally", id="a")
    receipt = again.cast(4)
    await ending

    assert await receipt == 1
    assert await again.until(lambda total: total == 4) == 4
    assert again.status == "running"


async def test_messages_sent_before_the_end_of_the_bench_land_or_say_so(place: Place) -> None:
    handle = (bench := await place.open(tally())).lookup("tally", id="a")
    receipt = handle.cast(1)
    await bench.close()
    place.benches.remove(bench)

    (heard,) = await asyncio.gather(receipt, return_exceptions=True)
    assert heard == 1 or str(heard) == "'tally:a' is disposed; send it again, with the same id if it is a call"


async def test_a_new_version_of_the_code_takes_over_what_lives(place: Place) -> None:
    def made(word: str) -> Any:
        @durable(key="greeter:{id}", name="greeter")
        async def greeter(ctx, id: str):
            count = ctx.restored or 0
            yield count
            async for message in ctx:
                if type(message) is Call:
                    message.reply(f"{word} {count}")
                else:
                    count += message
                    yield count

        return greeter

    bench = await place.open(made("hello"))
    handle = bench.lookup("greeter", id="a")
    handle.cast(2)
    assert await handle.call({"type": "greet"}, id="1") == "hello 2"

    bench.add(made("goodbye"))
    await settle()

    assert await handle.call({"type": "greet"}, id="2") == "goodbye 2"
    assert handle.status == "running"


async def test_the_same_code_again_disturbs_nobody(place: Place) -> None:
    bench = await place.open(tally())
    handle = bench.lookup("tally", id="a")
    await handle.until(lambda total: True)
    epoch = handle.epoch

    bench.add(tally(handle.definition.body.__closure__[0].cell_contents))
    await settle()

    assert handle.epoch == epoch


@pytest.mark.parametrize("swallowed", [Exception, BaseException])
async def test_a_body_that_begins_again_for_ever_commits_nothing_more(
    place: Place, swallowed: type[BaseException]
) -> None:
    rounds = []

    @durable(key="stubborn:{id}", name="stubborn")
    async def stubborn(ctx, id: str):
        yield 0
        while len(rounds) < 5:
            rounds.append(1)
            try:
                async for message in ctx:
                    await asyncio.sleep(3600)
                    yield message
            except swallowed:
                pass

    bench = await place.open(stubborn)
    handle = bench.lookup(stubborn, id="a")
    await handle.cast(7)
    await until(lambda: handle.activation is not None and handle.activation.in_hand is not None)
    beating = asyncio.ensure_future(_beats(handle._task))
    await handle.dispose()

    assert await beating > (10 if swallowed is BaseException else 0)
    assert (await bench.store.key_info("stubborn:a")).cursor == 0


async def _beats(task: asyncio.Task[None]) -> int:
    beats = 0
    while not task.done():
        await asyncio.sleep(0)
        beats += 1
    return beats
