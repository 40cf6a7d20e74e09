"""The laws of the journal: load, append, pending, put_step, steps, commit, result, due and prune.

The first twenty-eight are those of the reference; the rest say what it leaves open. Each is one fact, so that a keeper
that is broken in one way fails one law.

Source: PROCESSES section 3.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import Fenced
from workbench.store.journal import Commit, DeadLetter, Loaded, Logged, StepRecord, Store
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.testing.clock import ManualClock

__all__ = ["JOURNAL", "begin", "is_fenced"]

JOURNAL: list[Law] = []
law = enrol(JOURNAL)


async def begin(store: Store, key: str) -> int:
    """Claim and load a key as an activation does; gives its epoch."""
    assert await store.claim(key) is None
    return (await store.load(key)).epoch


async def is_fenced(write: object) -> bool:
    """Whether a write is refused as stale."""
    try:
        await write  # type: ignore[misc]  # any awaitable
    except Fenced:
        return True
    return False


def record(name: str = "charge", payload: str = "null", **fields: object) -> StepRecord:
    """A step's record."""
    return replace(StepRecord("", name, 0, payload), **fields)  # type: ignore[arg-type]


# load


@law
async def an_unknown_key_is_empty(open_store: Open, clock: ManualClock) -> None:
    """Without it, a new process starts from something."""
    store = await open_store()
    await store.claim("order:1")

    loaded = await store.load("order:1")

    assert loaded == Loaded(loaded.epoch)
    assert loaded.epoch > 0


@law
async def every_load_has_an_epoch_above_all_earlier(open_store: Open, clock: ManualClock) -> None:
    """Without it, two activations write to one log."""
    store = await open_store()
    first = await begin(store, "order:1")

    second, third = await asyncio.gather(store.load("order:1"), store.load("order:1"))

    assert first < min(second.epoch, third.epoch)
    assert second.epoch != third.epoch


@law
async def a_load_gives_what_was_committed(open_store: Open, clock: ManualClock) -> None:
    """Without it, a restart forgets the state."""
    store = await open_store()
    state = '{"total":30,"paid":true,"note":null,"lines":[{"price":30}]}'
    epoch = await begin(store, "order:1")
    seq = await store.append("order:1", epoch, '"add"')
    await store.commit("order:1", epoch, Commit(state, 3, seq))

    once = await store.load("order:1")
    twice = await store.load("order:1")

    assert (once.snapshot, once.version, once.cursor) == (state, 3, seq)
    assert replace(twice, epoch=once.epoch, cut_off=once.cut_off) == once


@law
async def a_null_state_is_not_an_absent_one(open_store: Open, clock: ManualClock) -> None:
    """Without it, a process that published null starts anew."""
    store = await open_store()
    null, absent = await begin(store, "null"), await begin(store, "absent")

    await store.commit("null", null, Commit("null", 0, 0))
    await store.commit("absent", absent, Commit(None, 0, 0))

    assert (await store.load("null")).snapshot == "null"
    assert (await store.load("absent")).snapshot is None


@law
async def a_load_leaves_the_wake(open_store: Open, clock: ManualClock) -> None:
    """Without it, work whose activation dies before its first commit is stranded."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    await store.append("order:1", epoch, '"add"', wake_at=clock.now() + 60)

    await store.load("order:1")

    assert await store.due(clock.now() + 60, clock.now() + 120, 10) == ["order:1"]


# append and pending


@law
async def numbers_rise_and_pending_replays_in_order(open_store: Open, clock: ManualClock) -> None:
    """Without it, a restart handles messages in another order, or a call as a cast."""
    store = await open_store()
    epoch = await begin(store, "order:1")

    first = await store.append("order:1", epoch, '"add"')
    second = await store.append("order:1", epoch, '"pay"', "pay-1")

    assert 0 < first < second
    assert await store.pending("order:1", 0) == [Logged(first, '"add"'), Logged(second, '"pay"', "pay-1")]
    assert await store.pending("order:1", first) == [Logged(second, '"pay"', "pay-1")]


@law
async def ten_appends_at_once_have_ten_numbers(open_store: Open, clock: ManualClock) -> None:
    """Without it, messages that arrive together overwrite one another."""
    store = await open_store()
    epoch = await begin(store, "order:1")

    numbers = await asyncio.gather(*[store.append("order:1", epoch, f'"{i}"') for i in range(10)])

    assert len(set(numbers)) == 10
    assert [logged.seq for logged in await store.pending("order:1", 0)] == sorted(numbers)


@law
async def a_number_is_never_used_twice(open_store: Open, clock: ManualClock) -> None:
    """Without it, a new message takes the steps of an old one for its own."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    first = await store.append("order:1", epoch, '"add"')
    await store.commit("order:1", epoch, Commit("1", 0, first))

    again = (await store.load("order:1")).epoch

    assert await store.append("order:1", again, '"pay"') > first


