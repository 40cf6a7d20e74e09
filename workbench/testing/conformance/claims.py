"""The laws of claims and of the inbox: who owns a key, what its lives were, and how others reach it.

`open_store` opens one host after another on one place; every law here that needs two opens two.

Source: DESIGN rules 3 to 6.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.store.journal import Commit, Logged, StepRecord
from workbench.testing.conformance.journal import begin, is_fenced
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.testing.clock import ManualClock

__all__ = ["CLAIMS"]

CLAIMS: list[Law] = []
law = enrol(CLAIMS)


# Claims


@law
async def a_claimed_key_is_refused_to_another_host(open_store: Open, clock: ManualClock) -> None:
    """Without it, two kernels keep taking a key from each other."""
    ours, theirs = await open_store(), await open_store()
    assert await ours.claim("order:1") is None

    owner = await theirs.claim("order:1")

    assert owner is not None
    assert (owner.id, owner.label, owner.pid) == (ours.host.id, "host 1", ours.host.pid)
    assert await ours.claim("order:1") is None
    info = await theirs.key_info("order:1")
    assert info is not None
    assert info.owner is not None
    assert info.owner.id == ours.host.id


@law
async def one_of_two_claims_at_once_wins(open_store: Open, clock: ManualClock) -> None:
    """Without it, two hosts believe that they own a key."""
    ours, theirs = await open_store(), await open_store()

    answers = await asyncio.gather(ours.claim("order:1"), theirs.claim("order:1"))

    assert sorted(answer is None for answer in answers) == [False, True]


@law
async def force_takes_a_key(open_store: Open, clock: ManualClock) -> None:
    """Without it, a person cannot move work here."""
    ours, theirs = await open_store(), await open_store()
    stale = await begin(ours, "order:1")

    assert await theirs.claim("order:1", force=True) is None
    await theirs.load("order:1")

    assert await is_fenced(ours.append("order:1", stale, '"late"'))
    owner = await ours.claim("order:1")
    assert owner is not None
    assert owner.id == theirs.host.id


@law
async def who_lost_a_key_hears_of_it_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, a process that waits for a message does not notice that it was moved to another kernel."""
    ours, theirs = await open_store(), await open_store()
    for key in ("order:1", "order:2"):
        await begin(ours, key)
    assert await ours.taken() == []

    await theirs.claim("order:2", force=True)
    await theirs.load("order:2")

    assert await ours.taken() == ["order:2"]
    assert await ours.taken() == []


@law
async def a_host_that_left_owns_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, closing a notebook locks its runs."""
    ours, theirs = await open_store(), await open_store()
    await begin(ours, "order:1")

    await ours.close()

    assert await theirs.claim("order:1") is None


@law
async def what_a_host_that_left_had_unfinished_is_due_at_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, work of a closed kernel waits for its lease, and what sleeps beside it for the end of the sleep."""
    ours, theirs = await open_store(), await open_store()
    now = clock.now()
    await begin(ours, "order:4")
    await theirs.post("order:4", '"add"')
    for key in ("order:1", "order:2", "order:3"):
        epoch = await begin(ours, key)
        seq = await ours.append(key, epoch, '"add"', wake_at=now + 3600)
        if key == "order:2":
            await ours.commit(key, epoch, Commit("1", 0, seq))
        if key == "order:3":
            await ours.release(key, epoch, "closed", "")

    await ours.close()

    assert await theirs.due(now, now + 30, 10) == ["order:1", "order:3", "order:4"]
    assert await theirs.due(now, now + 30, 10) == []


