"""The laws of beginning: one operation in place of registering, claiming, loading, reading and collecting.

Source: DESIGN rules 3 to 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.journal import Commit, Logged, StepRecord
from workbench.testing.conformance.journal import begin, is_fenced
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.testing.clock import ManualClock

__all__ = ["BEGINNINGS"]

BEGINNINGS: list[Law] = []
law = enrol(BEGINNINGS)

WHAT = ("order", '{"id":"1"}')
STEP = StepRecord("", "charge", 0, '"done"', position=1)


@law
async def a_life_begins_from_the_last_commit(open_store: Open, clock: ManualClock) -> None:
    """Without it, a recovered process starts from nothing, or from the middle of a message."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    for message in ('"one"', '"two"'):
        await store.append("order:1", epoch, message)
    await store.commit("order:1", epoch, Commit('"after one"', 3, 1))

    begun = await store.begin("order:1", *WHAT)

    assert (begun.definition, begun.args, begun.owner) == (*WHAT, None)
    assert begun.loaded is not None
    assert begun.loaded.epoch > epoch
    assert (begun.loaded.snapshot, begun.loaded.version, begun.loaded.cursor) == ('"after one"', 3, 1)
    assert await is_fenced(store.append("order:1", epoch, '"late"'))


@law
async def a_life_begins_with_all_that_waits(open_store: Open, clock: ManualClock) -> None:
    """Without it, a message is handled late or never: logged ones come first, posted ones behind them."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    for message in ('"done"', '"logged"'):
        await ours.append("order:1", epoch, message)
    await ours.commit("order:1", epoch, Commit(None, 0, 1))
    await theirs.post("order:1", '"posted"', id="call-1")

    begun = await ours.begin("order:1", *WHAT)

    assert [(logged.message, logged.call_id) for logged in begun.waiting] == [
        ('"logged"', None),
        ('"posted"', "call-1"),
    ]
    assert list(begun.waiting) == await ours.pending("order:1", 1)
    assert await ours.posted() == []


@law
async def a_life_begins_with_the_records_of_its_first_message(open_store: Open, clock: ManualClock) -> None:
    """Without it, an effect that is recorded is repeated."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    for number in (1, 2):
        await store.append("order:1", epoch, f'"{number}"')
        await store.put_step("order:1", epoch, number, STEP)
    await store.put_step("order:1", epoch, 1, StepRecord("", "mail", 0, "null", position=2))

    begun = await store.begin("order:1", *WHAT)

    assert [(record.name, record.payload) for record in begun.head] == [("charge", '"done"'), ("mail", "null")]
    assert list(begun.head) == await store.steps("order:1", 1)


@law
async def a_life_says_whether_a_request_of_its_key_is_open(open_store: Open, clock: ManualClock) -> None:
    """Without it, kernels that die while a person thinks set the message aside."""
    store = await open_store()
    await store.put_record("approval", "ap-1", "order:1", "{}", status="pending", at=clock.now())
    await store.put_record("approval", "ap-2", "order:2", "{}", status="pending", at=clock.now())
    await store.decide_record("approval", "ap-2", expect="pending", status="approved", decision="{}", at=clock.now())

    assert (await store.begin("order:1", *WHAT)).asks
    assert not (await store.begin("order:2", *WHAT)).asks


@law
async def a_key_of_a_live_host_does_not_begin_elsewhere(open_store: Open, clock: ManualClock) -> None:
    """Without it, two kernels work on one key; forced, it begins, and the other is fenced."""
    ours, theirs = await open_store(), await open_store()
    first = await ours.begin("order:1", *WHAT)
    assert first.loaded is not None

    refused = await theirs.begin("order:1", *WHAT)
    assert (refused.owner, refused.loaded, refused.waiting) == (ours.host, None, ())
    assert await ours.append("order:1", first.loaded.epoch, '"mine"') == 1

    forced = await theirs.begin("order:1", *WHAT, force=True)
    assert forced.owner is None
    assert forced.waiting == (Logged(1, '"mine"'),)
    assert await is_fenced(ours.append("order:1", first.loaded.epoch, '"late"'))


@law
async def a_key_that_is_something_else_does_not_begin(open_store: Open, clock: ManualClock) -> None:
    """Without it, two processes share one journal; what the key is stored as is said."""
    store = await open_store()
    begun = await store.begin("order:1", *WHAT)
    assert begun.loaded is not None

    for other in (("invoice", WHAT[1]), ("order", '{"id":"2"}')):
        refused = await store.begin("order:1", *other)
        assert (refused.definition, refused.args, refused.loaded) == (*WHAT, None)

    assert await store.append("order:1", begun.loaded.epoch, '"mine"') == 1


@law
async def a_life_begins_as_cut_off_when_the_one_before_said_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, deaths are not counted, and a message that kills every kernel is delivered for ever."""
    store = await open_store()
    first = await store.begin("order:1", *WHAT)
    second = await store.begin("order:1", *WHAT)
    assert first.loaded is not None
    assert second.loaded is not None
    await store.release("order:1", second.loaded.epoch, "done", "")
    third = await store.begin("order:1", *WHAT)
    assert third.loaded is not None

    assert [first.loaded.cut_off, second.loaded.cut_off, third.loaded.cut_off] == [False, True, False]
