"""The laws of queues: a job is leased to one holder at a time, and comes back until it is done or set aside.

Source: PROCESSES 6.3, DESIGN rules 3 and 7, CASES 4, 7, 43.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from workbench.errors import LeaseLost
from workbench.store.queue import NewJob, Outlook, Put, QueueStats
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.store.queue import Hold, JobRecord
    from workbench.store.store import Store
    from workbench.testing.clock import ManualClock

__all__ = ["QUEUES", "lease", "put"]

QUEUES: list[Law] = []
law = enrol(QUEUES)


async def put(store: Store, *bodies: str, **options: object) -> list[int]:
    """Put jobs into the queue `mail`; gives their numbers."""
    jobs = [NewJob(body, **options) for body in bodies]  # type: ignore[arg-type]
    return [done.id for done in await store.queues.put("mail", jobs)]


async def lease(
    store: Store, limit: int = 10, *, seconds: float = 30.0, max_attempts: int = 99, kept: bool = False
) -> list[JobRecord]:
    """Lease jobs of the queue `mail`."""
    return await store.queues.lease("mail", limit, seconds=seconds, max_attempts=max_attempts, kept=kept)


def hold(job: JobRecord) -> Hold:
    """What its holder names a job by."""
    return job.id, job.number


@law
async def the_highest_priority_is_leased_first_then_the_oldest(open_store: Open, clock: ManualClock) -> None:
    """Without it, a job that was put first is starved, or an urgent one waits."""
    store = await open_store()
    await put(store, '"a"', '"b"', '"c"')
    await put(store, '"low"', priority=-1)
    await put(store, '"high"', priority=1)

    first, rest = await lease(store, 2), await lease(store)

    assert [job.body for job in first] == ['"high"', '"a"']
    assert [job.body for job in rest] == ['"b"', '"c"', '"low"']
    assert await lease(store) == []


@law
async def a_job_is_leased_to_one_of_two_that_ask_at_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, two workers do the same thing."""
    ours, theirs = await open_store(), await open_store()
    ids = await put(ours, *(str(number) for number in range(10)))

    shares = await asyncio.gather(*(lease(store, 3) for store in (ours, theirs, ours, theirs)))

    taken = [job.id for share in shares for job in share]
    assert len(taken) == 10
    assert sorted(taken) == ids


@law
async def an_attempt_is_counted_by_the_lease(open_store: Open, clock: ManualClock) -> None:
    """Without it, a job that takes its host down is delivered for ever."""
    store = await open_store()
    (id,) = await put(store, '"a"', key="k", priority=2)

    (first,) = await lease(store)
    await store.queues.release("mail", hold(first))
    (second,) = await lease(store, seconds=5)

    assert (first.attempts, first.number) == (1, 1)
    assert (second.attempts, second.number) == (2, 2)
    assert (second.id, second.status, second.key, second.priority) == (id, "leased", "k", 2)
    assert (second.at, second.put_at, second.holder) == (clock.now() + 5, clock.now(), store.host.id)


@law
async def a_delayed_job_waits_out_its_delay(open_store: Open, clock: ManualClock) -> None:
    """Without it, what was meant for later is done now, or never."""
    store = await open_store()
    await put(store, '"later"', delay=10)

    assert await lease(store) == []
    await clock.advance(9.999)
    assert await lease(store) == []
    await clock.advance(0.001)
    assert [job.body for job in await lease(store)] == ['"later"']


@law
async def a_key_at_work_is_not_put_again(open_store: Open, clock: ManualClock) -> None:
    """Without it, one order is charged by two jobs; or a key, once used, can never be used again."""
    store = await open_store()
    first, twin = await store.queues.put("mail", [NewJob('"a"', "k"), NewJob('"b"', "k")])
    assert (first.fresh, twin) == (True, Put(first.id, False, '"a"'))
    (job,) = await lease(store)
    assert await store.queues.put("mail", [NewJob('"c"', "k")]) == [twin]
    assert (await store.queues.put("other", [NewJob('"d"', "k")]))[0].fresh

    await store.queues.finish("mail", [hold(job)])

    (later,) = await store.queues.put("mail", [NewJob('"e"', "k", 0, 10.0)])
    assert (later.fresh, later.id != first.id) == (True, True)
    assert await store.queues.put("mail", [NewJob('"f"', "k")]) == [Put(later.id, False, '"e"')]


