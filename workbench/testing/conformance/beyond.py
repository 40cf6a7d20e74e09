"""The laws beyond the reference: what it leaves open and a durable process relies on all the same.

Source: PROCESSES section 3, "what the suite does not check".
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from workbench.store.journal import Commit, Logged
from workbench.testing.conformance.journal import begin, is_fenced, record
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.testing.clock import ManualClock

__all__ = ["BEYOND"]

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