@law
async def logs_of_two_keys_are_separate(open_store: Open, clock: ManualClock) -> None:
    """Without it, one process handles the messages of another."""
    store = await open_store()
    one, two = await begin(store, "order:1"), await begin(store, "order:2")

    await store.append("order:1", one, '"mine"')
    await store.append("order:2", two, '"yours"')

    assert [logged.message for logged in await store.pending("order:1", 0)] == ['"mine"']
    assert [logged.message for logged in await store.pending("order:2", 0)] == ['"yours"']


# steps


@law
async def steps_and_attempts_are_kept_in_write_order(open_store: Open, clock: ManualClock) -> None:
    """Without it, a replay runs a step again, or counts a failed delivery as a step."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    seq = await store.append("order:1", epoch, '"pay"')
    charge = record("charge", "null", position=0, began_at=clock.now(), took=0.25)
    attempt = record("attempt", '"boom"', kind="attempt", occurrence=1)
    email = record("email", '"sent"', position=1, branch="left")

    for written in (charge, attempt, email):
        await store.put_step("order:1", epoch, seq, written)

    kept = await store.steps("order:1", seq)
    assert kept == [replace(written, epoch=epoch) for written in (charge, attempt, email)]
    assert await store.steps("order:1", seq + 1) == []
    assert await store.steps("order:2", seq) == []


# commit


@law
async def a_commit_moves_the_cursor(open_store: Open, clock: ManualClock) -> None:
    """Without it, a handled message is handled again."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    first = await store.append("order:1", epoch, '"add"')
    second = await store.append("order:1", epoch, '"pay"')

    await store.commit("order:1", epoch, Commit("1", 0, first))

    loaded = await store.load("order:1")
    assert loaded.cursor == first
    assert [logged.seq for logged in await store.pending("order:1", loaded.cursor)] == [second]


@law
async def answers_are_read_by_key_and_id(open_store: Open, clock: ManualClock) -> None:
    """Without it, a retried call runs twice, or hears another's answer."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    await begin(store, "order:2")
    given = [("text", '"done"'), ("object", '{"a":[1]}'), ("null", "null"), ("zero", "0"), ("false", "false")]

    await store.commit("order:1", epoch, Commit("1", 0, 0, given))

    assert [(id, await store.result("order:1", id)) for id, _ in given] == given
    assert await store.result("order:1", "unknown") is None
    assert await store.result("order:2", "text") is None


@law
async def answers_outlive_later_commits(open_store: Open, clock: ManualClock) -> None:
    """Without it, a late retry runs the call again."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    await store.commit("order:1", epoch, Commit("1", 0, 1, [("pay-1", '"paid"')]))

    await store.commit("order:1", epoch, Commit("2", 0, 2, [("pay-2", '"twice"')]))
    await store.commit("order:1", epoch, Commit("3", 0, 3))

    assert await store.result("order:1", "pay-1") == '"paid"'
    assert await store.result("order:1", "pay-2") == '"twice"'


