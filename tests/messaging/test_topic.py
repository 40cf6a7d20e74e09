"""Topics: events in order for everyone who listens, from now, from a position, or from where a name had got to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from children import OpenBench, until
from handlers import Heard

from workbench import Workbench, durable, process
from workbench.errors import BadInput, NotPlain
from workbench.messaging.event import Event
from workbench.testing import ManualClock


async def listen(bench: Workbench, count: int, **where: Any) -> list[Event]:
    """The next `count` events of `orders`."""
    found = []
    async for event in bench.topic("orders").events(**where):
        found.append(event)
        if len(found) == count:
            return found
    raise AssertionError("the topic ended")


async def test_a_publish_gives_the_position_of_its_event(bench: Workbench, clock: ManualClock) -> None:
    orders = bench.topic("orders")

    positions = [await orders.publish("a"), *await asyncio.gather(orders.publish("b"), orders.publish("c"))]

    assert positions == [1, 2, 3]
    assert await bench.topic("mail").publish("x") == 1
    assert orders.history() == [
        {"position": at, "at": clock.now(), "body": body} for at, body in enumerate("abc", start=1)
    ]
    assert bench.topic("orders") is orders


async def test_an_event_is_what_was_published(bench: Workbench, clock: ManualClock) -> None:
    body = {"tuple": (1, 2), "bytes": b"x"}
    await bench.topic("orders").publish(body)

    assert await listen(bench, 1, after=0) == [Event("orders", 1, clock.now(), body)]


async def test_a_listener_hears_what_comes_and_nothing_before(bench: Workbench, clock: ManualClock) -> None:
    orders = bench.topic("orders")
    await orders.publish("before")
    heard = asyncio.ensure_future(listen(bench, 2))
    await clock.idle()
    await bench.topic("mail").publish("of another topic")
    orders.publish("one")
    orders.publish("two")

    assert [event.body for event in await heard] == ["one", "two"]


async def test_a_listener_begins_after_a_position(bench: Workbench) -> None:
    for number in range(250):
        bench.topic("orders").publish(number)
    await bench.topic("orders").publish(250)

    events = await listen(bench, 248, after=3)

    assert [(event.position, event.body) for event in events] == [(number + 1, number) for number in range(3, 251)]


async def test_a_feed_shows_the_last_events_and_is_shared(bench: Workbench, clock: ManualClock) -> None:
    orders = bench.topic("orders")
    await orders.publish("before")

    feed = orders.feed()
    await clock.idle()
    for number in range(8):
        await orders.publish(number)
    await feed.until(lambda state: state["position"] == 9)

    assert orders.feed() is feed
    assert feed.state == {
        "topic": "orders",
        "subscriber": None,
        "status": "listening",
        "position": 9,
        "received": 8,
        "missed": 0,
        "last": [2, 3, 4, 5, 6, 7],
    }
    await feed.dispose()
    assert not orders.reel.waits
    assert orders.feed() is not feed


async def test_disposing_a_subscription_unsubscribes(bench: Workbench, clock: ManualClock) -> None:
    orders, heard = bench.topic("orders"), Heard()
    subscription = orders.subscribe(heard)
    await orders.publish("a")
    await clock.idle()

    await subscription.dispose()
    await orders.publish("b")
    await clock.idle()

    assert heard.bodies == ["a"]
    assert orders.here == []


async def test_a_plain_function_is_called_in_a_thread(bench: Workbench) -> None:
    orders, threads = bench.topic("orders"), []

    def handle(event: Event) -> None:
        threads.append(threading.current_thread() is threading.main_thread())

    subscription = orders.subscribe(handle)
    await orders.publish("a")
    await subscription.until(lambda state: state["received"] == 1)

    assert threads == [False]


async def test_a_process_is_cast_each_event(bench: Workbench, clock: ManualClock) -> None:
    @process
    async def total(ctx: Any) -> AsyncGenerator[int, None]:
        found = 0
        yield found
        async for message in ctx:
            match message:
                case {"type": "event", "topic": "orders", "body": {"price": price}}:
                    found += price
            yield found

    orders, counter = bench.topic("orders"), bench.spawn(total)
    orders.subscribe(counter)
    for price in (1, 2, 3):
        await orders.publish({"price": price})
    await clock.idle()

    assert counter.state == 6
    with pytest.raises(BadInput, match="lives in memory and forgets, so it cannot go on as 'sum'"):
        orders.subscribe(counter, name="sum")


@durable(key="ledger:{name}")
async def ledger(ctx: Any, name: str) -> AsyncGenerator[list[Any], None]:
    entries = ctx.restored or []
    yield entries
    async for message in ctx:
        entries = [*entries, message["body"]]
        yield entries


async def test_a_durable_process_has_each_event_in_its_log_once(bench: Workbench, clock: ManualClock) -> None:
    orders, book = bench.topic("orders"), bench.lookup(ledger, name="a")
    subscription = orders.subscribe(book, after=0)
    for number in range(5):
        await orders.publish(number)
    await book.until(lambda entries: len(entries) == 5)
    await subscription.dispose()
    await book.kill()
    await orders.publish(5)

    orders.subscribe(book, after=0)
    await until(lambda: book.state == [0, 1, 2, 3, 4, 5], "the event that came while it was killed")

    history = await bench.store.history(book.key)
    assert [entry.seq for entry in history if entry.kind == "message"] == [1, 2, 3, 4, 5, 6]
    assert [row["subscriber"] for row in orders.subscribers()] == ["ledger:a"]


async def test_a_durable_process_in_another_kernel_has_the_events_too(
    open_bench: OpenBench, clock: ManualClock
) -> None:
    ours, theirs = await open_bench(), await open_bench()
    book = theirs.lookup(ledger, name="a")
    await book.until(lambda entries: entries == [])
    far = ours.lookup(ledger, name="a")
    await until(lambda: far.elsewhere is not None, "our kernel to see whose it is")

    ours.topic("orders").subscribe(far, after=0)
    for number in range(3):
        await theirs.topic("orders").publish(number)

    await until(lambda: book.state == [0, 1, 2], "the events in the other kernel")
    await until(lambda: far.state == [0, 1, 2], "its state here")


async def test_events_that_were_forgotten_are_counted_as_missed(bench: Workbench, clock: ManualClock) -> None:
    orders, heard = bench.topic("orders"), Heard()
    for number in range(10):
        await orders.publish(number)

    assert await orders.prune(keep=4) == 6

    subscription = orders.subscribe(heard, after=2)
    await clock.idle()
    assert heard.bodies == [6, 7, 8, 9]
    assert (subscription.state["received"], subscription.state["missed"]) == (4, 4)
    assert (orders.info.last, orders.info.pruned) == (10, 6)


async def test_old_events_are_forgotten_by_age_and_by_count(bench: Workbench, clock: ManualClock) -> None:
    orders = bench.topic("orders", keep=3)
    await clock.idle()
    for number in range(99):
        orders.publish(number)
    await clock.idle()
    assert orders.info.pruned == 0

    await orders.publish(99)
    await clock.idle()
    assert (orders.info.last, orders.info.pruned) == (100, 97)
    await clock.advance(60)
    await orders.publish("new")
    bench.topic("orders", keep_for=60)
    await clock.idle()
    assert orders.info.pruned == 97
    assert await orders.prune(older_than=59) == 3
    assert [row["body"] for row in orders.history()] == ["new"]


async def test_an_event_of_another_kernel_is_heard_here(open_bench: OpenBench) -> None:
    ours, theirs = await open_bench(), await open_bench()
    heard = asyncio.ensure_future(listen(ours, 2))
    feed = ours.topic("orders").feed()
    await until(lambda: feed.status == "running", "the feed")

    await theirs.topic("orders").publish("a")
    await theirs.topic("orders").publish("b")

    assert [event.body for event in await heard] == ["a", "b"]
    assert (await feed.until(lambda state: state["received"] == 2))["last"] == ["a", "b"]


async def test_listening_costs_no_thread_and_no_statement(bench: Workbench, clock: ManualClock) -> None:
    orders = bench.topic("orders")
    heard = [asyncio.ensure_future(listen(bench, 1)) for _ in range(100)]
    await clock.idle()
    threads, reads = threading.active_count(), []
    read = bench.store.topics.read_now
    bench.store.topics.read_now = lambda *args: reads.append(args) or read(*args)  # type: ignore[method-assign]

    await clock.advance(600)
    assert (reads, threading.active_count()) == ([], threads)
    await orders.publish("a")

    assert {event.body for (event,) in await asyncio.gather(*heard)} == {"a"}
    assert len(reads) == 1


async def test_closing_the_bench_ends_the_subscriptions(make_store: Any) -> None:
    bench = await Workbench.open(store=make_store())
    orders = bench.topic("orders")
    feed, mail = orders.feed(), orders.subscribe(Heard(), name="mail")
    published = orders.publish("a")

    await bench.close()

    assert (feed.status, mail.status, await published) == ("disposed", "disposed", 1)
    async with Workbench.open(store=make_store()) as again:
        assert again.topic("orders").info.last == 1
        assert [row["owner"] for row in again.topic("orders").subscribers()] == [None]


async def test_a_topic_shows_itself_as_a_table(bench: Workbench, clock: ManualClock) -> None:
    orders = bench.topic("orders")
    for number in range(3):
        await orders.publish(number)
    await orders.prune(keep=2)
    orders.subscribe(Heard(), name="<mail>")
    await clock.idle()

    assert repr(orders).split() == [
        *("topic", "events", "last", "pruned", "subscribers", "here"),
        *("orders", "2", "3", "1", "1", "1"),
    ]
    assert "&lt;mail&gt;" in orders._repr_html_()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda topic: topic.subscribe(7), "a topic is subscribed by a function of an event or a process, found 7"),
        (lambda topic: topic.subscribe(print, after=-1), "after is a whole number from 0, found -1"),
        (lambda topic: topic.subscribe(print, name=""), "a subscriber is a text of at least one character, found ''"),
        (lambda topic: topic.subscribe(print, max_attempts=0), "max_attempts is a whole number from 1, found 0"),
        (lambda topic: topic.subscribe(print, backoff="1"), "backoff is a number of seconds, at least 0, found '1'"),
        (lambda topic: topic.events(after=True), "after is a whole number from 0, found True"),
        (lambda topic: topic.retain(keep=1.5), "keep is a whole number from 0, found 1.5"),
        (lambda topic: topic.retain(keep_for=-1), "keep_for is a number of seconds, at least 0, found -1"),
    ],
)
async def test_what_makes_no_sense_is_refused(bench: Workbench, call: Any, words: str) -> None:
    with pytest.raises(BadInput) as refused:
        call(bench.topic("orders"))

    assert str(refused.value) == words or str(refused.value).startswith(words + ";")


async def test_what_is_not_plain_is_no_event(bench: Workbench) -> None:
    with pytest.raises(NotPlain, match=r"event\.when"):
        bench.topic("orders").publish({"when": object()})
    with pytest.raises(BadInput, match="a topic is a text"):
        bench.topic("")


async def test_an_event_that_another_kernel_published_while_nobody_waited_is_read(open_bench: OpenBench) -> None:
    ours, theirs = await open_bench(), await open_bench()
    stream = ours.topic("orders").events(after=0)
    first = asyncio.ensure_future(anext(stream))
    await theirs.topic("orders").publish(1)
    assert (await first).body == 1
    room = ours.topic("orders")._room
    assert room._unwatch is not None
    room._unwatch()

    await theirs.topic("orders").publish(2)
    room._look()  # the notice comes while nobody waits, and no other comes

    assert (await asyncio.wait_for(anext(stream), 10)).body == 2
