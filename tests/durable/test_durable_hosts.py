"""Several hosts on one place: who runs a key, who follows it, and how it changes hands."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from counters import counter
from places import Place, until

from workbench import durable
from workbench.errors import BadInput, CallConflict, CallRefused, NoCode, OwnedElsewhere, ProcessEnded


async def owned(place: Place, handled: list[Any] | None = None) -> tuple[Any, Any, Any, Any]:
    """Two benches with one definition each, and their handles of a key that the first one runs."""
    one, two = await place.open(counter(handled)), await place.open(counter(handled))
    here = one.lookup("counter", id="a")
    await here.call(1, id="first")
    there = two.lookup("counter", id="a")
    await until(lambda: there.elsewhere is not None)
    return one, two, here, there


async def test_a_second_host_follows_what_the_first_commits(place: Place) -> None:
    _, two, here, there = await owned(place)
    await here.call(4, id="x")

    assert await asyncio.wait_for(there.until(lambda total: total == 5), 20) == 5
    assert there.elsewhere.id == place.benches[0].store.host.id
    assert (there.activation, list(two.elsewhere)) == (None, ["counter:a"])


async def test_a_cast_from_elsewhere_reaches_the_owner(place: Place) -> None:
    handled: list[Any] = []
    _, _, here, there = await owned(place, handled)

    number = await there.cast(10)

    assert number > 0
    assert await asyncio.wait_for(here.until(lambda total: total == 11), 20) == 11
    assert await asyncio.wait_for(there.until(lambda total: total == 11), 20) == 11
    assert handled == [1, 10]


async def test_a_call_from_elsewhere_is_answered(place: Place) -> None:
    handled: list[Any] = []
    _, _, _, there = await owned(place, handled)

    assert await asyncio.wait_for(there.call(10, id="x"), 20) == 11
    assert await asyncio.wait_for(there.call(10, id="x"), 20) == 11
    assert handled == [1, 10]


async def test_an_answer_that_changes_no_state_arrives_elsewhere(place: Place) -> None:
    _, _, _, there = await owned(place)

    assert await asyncio.wait_for(there.call("total", id="x"), 20) == 1
    assert await asyncio.wait_for(there.call(0, id="y"), 20) == 1


async def test_one_id_from_two_hosts_is_one_execution(place: Place) -> None:
    handled: list[Any] = []
    _, _, here, there = await owned(place, handled)

    answers = await asyncio.wait_for(asyncio.gather(here.call(10, id="x"), there.call(10, id="x")), 20)

    assert (answers, handled) == ([11, 11], [1, 10])


async def test_a_conflict_and_a_refusal_are_heard_elsewhere(place: Place) -> None:
    _, _, _, there = await owned(place)

    with pytest.raises(CallConflict):
        await asyncio.wait_for(there.call(2, id="first"), 20)
    with pytest.raises(CallRefused, match="no case"):
        await asyncio.wait_for(there.call("unknown", id="x"), 20)


async def test_many_casts_from_both_sides_are_each_handled_once(place: Place) -> None:
    handled: list[Any] = []
    _, _, here, there = await owned(place, handled)

    receipts = []
    for number in range(100, 130):
        receipts += [here.cast(number), there.cast(number + 100)]
        await asyncio.sleep(0)
    await asyncio.gather(*receipts)
    expected = 1 + sum(range(100, 130)) + sum(range(200, 230))

    assert await asyncio.wait_for(here.until(lambda total: total == expected), 20) == expected
    assert sorted(handled[1:]) == [*range(100, 130), *range(200, 230)]


async def test_messages_from_both_sides_are_handled_in_the_order_of_the_journal(place: Place) -> None:
    handled: list[Any] = []
    _, _, here, there = await owned(place, handled)

    there.cast(10)
    await asyncio.sleep(0)
    here.cast(5)
    await asyncio.wait_for(here.until(lambda total: total == 16), 20)

    messages = [entry for entry in await here._runtime.store.history("counter:a") if entry.kind == "message"]
    assert [entry.payload for entry in sorted(messages, key=lambda entry: entry.seq)] == [str(one) for one in handled]


async def test_the_follower_takes_over_when_the_owner_closes(place: Place) -> None:
    one, two, _, there = await owned(place)
    await one.close()
    place.benches.remove(one)

    await until(lambda: there.activation is not None)
    there.cast(10)

    assert await there.until(lambda total: total == 11) == 11
    assert (there.elsewhere, two.elsewhere) == (None, {})


async def test_the_follower_takes_over_when_the_owner_dies(place: Place) -> None:
    handled: list[Any] = []
    one, _, here, there = await owned(place, handled)
    here.cast("hang")
    await until(lambda: handled == [1, "hang"])
    await place.crash(one)
    for _ in range(40):
        await place.clock.advance(1)

    await until(lambda: handled == [1, "hang", "hang"])
    assert there.activation is not None


async def test_a_call_that_waits_elsewhere_moves_with_the_key(place: Place) -> None:
    handled: list[Any] = []
    gate = asyncio.Event()

    @durable(key="slow:{id}", name="slow")
    async def slow(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            handled.append(1)
            await gate.wait()
            message.reply("done")
            yield 1

    one, two = await place.open(slow), await place.open(slow)
    await one.lookup(slow, id="a").until(lambda state: True)
    there = two.lookup(slow, id="a")
    await until(lambda: there.elsewhere is not None)
    answer = there.call("work", id="x")
    await until(lambda: handled == [1])
    await one.close()
    place.benches.remove(one)
    gate.set()

    assert await asyncio.wait_for(answer, 20) == "done"


async def test_a_fenced_activation_ends_quietly_and_follows(place: Place) -> None:
    handled: list[Any] = []
    one, two, here, _ = await owned(place, handled)
    here.cast("hang")
    await until(lambda: handled == [1, "hang"])
    await two.store.claim("counter:a", force=True)
    await two.store.load("counter:a")

    receipt = here.cast(5)
    with pytest.raises(ProcessEnded, match="now belongs to another activation"):
        await receipt
    await until(lambda: here.elsewhere is not None)

    assert here.elsewhere.id == two.store.host.id
    assert isinstance(here.error, OwnedElsewhere)
    assert (here.status, here.state) == ("running", 1)
    assert "counter:a" not in one._runtime.live


async def test_nothing_of_a_fenced_message_lands(place: Place) -> None:
    gate = asyncio.Event()

    @durable(key="slow:{id}", name="slow")
    async def slow(ctx, id: str):
        yield ctx.restored or 0
        async for message in ctx:
            yield "half"
            await gate.wait()
            await ctx.step("work", lambda: 1)
            yield message

    one, two = await place.open(slow), await place.open(slow, worker=False)
    handle = one.lookup(slow, id="a")
    await handle.cast("whole")
    await handle.until(lambda state: state == "half")
    await two.store.claim("slow:a", force=True)
    await two.store.load("slow:a")
    gate.set()
    await until(lambda: handle.elsewhere is not None)

    info = await two.store.key_info("slow:a")
    assert (info.snapshot, info.cursor, info.last_seq) == (None, 0, 1)
    assert await two.store.steps("slow:a", 1) == []


async def test_a_host_that_is_no_worker_only_accepts(place: Place) -> None:
    handled: list[Any] = []
    front = await place.open(counter(handled), worker=False)
    handle = front.lookup("counter", id="a")
    await handle.cast(5)
    answer = asyncio.ensure_future(handle.call(6, id="x"))
    await place.clock.advance(5)
    assert (handled, handle.status, front._runtime.live) == ([], "starting", {})

    await place.open(counter(handled))

    assert await asyncio.wait_for(answer, 20) == 11
    assert await asyncio.wait_for(handle.until(lambda total: total == 11), 20) == 11


async def test_a_call_to_a_worker_that_closed_says_so(place: Place) -> None:
    front = await place.open(counter(), worker=False)
    answer = asyncio.ensure_future(front.lookup("counter", id="a").call(6, id="x"))
    await until(lambda: front.store.history_now("counter:a"))

    await front.close()
    place.benches.remove(front)

    with pytest.raises(ProcessEnded, match="call again with the same id"):
        await asyncio.wait_for(answer, 20)


async def test_a_call_whose_worker_closed_while_it_was_posted_says_so(place: Place) -> None:
    front, posted, go = await place.open(counter(), worker=False), asyncio.Event(), asyncio.Event()
    post = front.store.post

    async def slow(*args: Any, **options: Any) -> None:
        await post(*args, **options)
        posted.set()
        await go.wait()

    front.store.post = slow  # type: ignore[method-assign]
    answer = asyncio.ensure_future(front.lookup("counter", id="a").call(6, id="x"))
    await posted.wait()

    await front.close()
    place.benches.remove(front)
    go.set()

    with pytest.raises(ProcessEnded, match="call again with the same id"):
        await asyncio.wait_for(answer, 20)


async def test_a_reopened_place_carries_on(place: Place) -> None:
    handled: list[Any] = []
    bench = await place.open(counter(handled))
    await bench.lookup("counter", id="a").cast("hang")
    await until(lambda: handled == ["hang"])
    await bench.close()
    place.benches.remove(bench)

    bench = await place.open(counter(handled))
    await until(lambda: handled == ["hang", "hang"])

    assert bench.elsewhere == {}


async def test_recovery_leaves_what_a_live_host_owns(place: Place) -> None:
    handled: list[Any] = []
    one = await place.open(counter(handled))
    await one.lookup("counter", id="a").cast("hang")
    await until(lambda: handled == ["hang"])

    two = await place.open(counter(handled))
    for _ in range(90):
        await place.clock.advance(1)
        if place.kind == "sqlite":
            await one.store.renew(place.clock.now() + 30)

    assert handled == ["hang"]
    assert (list(one._runtime.live), list(two._runtime.live)) == (["counter:a"], [])


async def test_a_definition_that_is_not_here_is_named(place: Place) -> None:
    bench = await place.open(counter())

    with pytest.raises(NoCode, match=r"no definition 'order' here, there are \['counter'\]"):
        bench.lookup("order", id="a")
    with pytest.raises(BadInput, match="does not take"):
        bench.lookup("counter", number="a")


async def test_a_disposed_follower_stops_following(place: Place) -> None:
    _, two, _, there = await owned(place)
    reading = asyncio.ensure_future(_all(there))
    assert await there.until(lambda total: total == 1) == 1

    await there.dispose()

    assert (await asyncio.wait_for(reading, 5))[-1] == 1
    assert (there.status, dict(two._runtime.following)) == ("disposed", {})


async def test_a_look_that_was_under_way_brings_no_disposed_follower_back(place: Place) -> None:
    _, two, _, there = await owned(place)
    assert await there.until(lambda total: total == 1) == 1
    followed = list(two._runtime.following.values())  # as whoever looks has them, and awaits the store in between

    await there.dispose()
    assert len(followed) == 1
    for each in followed:
        await each.refresh()

    assert (there.status, there.states.over, there.elsewhere) == ("disposed", True, None)
    assert dict(two._runtime.following) == {}


async def _all(handle: Any) -> list[Any]:
    return [state async for state in handle]


async def test_a_key_moves_here_when_it_is_taken(place: Place) -> None:
    handled: list[Any] = []
    one, two, here, there = await owned(place, handled)

    assert two.lookup("counter", id="a", take=True) is there
    assert await asyncio.wait_for(there.call(10, id="x"), 20) == 11
    await until(lambda: here.elsewhere is not None)

    assert (here.elsewhere.id, there.elsewhere) == (two.store.host.id, None)
    assert isinstance(here.error, OwnedElsewhere)
    assert await asyncio.wait_for(here.call(100, id="y"), 20) == 111
    assert (list(one._runtime.live), list(two._runtime.live)) == ([], ["counter:a"])
    assert [life.how for life in two.store.activations_now("counter:a")] == ["fenced", None]
    assert handled == [1, 10, 100]


async def test_a_message_whose_key_is_taken_at_work_counts_no_attempt(place: Place) -> None:
    gates = [asyncio.Event(), asyncio.Event()]

    @durable(key="desk:{id}", name="desk", max_attempts=1)
    async def desk(ctx, id: str):
        yield ctx.restored or "open"
        async for message in ctx:
            if not gates[0].is_set():
                gates[0].set()
                await gates[1].wait()
            yield message

    one, two = await place.open(desk), await place.open(desk)
    here = one.lookup(desk, id="a")
    await here.cast("closed")
    await gates[0].wait()

    there = two.lookup(desk, id="a", take=True)

    assert await asyncio.wait_for(there.until(lambda state: state == "closed"), 20) == "closed"
    assert list(two.dead_letters.all()) == []
    assert [row["kind"] for row in two.journal("desk:a") if row["kind"] == "attempt"] == []


async def test_who_waits_for_a_message_notices_that_its_key_was_taken(place: Place) -> None:
    ended: list[str] = []

    @durable(key="desk:{id}", name="desk")
    async def desk(ctx, id: str):
        try:
            yield ctx.restored or "open"
            async for message in ctx:
                yield message
        finally:
            ended.append(id)

    one, two = await place.open(desk), await place.open(desk)
    here = one.lookup(desk, id="a")
    await here.until(lambda state: state == "open")
    two.lookup(desk, id="a", take=True)

    await until(lambda: here.elsewhere is not None)

    assert (ended, here.status) == (["a"], "running" if here.state else "starting")
    assert str(here.error).startswith("'desk:a' now belongs to pid ")


async def test_a_key_is_taken_also_while_it_is_being_asked_for(place: Place) -> None:
    one, two = await place.open(counter()), await place.open(counter())
    await one.lookup("counter", id="a").call(1, id="first")

    there = two.lookup("counter", id="a")
    await asyncio.sleep(0)
    assert two.lookup("counter", id="a", take=True) is there

    assert await asyncio.wait_for(there.call(10, id="x"), 20) == 11
    await until(lambda: there.activation is not None)


async def test_taking_what_lives_here_changes_nothing(place: Place) -> None:
    one, _, here, _ = await owned(place)
    epoch = here.epoch

    assert one.lookup("counter", id="a", take=True) is here
    assert await here.call(5, id="x") == 6

    assert here.epoch == epoch


async def test_a_bench_that_runs_nothing_takes_nothing(place: Place) -> None:
    bench = await place.open(counter(), worker=False)

    with pytest.raises(BadInput, match="'counter:a' cannot be taken by a bench that runs nothing"):
        bench.lookup("counter", id="a", take=True)


def test_a_body_leaves_the_name_take_to_lookup() -> None:
    with pytest.raises(BadInput, match=r"odd has a parameter 'take', which bench.lookup has for itself"):

        @durable(key="odd:{take}", name="odd")
        async def odd(ctx, take: str):
            yield take


async def test_who_begins_to_follow_as_the_owner_leaves_takes_over(place: Place, monkeypatch) -> None:
    one, two = await place.open(counter()), await place.open(counter())
    await one.lookup("counter", id="a").call(1, id="first")
    store, look = two.store, two.store.key_info

    async def look_late(key: str) -> Any:
        """The owner leaves between the claim that was refused and the first look at what it committed."""
        monkeypatch.setattr(store, "key_info", look)
        place.benches.remove(one)
        await one.close()
        return await look(key)

    monkeypatch.setattr(store, "key_info", look_late)

    there = two.lookup("counter", id="a")

    await until(lambda: there.activation is not None)
    assert await there.call(10, id="second") == 11
    assert two.lookup("counter", id="a") is there
