"""The laws of history: what was committed can be seen again, states included, until it is pruned.

Source: DESIGN rule 10, PERFORMANCE "Consequences" 7 and 8.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from workbench.errors import BadInput
from workbench.store.journal import Commit
from workbench.testing.conformance.journal import begin
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.testing.clock import ManualClock

__all__ = ["HISTORY"]

HISTORY: list[Law] = []
law = enrol(HISTORY)

LONG = [f"line {number} of a long state that is only changed in places" for number in range(60)]


def _states() -> list[str | None]:
    """Small and large, grown, shrunk, equal, absent and back: every way in which a state follows another."""
    lists: list[list[str]] = [LONG[:n] for n in (1, 2, 3, 20, 21, 22, 60, 5, 6)]
    texts = [json.dumps(lines) for lines in lists]
    turned = [json.dumps(LONG[n:] + LONG[:n]) for n in range(3)]
    return [None, "1", "1", "2", *texts, texts[-1], *turned, None, None, texts[3], texts[3], "7"]


@law
async def every_committed_state_can_be_had_again(open_store: Open, clock: ManualClock) -> None:
    """Without it, there is no looking back: only the newest state of a key is known."""
    store = await open_store()
    epoch, states = await begin(store, "order:1"), _states()

    for seq, state in enumerate(states, 1):
        await store.append("order:1", epoch, '"go"')
        await store.commit("order:1", epoch, Commit(state, seq, seq))

    past = store.past_now("order:1")
    assert [commit.seq for commit in past.commits] == list(range(len(states), 0, -1))
    assert [commit.version for commit in past.commits] == list(range(len(states), 0, -1))
    assert [past.text(past.find(seq)) for seq in range(1, len(states) + 1)] == states


@law
async def a_pruned_past_leaves_what_is_newer_whole(open_store: Open, clock: ManualClock) -> None:
    """Without it, retention makes a state of the time that is kept unreadable, or the newest one lost."""
    store = await open_store()
    epoch, states = await begin(store, "order:1"), _states()
    half = len(states) // 2
    for seq, state in enumerate(states, 1):
        if seq == half:
            await clock.advance(100)
        await store.append("order:1", epoch, '"go"')
        await store.commit("order:1", epoch, Commit(state, 0, seq))

    await store.prune(clock.now())

    past = store.past_now("order:1")
    assert [past.text(past.find(seq)) for seq in range(half, len(states) + 1)] == states[half - 1 :]
    with suppress(BadInput):
        past.find(half - 1)
        raise AssertionError("a state that was pruned is given")
    await store.append("order:2", await begin(store, "order:2"), '"newer than any row of the other"')
    await clock.advance(100)
    await store.prune(clock.now())
    past = store.past_now("order:1")
    assert [(commit.seq, past.text(0)) for commit in past.commits] == [(len(states), states[-1])]
