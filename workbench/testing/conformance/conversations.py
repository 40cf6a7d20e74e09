"""The laws of conversations: runs have their places in order, and what each left behind is kept once.

Source: DESIGN rules 6 and 8, CASES 34.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.conversations import ConversationInfo
from workbench.store.journal import Commit
from workbench.store.schedules import Firing
from workbench.testing.conformance.journal import begin
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.store.store import Store
    from workbench.testing.clock import ManualClock

__all__ = ["CONVERSATIONS"]

CONVERSATIONS: list[Law] = []
law = enrol(CONVERSATIONS)


def enter(store: Store, run: str, owner: str = "ana", name: str = "c", message: str = '"hello"') -> int:
    """Enter a run, as the laws do; gives its number."""
    post = Firing(f"run:{run}", message, "ask", "agent:clerk", f'{{"id":"{run}"}}')
    return store.conversations.enter_now(owner, name, post, wake=1.0)


async def finish(store: Store, run: str) -> None:
    """Acknowledge the message of a run."""
    await store.commit(f"run:{run}", await begin(store, f"run:{run}"), Commit("1", 0, 1))


def keys(store: Store, owner: str = "ana", name: str = "c") -> list[str]:
    """The keys of a conversation in order."""
    return [each.key for each in store.conversations.exchanges_now(owner, name)]


@law
async def entering_posts_and_wakes(open_store: Open, clock: ManualClock) -> None:
    """Without it, a run has a place in its conversation and never begins."""
    store = await open_store()

    assert enter(store, "1") == 1

    assert [logged.message for logged in await store.pending("run:1", 0)] == ['"hello"']
    assert await store.due(2.0, 3.0, 10) == ["run:1"]
    info = await store.key_info("run:1")
    assert info is not None
    assert (info.definition, info.args) == ("agent:clerk", '{"id":"1"}')


@law
async def places_are_numbered_in_the_order_of_entering_by_any_host(open_store: Open, clock: ManualClock) -> None:
    """Without it, two kernels give two runs one place, and both begin."""
    ours, theirs = await open_store(), await open_store()

    numbers = [enter(store, run) for store, run in ((ours, "a"), (theirs, "b"), (ours, "c"))]

    assert numbers == [1, 2, 3]
    assert keys(theirs) == ["run:a", "run:b", "run:c"]


@law
async def the_same_post_has_the_same_place(open_store: Open, clock: ManualClock) -> None:
    """Without it, a run that is asked for twice by its id is in its conversation twice."""
    store = await open_store()
    first, second = enter(store, "1"), enter(store, "2")

    assert (enter(store, "1"), first, second) == (1, 1, 2)

    assert keys(store) == ["run:1", "run:2"]


@law
async def one_name_of_two_owners_is_two_conversations(open_store: Open, clock: ManualClock) -> None:
    """Without it, one person continues what another one said."""
    store = await open_store()

    assert [enter(store, "1", "ana"), enter(store, "2", "bo"), enter(store, "3", "ana", "d")] == [1, 1, 1]

    assert (keys(store, "ana"), keys(store, "bo")) == (["run:1"], ["run:2"])
    listed = store.conversations.conversations_now("ana")
    assert [(each.name, each.newest) for each in listed] == [("c", "run:1"), ("d", "run:3")]


@law
async def what_is_kept_first_stays(open_store: Open, clock: ManualClock) -> None:
    """Without it, a life that was taken over rewrites what the run after it was told."""
    store = await open_store()
    enter(store, "1")

    assert await store.conversations.keep("run:1", '"first"', digest='"sum"', through=0)

    assert not await store.conversations.keep("run:1", '"second"')
    assert not await store.conversations.keep("run:2", '"unknown"')
    (exchange,) = store.conversations.exchanges_now("ana", "c")
    assert (exchange.content, exchange.digest, exchange.through) == ('"first"', '"sum"', 0)


@law
async def what_is_ahead_is_what_has_work_left(open_store: Open, clock: ManualClock) -> None:
    """Without it, a run begins while one before it is at work, or never, after one that was given up."""
    ours, theirs = await open_store(), await open_store()
    for run in "abc":
        enter(ours, run)
    assert theirs.conversations.ahead_now("ana", "c", 3) == ["run:a", "run:b"]

    await ours.conversations.keep("run:b", '"cancelled before it began"')
    await finish(ours, "b")

    assert theirs.conversations.ahead_now("ana", "c", 3) == ["run:a"]
    await finish(ours, "a")
    assert theirs.conversations.ahead_now("ana", "c", 3) == []
    assert theirs.conversations.ahead_now("ana", "c", 4) == ["run:c"]


@law
async def exchanges_are_read_from_and_below_a_number(open_store: Open, clock: ManualClock) -> None:
    """Without it, a replay is told what was said after it began."""
    store = await open_store()
    for run in "abcd":
        enter(store, run)
        await store.conversations.keep(f"run:{run}", f'"{run}"')

    found = store.conversations.exchanges_now("ana", "c", first=2, before=4)

    assert [(each.number, each.content) for each in found] == [(2, '"b"'), (3, '"c"')]


@law
async def the_newest_digest_below_a_number_is_found(open_store: Open, clock: ManualClock) -> None:
    """Without it, a conversation is summed up again for every run."""
    store = await open_store()
    for run, through in (("a", None), ("b", 1), ("c", None), ("d", 3)):
        enter(store, run)
        digest = None if through is None else f'"up to {through}"'
        await store.conversations.keep(f"run:{run}", '"said"', digest=digest, through=through)

    found = [store.conversations.digest_now("ana", "c", before=before) for before in (2, 4, 5)]

    assert [each and (each.number, each.digest, each.through) for each in found] == [
        None,
        (2, '"up to 1"', 1),
        (4, '"up to 3"', 3),
    ]


@law
async def a_deleted_run_leaves_nothing_behind(open_store: Open, clock: ManualClock) -> None:
    """Without it, what somebody wanted forgotten is told to the next run, or is in a summary of it."""
    store = await open_store()
    for run, through in (("a", None), ("b", None), ("c", 2)):
        enter(store, run)
        digest = None if through is None else '"summary"'
        await store.conversations.keep(f"run:{run}", '"said"', digest=digest, through=through)
        await finish(store, run)
        await store.release(f"run:{run}", 1, "disposed", "")

    await store.upkeep.delete("run:b")

    assert keys(store) == ["run:a", "run:c"]
    assert store.conversations.digest_now("ana", "c", before=9) is None
    assert store.conversations.exchange_now("run:b") is None
    assert enter(store, "d") == 4


@law
async def a_conversation_is_pruned_as_a_whole_and_never_while_it_is_used(open_store: Open, clock: ManualClock) -> None:
    """Without it, a conversation loses its beginning while it goes on, or is kept for ever."""
    store, began = await open_store(), clock.now()
    for name, run in (("old", "a"), ("used", "b"), ("waits", "c")):
        enter(store, run, name=name)
        await store.conversations.keep(f"run:{run}", '"said"')
        if name != "waits":
            await finish(store, run)
    await clock.advance(100)
    enter(store, "d", name="used")

    await store.prune(began + 50)

    assert [each.name for each in store.conversations.conversations_now()] == ["used", "waits"]
    assert [each.content for each in store.conversations.exchanges_now("ana", "used")] == ['"said"', None]


@law
async def a_forgotten_conversation_is_gone_and_its_runs_are_not(open_store: Open, clock: ManualClock) -> None:
    """Without it, forgetting what was said takes with it what was done, or takes nothing."""
    store, now = await open_store(), clock.now()
    enter(store, "1")
    enter(store, "2", "bo")

    assert await store.conversations.forget("ana", "c")

    assert not await store.conversations.forget("ana", "c")
    assert store.conversations.conversations_now() == [ConversationInfo("bo", "c", 1, now, now, "run:2")]
    assert (keys(store), await store.key_info("run:1") is None) == ([], False)


@law
async def what_is_left_behind_may_be_large(open_store: Open, clock: ManualClock) -> None:
    """Without it, a long answer ends its conversation, or is swept away."""
    store = await open_store()
    enter(store, "1")
    large = '"' + "x" * 200_000 + '"'

    await store.conversations.keep("run:1", large)
    await store.prune(0.0)

    assert [each.content for each in store.conversations.exchanges_now("ana", "c")] == [large]