@law
async def releasing_a_key_lets_others_claim_it(open_store: Open, clock: ManualClock) -> None:
    """Without it, a killed run cannot be recovered elsewhere."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")

    await ours.release("order:1", epoch, "killed", "you")

    assert await theirs.claim("order:1") is None


@law
async def releasing_an_older_life_leaves_the_owner(open_store: Open, clock: ManualClock) -> None:
    """Without it, an activation that ends late gives away the key of the one after it."""
    ours, theirs = await open_store(), await open_store()
    older = await begin(ours, "order:1")
    await ours.load("order:1")

    await ours.release("order:1", older, "fenced", "")

    assert await theirs.claim("order:1") is not None


@law
async def registering_again_keeps_the_first(open_store: Open, clock: ManualClock) -> None:
    """Without it, a key quietly becomes another process."""
    ours, theirs = await open_store(), await open_store()
    assert await ours.register("order:1", "order", '{"id":"1"}') == ("order", '{"id":"1"}')

    again = await theirs.register("order:1", "job", "{}")

    assert again == ("order", '{"id":"1"}')
    info = await theirs.key_info("order:1")
    assert info is not None
    assert (info.definition, info.args, info.created_at) == ("order", '{"id":"1"}', clock.now())


@law
async def keys_are_listed_with_what_is_known_of_them(open_store: Open, clock: ManualClock) -> None:
    """Without it, a dashboard shows another store than there is."""
    store = await open_store()
    await store.register("order:1", "order", "{}")
    await store.register("job:1", "job", "{}")
    epoch = await begin(store, "order:1")
    await store.append("order:1", epoch, '"one"', wake_at=clock.now() + 5)
    await store.append("order:1", epoch, '"two"')
    await store.commit("order:1", epoch, Commit('"state"', 2, 1, wake_at=clock.now() + 7))

    order, job = await store.keys()

    assert (order.key, order.version, order.cursor, order.epoch, order.last_seq) == ("order:1", 2, 1, epoch, 2)
    assert (order.wake_at, order.snapshot) == (clock.now() + 7, '"state"')
    assert (job.key, job.owner, job.snapshot, job.last_seq) == ("job:1", None, None, 0)
    assert [info.key for info in await store.keys(definition="job")] == ["job:1"]
    assert await store.key_info("job:2") is None


# Lives


@law
async def a_life_says_how_it_ended(open_store: Open, clock: ManualClock) -> None:
    """Without it, nobody knows who killed a run, or when."""
    store = await open_store()
    epoch, began = await begin(store, "order:1"), clock.now()
    await clock.advance(10)

    await store.release("order:1", epoch, "killed", "you")

    (life,) = await store.activations("order:1")
    assert (life.epoch, life.host, life.began_at) == (epoch, store.host.id, began)
    assert (life.ended_at, life.how, life.by) == (clock.now(), "killed", "you")
    assert not (await store.load("order:1")).cut_off


@law
async def a_life_that_never_said_is_lost_at_its_last_write(open_store: Open, clock: ManualClock) -> None:
    """Without it, a crash looks like an end, and its time is a guess."""
    store = await open_store()
    epoch = await begin(store, "order:1")
    await clock.advance(10)
    seq = await store.append("order:1", epoch, '"add"')
    await clock.advance(10)
    await store.put_step("order:1", epoch, seq, StepRecord("", "charge", 0, "null"))
    wrote = clock.now()
    await clock.advance(10)

    again = await store.load("order:1")

    assert again.cut_off
    lost, alive = await store.activations("order:1")
    assert (lost.how, lost.ended_at) == ("lost", wrote)
    assert (alive.epoch, alive.how, alive.ended_at) == (again.epoch, None, None)


@law
async def a_life_that_wrote_nothing_is_lost_where_it_began(open_store: Open, clock: ManualClock) -> None:
    """Without it, what an earlier life wrote counts for a later one."""
    store = await open_store()
    first = await begin(store, "order:1")
    await store.append("order:1", first, '"add"')
    await store.release("order:1", first, "killed", "")
    await clock.advance(10)
    began = clock.now()
    await begin(store, "order:1")
    await clock.advance(10)

    await store.load("order:1")

    assert [(life.how, life.ended_at) for life in await store.activations("order:1")][1] == ("lost", began)


@law
async def a_post_after_a_death_is_not_its_last_write(open_store: Open, clock: ManualClock) -> None:
    """Without it, a crashed run seems to have lived until somebody wrote to it."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    await clock.advance(10)
    await ours.append("order:1", epoch, '"add"')
    wrote = clock.now()
    await ours.close()
    await clock.advance(10)
    await theirs.post("order:1", '"still there?"')

    await theirs.load("order:1")

    assert (await theirs.activations("order:1"))[0].ended_at == wrote