@law
async def a_lease_that_ran_out_is_anyones(open_store: Open, clock: ManualClock) -> None:
    """Without it, a job dies with the worker that had it."""
    ours, theirs = await open_store(), await open_store()
    await put(ours, '"a"')
    await lease(ours, seconds=30)

    await clock.advance(29.999)
    assert await lease(theirs) == []
    await clock.advance(0.001)
    (job,) = await lease(theirs)

    assert (job.attempts, job.number, job.holder) == (2, 2, theirs.host.id)
    assert job.error == "its lease ran out before it was done"


@law
async def a_kept_lease_is_its_hosts_while_that_lives(open_store: Open, clock: ManualClock) -> None:
    """Without it, a busy cell loses its jobs; or a host never gets back what its own worker forgot."""
    ours, theirs = await open_store(), await open_store()
    await put(ours, '"a"')
    await lease(ours, seconds=10, kept=True)
    await clock.advance(10)

    assert await lease(theirs) == []
    (job,) = await lease(ours)

    assert (job.attempts, job.number) == (2, 2)


@law
async def the_jobs_of_a_dead_host_are_free_at_once(open_store: Open, clock: ManualClock) -> None:
    """Without it, work waits for the lease of a host that everyone knows to be dead."""
    ours, theirs, dies = await open_store(), await open_store(), await open_store()
    await put(ours, '"a"', '"b"')
    await lease(dies, 1, seconds=3600, kept=True)
    await lease(dies, 1, seconds=3600)
    assert (await lease(theirs), ours.queues.outlook_now()["mail"].ready) == ([], False)

    await dies.close()

    assert ours.queues.outlook_now()["mail"].ready
    assert [(job.body, job.attempts) for job in await lease(theirs)] == [('"a"', 2), ('"b"', 2)]


