"""The laws of letters: what becomes of messages that were set aside, over hosts that decide at once.

Source: PROCESSES B.4, `workbench.store.letters`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.store.journal import Commit, DeadLetter, Logged
from workbench.testing.conformance.journal import begin, record
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.store.store import Store
    from workbench.testing.clock import ManualClock

__all__ = ["LETTERS"]

LETTERS: list[Law] = []
law = enrol(LETTERS)


async def set_aside(store: Store, key: str, call_id: str | None = None) -> tuple[int, int]:
    """Set the first message of a key aside after one finished step; gives its epoch and the letter's id."""
    epoch = await begin(store, key)
    seq = await store.append(key, epoch, '"poison"', call_id)
    await store.put_step(key, epoch, seq, record("charge"))
    letter = DeadLetter(seq, '"poison"', call_id, "boom", 3)
    answers = [(call_id, '"it failed"')] if call_id is not None else []
    await store.commit(key, epoch, Commit("1", 0, seq, answers, letter))
    return epoch, store.letters_now(key=key)[0].id


@law
async def letters_are_listed_across_keys(open_store: Open, clock: ManualClock) -> None:
    """Without it, what was set aside is found by luck."""
    store = await open_store()
    for key in ("order:1", "order:2"):
        await store.register(key, "order", "{}")
        await set_aside(store, key)
        await clock.advance(1)

    found = store.letters_now()

    assert [(one.key, one.definition, one.letter.error, one.letter.attempts) for one in found] == [
        ("order:1", "order", "boom", 3),
        ("order:2", "order", "boom", 3),
    ]
    assert [found[1].at - found[0].at, found[0].id < found[1].id] == [1, True]
    assert store.letters_now(key="order:2") == found[1:]


@law
async def a_letter_is_decided_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, two hosts requeue one message and it is handled twice."""
    one, two = await open_store(), await open_store()
    _, id = await set_aside(one, "order:1")

    decided = await asyncio.gather(
        one.requeue_letter(id, by="one"), two.requeue_letter(id, by="two"), one.discard_letter(id, by="three")
    )

    assert sorted(decided) == [False, False, True]
    epoch = (await one.load("order:1")).epoch
    assert len(await one.collect("order:1", epoch)) == decided[:2].count(True)
    assert await one.requeue_letter(id, by="four") is False
    assert await one.requeue_letter(id + 1000, by="four") is False


@law
async def a_requeued_letter_wakes_its_key_and_is_waiting_no_more(open_store: Open, clock: ManualClock) -> None:
    """Without it, a requeued message lies until somebody asks for its key."""
    store = await open_store()
    _, id = await set_aside(store, "order:1")
    assert await store.due(clock.now() + 1000, clock.now() + 2000, 10) == []

    await store.requeue_letter(id, by="ada")

    assert await store.due(clock.now(), clock.now() + 1000, 10) == ["order:1"]
    (letter,) = store.letters_now(status="requeued")
    assert (letter.by, letter.decided_at, store.letters_now(status="waiting")) == ("ada", clock.now(), [])


@law
async def a_requeued_letter_keeps_the_steps_that_it_had_finished(open_store: Open, clock: ManualClock) -> None:
    """Without it, an order that is tried again is charged again."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    first = await store.append("order:1", epoch, '"before"')
    await store.put_step("order:1", epoch, first, record("other"))
    await store.commit("order:1", epoch, Commit("0", 0, first))
    seq = await store.append("order:1", epoch, '"poison"')
    for kind in ("sleep", "attempt", "failure", "step"):
        await store.put_step("order:1", epoch, seq, record(f"the {kind}", kind=kind))
    await store.commit("order:1", epoch, Commit("1", 0, seq, (), DeadLetter(seq, '"poison"', None, "boom", 3)))
    await clock.advance(100)
    await store.prune(clock.now())

    (letter,) = store.letters_now()
    await store.requeue_letter(letter.id, by="ada")
    ((again, message, _),) = [(m.seq, m.message, m.call_id) for m in await store.collect("order:1", epoch)]

    assert (message, again > seq) == ('"poison"', True)
    kept = await store.steps("order:1", again)
    assert [(one.kind, one.name, one.payload) for one in kept] == [
        ("requeued", "requeued", str(seq)),
        ("sleep", "the sleep", "null"),
        ("step", "the step", "null"),
    ]


@law
async def an_edited_letter_is_a_new_message(open_store: Open, clock: ManualClock) -> None:
    """Without it, a message with other content gets the results of the one before."""
    store = await open_store()
    epoch, id = await set_aside(store, "order:1")

    await store.requeue_letter(id, by="ada", message='"mended"')

    (moved,) = await store.collect("order:1", epoch)
    assert (moved.message, await store.steps("order:1", moved.seq)) == ('"mended"', [])
    assert store.letters_now()[0].letter.message == '"poison"'


@law
async def a_requeued_call_is_open_again(open_store: Open, clock: ManualClock) -> None:
    """Without it, a caller hears of a failure that was mended, or its retry runs the work twice."""
    store = await open_store()
    epoch, id = await set_aside(store, "order:1", "pay-1")
    assert await store.result("order:1", "pay-1") == '"it failed"'

    await store.requeue_letter(id, by="ada")

    assert await store.result("order:1", "pay-1") is None
    await store.post("order:1", '"poison"', id="pay-1")
    (moved,) = await store.collect("order:1", epoch)
    assert moved == Logged(moved.seq, '"poison"', "pay-1")
    await store.commit("order:1", epoch, Commit("2", 0, moved.seq, [("pay-1", '"paid"')]))
    assert await store.result("order:1", "pay-1") == '"paid"'


@law
async def a_discarded_letter_stays_and_changes_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, history has holes, or what was given up comes back."""
    store = await open_store()
    epoch, id = await set_aside(store, "order:1", "pay-1")

    assert await store.discard_letter(id, by="ada") is True

    assert [(one.status, one.by) for one in store.letters_now()] == [("discarded", "ada")]
    assert await store.collect("order:1", epoch) == []
    assert await store.result("order:1", "pay-1") == '"it failed"'
