"""Attempts: what counts against a message, what does not, and what becomes of it in the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from places import Place, settle, until

from workbench import Call, durable
from workbench.errors import DeadLettered, StoreError
from workbench.store.journal import DeadLetter

QUESTION = dict.fromkeys(("run", "agent", "tool", "call", "sentence", "act", "args", "schema"), "")


def grinder(handled: list[Any] | None = None, **options: Any) -> Any:
    """Adds numbers; fails on "poison", hangs on "hang", and works in a step before it hangs on a dict."""
    heard = handled if handled is not None else []

    @durable(key="grinder:{id}", name="grinder", **options)
    async def body(ctx, id: str):
        total = ctx.restored or 0
        yield total
        async for message in ctx:
            plain = message.message if type(message) is Call else message
            heard.append(plain)
            match plain:
                case int():
                    total += plain
                case "poison":
                    raise ValueError("broken on purpose")
                case "hang":
                    await asyncio.Event().wait()
                case {"steps": count}:
                    for number in range(count):
                        await ctx.step(f"step {number}", _work)
                    await asyncio.Event().wait()
                case {"sleep": seconds}:
                    await ctx.sleep("nap", seconds)
                    await asyncio.Event().wait()
                case {"ask": _}:
                    await ctx.ask("question", QUESTION)
            if type(message) is Call:
                message.reply(total)
            yield total

    return body


async def _work() -> int:
    return 1


async def deaths(place: Place, definition: Any, count: int, reached: Any) -> None:
    """Have the host of "grinder:a" die `count` times, each time once `reached(bench)` holds."""
    for _ in range(count):
        bench = await place.open(definition)
        await until(lambda: reached(bench))  # noqa: B023 - waited for in this turn
        await settle()
        await place.crash(bench)


def in_hand(bench: Any) -> bool:
    process = bench._runtime.live.get("grinder:a")
    return process is not None and process.activation is not None and process.activation.in_hand is not None


def ledger_of(bench: Any) -> list[str]:
    return [entry.kind for entry in bench.store.history_now("grinder:a") if entry.kind in ("step", "sleep", "attempt")]


async def send(place: Place, definition: Any, *messages: Any) -> None:
    """Log messages with nobody at work."""
    bench = await place.open(definition, worker=False)
    handle = bench.lookup(definition, id="a")
    for message in messages:
        await handle.cast(message)
    await place.crash(bench)


async def test_a_poisonous_message_is_set_aside_and_its_neighbours_land(place: Place) -> None:
    handled: list[Any] = []
    bench = await place.open(grinder(handled))
    handle = bench.lookup("grinder", id="a")
    for message in (1, "poison", 10):
        handle.cast(message)

    assert await handle.until(lambda total: total == 11) == 11
    assert handled == [1, "poison", "poison", "poison", 10]
    assert await bench.store.dead("grinder:a") == [DeadLetter(2, '"poison"', None, "ValueError: broken on purpose", 3)]
    assert handle.error is None or isinstance(handle.error, ValueError)


async def test_the_state_of_a_dead_letter_is_the_one_before_it(place: Place) -> None:
    @durable(key="half:{id}", name="half", max_attempts=2)
    async def half(ctx, id: str):
        total = ctx.restored or 0
        yield total
        async for message in ctx:
            yield total + 1000
            if message == "poison":
                raise ValueError("broken on purpose")
            total += message
            yield total

    handle = (await place.open(half)).lookup(half, id="a")
    handle.cast(1)
    handle.cast("poison")
    handle.cast(2)

    assert await handle.until(lambda total: total == 3) == 3


async def test_one_attempt_is_enough_when_the_definition_says_so(place: Place) -> None:
    handled: list[Any] = []
    handle = (await place.open(grinder(handled, max_attempts=1))).lookup("grinder", id="a")
    handle.cast("poison")
    handle.cast(1)

    assert await handle.until(lambda total: total == 1) == 1
    assert handled == ["poison", 1]


async def test_attempts_are_counted_across_hosts(place: Place) -> None:
    handled: list[Any] = []
    gate = asyncio.Event()

    @durable(key="grinder:{id}", name="grinder", max_attempts=3)
    async def body(ctx, id: str):
        async for message in ctx:
            handled.append(message)
            if handled.count("poison") == 2 and message == "poison":
                gate.set()
                await asyncio.Event().wait()
            if message == "poison":
                raise ValueError("broken on purpose")
            yield message

    bench = await place.open(body)
    await bench.lookup(body, id="a").cast("poison")
    await gate.wait()
    await place.crash(bench)
    bench = await place.open(body)
    handle = bench.lookup(body, id="a")
    handle.cast(5)

    assert await handle.until(lambda state: state == 5) == 5
    assert handled.count("poison") == 3


async def test_a_message_that_takes_its_host_down_is_set_aside(place: Place) -> None:
    handled: list[Any] = []
    definition = grinder(handled)
    await send(place, definition, "hang", 7)
    await deaths(place, definition, 3, in_hand)

    handle = (bench := await place.open(definition)).lookup("grinder", id="a")

    assert await handle.until(lambda total: total == 7) == 7
    assert handled == ["hang", "hang", "hang", 7]
    assert [letter.error for letter in await bench.store.dead("grinder:a")] == [
        "its host died while it was handled, 3 times"
    ]


async def test_the_caller_of_a_message_set_aside_gets_the_reason(place: Place) -> None:
    definition = grinder()
    bench = await place.open(definition, worker=False)
    lost = bench.lookup("grinder", id="a").call("hang", id="x")
    await until(lambda: bench.store.history_now("grinder:a"))
    await place.crash(bench)
    lost.cancel()
    await deaths(place, definition, 3, in_hand)

    handle = (await place.open(definition)).lookup("grinder", id="a")

    with pytest.raises(DeadLettered, match="its host died while it was handled, 3 times"):
        await handle.call("hang", id="x")


async def test_progress_starts_the_count_again(place: Place) -> None:
    handled: list[Any] = []
    lives = []

    @durable(key="grinder:{id}", name="grinder", max_attempts=2)
    async def body(ctx, id: str):
        async for message in ctx:
            lives.append(1)
            for number in range(len(lives)):
                await ctx.step(f"step {number}", _work)
            if len(lives) < 8:
                await asyncio.Event().wait()
            handled.append(message)
            yield message

    await send(place, body, 7)
    for life in range(1, 8):
        bench = await place.open(body)
        await until(lambda: ledger_of(bench).count("step") == life)  # noqa: B023 - waited for in this turn
        await settle()
        await place.crash(bench)
    handle = (bench := await place.open(body)).lookup(body, id="a")

    assert await handle.until(lambda state: state == 7) == 7
    assert (handled, await bench.store.dead("grinder:a")) == ([7], [])


async def test_deaths_while_it_sleeps_count_nothing(place: Place) -> None:
    handled: list[Any] = []
    definition = grinder(handled, max_attempts=1)
    await send(place, definition, {"sleep": 1_000_000})
    await deaths(place, definition, 6, lambda bench: in_hand(bench) and "sleep" in ledger_of(bench))
    bench = await place.open(definition)

    assert await bench.store.dead("grinder:a") == []
    assert "attempt" not in ledger_of(bench)


async def test_deaths_after_a_sleep_count(place: Place) -> None:
    handled: list[Any] = []
    definition = grinder(handled, max_attempts=3)
    await send(place, definition, {"sleep": 0.0}, 7)
    await deaths(place, definition, 4, lambda bench: in_hand(bench) and "sleep" in ledger_of(bench))

    handle = (bench := await place.open(definition)).lookup("grinder", id="a")

    assert await handle.until(lambda total: total == 7) == 7
    assert len(await bench.store.dead("grinder:a")) == 1


async def test_ten_deaths_while_a_question_waits_count_nothing(place: Place) -> None:
    handled: list[Any] = []
    definition = grinder(handled)
    await send(place, definition, {"ask": 1})
    await deaths(place, definition, 10, lambda bench: in_hand(bench) and bench._runtime.requests.known())
    bench = await place.open(definition)
    handle = bench.lookup("grinder", id="a")
    await until(lambda: bench._runtime.requests.known())
    (request,) = bench._runtime.requests.known()
    await bench._runtime.requests.decide(request.id, "answered", {"value": 1, "by": "a test"})
    handle.cast(3)

    assert await handle.until(lambda total: total == 3) == 3
    assert await bench.store.dead("grinder:a") == []


async def test_disposing_and_killing_count_nothing(place: Place) -> None:
    handled: list[Any] = []
    bench = await place.open(grinder(handled, max_attempts=1))
    handle = bench.lookup("grinder", id="a")
    await handle.cast("hang")
    for end in (handle.dispose, handle.kill) * 3:
        await until(lambda: in_hand(bench))
        await end()
        await handle.recover()

    assert "attempt" not in ledger_of(bench)
    assert await bench.store.dead("grinder:a") == []


async def test_closing_a_bench_counts_nothing(place: Place) -> None:
    definition = grinder(max_attempts=1)
    await send(place, definition, "hang")
    for _ in range(4):
        bench = await place.open(definition)
        await until(lambda: in_hand(bench))  # noqa: B023 - waited for in this turn
        await bench.close()
        place.benches.remove(bench)
    bench = await place.open(definition)

    assert "attempt" not in ledger_of(bench)
    assert await bench.store.dead("grinder:a") == []


async def test_a_store_that_fails_counts_nothing(place: Place) -> None:
    handled: list[Any] = []
    bench = await place.open(grinder(handled, max_attempts=1))
    handle = bench.lookup("grinder", id="a")
    await handle.until(lambda total: True)
    bench.store.failing = lambda name, args: StoreError("the disk is full") if name == "commit" else None
    for number in (1, 2):
        await handle.cast(number)
        await until(lambda: handle.status == "crashed")
    bench.store.failing = lambda name, args: None
    handle.cast(4)

    assert await handle.until(lambda total: total == 7) == 7
    assert await bench.store.dead("grinder:a") == []


async def test_a_count_that_cannot_be_written_ends_the_process_with_the_reason(place: Place) -> None:
    bench = await place.open(grinder())
    handle = bench.lookup("grinder", id="a")
    await handle.until(lambda total: True)
    bench.store.failing = lambda name, args: StoreError("the disk is full") if name == "put_step" else None

    handle.cast("poison")
    await until(lambda: handle.status == "crashed")

    assert "the disk is full" in str(handle.error)


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("there is no caf\udce9.txt"), "ValueError: there is no caf?.txt"),
        (Mute(), "Mute: it cannot say why: RuntimeError"),
    ],
)
async def test_an_error_that_no_row_can_hold_is_counted_as_any_other(
    place: Place, error: Exception, words: str
) -> None:
    tries: list[Any] = []

    @durable(key="odd:{id}", name="odd")
    async def odd(ctx, id: str):
        yield 0
        async for message in ctx:
            tries.append(message)
            if message == "poison":
                raise error
            yield message

    bench = await place.open(odd)
    handle = bench.lookup("odd", id="a")
    handle.cast("poison")
    handle.cast(1)

    assert await asyncio.wait_for(handle.until(lambda state: state == 1), 20) == 1
    assert tries == ["poison", "poison", "poison", 1]
    assert [letter.error for letter in await bench.store.dead("odd:a")] == [words]


async def test_two_keys_do_not_hold_each_other_up(place: Place) -> None:
    bench = await place.open(grinder())
    stuck, free = bench.lookup("grinder", id="a"), bench.lookup("grinder", id="b")
    stuck.cast("hang")
    free.cast(1)

    assert await free.until(lambda total: total == 1) == 1
    await settle()