# Inbox


@law
async def a_post_to_a_key_without_owner_is_in_its_log(open_store: Open, clock: ManualClock) -> None:
    """Without it, a run that was handed over by a host that then closed never starts."""
    store = await open_store()

    first = await store.post("order:1", '"start"', id="call-1", wake=clock.now(), definition="order", args='{"id":"1"}')
    second = await store.post("order:1", '"more"')

    assert 0 < first < second
    assert await store.pending("order:1", 0) == [Logged(first, '"start"', "call-1"), Logged(second, '"more"')]
    assert await store.register("order:1", "job", "{}") == ("order", '{"id":"1"}')
    assert await store.due(clock.now(), clock.now() + 30, 10) == ["order:1"]


@law
async def a_post_to_an_owned_key_waits_for_its_owner(open_store: Open, clock: ManualClock) -> None:
    """Without it, two writers number one log."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    await ours.append("order:1", epoch, '"mine"')

    assert await theirs.post("order:1", '"one"', id="call-1") > 0
    assert await theirs.post("order:1", '"two"') > 0

    assert [logged.message for logged in await ours.pending("order:1", 0)] == ['"mine"']
    moved = await ours.collect("order:1", epoch)
    assert moved == [Logged(2, '"one"', "call-1"), Logged(3, '"two"')]
    assert (await ours.pending("order:1", 0))[1:] == moved
    assert await ours.collect("order:1", epoch) == []


@law
async def posts_and_appends_share_one_series_of_numbers(open_store: Open, clock: ManualClock) -> None:
    """Without it, a collected message and an appended one have one number."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    await theirs.post("order:1", '"theirs"')

    collected, appended = ours.collect("order:1", epoch), ours.append("order:1", epoch, '"ours"')

    assert await collected == [Logged(1, '"theirs"')]
    assert await appended == 2


@law
async def collecting_is_fenced(open_store: Open, clock: ManualClock) -> None:
    """Without it, an activation that was replaced takes messages away."""
    ours, theirs = await open_store(), await open_store()
    stale = await begin(ours, "order:1")
    newest = (await ours.load("order:1")).epoch
    await theirs.post("order:1", '"one"')

    assert await is_fenced(ours.collect("order:1", stale))

    assert [logged.message for logged in await ours.collect("order:1", newest)] == ['"one"']


@law
async def what_waits_is_not_overtaken(open_store: Open, clock: ManualClock) -> None:
    """Without it, messages are handled in another order because their owner died."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    await theirs.post("order:1", '"one"')
    await ours.release("order:1", epoch, "killed", "")

    await theirs.post("order:1", '"two"')

    epoch = await begin(theirs, "order:1")
    await theirs.collect("order:1", epoch)
    assert [logged.message for logged in await theirs.pending("order:1", 0)] == ['"one"', '"two"']


@law
async def one_id_is_posted_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, a caller that tries again has its work done twice."""
    ours, theirs = await open_store(), await open_store()
    logged = await theirs.post("free", '"pay"', id="call-1")
    assert await theirs.post("free", '"again"', id="call-1") == logged
    epoch = await begin(ours, "owned")
    waiting = await theirs.post("owned", '"pay"', id="call-1")
    assert await theirs.post("owned", '"again"', id="call-1") == waiting

    moved = await ours.collect("owned", epoch)

    assert await theirs.post("owned", '"and again"', id="call-1") == waiting
    assert await ours.collect("owned", epoch) == []
    assert [message.message for message in moved] == ['"pay"']
    assert [message.message for message in await theirs.pending("free", 0)] == ['"pay"']


