"""Named subscribers: each goes on where it had got to, in one kernel at a time, and skips nothing that fails."""

from __future__ import annotations

from typing import Any

import pytest
from children import OpenBench, until
from handlers import Heard

from workbench import Workbench
from workbench.errors import BadInput
from workbench.testing import ManualClock


async def test_a_name_goes_on_where_it_had_got_to(bench: Workbench, clock: ManualClock) -> None:
    orders, first, second = bench.topic("orders"), Heard(), Heard()
    await orders.publish("a")
    subscription = orders.subscribe(first, name="mail", after=0)
    await orders.publish("b")
    await clock.idle()
    await subscription.dispose()
    await orders.publish("c")
    assert orders.subscribers() == [{"subscriber": "mail", "position": 2, "behind": 1, "owner": None}]

    orders.subscribe(second, name="mail", after=0)
    await clock.idle()

    assert (first.bodies, second.bodies) == (["a", "b"], ["c"])
    assert orders.subscribers()[0]["position"] == 3


async def test_the_same_name_again_replaces_the_subscription(bench: Workbench, clock: ManualClock) -> None:
    orders, old, new = bench.topic("orders"), Heard(), Heard()
    before = orders.subscribe(old, name="mail", after=0)
    await orders.publish("a")
    await clock.idle()

    orders.subscribe(new, name="mail", after=0)
    await orders.publish("b")
    await clock.idle()

    assert (before.status, old.bodies, new.bodies) == ("disposed", ["a"], ["b"])
    assert len(orders.here) == 1


async def test_a_name_that_is_forgotten_begins_anew(bench: Workbench, clock: ManualClock) -> None:
    orders, heard = bench.topic("orders"), Heard()
    orders.subscribe(heard, name="mail", after=0)
    await orders.publish("a")
    await clock.idle()

    await orders.forget("mail")

    assert orders.subscribers() == []
    orders.subscribe(heard, name="mail", after=0)
    await clock.idle()
    assert heard.bodies == ["a", "a"]


async def test_a_failing_handler_gets_the_same_event_again(bench: Workbench, clock: ManualClock) -> None:
    orders, heard = bench.topic("orders"), Heard(fail_at="b", times=2)
    subscription = orders.subscribe(heard, name="mail", backoff=10)
    for body in "abc":
        await orders.publish(body)
    await clock.idle()
    assert (subscription.state["status"], subscription.state["attempts"]) == ("retrying", 1)

    await clock.advance(30)

    assert heard.tries == ["a", "b", "b", "b", "c"]
    assert heard.bodies == ["a", "b", "c"]
    assert subscription.state["received"] == 3


class Outcome(BaseException):
    """What a test library raises to end a test, say."""


@pytest.mark.parametrize("plain", [False, True])
async def test_whatever_a_handler_raises_it_gets_the_same_event_again(
    bench: Workbench, clock: ManualClock, plain: bool
) -> None:
    tries: list[Any] = []

    def heard(event: Any) -> None:
        tries.append(event.body)
        if len(tries) == 1:
            raise Outcome("skipped")

    async def heard_on_the_loop(event: Any) -> None:
        heard(event)

    subscription = bench.topic("orders").subscribe(heard if plain else heard_on_the_loop, name="mail", backoff=10)
    await bench.topic("orders").publish("a")
    await until(lambda: (subscription.state or {}).get("status") == "retrying", "the first try")
    await clock.advance(10)
    await until(lambda: subscription.state["status"] == "listening", "the second try")

    assert (tries, subscription.status) == (["a", "a"], "running")


async def test_a_handler_that_fails_for_good_crashes_where_it_stands(bench: Workbench, clock: ManualClock) -> None:
    orders, heard = bench.topic("orders"), Heard(fail_at="b", times=2)
    subscription = orders.subscribe(
        heard, name="mail", after=0, max_attempts=2, backoff=lambda attempts: 5.0 * attempts
    )
    for body in "abc":
        await orders.publish(body)
    await clock.advance(5)

    assert (subscription.status, repr(subscription.error)) == ("crashed", "ValueError('boom at 2')")
    assert orders.subscribers() == [{"subscriber": "mail", "position": 1, "behind": 2, "owner": None}]
    orders.subscribe(heard, name="mail")
    await clock.idle()
    assert heard.bodies == ["a", "b", "c"]


async def test_who_stands_by_takes_over(open_bench: OpenBench, make_store: Any, clock: ManualClock) -> None:
    ours, first, second = await open_bench(), Heard(), Heard()
    theirs = await Workbench.open(store=make_store(), clock=clock)
    had = theirs.topic("orders").subscribe(first, name="mail", after=0)
    await had.until(lambda state: state["status"] == "listening")
    stands_by = ours.topic("orders").subscribe(second, name="mail", after=0)
    await stands_by.until(lambda state: state["status"] == "standby")
    await ours.topic("orders").publish("a")
    await until(lambda: first.bodies == ["a"], "the event in the other kernel")
    await had.until(lambda state: state["received"] == 1)
    with pytest.raises(BadInput, match="lives in another kernel"):
        await ours.topic("orders").forget("mail")

    ours.topic("orders").subscribe(second, name="mail", after=0)
    await theirs.close()
    await ours.topic("orders").publish("b")
    await clock.advance(1)

    await until(lambda: second.bodies == ["b"], "the event here")
    assert first.bodies == ["a"]
