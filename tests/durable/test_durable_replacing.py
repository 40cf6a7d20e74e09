"""Hot replacement: a cell that is run again gives durable processes new code, and cuts no message at work."""

from __future__ import annotations

import asyncio
from typing import Any

from places import Place, settle, until

from workbench import Call, durable


def worker(word: str, gates: dict[str, asyncio.Event], seen: list[tuple[str, Any]], **options: Any) -> Any:
    """A body that tells which code handled which message, and waits in a step for the gate of the message."""

    @durable(key="worker:{id}", name="worker", **options)
    async def body(ctx, id: str):
        done = ctx.restored or []
        yield done
        async for message in ctx:
            seen.append((word, message))

            async def work(key: str, message: Any = message) -> str:
                gate = gates.get(message)
                if gate is not None:
                    await gate.wait()
                return word

            done = [*done, [message, await ctx.step("work", work), word]]
            yield done

    return body


async def at_work(place: Place, gates: dict[Any, asyncio.Event], seen: list[Any]) -> tuple[Any, Any]:
    """A bench, and a process of it that is at a slow message of two under its old code."""
    bench = await place.open(worker("old", gates, seen))
    handle = bench.lookup("worker", id="a")
    handle.cast("slow")
    handle.cast("next")
    await until(lambda: seen == [("old", "slow")])
    return bench, handle


async def test_a_message_at_work_is_finished_under_the_old_code(place: Place) -> None:
    gates, seen = {"slow": asyncio.Event()}, []
    bench, handle = await at_work(place, gates, seen)
    epoch = handle.epoch

    bench.add(worker("new", gates, seen))
    await place.clock.idle()
    assert (handle.epoch, handle.status) == (epoch, "running")
    gates["slow"].set()

    assert await handle.until(lambda done: len(done) == 2) == [["slow", "old", "old"], ["next", "new", "new"]]
    assert seen == [("old", "slow"), ("new", "next")]
    assert next(life.how for life in await bench.store.activations("worker:a")) == "replaced"


async def test_no_message_is_begun_under_code_that_was_replaced(place: Place) -> None:
    gates, seen = {"slow": asyncio.Event()}, []
    bench, handle = await at_work(place, gates, seen)
    await place.clock.idle()

    gates["slow"].set()  # the message ends in the turn in which its code is replaced
    bench.add(worker("new", gates, seen))
    await handle.until(lambda done: len(done) == 2)

    assert seen == [("old", "slow"), ("new", "next")]


async def test_a_message_asleep_goes_on_under_the_new_code(place: Place) -> None:
    def sleeper(word: str) -> Any:
        @durable(key="sleeper:{id}", name="sleeper")
        async def body(ctx, id: str):
            yield ctx.restored or ""
            async for _ in ctx:
                await ctx.sleep("nap", 500)
                yield word

        return body

    bench = await place.open(sleeper("old"))
    handle = bench.lookup("sleeper", id="a")
    await handle.cast("go")
    await place.clock.idle()

    bench.add(sleeper("new"))
    await place.clock.idle()
    await place.clock.advance(499)
    assert handle.state == ""
    await place.clock.advance(1)

    assert await handle.until(lambda state: state != "") == "new"


async def test_a_message_that_falls_asleep_is_replaced_then(place: Place) -> None:
    gate, seen = asyncio.Event(), []

    def sleeper(word: str) -> Any:
        @durable(key="sleeper:{id}", name="sleeper")
        async def body(ctx, id: str):
            yield ctx.restored or ""
            async for _ in ctx:
                seen.append(word)
                await ctx.step("work", lambda key: _opened(gate))
                await ctx.sleep("nap", 500)
                yield word

        return body

    bench = await place.open(sleeper("old"))
    handle = bench.lookup("sleeper", id="a")
    handle.cast("go")
    await until(lambda: seen == ["old"])
    bench.add(sleeper("new"))
    await place.clock.idle()
    assert seen == ["old"]
    gate.set()
    await until(lambda: seen == ["old", "new"])
    await place.clock.advance(500)

    assert await handle.until(lambda state: state != "") == "new"
    assert seen == ["old", "new"]


async def _opened(gate: asyncio.Event) -> int:
    await gate.wait()
    return 1


