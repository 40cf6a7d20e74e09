"""The laws of records and of the history: decisions that are made once, and what can be read back of a key.

Source: DESIGN rules 10 and 12.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.store.journal import Commit, DeadLetter, StepRecord
from workbench.store.records import Record
from workbench.testing.conformance.journal import begin
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.testing.clock import ManualClock

__all__ = ["RECORDS"]

RECORDS: list[Law] = []
law = enrol(RECORDS)


@law
async def a_record_is_put_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, asking again forgets a decision."""
    store = await open_store()
    asked = Record("approval", "a1", "run:1", '{"tool":"cancel"}', "pending", clock.now())
    assert await store.put_record("approval", "a1", "run:1", '{"tool":"cancel"}', status="pending", at=clock.now())

    again = await store.put_record("approval", "a1", "run:1", '"other"', status="expired", at=clock.now() + 1)

    assert not again
    assert await store.get_record("approval", "a1") == asked
    assert await store.get_record("approval", "a2") is None
    assert await store.get_record("question", "a1") is None


@law
async def the_first_decision_stands(open_store: Open, clock: ManualClock) -> None:
    """Without it, one approval is both approved and rejected."""
    ours, theirs = await open_store(), await open_store()
    await ours.put_record("approval", "a1", "run:1", "{}", status="pending", at=clock.now())

    both = await asyncio.gather(
        ours.decide_record("approval", "a1", expect="pending", status="approved", decision='"yes"', at=clock.now()),
        theirs.decide_record("approval", "a1", expect="pending", status="rejected", decision='"no"', at=clock.now()),
    )

    assert sorted(both) == [False, True]
    decided = await theirs.get_record("approval", "a1")
    assert decided is not None
    assert (decided.status, decided.decision) == (("approved", '"yes"') if both[0] else ("rejected", '"no"'))
    assert decided.decided_at == clock.now()
    assert not await ours.decide_record("approval", "a2", expect="pending", status="x", decision="1", at=0.0)


@law
async def a_decision_wakes_the_key_now(open_store: Open, clock: ManualClock) -> None:
    """Without it, a decided approval waits for somebody to look."""
    store = await open_store()
    now = clock.now()
    for key, wake_at in (("sleeps", None), ("waits", now + 3600), ("overdue", now - 10)):
        await store.append(key, await begin(store, key), '"ask"', wake_at=wake_at)
        await store.put_record("approval", key, key, "{}", status="pending", at=now)

        await store.decide_record("approval", key, expect="pending", status="approved", decision="1", at=now)

    assert await store.due(now - 10, now + 60, 1) == ["overdue"]
    assert sorted(await store.due(now, now + 60, 10)) == ["sleeps", "waits"]


@law
async def records_are_found_oldest_first(open_store: Open, clock: ManualClock) -> None:
    """Without it, an inbox shows the newest request first, or another's."""
    store = await open_store()
    now = clock.now()
    for id, key, at in (
        ("a1", "run:1", now),
        ("a2", "run:2", now + 2),
        ("a3", "run:1", now + 1),
        ("a4", "run:1", now + 1),
    ):
        await store.put_record("approval", id, key, "{}", status="pending", at=at)
    await store.put_record("question", "q1", "run:1", "{}", status="pending", at=now)
    await store.decide_record("approval", "a1", expect="pending", status="approved", decision="1", at=now)

    async def ids(key: str | None = None, status: str | None = None) -> list[str]:
        return [row.id for row in await store.find_records("approval", key=key, status=status)]

    assert await ids() == ["a1", "a3", "a4", "a2"]
    assert await ids(key="run:1") == ["a1", "a3", "a4"]
    assert await ids(status="pending") == ["a3", "a4", "a2"]
    assert await ids(key="run:1", status="approved") == ["a1"]


@law
async def history_has_everything_in_the_order_of_writing(open_store: Open, clock: ManualClock) -> None:
    """Without it, nobody can tell what happened."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    await begin(ours, "order:2")
    first = await ours.append("order:1", epoch, '"pay"', "call-1")
    await clock.advance(1)
    await ours.put_step("order:1", epoch, first, StepRecord("", "charge", 0, '"paid"', took=0.5))
    await ours.put_step("order:1", epoch, first, StepRecord("", "attempt", 1, '"boom"', kind="attempt"))
    await ours.commit("order:1", epoch, Commit("1", 0, first, [("call-1", '"done"')]))
    second = await ours.append("order:1", epoch, '"poison"')
    await ours.commit("order:1", epoch, Commit("1", 0, second, (), DeadLetter(second, '"poison"', None, "boom")))
    await theirs.post("order:1", '"waiting"')
    await ours.release("order:1", epoch, "disposed", "you")

    history = await theirs.history("order:1")

    assert [(entry.kind, entry.seq) for entry in history] == [
        ("activation", 0),
        ("message", 1),
        ("step", 1),
        ("attempt", 1),
        ("answer", 1),
        ("commit", 1),
        ("message", 2),
        ("dead", 2),
        ("commit", 2),
        ("message", 0),
    ]
    ids = [entry.id for entry in history]
    assert ids == sorted(set(ids))
    life, message, step, attempt, answer = history[:5]
    assert (life.epoch, life.at, life.ended_at, life.how, life.by) == (
        epoch,
        clock.now() - 1,
        clock.now(),
        "disposed",
        "you",
    )
    assert (message.payload, message.call_id, message.at, message.epoch) == ('"pay"', "call-1", clock.now() - 1, epoch)
    assert step.step == StepRecord("", "charge", 0, '"paid"', took=0.5, epoch=epoch)
    assert (step.at, attempt.step is not None) == (clock.now(), True)
    assert (answer.payload, answer.call_id) == ('"done"', "call-1")
    assert history[7].payload == "boom"
    assert history[9].payload == '"waiting"'
    assert await theirs.history("order:3") == []


@law
async def history_is_forgotten_with_the_retention(open_store: Open, clock: ManualClock) -> None:
    """Without it, a store grows for ever; what went is counted."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    first = await store.append("order:1", epoch, '"old"')
    await store.put_step("order:1", epoch, first, StepRecord("", "charge", 0, "null"))
    await store.commit("order:1", epoch, Commit("1", 0, first, [("call-1", "1")]))
    await clock.advance(100)
    second = await store.append("order:1", epoch, '"new"')
    await store.commit("order:1", epoch, Commit("2", 0, second))

    gone = await store.prune(clock.now())

    assert gone == 4
    assert [(entry.kind, entry.seq) for entry in await store.history("order:1")] == [
        ("activation", 0),
        ("message", 2),
        ("commit", 2),
    ]
    assert await store.prune(clock.now()) == 0
