"""The laws beyond the reference: what it leaves open and a durable process relies on all the same.

Source: PROCESSES section 3, "what the suite does not check".
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from workbench.errors import StoreError
from workbench.store.journal import Commit, DeadLetter, Logged, StepRecord
from workbench.testing.conformance.journal import begin, is_fenced, record
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from workbench.testing.clock import ManualClock

__all__ = ["BEYOND"]

HALF = '"\ud800"'
"""Text that UTF-8 cannot hold: half of a character."""

BEYOND: list[Law] = []
law = enrol(BEYOND)


@law
async def the_first_answer_stands(open_store: Open, clock: ManualClock) -> None:
    """Without it, two callers of one id hear different answers."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    await store.commit("order:1", epoch, Commit("1", 0, 1, [("pay-1", '"first"')]))

    await store.commit("order:1", epoch, Commit("2", 0, 2, [("pay-1", '"second"')]))

    assert await store.result("order:1", "pay-1") == '"first"'


@law
async def a_load_names_the_calls_that_are_parked(open_store: Open, clock: ManualClock) -> None:
    """Without it, a retry of a parked call is parked again."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    answered = await store.append("order:1", epoch, '"pay"', "call-1")
    parked = await store.append("order:1", epoch, '"ask"', "call-2")
    await store.append("order:1", epoch, '"later"', "call-3")

    await store.commit("order:1", epoch, Commit("1", 0, answered, [("call-1", "1")]))
    await store.commit("order:1", epoch, Commit("2", 0, parked))

    assert await store.result("order:1", "call-2") is None
    assert (await store.load("order:1")).open_calls == (Logged(parked, '"ask"', "call-2"),)


@law
async def the_message_and_the_answers_of_calls_are_read_at_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, a conflict cannot name what an id was used for, or each caller of another host looks for itself."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    seq = await ours.append("order:1", epoch, '"pay"', "call-1")
    await ours.append("order:1", epoch, '"ask"', "call-2")
    await ours.commit("order:1", epoch, Commit("1", 0, seq, [("call-1", '"paid"')]))
    await theirs.post("order:1", '"posted"', id="call-3")

    assert theirs.results_now("order:1", ["call-1", "call-2", "call-9"]) == {"call-1": '"paid"'}
    assert theirs.results_now("order:2", ["call-1"]) == {}
    found = [theirs.message_now("order:1", f"call-{number}") for number in (1, 2, 3, 9)]
    assert found == ['"pay"', '"ask"', '"posted"', None]


@law
async def a_cursor_never_moves_back(open_store: Open, clock: ManualClock) -> None:
    """Without it, a late commit brings handled messages back."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    first = await store.append("order:1", epoch, '"one"')
    second = await store.append("order:1", epoch, '"two"')
    await store.commit("order:1", epoch, Commit("2", 0, second))

    await store.commit("order:1", epoch, Commit("1", 0, first))

    assert (await store.load("order:1")).cursor == second


@law
async def records_of_one_place_are_all_kept(open_store: Open, clock: ManualClock) -> None:
    """Without it, what a step gave is overwritten by whoever writes at its place again, and nobody can tell."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    seq = await store.append("order:1", epoch, '"pay"')

    await store.put_step("order:1", epoch, seq, record("charge", '"one"'))
    await store.put_step("order:1", epoch, seq, record("charge", '"two"'))

    assert [kept.payload for kept in await store.steps("order:1", seq)] == ['"one"', '"two"']


@law
async def writes_land_in_the_order_of_their_calls(open_store: Open, clock: ManualClock) -> None:
    """Without it, batches reorder what a process did: the second message below would lose its wake."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    writes = (
        store.append("order:1", epoch, '"one"', wake_at=now + 10),
        store.put_step("order:1", epoch, 1, record()),
        store.commit("order:1", epoch, Commit("1", 0, 1)),
        store.append("order:1", epoch, '"two"', wake_at=now + 20),
    )

    await asyncio.gather(*writes)

    assert [logged.message for logged in await store.pending("order:1", 0)] == ['"two"']
    assert await store.due(now + 19, now + 60, 10) == []
    assert await store.due(now + 20, now + 60, 10) == ["order:1"]


