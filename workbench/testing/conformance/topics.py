"""The laws of topics: events keep their positions, and a subscriber goes on where it had got to.

Source: PROCESSES 6.3, DESIGN rules 5 and 10.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.store.topic import Joined, Post, TopicInfo
from workbench.testing.conformance.journal import begin
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.store.store import Store
    from workbench.testing.clock import ManualClock

__all__ = ["TOPICS"]

TOPICS: list[Law] = []
law = enrol(TOPICS)


def read(store: Store, topic: str = "orders", after: int = 0, limit: int = 100) -> list[tuple[int, str]]:
    """The positions and bodies of events."""
    return [(event.position, event.body) for event in store.topics.read_now(topic, after, limit)]


@law
async def positions_rise_by_one_in_each_topic(open_store: Open, clock: ManualClock) -> None:
    """Without it, a reader cannot tell whether it missed an event."""
    store = await open_store()

    positions = [await store.topics.publish("orders", ['"a"']), await store.topics.publish("orders", ['"b"', '"c"'])]
    other = await store.topics.publish("Orders", ['"x"'])

    assert (positions, other) == ([[1], [2, 3]], [1])
    assert store.topics.topics_now() == [TopicInfo("orders", 3, 0), TopicInfo("Orders", 1, 0)]


@law
async def hosts_that_publish_at_once_share_the_positions(open_store: Open, clock: ManualClock) -> None:
    """Without it, an event takes the place of another's."""
    ours, theirs = await open_store(), await open_store()

    positions = await asyncio.gather(
        *(store.topics.publish("orders", [f'"{number}"']) for number in range(5) for store in (ours, theirs))
    )

    assert sorted(positions) == [[number] for number in range(1, 11)]
    assert [position for position, _ in read(theirs)] == list(range(1, 11))
    assert sorted(body for _, body in read(ours)) == sorted(f'"{number}"' for number in range(5) for _ in range(2))


@law
async def events_are_read_in_order_after_a_position(open_store: Open, clock: ManualClock) -> None:
    """Without it, a reader sees an event twice, or never."""
    store = await open_store()
    await store.topics.publish("orders", ['"a"', '"b"'])
    await clock.advance(1)
    await store.topics.publish("orders", ['"c"', '"d"'])

    assert read(store, after=1, limit=2) == [(2, '"b"'), (3, '"c"')]
    assert read(store, after=3) == [(4, '"d"')]
    assert read(store, after=4) == read(store, after=9) == read(store, "none") == []
    assert [event.at for event in store.topics.read_now("orders", 0, 9)] == [clock.now() - 1] * 2 + [clock.now()] * 2


@law
async def a_subscriber_goes_on_where_it_had_got_to(open_store: Open, clock: ManualClock) -> None:
    """Without it, a restart repeats what was handled, or skips what was not."""
    store = await open_store()
    assert await store.topics.join("orders", "mail", 2) == Joined(2)
    assert await store.topics.join("orders", "bill", 0) == Joined(0)
    await clock.advance(1)

    assert await store.topics.advance("orders", "mail", 2, 5)

    assert await store.topics.join("orders", "mail", 0) == Joined(5)
    bill, mail = store.topics.subscribers_now("orders")
    assert (bill.name, bill.position, bill.at) == ("bill", 0, clock.now() - 1)
    assert (mail.name, mail.position, mail.at) == ("mail", 5, clock.now())
    assert mail.owner is not None
    assert mail.owner.id == store.host.id


@law
async def a_subscriber_belongs_to_one_live_host(open_store: Open, clock: ManualClock) -> None:
    """Without it, two kernels handle every event; or nobody does when one dies."""
    ours, theirs, dies = await open_store(), await open_store(), await open_store()
    await dies.topics.join("orders", "mail", 3)

    refused = await theirs.topics.join("orders", "mail", 0)

    assert refused.position == 3
    assert refused.owner is not None
    assert refused.owner.id == dies.host.id
    assert not await theirs.topics.part("orders", "mail", forget=True)
    await dies.close()
    assert ours.topics.subscribers_now("orders")[0].owner is None
    assert await theirs.topics.join("orders", "mail", 0) == Joined(3)


@law
async def a_subscriber_that_parted_is_free(open_store: Open, clock: ManualClock) -> None:
    """Without it, a subscription that was disposed keeps others from it."""
    ours, theirs = await open_store(), await open_store()
    await ours.topics.join("orders", "mail", 3)

    assert await ours.topics.part("orders", "mail")

    assert not await ours.topics.advance("orders", "mail", 3, 4)
    assert await theirs.topics.join("orders", "mail", 0) == Joined(3)
    assert await theirs.topics.part("orders", "nobody")