@law
async def dead_letters_are_kept_in_order(open_store: Open, clock: ManualClock) -> None:
    """Without it, a message that was set aside is lost."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    await begin(store, "order:2")
    first = await store.append("order:1", epoch, '"poison"')
    second = await store.append("order:1", epoch, '"more"', "call-2")
    letters = [DeadLetter(first, '"poison"', None, "boom"), DeadLetter(second, '"more"', "call-2", "bang")]

    for letter in letters:
        await store.commit("order:1", epoch, Commit('"before"', 0, letter.seq, (), letter))

    assert await store.dead("order:1") == letters
    assert await store.dead("order:2") == []
    loaded = await store.load("order:1")
    assert (loaded.snapshot, loaded.cursor) == ('"before"', second)


# epochs


@law
async def a_stale_epoch_changes_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, an activation that was replaced spoils the work of the one that replaced it."""
    store = await open_store()
    stale = await begin(store, "order:1")
    seq = await store.append("order:1", stale, '"add"', wake_at=clock.now() + 60)
    await store.put_step("order:1", stale, seq, record())
    await store.load("order:1")
    letter = DeadLetter(seq, '"add"', None, "boom")

    assert await is_fenced(store.append("order:1", stale, '"late"', "call-1", clock.now()))
    assert await is_fenced(store.put_step("order:1", stale, seq, record("late"), clock.now()))
    assert await is_fenced(store.commit("order:1", stale, Commit('"late"', 9, seq, [("call-1", "1")], letter)))

    assert await store.pending("order:1", 0) == [Logged(seq, '"add"')]
    assert [kept.name for kept in await store.steps("order:1", seq)] == ["charge"]
    assert await store.result("order:1", "call-1") is None
    assert await store.dead("order:1") == []
    assert await store.due(clock.now() + 59, clock.now() + 120, 10) == []
    loaded = await store.load("order:1")
    assert (loaded.snapshot, loaded.version, loaded.cursor) == (None, 0, 0)


@law
async def the_newest_epoch_writes(open_store: Open, clock: ManualClock) -> None:
    """Without it, a key that was taken over is dead."""
    store = await open_store()
    await begin(store, "order:1")
    newest = (await store.load("order:1")).epoch

    seq = await store.append("order:1", newest, '"add"')
    await store.put_step("order:1", newest, seq, record())
    await store.commit("order:1", newest, Commit("1", 0, seq))

    assert (await store.load("order:1")).cursor == seq


@law
async def a_key_never_loaded_is_fenced(open_store: Open, clock: ManualClock) -> None:
    """Without it, a message is logged for nobody."""
    store = await open_store()

    assert await is_fenced(store.append("order:1", 1, '"add"'))
    assert await is_fenced(store.put_step("order:1", 1, 1, record()))
    assert await is_fenced(store.commit("order:1", 1, Commit("1", 0, 1)))


# wakes


@law
async def a_step_wakes_its_key_at_its_instant(open_store: Open, clock: ManualClock) -> None:
    """Without it, a sleeping process wakes early, late or never."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    seq = await store.append("order:1", epoch, '"wait"')
    when = clock.now() + 3600

    await store.put_step("order:1", epoch, seq, record("deadline", kind="sleep"), when)

    assert await store.due(when - 0.001, when + 30, 10) == []
    assert await store.due(when, when + 30, 10) == ["order:1"]


@law
async def due_hides_a_key_until_its_lease_is_over(open_store: Open, clock: ManualClock) -> None:
    """Without it, a key whose host died while waking it is never woken again."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    now = clock.now()
    await store.append("order:1", epoch, '"add"', wake_at=now)

    assert await store.due(now, now + 30, 10) == ["order:1"]

    assert await store.due(now + 29, now + 60, 10) == []
    assert await store.due(now + 30, now + 60, 10) == ["order:1"]


@law
async def one_of_two_overlapping_callers_gets_the_key(open_store: Open, clock: ManualClock) -> None:
    """Without it, two workers wake one key."""
    store = await open_store()
    now = clock.now()
    for turns in range(5):
        key = f"order:{turns}"
        epoch = await begin(store, key)
        await store.append(key, epoch, '"add"', wake_at=now)

        async def second(turns: int = turns) -> list[str]:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await store.due(now, now + 30, 10)

        both = await asyncio.gather(store.due(now, now + 30, 10), second())

        assert sorted(both[0] + both[1]) == [key]


@law
async def due_gives_the_earliest_first_and_at_most_limit(open_store: Open, clock: ManualClock) -> None:
    """Without it, the oldest work waits while newer work runs."""
    store = await open_store()
    now = clock.now()
    for key, wake_at in (("c", now + 1), ("a", now + 3), ("b", now + 2)):
        await store.append(key, await begin(store, key), '"add"', wake_at=wake_at)

    assert await store.due(now + 5, now + 60, 2) == ["c", "b"]
    assert await store.due(now + 5, now + 60, 2) == ["a"]


