"""Calls to durable processes: one id, one answer, for ever."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from places import Place, settle, until

from workbench import Call, durable
from workbench.errors import (
    CallConflict,
    CallRefused,
    DeadLettered,
    ProcessEnded,
    StoreError,
)


def till(worked: list[Any] | None = None) -> Any:
    work = worked if worked is not None else []

    @durable(key="till:{id}", name="till")
    async def body(ctx, id: str):
        state = ctx.restored or {"total": 0, "waiting": []}
        yield state
        async for message in ctx:
            match message:
                case Call({"type": "add", "amount": amount}, reply):
                    work.append(amount)
                    state = {**state, "total": state["total"] + amount}
                    reply(state["total"])
                case Call({"type": "ask"}, reply):
                    state = {**state, "waiting": [*state["waiting"], reply.id]}
                case {"type": "decide", "value": value}:
                    ctx.reply(state["waiting"][0], value)
                    state = {**state, "waiting": state["waiting"][1:]}
                case Call({"type": "twice"}, reply):
                    reply("first")
                    try:
                        reply("second")
                    except CallRefused as error:
                        state = {**state, "refused": str(error)}
                case Call({"type": "nothing"}, reply):
                    reply()
                case Call({"type": "object"}, reply):
                    reply(object())
                case Call({"type": "guarded"}, reply) if state["total"] > 1000:
                    reply("rich")
                case Call({"type": "poison"}, _):
                    work.append("poison")
                    raise ValueError("broken on purpose")
            yield state

    return body


async def test_one_id_is_one_execution_and_one_answer(place: Place) -> None:
    worked: list[Any] = []
    handle = (await place.open(till(worked))).lookup("till", id="a")

    answers = [await handle.call({"type": "add", "amount": 5}, id="x") for _ in range(3)]

    assert (answers, worked, handle.state["total"]) == ([5, 5, 5], [5], 5)


async def test_another_id_is_another_call(place: Place) -> None:
    handle = (await place.open(till())).lookup("till", id="a")

    assert await handle.call({"type": "add", "amount": 5}, id="x") == 5
    assert await handle.call({"type": "add", "amount": 5}, id="y") == 10


async def test_concurrent_calls_with_one_id_share_the_answer(place: Place) -> None:
    worked: list[Any] = []
    handle = (await place.open(till(worked))).lookup("till", id="a")

    answers = await asyncio.gather(*(handle.call({"type": "add", "amount": 5}, id="x") for _ in range(4)))

    assert (answers, worked) == ([5, 5, 5, 5], [5])


async def test_the_answer_outlives_the_host(place: Place) -> None:
    worked: list[Any] = []
    bench = await place.open(till(worked))
    assert await bench.lookup("till", id="a").call({"type": "add", "amount": 5}, id="x") == 5
    await place.crash(bench)

    again = (await place.open(till(worked))).lookup("till", id="a")

    assert await again.call({"type": "add", "amount": 5}, id="x") == 5
    assert worked == [5]


async def test_one_id_with_another_message_is_a_conflict(place: Place) -> None:
    handle = (await place.open(till())).lookup("till", id="a")
    await handle.call({"type": "add", "amount": 5}, id="x")

    with pytest.raises(CallConflict, match="'till:a' knows the call id 'x' with another message") as caught:
        await handle.call({"type": "add", "amount": 6}, id="x")

    assert (caught.value.key, caught.value.id) == ("till:a", "x")
    assert handle.state["total"] == 5


async def test_an_open_call_with_another_message_is_a_conflict(place: Place) -> None:
    handle = (await place.open(till())).lookup("till", id="a")
    waiting = handle.call({"type": "ask"}, id="x")
    await handle.until(lambda state: state["waiting"] == ["x"])

    with pytest.raises(CallConflict):
        await handle.call({"type": "ask", "other": 1}, id="x")

    handle.cast({"type": "decide", "value": 1})
    assert await waiting == 1


@pytest.mark.parametrize("id", [None, "", 7])
async def test_a_call_without_an_id_is_refused_and_writes_nothing(place: Place, id: Any) -> None:
    bench = await place.open(till())
    handle = bench.lookup("till", id="a")

    with pytest.raises(CallRefused, match="needs an id"):
        await handle.call({"type": "add", "amount": 1}, id=id)

    assert await handle.call({"type": "add", "amount": 2}, id="x") == 2
    messages = [entry for entry in await bench.store.history("till:a") if entry.kind == "message"]
    assert len(messages) == 1


@pytest.mark.parametrize("message", [{"type": "unknown"}, {"type": "guarded"}], ids=["no case", "guard"])
async def test_a_call_that_no_case_takes_is_refused_for_ever(place: Place, message: Any) -> None:
    bench = await place.open(till())
    handle = bench.lookup("till", id="a")

    with pytest.raises(CallRefused, match="till has no case for"):
        await handle.call(message, id="x")
    await place.crash(bench)
    again = (await place.open(till())).lookup("till", id="a")

    with pytest.raises(CallRefused, match="till has no case for"):
        await again.call(message, id="x")
    assert await again.call({"type": "add", "amount": 1}, id="y") == 1


async def test_a_second_answer_is_refused_and_the_first_is_kept(place: Place) -> None:
    bench = await place.open(till())
    handle = bench.lookup("till", id="a")

    assert await handle.call({"type": "twice"}, id="x") == "first"
    assert "one call has one answer" in handle.state["refused"]
    await place.crash(bench)
    again = (await place.open(till())).lookup("till", id="a")
    assert await again.call({"type": "twice"}, id="x") == "first"


async def test_null_is_an_answer(place: Place) -> None:
    worked: list[Any] = []
    bench = await place.open(till(worked))

    assert await bench.lookup("till", id="a").call({"type": "nothing"}, id="x") is None
    await place.crash(bench)
    assert await (await place.open(till(worked))).lookup("till", id="a").call({"type": "nothing"}, id="x") is None


async def test_an_answer_that_is_not_plain_fails_in_the_body(place: Place) -> None:
    handle = (await place.open(till())).lookup("till", id="a")

    with pytest.raises(DeadLettered, match="NotPlain: reply is a object"):
        await handle.call({"type": "object"}, id="x")
    assert await handle.call({"type": "add", "amount": 1}, id="y") == 1


async def test_a_parked_call_is_answered_after_a_restart(place: Place) -> None:
    bench = await place.open(till())
    handle = bench.lookup("till", id="a")
    lost = handle.call({"type": "ask"}, id="x")
    await handle.until(lambda state: state["waiting"] == ["x"])
    await handle.call({"type": "add", "amount": 1}, id="y")
    await place.crash(bench)
    lost.cancel()

    again = (await place.open(till())).lookup("till", id="a")
    retry = again.call({"type": "ask"}, id="x")
    await again.until(lambda state: state["waiting"] == ["x"])
    again.cast({"type": "decide", "value": {"ok": True}})

    assert await retry == {"ok": True}
    assert await again.call({"type": "ask"}, id="x") == {"ok": True}
    assert again.state["waiting"] == []


async def test_a_parked_call_can_be_answered_with_nobody_waiting(place: Place) -> None:
    bench = await place.open(till())
    handle = bench.lookup("till", id="a")
    waiting = handle.call({"type": "ask"}, id="x")
    await handle.until(lambda state: state["waiting"] == ["x"])
    waiting.cancel()
    handle.cast({"type": "decide", "value": "yes"})
    await handle.until(lambda state: state["waiting"] == [])

    assert await handle.call({"type": "ask"}, id="x") == "yes"


async def test_answering_an_unknown_call_is_refused_by_name(place: Place) -> None:
    heard = []

    @durable(key="odd:{id}", name="odd")
    async def odd(ctx, id: str):
        async for _ in ctx:
            try:
                ctx.reply("never made", 1)
            except CallRefused as error:
                heard.append(str(error))
            yield 1

    handle = (await place.open(odd)).lookup(odd, id="a")
    handle.cast("go")
    await handle.until(lambda state: True)

    assert heard == ["'odd:a' has no open call 'never made'; it was answered before, or never made"]


async def test_an_answer_is_released_only_after_its_commit(place: Place) -> None:
    gate = asyncio.Event()

    @durable(key="slow:{id}", name="slow")
    async def slow(ctx, id: str):
        yield 0
        async for message in ctx:
            message.reply("done")
            yield 1
            await gate.wait()

    handle = (await place.open(slow)).lookup(slow, id="a")
    answer = handle.call({"type": "work"}, id="x")
    await handle.until(lambda state: state == 1)
    await settle()
    assert not answer.done()

    gate.set()

    assert await answer == "done"


async def test_a_failed_commit_withholds_the_answer(place: Place) -> None:
    worked: list[Any] = []
    bench = await place.open(till(worked))
    handle = bench.lookup("till", id="a")
    await handle.until(lambda state: True)
    bench.store.failing = lambda name, args: StoreError("the disk is full") if name == "commit" else None

    with pytest.raises(ProcessEnded, match="call again with the same id"):
        await handle.call({"type": "add", "amount": 5}, id="x")
    await until(lambda: handle.status == "crashed")
    bench.store.failing = lambda name, args: None

    assert await handle.call({"type": "add", "amount": 5}, id="x") == 5
    assert (worked, handle.state["total"]) == ([5, 5], 5)
    assert await bench.store.dead("till:a") == []


async def test_a_caller_of_a_killed_process_is_told_to_call_again(place: Place) -> None:
    gate = asyncio.Event()

    @durable(key="slow:{id}", name="slow")
    async def slow(ctx, id: str):
        async for message in ctx:
            await gate.wait()
            message.reply("done")
            yield 1

    handle = (await place.open(slow)).lookup(slow, id="a")
    answer = handle.call({"type": "work"}, id="x")
    await until(lambda: handle.activation is not None and handle.activation.in_hand is not None)
    await handle.kill()
    with pytest.raises(ProcessEnded, match="was killed before it answered"):
        await answer
    gate.set()

    assert await handle.call({"type": "work"}, id="x") == "done"


async def test_a_poisoned_call_has_a_failure_for_an_answer(place: Place) -> None:
    worked: list[Any] = []
    bench = await place.open(till(worked))
    handle = bench.lookup("till", id="a")

    for _ in range(2):
        with pytest.raises(DeadLettered, match="'till:a' set message 1 aside: ValueError: broken on purpose"):
            await handle.call({"type": "poison"}, id="x")

    assert worked == ["poison"] * 3
    assert await handle.call({"type": "add", "amount": 1}, id="y") == 1


async def test_a_call_between_durable_processes_survives_the_callers_death(place: Place) -> None:
    worked: list[Any] = []
    gate = asyncio.Event()

    @durable(key="buyer:{id}", name="buyer")
    async def buyer(ctx, id: str):
        yield ctx.restored or "open"
        async for _ in ctx:
            total = await ctx.call("pay", bench.lookup("till", id="shared"), {"type": "add", "amount": 7})
            await gate.wait()
            yield f"paid {total}"

    bench = await place.open(till(worked), buyer)
    await bench.lookup(buyer, id="a").cast("go")
    await until(lambda: worked == [7])
    await until(lambda: bench.store.keys_now(key="till:shared")[0].cursor == 1)
    await place.crash(bench)
    gate.set()
    bench = await place.open(till(worked), buyer)

    assert await bench.lookup(buyer, id="a").until(lambda state: state != "open") == "paid 7"
    assert worked == [7]


async def test_a_call_whose_callee_died_gets_the_replays_answer(place: Place) -> None:
    worked: list[Any] = []
    gate = asyncio.Event()

    @durable(key="slow:{id}", name="slow")
    async def slow(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            worked.append(1)
            await ctx.step("work", _work)
            await gate.wait()
            message.reply("done")
            yield 1

    bench = await place.open(slow)
    lost = bench.lookup(slow, id="a").call({"type": "work"}, id="x")
    await until(lambda: any(entry.kind == "step" for entry in bench.store.history_now("slow:a")))
    await place.crash(bench)
    lost.cancel()
    gate.set()
    bench = await place.open(slow)

    assert await bench.lookup(slow, id="a").call({"type": "work"}, id="x") == "done"
    assert worked == [1, 1]


async def _work() -> int:
    return 1
