"""The laws of the glance and of leases: reading at once, and how long a host counts as alive.

Source: DESIGN rules 3 and 5, PERFORMANCE "Consequences" 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.journal import Commit
from workbench.testing.conformance.journal import begin, record
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.testing.clock import ManualClock

__all__ = ["GLANCE"]

GLANCE: list[Law] = []
law = enrol(GLANCE)


@law
async def a_glance_shows_what_a_reader_is_given(open_store: Open, clock: ManualClock) -> None:
    """Without it, a view in the notebook and a table from the command line tell two stories."""
    ours, theirs = await open_store(), await open_store()
    await ours.register("order:1", "order", "{}")
    await ours.register("job:1", "job", "{}")
    epoch = await begin(ours, "order:1")
    seq = await ours.append("order:1", epoch, '"pay"', "call-1")
    await ours.put_step("order:1", epoch, seq, record())
    await ours.commit("order:1", epoch, Commit("1", 2, seq, [("call-1", '"done"')]))
    await ours.release("order:1", epoch, "disposed", "you")

    for store in (ours, theirs):
        assert [info.key for info in store.keys_now()] == ["order:1", "job:1"]
        assert store.keys_now(key="order:1") == [await store.key_info("order:1")]
        assert store.keys_now(definition="job") == [await store.key_info("job:1")]
        assert store.names_now() == [("order:1", "order", "{}"), ("job:1", "job", "{}")]
        assert store.names_now("job:") == [("job:1", "job", "{}")]
        assert store.result_now("order:1", "call-1") == '"done"'
        assert store.history_now("order:1") == await store.history("order:1")
        assert store.activations_now("order:1") == await store.activations("order:1")
        assert len(store.history_now("order:1")) == 5


@law
async def a_glance_at_what_there_is_not_is_empty(open_store: Open, clock: ManualClock) -> None:
    """Without it, looking at a key makes it, or fails a view."""
    store = await open_store()

    assert store.keys_now(key="order:1") == []
    assert store.names_now("order:") == []
    assert store.result_now("order:1", "call-1") is None
    assert store.history_now("order:1") == []
    assert store.activations_now("order:1") == []
    assert await store.keys() == []


@law
async def a_renewed_lease_is_seen_by_other_hosts(open_store: Open, clock: ManualClock) -> None:
    """Without it, a host that is alive looks dead to others once its first lease is over."""
    ours, theirs = await open_store(), await open_store()
    await ours.claim("order:1")
    assert ours.host.until == clock.now() + 30

    await ours.renew(clock.now() + 90)

    info = await theirs.key_info("order:1")
    assert info is not None
    assert info.owner is not None
    assert (info.owner.id, info.owner.until) == (ours.host.id, clock.now() + 90)


@law
async def a_renewed_host_keeps_its_keys(open_store: Open, clock: ManualClock) -> None:
    """Without it, a long message is taken from a host that is alive."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    for _ in range(4):
        await clock.advance(20)
        await ours.renew(clock.now() + 30)

    assert await theirs.claim("order:1") is not None
    assert await ours.append("order:1", epoch, '"mine"') > 0