@law
async def a_call_that_its_owner_logged_is_not_collected_again(open_store: Open, clock: ManualClock) -> None:
    """Without it, one call id is two messages because it came by two ways."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    await theirs.post("order:1", '"pay"', id="call-1")
    await ours.append("order:1", epoch, '"pay"', "call-1")

    assert await ours.collect("order:1", epoch) == []

    assert await ours.posted() == []
    assert len(await ours.pending("order:1", 0)) == 1


@law
async def a_post_wakes_a_key_that_sleeps(open_store: Open, clock: ManualClock) -> None:
    """Without it, a message waits for its owner's next deadline, or moves it."""
    ours, theirs = await open_store(), await open_store()
    now = clock.now()
    await begin(ours, "order:1")
    await begin(ours, "order:2")

    await theirs.post("order:1", '"one"', wake=now + 10)
    await theirs.post("order:1", '"two"', wake=now + 5)
    await theirs.post("order:2", '"one"')

    assert await theirs.due(now + 9, now + 60, 10) == []
    assert await theirs.due(now + 10**6, now + 2 * 10**6, 10) == ["order:1"]


@law
async def what_was_posted_keeps_its_key_awake(open_store: Open, clock: ManualClock) -> None:
    """Without it, what is posted while the owner ends its last message is left for ever when the owner dies then."""
    ours, theirs = await open_store(), await open_store()
    now = clock.now()
    epoch = await begin(ours, "order:1")
    seq = await ours.append("order:1", epoch, '"mine"', wake_at=now + 10)
    await theirs.post("order:1", '"theirs"', id="call-1", wake=now)
    await ours.commit("order:1", epoch, Commit('"done"', 1, seq, wake_at=now + 20))

    assert await theirs.due(now + 19, now + 60, 10) == []
    assert await theirs.due(now + 20, now + 60, 10) == ["order:1"]

    (collected,) = await ours.collect("order:1", epoch)
    await ours.commit("order:1", epoch, Commit('"done"', 2, collected.seq, wake_at=now + 90))

    assert await theirs.due(now + 10**6, now + 2 * 10**6, 10) == []


@law
async def what_was_posted_to_a_life_that_ends_is_due(open_store: Open, clock: ManualClock) -> None:
    """Without it, what is posted while a life ends waits until the key is asked for, or for its redelivery."""
    ours, theirs = await open_store(), await open_store()
    for how in ("closed", "disposed", "done"):
        key = f"order:{how}"
        epoch = await begin(ours, key)
        seq = await ours.append(key, epoch, '"mine"')
        await theirs.post(key, '"theirs"', id="call-1")
        await ours.commit(key, epoch, Commit('"done"', 1, seq, wake_at=clock.now() + 30))

        await ours.release(key, epoch, how, "")

        assert await theirs.due(clock.now(), clock.now() + 60, 10) == [key]


@law
async def a_post_now_is_committed_when_it_returns(open_store: Open, clock: ManualClock) -> None:
    """Without it, a synchronous call reports what a crash takes back; what was queued before lands before."""
    ours, theirs = await open_store(), await open_store()
    epoch = await begin(ours, "order:1")
    queued = ours.append("order:1", epoch, '"queued"')

    number = ours.post_now("order:2", '"now"', id="call-1", wake=clock.now(), definition="order", args="{}")

    assert ours.post_now("order:2", '"again"', id="call-1") == number
    assert [logged.message for logged in await theirs.pending("order:1", 0)] == ['"queued"']
    assert [logged.message for logged in await theirs.pending("order:2", 0)] == ['"now"']
    assert await queued == 1


@law
async def the_owner_is_told_which_keys_have_posts(open_store: Open, clock: ManualClock) -> None:
    """Without it, a host that noticed a change must ask for every key."""
    ours, theirs = await open_store(), await open_store()
    for key in ("order:1", "order:2", "order:3"):
        await begin(ours, key)
    await begin(theirs, "order:4")
    await theirs.post("order:2", '"one"')
    await theirs.post("order:2", '"two"')
    await ours.post("order:4", '"one"')

    assert await ours.posted() == ["order:2"]
    assert await theirs.posted() == ["order:4"]


@law
async def a_write_of_another_host_is_noticed(open_store: Open, clock: ManualClock) -> None:
    """Without it, a post waits until its owner happens to look."""
    ours, theirs = await open_store(), await open_store()
    noticed = asyncio.Event()
    stop = ours.watch(noticed.set)

    await theirs.post("order:1", '"one"')

    await noticed.wait()
    stop()
