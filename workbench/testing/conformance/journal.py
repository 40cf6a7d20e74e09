"""The laws of the journal: load, append, pending, put_step, steps, commit, result, and the epochs that fence them.

With those of wakes and the first of retention they are the twenty-eight of the reference. Each is one fact, so that a
keeper that is broken in one way fails one law.

Source: PROCESSES section 3.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.errors import Fenced
from workbench.store.journal import Commit, DeadLetter, Loaded, Logged, StepRecord
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.store.store import Store
    from workbench.testing.clock import ManualClock

__all__ = ["JOURNAL", "begin", "is_fenced", "record"]

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


@law
async def a_stale_epoch_changes_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, an activation that was replaced spoils the work of the one that replaced it."""
    store = await open_store()
    stale = await begin(store, "order:1")
    seq = await store.append("order:1", stale, '"add"')
    await store.put_step("order:1", stale, seq, record())
    newest = (await store.load("order:1")).epoch
    await store.put_step("order:1", newest, seq, record("mail"), clock.now() + 60)
    letter = DeadLetter(seq, '"add"', None, "boom")

    assert await is_fenced(store.append("order:1", stale, '"late"', "call-1", clock.now()))
    assert await is_fenced(store.put_step("order:1", stale, seq, record("late"), clock.now()))
    assert await is_fenced(store.commit("order:1", stale, Commit('"late"', 9, seq, [("call-1", "1")], letter)))

    assert await store.pending("order:1", 0) == [Logged(seq, '"add"')]
    assert [kept.name for kept in await store.steps("order:1", seq)] == ["charge", "mail"]
    assert await store.result("order:1", "call-1") is None
    assert await store.dead("order:1") == []
    assert await store.due(clock.now() + 59, clock.now() + 120, 10) == []
    assert await store.due(clock.now() + 60, clock.now() + 120, 10) == ["order:1"]
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