@law
async def casts_of_a_commit_are_logged_behind_what_waits(open_store: Open, clock: ManualClock) -> None:
    """Without it, a message of a process to itself is lost, overtakes others, or comes twice after a crash."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    first = await store.append("order:1", epoch, '"one"')
    second = await store.append("order:1", epoch, '"two"')

    numbers = await store.commit("order:1", epoch, Commit("1", 0, first, (), None, now + 5, ['"three"', '"four"']))

    assert await store.pending("order:1", first) == [
        Logged(second, '"two"'),
        *(Logged(number, text) for number, text in zip(numbers, ('"three"', '"four"'), strict=True)),
    ]
    (alone,) = await store.commit("order:1", epoch, Commit("2", 0, numbers[-1], (), None, now + 5, ['"five"']))
    assert [logged.seq for logged in await store.pending("order:1", numbers[-1])] == [alone]
    assert await store.due(now + 5, now + 60, 10) == ["order:1"]


@law
async def a_refused_write_spoils_no_other(open_store: Open, clock: ManualClock) -> None:
    """Without it, one stale activation fails the writes of a hundred others in its batch."""
    store = await open_store()
    stale = await begin(store, "order:1")
    newest = (await store.load("order:1")).epoch
    other = await begin(store, "order:2")

    late = store.append("order:1", stale, '"late"')
    good = store.append("order:1", newest, '"good"')
    theirs = store.append("order:2", other, '"theirs"')

    assert await is_fenced(late)
    assert (await good, await theirs) == (1, 1)


@law
async def payloads_come_back_to_the_letter(open_store: Open, clock: ManualClock) -> None:
    """Without it, a replay differs from the first run."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    texts = ['"æ 😀 \u2028 \\u0000"', "1e400", '"' + "long " * 40_000 + '"', '"' + "long " * 40_000 + '"', ""]

    for text in texts:
        seq = await store.append("order:1", epoch, text)
        await store.put_step("order:1", epoch, seq, record(payload=text))
    await store.commit("order:1", epoch, Commit(texts[2], 0, 0, [(str(i), text) for i, text in enumerate(texts)]))

    assert [logged.message for logged in await store.pending("order:1", 0)] == texts
    assert [(await store.steps("order:1", seq + 1))[0].payload for seq in range(len(texts))] == texts
    assert [await store.result("order:1", str(i)) for i in range(len(texts))] == texts
    assert (await store.load("order:1")).snapshot == texts[2]


@law
async def odd_keys_are_kept_apart(open_store: Open, clock: ManualClock) -> None:
    """Without it, two processes share a log because their names look alike."""
    store = await open_store()
    keys = ["a", "A", "a ", "a#1", "a#1#", "á", "a\u0301", "a\0b", "a%", "null", "é" * 1000]
    for key in keys:
        await store.append(key, await begin(store, key), f'"{len(key)}"')

    assert [(await store.pending(key, 0))[0].message for key in keys] == [f'"{len(key)}"' for key in keys]
    assert [info.key for info in await store.keys()] == keys


@law
async def a_key_is_never_empty(open_store: Open, clock: ManualClock) -> None:
    """Without it, a process that forgot its name shares it with others that did."""
    store = await open_store()

    with suppress(ValueError):
        await store.claim("")
        raise AssertionError("an empty key was claimed")

    assert await store.keys() == []


@law
async def a_commit_that_fails_leaves_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, half of a message is acknowledged: its answers without its state, or its state without its casts."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    seq = await store.append("order:1", epoch, '"pay"', wake_at=now + 5)
    letter = DeadLetter(seq, '"pay"', None, "boom")

    for answers, casts in (([("good", "1"), ("bad", HALF)], ['"on"']), ([("good", "1")], ['"on"', HALF])):
        with suppress(StoreError):
            await store.commit("order:1", epoch, Commit('"paid"', 3, seq, answers, letter, None, casts))
            raise AssertionError("a commit with half of a character in it landed")

    assert await store.pending("order:1", 0) == [Logged(seq, '"pay"')]
    assert await store.result("order:1", "good") is None
    assert await store.dead("order:1") == []
    assert await store.due(now + 5, now + 60, 10) == ["order:1"]
    loaded = await store.load("order:1")
    assert (loaded.snapshot, loaded.version, loaded.cursor) == (None, 0, 0)


@law
async def what_no_store_can_hold_is_refused_alone(open_store: Open, clock: ManualClock) -> None:
    """Without it, a payload is accepted that cannot be read again, or takes its neighbours with it."""
    store = await open_store()
    epoch = await begin(store, "order:1")

    before = store.append("order:1", epoch, '"before"')
    refused = [store.append("order:1", epoch, HALF), store.put_step("order:1", epoch, 1, record(payload=HALF))]
    after = store.append("order:1", epoch, '"after"')

    for write in refused:
        with suppress(StoreError):
            await write
            raise AssertionError("half of a character was written")
    await asyncio.gather(before, after)
    assert [logged.message for logged in await store.pending("order:1", 0)] == ['"before"', '"after"']
    assert await store.steps("order:1", 1) == []