async def test_a_caller_is_answered_by_whoever_finishes_its_message(place: Place) -> None:
    gate, seen = asyncio.Event(), []

    def desk(word: str) -> Any:
        @durable(key="desk:{id}", name="desk")
        async def body(ctx, id: str):
            yield 0
            async for message in ctx:
                seen.append(word)
                await ctx.step("work", lambda key: _opened(gate))
                message.reply(word)

        return body

    bench = await place.open(desk("old"))
    handle = bench.lookup("desk", id="a")
    first, second = handle.call("who", id="1"), handle.call("who", id="2")
    await until(lambda: seen == ["old"])
    bench.add(desk("new"))
    gate.set()

    assert (await first, await second) == ("old", "new")


async def test_callers_outlive_a_life_that_is_replaced_before_it_begins(place: Place) -> None:
    def desk(word: str) -> Any:
        @durable(key="desk:{id}", name="desk")
        async def body(ctx, id: str):
            parked = ctx.restored or []
            yield parked
            async for message in ctx:
                match message:
                    case Call("who", reply):
                        parked = [*parked, reply.id]
                    case "tell":
                        for each in parked:
                            ctx.reply(each, word)
                        parked = []
                yield parked

        return body

    bench = await place.open(desk("first"))
    handle = bench.lookup("desk", id="a")
    call = handle.call("who", id="1")
    await handle.until(lambda parked: parked == ["1"])
    begin, began, gate = bench.store.begin, asyncio.Event(), asyncio.Event()

    async def held(*args: Any, **options: Any) -> Any:
        began.set()
        await gate.wait()
        return await begin(*args, **options)

    bench.store.begin = held  # type: ignore[method-assign]
    bench.add(desk("second"))
    await began.wait()
    bench.add(desk("third"))
    await settle()
    gate.set()
    await handle.cast("tell")

    assert await asyncio.wait_for(call, 20) == "third"


async def test_a_kill_does_not_wait_for_a_message_that_never_ends(place: Place) -> None:
    gates, seen = {"stuck": asyncio.Event()}, []
    bench = await place.open(worker("old", gates, seen))
    handle = bench.lookup("worker", id="a")
    handle.cast("stuck")
    await until(lambda: seen == [("old", "stuck")])
    bench.add(worker("new", {}, seen))
    await place.clock.idle()

    await handle.kill()
    await handle.recover()

    assert await handle.until(lambda done: len(done) == 1) == [["stuck", "new", "new"]]


async def test_a_message_that_fails_under_the_old_code_is_tried_again_under_the_new(place: Place) -> None:
    gate, seen = asyncio.Event(), []

    def flaky(word: str) -> Any:
        @durable(key="flaky:{id}", name="flaky", max_attempts=2)
        async def body(ctx, id: str):
            yield ctx.restored or ""
            async for _ in ctx:
                seen.append(word)
                if word == "old":
                    await gate.wait()
                    raise ValueError("broken on purpose")
                yield word

        return body

    bench = await place.open(flaky("old"))
    handle = bench.lookup("flaky", id="a")
    handle.cast("go")
    await until(lambda: seen == ["old"])
    bench.add(flaky("new"))
    await place.clock.idle()
    gate.set()

    assert await handle.until(lambda state: state == "new") == "new"
    assert seen == ["old", "new"]
    assert await bench.store.dead("flaky:a") == []


async def test_code_that_moved_in_its_file_is_the_same_code(place: Place) -> None:
    source = """
@durable(key="moved:{id}", name="moved")
async def body(ctx, id: str):
    yield ctx.restored or 0
    async for message in ctx:
        yield message
"""

    def made(lines_before: int) -> Any:
        room: dict[str, Any] = {"durable": durable}
        exec(compile("\n" * lines_before + source, f"cell {lines_before}", "exec"), room)
        return room["body"]

    bench = await place.open(made(0))
    handle = bench.lookup("moved", id="a")
    await handle.until(lambda state: True)
    epoch = handle.epoch
    bench.add(made(7))
    await place.clock.idle()

    assert handle.epoch == epoch


async def test_other_options_of_the_same_code_hold_at_once(place: Place) -> None:
    gates, seen = {}, []
    bench = await place.open(worker("old", gates, seen))
    handle = bench.lookup("worker", id="a")
    await handle.until(lambda done: True)
    epoch = handle.epoch

    bench.add(worker("old", gates, seen, restart="on-crash", max_restarts=7))
    await place.clock.idle()

    assert (handle.epoch, handle.restarts.most) == (epoch, 7)
