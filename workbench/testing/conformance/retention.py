"""The laws of retention: what prune forgets, and what it must not.

The first is the last of the twenty-eight of the reference. Source: PROCESSES section 3, DESIGN rule 10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.journal import Commit, Logged
from workbench.testing.conformance.journal import begin, record
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.testing.clock import ManualClock

__all__ = ["RETENTION"]

RETENTION: list[Law] = []
law = enrol(RETENTION)


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