@law
async def a_later_step_replaces_the_wake(open_store: Open, clock: ManualClock) -> None:
    """Without it, a process that sleeps again wakes at the end of its first sleep."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    seq = await store.append("order:1", epoch, '"wait"')

    await store.put_step("order:1", epoch, seq, record("first"), now + 10)
    await store.put_step("order:1", epoch, seq, record("second"), now + 20)
    await store.put_step("order:1", epoch, seq, record("third"))

    assert await store.due(now + 19, now + 60, 10) == []
    assert await store.due(now + 20, now + 60, 10) == ["order:1"]


@law
async def a_commit_that_leaves_nothing_clears_the_wake(open_store: Open, clock: ManualClock) -> None:
    """Without it, idle keys are woken for ever."""
    store = await open_store()
    now = clock.now()
    letter = DeadLetter(1, '"add"', None, "boom")
    for key, dead in (("order:1", None), ("order:2", letter)):
        epoch = await begin(store, key)
        seq = await store.append(key, epoch, '"add"', wake_at=now)

        await store.commit(key, epoch, Commit("1", 0, seq, (), dead))

    assert await store.due(now + 10**6, now + 2 * 10**6, 10) == []


@law
async def an_append_sets_the_wake_only_where_there_is_none(open_store: Open, clock: ManualClock) -> None:
    """Without it, every message delays the first one's redelivery, or breaks the lease of who is waking the key."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    await store.append("order:1", epoch, '"one"', wake_at=now + 10)

    await store.append("order:1", epoch, '"two"', wake_at=now + 20)

    assert await store.due(now + 10, now + 40, 10) == ["order:1"]
    await store.append("order:1", epoch, '"three"', wake_at=now + 11)
    assert await store.due(now + 39, now + 60, 10) == []


@law
async def an_append_leaves_the_wake_of_a_step(open_store: Open, clock: ManualClock) -> None:
    """Without it, a message wakes a sleeper early."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    seq = await store.append("order:1", epoch, '"wait"')
    await store.put_step("order:1", epoch, seq, record("deadline", kind="sleep"), now + 100)

    await store.append("order:1", epoch, '"more"', wake_at=now + 10)

    assert await store.due(now + 99, now + 200, 10) == []
    assert await store.due(now + 100, now + 200, 10) == ["order:1"]


@law
async def a_commit_with_messages_left_moves_the_wake(open_store: Open, clock: ManualClock) -> None:
    """Without it, the next message is redelivered while it is being handled, or never."""
    store = await open_store()
    epoch, now = await begin(store, "order:1"), clock.now()
    first = await store.append("order:1", epoch, '"one"', wake_at=now + 10)
    second = await store.append("order:1", epoch, '"two"', wake_at=now + 10)

    await store.commit("order:1", epoch, Commit("1", 0, first, wake_at=now + 50))

    assert await store.due(now + 49, now + 100, 10) == []
    assert await store.due(now + 50, now + 100, 10) == ["order:1"]
    await store.commit("order:1", epoch, Commit("2", 0, second, wake_at=now + 50))
    assert await store.due(now + 10**6, now + 2 * 10**6, 10) == []


@law
async def a_key_without_a_wake_is_never_due(open_store: Open, clock: ManualClock) -> None:
    """Without it, parked work burns a worker."""
    store = await open_store()
    epoch = await begin(store, "order:1")

    await store.append("order:1", epoch, '"add"')

    assert await store.due(clock.now() + 10**12, clock.now() + 10**13, 10) == []


# retention


@law
async def prune_forgets_answers_given_before_and_keeps_the_rest(open_store: Open, clock: ManualClock) -> None:
    """Without it, a store grows for ever, or a retry within the retention runs again."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    await store.commit("order:1", epoch, Commit("1", 0, 1, [("old", "1")]))
    await clock.advance(100)
    await store.commit("order:1", epoch, Commit("2", 0, 2, [("new", "2")]))

    await store.prune(clock.now())

    assert await store.result("order:1", "old") is None
    assert await store.result("order:1", "new") == "2"


# What the reference leaves open.


@law
async def prune_keeps_the_state_and_what_waits(open_store: Open, clock: ManualClock) -> None:
    """Without it, retention loses work."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    first = await store.append("order:1", epoch, '"park"', "call-1")
    await store.commit("order:1", epoch, Commit('"parked"', 0, first))
    second = await store.append("order:1", epoch, '"wait"')
    await store.put_step("order:1", epoch, second, record())
    await clock.advance(100)

    await store.prune(clock.now())

    assert [logged.seq for logged in await store.pending("order:1", first)] == [second]
    assert len(await store.steps("order:1", second)) == 1
    loaded = await store.load("order:1")
    assert (loaded.snapshot, loaded.open_calls) == ('"parked"', (Logged(first, '"park"', "call-1"),))


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