@law
async def a_late_holder_changes_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, a worker that was given up finishes, delays or buries the job of another."""
    ours, theirs = await open_store(), await open_store()
    await put(ours, '"a"')
    (late,) = await lease(ours, seconds=1)
    await clock.advance(1)
    (job,) = await lease(theirs, seconds=30)

    refused = [
        (await ours.queues.finish("mail", [hold(late)])).get(late.id),
        (await ours.queues.extend("mail", [hold(late)], 99)).get(late.id),
    ]
    for write in (
        ours.queues.release("mail", hold(late), delay=99, error="late"),
        ours.queues.bury("mail", hold(late), "late"),
    ):
        try:
            await write
        except LeaseLost as error:
            refused.append(error)

    assert [type(error) for error in refused] == [LeaseLost] * 4
    assert str(refused[0]).startswith(f"job {job.id} of 'mail' was leased again (lease 2, ours 1)")
    assert ours.queues.job_now("mail", job.id) == job
    assert ours.queues.stats_now("mail") == QueueStats(leased=1)
    unknown = (await ours.queues.finish("mail", [(10**9, 1)]))[10**9]
    assert str(unknown).startswith("there is no job 1000000000 in 'mail'")


@law
async def an_extended_lease_ends_later(open_store: Open, clock: ManualClock) -> None:
    """Without it, a long job is started again while it runs."""
    ours, theirs = await open_store(), await open_store()
    await put(ours, '"a"', '"b"')
    jobs = await lease(ours, seconds=10)
    await clock.advance(9)

    assert await ours.queues.extend("mail", [hold(job) for job in jobs], 10) == {}

    await clock.advance(9.999)
    assert await lease(theirs) == []
    await clock.advance(0.001)
    assert await ours.queues.extend("mail", [hold(jobs[0])], 10) == {}  # nobody took it meanwhile
    assert [job.body for job in await lease(theirs)] == ['"b"']


@law
async def a_finished_job_is_over(open_store: Open, clock: ManualClock) -> None:
    """Without it, what was done is done again; saying so twice counts once."""
    store = await open_store()
    await put(store, '"a"', '"b"')
    jobs = await lease(store, seconds=10)
    await clock.advance(11)

    first = await store.queues.finish("mail", [hold(job) for job in jobs])
    again = await store.queues.finish("mail", [hold(jobs[0])])

    assert (first, again) == ({}, {})
    assert await lease(store) == []
    assert store.queues.stats_now("mail") == QueueStats(done=2)
    over = store.queues.job_now("mail", jobs[0].id)
    assert over is not None
    assert (over.status, over.at, over.holder) == ("done", clock.now(), None)


@law
async def a_released_job_comes_back_after_its_delay(open_store: Open, clock: ManualClock) -> None:
    """Without it, a job that failed is lost, or tried again without a pause."""
    store = await open_store()
    await put(store, '"a"')
    (first,) = await lease(store)
    await store.queues.release("mail", hold(first), delay=5, error="boom")
    assert await lease(store) == []
    await clock.advance(5)
    (second,) = await lease(store)
    assert (second.attempts, second.error) == (2, "boom")

    await store.queues.release("mail", hold(second), counted=False)

    (third,) = await lease(store)
    assert (third.attempts, third.number, third.error) == (2, 3, "boom")


@law
async def a_job_without_an_attempt_left_is_set_aside(open_store: Open, clock: ManualClock) -> None:
    """Without it, a poisoned job takes one worker after another down, and holds the others up."""
    store = await open_store()
    await put(store, '"poison"', '"good"')
    for _ in range(2):
        (job,) = await lease(store, 1, seconds=1, max_attempts=2)
        assert job.body == '"poison"'
        await clock.advance(1)

    taken = await lease(store, 1, max_attempts=2)

    assert [job.body for job in taken] == ['"good"']
    (dead,) = store.queues.jobs_now("mail", status="dead")
    assert (dead.body, dead.attempts) == ('"poison"', 2)
    assert dead.error == "its lease ran out before it was done, 2 times"
    assert (dead.at, dead.holder) == (clock.now(), None)


@law
async def a_dead_job_waits_again_when_it_is_requeued(open_store: Open, clock: ManualClock) -> None:
    """Without it, nobody can mend what failed."""
    store = await open_store()
    ids = await put(store, '"a"', '"b"', '"c"')
    for job in await lease(store):
        await store.queues.bury("mail", hold(job), f"boom {job.body}")
    assert [job.error for job in store.queues.jobs_now("mail", status="dead")] == [
        'boom "a"',
        'boom "b"',
        'boom "c"',
    ]

    same = await store.queues.requeue("mail", ids[0])
    edited = await store.queues.requeue("mail", ids[1], '"mended"')

    assert (same, edited) == (Put(ids[0], True, '"a"'), Put(ids[1], True, '"mended"'))
    again = await lease(store, max_attempts=1)
    assert [(job.id, job.body, job.attempts) for job in again] == [(ids[0], '"a"', 1), (ids[1], '"mended"', 1)]
    assert await store.queues.requeue("mail", ids[0]) is None
    assert await store.queues.requeue("other", ids[2]) is None


@law
async def a_discarded_job_is_gone_for_good(open_store: Open, clock: ManualClock) -> None:
    """Without it, dead letters only grow; or a job that somebody works on is thrown away."""
    store = await open_store()
    ids = await put(store, '"a"', '"b"')
    await store.queues.bury("mail", hold((await lease(store, 1))[0]), "boom")

    assert await store.queues.discard("mail", ids[0])

    assert not await store.queues.discard("mail", ids[0])
    assert not await store.queues.discard("mail", ids[1])
    assert await store.queues.requeue("mail", ids[0]) is None
    assert store.queues.stats_now("mail") == QueueStats(waiting=1)


@law
async def a_requeued_job_does_not_take_the_key_of_another(open_store: Open, clock: ManualClock) -> None:
    """Without it, two jobs of one key are at work."""
    store = await open_store()
    (dead,) = await put(store, '"a"', key="k")
    await store.queues.bury("mail", hold((await lease(store))[0]), "boom")
    (other,) = await put(store, '"b"', key="k")

    assert await store.queues.requeue("mail", dead) == Put(other, False, '"b"')

    assert [job.id for job in await lease(store)] == [other]


@law
async def a_paused_queue_leases_nothing(open_store: Open, clock: ManualClock) -> None:
    """Without it, a queue cannot be stopped for everyone."""
    ours, theirs = await open_store(), await open_store()
    await put(ours, '"a"')

    await ours.queues.pause("mail", True)

    assert await lease(theirs) == []
    assert (theirs.queues.stats_now("mail").paused, "mail" in theirs.queues.outlook_now()) == (True, False)
    await put(ours, '"b"')
    await theirs.queues.pause("mail", False)
    assert [job.body for job in await lease(ours)] == ['"a"', '"b"']


@law
async def queues_are_apart(open_store: Open, clock: ManualClock) -> None:
    """Without it, a worker gets jobs that it has no handler for."""
    store = await open_store()
    await put(store, '"mail"')
    (other,) = await store.queues.put("Mail", [NewJob('"Mail"')])
    assert [job.body for job in await lease(store)] == ['"mail"']

    (theirs,) = await store.queues.lease("Mail", 10, seconds=30, max_attempts=9)

    assert theirs.id == other.id
    assert list(await store.queues.finish("mail", [hold(theirs)])) == [theirs.id]
    assert store.queues.names_now() == ["mail", "Mail"]
    assert store.queues.jobs_now("none") == []
    assert store.queues.stats_now("none") == QueueStats()
    assert await store.queues.lease("none", 1, seconds=1, max_attempts=1) == []


@law
async def the_counts_are_of_this_instant(open_store: Open, clock: ManualClock) -> None:
    """Without it, nobody sees what a queue is about to do."""
    store = await open_store()
    await put(store, '"a"', '"b"', '"c"')
    await put(store, '"later"', delay=10)
    first, second = await lease(store, 2)
    await store.queues.finish("mail", [hold(first)])
    await store.queues.bury("mail", hold(second), "boom")
    await lease(store, 1, seconds=60)
    await put(store, '"d"')

    assert store.queues.stats_now("mail") == QueueStats(waiting=1, delayed=1, leased=1, done=1, dead=1)

    await clock.advance(10)
    assert store.queues.stats_now("mail") == QueueStats(waiting=2, delayed=0, leased=1, done=1, dead=1)


@law
async def the_outlook_names_the_next_instant(open_store: Open, clock: ManualClock) -> None:
    """Without it, who waits for a job has to poll."""
    ours, theirs = await open_store(), await open_store()
    now = clock.now()
    await put(ours, '"later"', delay=20)
    assert ours.queues.outlook_now() == {"mail": Outlook(False, now + 20, False)}
    await put(ours, '"now"')
    assert ours.queues.outlook_now()["mail"].ready

    await lease(ours, seconds=10)

    assert ours.queues.outlook_now() == {"mail": Outlook(False, now + 10, False)}
    assert theirs.queues.outlook_now() == {"mail": Outlook(False, now + 10, True)}
    await clock.advance(10)
    assert theirs.queues.outlook_now() == {"mail": Outlook(True, now + 20, True)}
    await lease(ours, seconds=5, kept=True)
    await clock.advance(5)
    assert theirs.queues.outlook_now() == {"mail": Outlook(False, now + 20, True)}
    assert ours.queues.outlook_now()["mail"].ready
    await clock.advance(5)
    assert theirs.queues.outlook_now() == {"mail": Outlook(True, None, True)}


@law
async def bodies_come_back_to_the_letter(open_store: Open, clock: ManualClock) -> None:
    """Without it, a job does something else than was asked; a large body outlives the pruning of others."""
    store = await open_store()
    bodies = ['"æ 😀 \u2028 \\u0000"', "1e400", '"' + "long " * 40_000 + '"', '"' + "long " * 40_000 + '"', ""]
    ids = await put(store, *bodies)
    await store.prune(clock.now() + 1)

    jobs = await lease(store)

    assert {job.id: job.body for job in jobs} == dict(zip(ids, bodies, strict=True))
    assert [job.body for job in store.queues.jobs_now("mail")] == bodies


@law
async def prune_forgets_jobs_that_are_over(open_store: Open, clock: ManualClock) -> None:
    """Without it, a store grows for ever; or a job at work, or a dead letter, is lost."""
    store = await open_store()
    await put(store, '"done"', '"dead"', '"discarded"', '"leased"')
    done, dead, discarded, _ = await lease(store)
    await store.queues.finish("mail", [hold(done)])
    await store.queues.bury("mail", hold(dead), "boom")
    await store.queues.bury("mail", hold(discarded), "boom")
    await store.queues.discard("mail", discarded.id)
    await put(store, '"waits"')
    await clock.advance(100)

    assert await store.prune(clock.now() - 100) == 0
    assert await store.prune(clock.now()) == 2

    assert [job.body for job in store.queues.jobs_now("mail")] == ['"dead"', '"leased"', '"waits"']
    assert store.queues.stats_now("mail") == QueueStats(waiting=1, leased=1, done=1, dead=1)
