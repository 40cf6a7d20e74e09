"""What ends, moves or is replaced at the very moment at which somebody asks for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from counters import counter
from places import Place, settle, until

from workbench import durable
from workbench.errors import ProcessEnded


def answering(version: int = 0) -> Any:
    """A counter whose code is another one."""

    @durable(key="counter:{id}", name="counter", version=version)
    async def body(ctx, id: str):
        yield 0
        async for message in ctx:
            message.reply("newer")
            yield 0

    return body


async def owned(place: Place, *codes: Any) -> tuple[Any, Any, Any, Any]:
    """Two benches, and their handles of a key that the first one runs."""
    first, second = codes or (counter(), counter())
    one, two = await place.open(first), await place.open(second)
    here = one.lookup("counter", id="a")
    await here.call(1, id="first")
    there = two.lookup("counter", id="a")
    await until(lambda: there.elsewhere is not None and not there._is_at_work())
    return one, two, here, there


async def left(place: Place, bench: Any) -> None:
    place.benches.remove(bench)
    await bench.close()


async def waiting(bench: Any) -> None:
    """Return once a call of this bench waits for its answer from elsewhere."""
    await until(lambda: any(bench._runtime.elsewhere._waiting.values()))


async def blind(*_: Any) -> None:
    """Notice nothing."""


async def test_a_call_elsewhere_ends_when_its_follower_is_disposed(place: Place) -> None:
    _, two, here, there = await owned(place)
    here.cast("hang")
    call = there.call(2, id="second")
    await waiting(two)

    await there.dispose()

    with pytest.raises(ProcessEnded, match="send it again, with the same id"):
        await asyncio.wait_for(call, 20)


async def test_a_call_that_is_posted_while_its_follower_is_disposed_ends(place: Place) -> None:
    _, _, here, there = await owned(place)
    here.cast("hang")
    call = there.call(2, id="second")

    await there.dispose()

    with pytest.raises(ProcessEnded, match="with the same id"):
        await asyncio.wait_for(call, 20)


async def test_a_cast_elsewhere_that_waits_for_room_ends_when_its_follower_is_disposed(place: Place) -> None:
    _, _, here, there = await owned(place, counter(mailbox=1), counter(mailbox=1))
    await here.cast("hang")
    cast = there.cast(2)
    await until(lambda: there.states._waiters)

    await there.dispose()

    with pytest.raises(ProcessEnded, match="had no room"):
        await asyncio.wait_for(_hear(cast), 20)


async def test_a_call_elsewhere_ends_when_its_key_comes_here_and_cannot_begin(place: Place, monkeypatch) -> None:
    one, two, _, there = await owned(place, answering(1), answering(2))
    monkeypatch.setattr(one._runtime, "_look", blind)
    call = there.call(2, id="second")
    await waiting(two)

    await place.crash(one)
    await two._runtime.tick()

    with pytest.raises(ProcessEnded, match="is crashed"):
        await asyncio.wait_for(call, 20)


async def test_a_call_elsewhere_goes_on_when_its_key_comes_here_and_leaves_at_once(place: Place, monkeypatch) -> None:
    """The life that it was handed over to is gone before the caller hears of it; the next one answers."""
    one, two, _, there = await owned(place)
    monkeypatch.setattr(one._runtime, "_look", blind)
    call = there.call(2, id="second")
    await waiting(two)

    two._runtime.elsewhere.hand_over(there.key)
    await settle()
    await place.crash(one)
    await two._runtime.tick()

    assert await asyncio.wait_for(call, 20) == 3


async def test_who_is_disposed_while_it_begins_to_follow_follows_nobody(place: Place) -> None:
    one, two = await place.open(counter()), await place.open(counter())
    await one.lookup("counter", id="a").call(1, id="first")
    there = two.lookup("counter", id="a")

    await there.dispose()
    await left(place, one)
    await two._runtime.tick()

    assert (there.status, list(two.elsewhere), there.key in two._runtime.live) == ("disposed", [], False)


async def test_who_is_looked_up_after_its_dispose_began_lives_again(place: Place) -> None:
    bench = await place.open(counter())
    process = bench.lookup("counter", id="a")
    await process.call(1, id="first")

    ended = process.dispose()
    assert process.status == "disposed"
    bench.lookup("counter", id="a")
    await ended

    assert await asyncio.wait_for(process.call(2, id="second"), 20) == 3


@pytest.mark.parametrize("late", [False, True])
async def test_what_is_sent_while_its_bench_closes_is_refused_not_kept(place: Place, monkeypatch, late: bool) -> None:
    bench = await place.open(counter())
    process = bench.lookup("counter", id="a")
    await process.call(1, id="first")
    release, at, go = bench.store.release, asyncio.Event(), asyncio.Event()

    async def held(*args: Any) -> None:
        at.set()
        await go.wait()
        await release(*args)

    monkeypatch.setattr(bench.store, "release", held, raising=False)
    ended = [process.dispose()] if late else []
    if late:
        await at.wait()
        sent = [process.cast(2), process.call(2, id="second")]
    closing = asyncio.ensure_future(left(place, bench))
    await until(lambda: bench._runtime.closed and process.status == "disposed" and at.is_set())
    if not late:
        sent = [process.cast(2), process.call(2, id="second")]
    go.set()
    await closing

    for what in sent:
        with pytest.raises(ProcessEnded, match="send it again"):
            await asyncio.wait_for(_hear(what), 20)
    assert (process.status, process._is_at_work(), [await end for end in ended]) == ("disposed", False, [None] * late)


async def _hear(sent: Any) -> Any:
    return await sent


@pytest.mark.parametrize("end", ["dispose", "kill"])
@pytest.mark.parametrize("first", ["replace", "end"])
async def test_who_ends_and_is_replaced_at_once_stays_ended(place: Place, end: str, first: str) -> None:
    bench = await place.open(counter())
    process = bench.lookup("counter", id="a")
    await process.call(1, id="first")

    if first == "replace":
        bench.add(answering())
        await getattr(process, end)()
    else:
        ending = asyncio.ensure_future(_hear(getattr(process, end)()))
        await asyncio.sleep(0)
        bench.add(answering())
        await ending
    await settle()

    assert (process.status, process._is_at_work()) == ("disposed", False)
    assert process.held_by == (None if end == "dispose" else "you")
    assert await asyncio.wait_for(bench.lookup("counter", id="a").call(1, id="again"), 20) == "newer"


async def test_a_bench_that_closes_while_it_replaces_begins_nothing(place: Place) -> None:
    bench = await place.open(counter())
    process = bench.lookup("counter", id="a")
    await process.call(1, id="first")

    bench.add(answering())
    await left(place, bench)
    await settle()

    assert (process.status, process.error, process._is_at_work()) == ("disposed", None, False)


async def test_who_lost_its_key_to_a_host_that_left_takes_over(place: Place, monkeypatch) -> None:
    one, two, here, there = await owned(place)
    monkeypatch.setattr(one._runtime, "_look", blind)
    there.take()
    assert await asyncio.wait_for(there.call(1, id="second"), 20) == 2
    await left(place, two)

    with pytest.raises(ProcessEnded):
        await asyncio.wait_for(here.call(3, id="third"), 20)

    await until(lambda: here.activation is not None and here.activation.broken is None)
    assert await asyncio.wait_for(here.call(3, id="third"), 20) == 5


async def test_a_key_that_is_taken_back_while_its_loss_is_noticed_comes_back(place: Place, monkeypatch) -> None:
    one, _, here, there = await owned(place)
    lost = here.activation
    monkeypatch.setattr(one._runtime, "_look", blind)
    there.take()
    await until(lambda: there.activation is not None)
    monkeypatch.undo()
    stop = lost.stop

    def stop_and_take(self: Any, error: BaseException) -> BaseException:
        broken = stop(error)
        here.take()
        return broken

    monkeypatch.setattr(type(lost), "stop", stop_and_take)
    await one._runtime._notice_loss(lost)

    await until(lambda: here.activation not in (None, lost))
    assert await asyncio.wait_for(here.call(3, id="third"), 20) == 4