@law
async def a_subscriber_that_is_forgotten_begins_anew(open_store: Open, clock: ManualClock) -> None:
    """Without it, a name can never be used for something else."""
    store = await open_store()
    await store.topics.join("orders", "mail", 3)

    assert await store.topics.part("orders", "mail", forget=True)

    assert store.topics.subscribers_now("orders") == []
    assert await store.topics.join("orders", "mail", 7) == Joined(7)


@law
async def a_move_is_compared(open_store: Open, clock: ManualClock) -> None:
    """Without it, a subscription that was given up moves the one that follows it."""
    ours, theirs = await open_store(), await open_store()
    await ours.topics.join("orders", "mail", 0)
    assert await ours.topics.advance("orders", "mail", 0, 1)

    late = [
        await ours.topics.advance("orders", "mail", 0, 9),
        await ours.topics.advance("orders", "mail", 2, 9),
        await theirs.topics.advance("orders", "mail", 1, 9),
        await ours.topics.advance("orders", "nobody", 0, 9),
        await ours.topics.advance("none", "mail", 1, 9),
    ]

    assert late == [False] * 5
    assert [mark.position for mark in ours.topics.subscribers_now("orders")] == [1]


@law
async def a_delivered_event_is_in_the_log_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, a crash between the post and the mark does something twice, or never."""
    ours, theirs = await open_store(), await open_store()
    await ours.topics.join("orders", "report", 0)
    post = Post("report:1", '"event 1"', clock.now(), "report", "{}")

    first = await ours.topics.deliver("orders", "report", 0, 1, post)
    again = await ours.topics.deliver("orders", "report", 0, 1, post)
    stranger = await theirs.topics.deliver("orders", "report", 1, 2, post)

    assert (first, again, stranger) == (True, False, False)
    assert [mark.position for mark in ours.topics.subscribers_now("orders")] == [1]
    assert [logged.message for logged in await ours.pending("report:1", 0)] == ['"event 1"']
    assert await ours.due(clock.now(), clock.now() + 60, 9) == ["report:1"]
    await begin(theirs, "report:1")
    assert await ours.topics.deliver("orders", "report", 1, 2, Post("report:1", '"event 2"'))
    assert await theirs.posted() == ["report:1"]


@law
async def forgotten_events_are_counted_and_their_positions_stay(open_store: Open, clock: ManualClock) -> None:
    """Without it, a topic grows for ever, or a reader takes a new event for an old one."""
    store = await open_store()
    await store.topics.publish("orders", ['"a"', '"b"'])
    await clock.advance(10)
    await store.topics.publish("orders", ['"c"', '"d"', '"e"'])

    by_time = await store.topics.forget("orders", before=clock.now())
    by_count = await store.topics.forget("orders", keep=2)
    nothing = await store.topics.forget("orders", before=clock.now(), keep=5)

    assert (by_time, by_count, nothing) == (2, 1, 0)
    assert store.topics.topics_now() == [TopicInfo("orders", 5, 3)]
    assert read(store) == [(4, '"d"'), (5, '"e"')]
    assert read(store, after=4) == [(5, '"e"')]
    assert await store.topics.forget("orders", keep=0) == 2
    assert await store.topics.publish("orders", ['"f"']) == [6]
    assert (read(store), await store.topics.forget("none", keep=0)) == ([(6, '"f"')], 0)


@law
async def prune_forgets_events_that_are_old(open_store: Open, clock: ManualClock) -> None:
    """Without it, topics are what makes a store grow; or a large event loses its body with the others."""
    store = await open_store()
    large = '"' + "long " * 40_000 + '"'
    await store.topics.publish("orders", ['"old"', large])
    await clock.advance(100)
    await store.topics.publish("orders", [large, '"æ 😀 \u2028 \\u0000"'])

    assert await store.prune(clock.now() - 100) == 0
    assert await store.prune(clock.now()) == 2

    assert read(store) == [(3, large), (4, '"æ 😀 \u2028 \\u0000"')]


@law
async def an_event_of_another_host_is_told(open_store: Open, clock: ManualClock) -> None:
    """Without it, whoever listens in another kernel has to poll."""
    ours, theirs = await open_store(), await open_store()
    told = asyncio.Event()
    stop = ours.watch(told.set)

    await theirs.topics.publish("orders", ['"a"'])
    await told.wait()
    stop()

    assert read(ours) == [(1, '"a"')]