@law
async def everything_is_there_after_it_was_closed(open_store: Open, clock: ManualClock) -> None:
    """Without it, a restart finds less than was acknowledged."""
    ours = await open_store()
    epoch, now = await begin(ours, "order:1"), clock.now()
    first = await ours.append("order:1", epoch, '"poison"')
    letter = DeadLetter(first, '"poison"', None, "boom")
    await ours.commit("order:1", epoch, Commit('"state"', 0, first, [("call-1", '"done"')], letter))
    second = await ours.append("order:1", epoch, '"pay"', "call-2", now + 5)
    await ours.put_step("order:1", epoch, second, record("charge", '"receipt"'))
    await ours.put_record("request", "r1", "order:1", "{}", status="pending", at=now)
    await ours.close()

    theirs = await open_store()

    assert await theirs.pending("order:1", first) == [Logged(second, '"pay"', "call-2")]
    assert await theirs.steps("order:1", second) == [StepRecord("", "charge", 0, '"receipt"', epoch=epoch)]
    assert (await theirs.result("order:1", "call-1"), await theirs.dead("order:1")) == ('"done"', [letter])
    assert [row.id for row in await theirs.find_records("request", status="pending")] == ["r1"]
    assert await theirs.due(now + 5, now + 60, 10) == ["order:1"]
    loaded = await theirs.load("order:1")
    assert (loaded.snapshot, loaded.cursor, loaded.epoch > epoch) == ('"state"', first, True)


@law
async def keys_that_are_due_together_come_by_name(open_store: Open, clock: ManualClock) -> None:
    """Without it, which of two keys comes first is different on every store, and no test can say."""
    store = await open_store()
    now = clock.now()
    for key in ("b", "a", "c"):
        await store.append(key, await begin(store, key), '"add"', wake_at=now)

    assert await store.due(now, now + 30, 2) == ["a", "b"]
    assert await store.due(now, now + 30, 2) == ["c"]


@law
async def what_was_read_belongs_to_its_reader(open_store: Open, clock: ManualClock) -> None:
    """Without it, whoever sorts or empties a list that was read changes the journal."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    first = await store.append("order:1", epoch, '"one"')
    await store.commit("order:1", epoch, Commit("1", 0, first, (), DeadLetter(first, '"one"', None, "boom")))
    second = await store.append("order:1", epoch, '"two"')
    await store.put_step("order:1", epoch, second, record())

    for _ in range(2):
        for found in (
            await store.pending("order:1", 0),
            await store.steps("order:1", second),
            await store.dead("order:1"),
            await store.history("order:1"),
            await store.keys(),
        ):
            assert found
            found.clear()


@law
async def a_long_log_is_kept_in_order(open_store: Open, clock: ManualClock) -> None:
    """Without it, a store that reads in pages loses or repeats what lies between two of them."""
    store = await open_store()
    epoch = await begin(store, "order:1")

    await asyncio.gather(*[store.append("order:1", epoch, str(i)) for i in range(1500)])

    log = await store.pending("order:1", 0)
    assert [logged.message for logged in log] == [str(i) for i in range(1500)]
    assert [logged.seq for logged in log] == sorted({logged.seq for logged in log})
    await store.commit("order:1", epoch, Commit("1", 0, log[700].seq))
    assert await store.pending("order:1", log[700].seq) == log[701:]


@law
async def a_reader_sees_whole_commits(open_store: Open, clock: ManualClock) -> None:
    """Without it, whoever looks while a message is acknowledged sees its cursor without its state."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    for version in range(1, 30):
        seq = await ours.append("order:1", epoch, '"go"')

        landing = asyncio.ensure_future(_finished(ours.commit("order:1", epoch, Commit(str(seq), version, seq))))
        while not landing.done():
            info = await theirs.key_info("order:1")
            assert info is not None
            assert (info.snapshot, info.cursor) in ((str(seq), seq), (str(seq - 1) if seq > 1 else None, seq - 1))
            await asyncio.sleep(0)


async def _finished(write: Awaitable[object]) -> None:
    await write


@law
async def a_post_beyond_the_bound_adds_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, a key whose owner is slow is posted to without end."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    first = await ours.append("order:1", epoch, '"one"')

    posted = await theirs.post("order:1", '"two"', id="call-2", most=2)
    refused = await theirs.post("order:1", '"three"', id="call-3", most=2)

    assert (posted > 0, refused) == (True, 0)
    assert await theirs.post("order:1", '"two"', id="call-2", most=2) == posted
    assert {logged.message for logged in await ours.collect("order:1", epoch)} == {'"two"'}
    await ours.commit("order:1", epoch, Commit("1", 0, first))
    assert await theirs.post("order:1", '"three"', id="call-3", most=3) > 0
