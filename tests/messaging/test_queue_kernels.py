"""Several kernels on one store: they share the work, and what a dead one had is done by another."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest
from children import OpenBench, child, lines, until

from workbench import Workbench
from workbench.messaging.job import Job
from workbench.testing import ManualClock


async def test_a_job_that_another_kernel_puts_is_handled_here(open_bench: OpenBench) -> None:
    ours, theirs = await open_bench(), await open_bench()
    handled: list[str] = []

    async def handle(job: Job) -> None:
        handled.append(job.body)

    ours.queue("mail").work(handle)
    await theirs.queue("mail").put("a")
    await until(lambda: handled == ["a"], "the job of another kernel")
    await theirs.queue("mail").pause()
    await theirs.queue("mail").put("b")
    await theirs.queue("mail").resume()
    await until(lambda: handled == ["a", "b"], "the queue to go on")


async def test_a_delayed_job_of_another_kernel_is_handled_at_its_instant(
    open_bench: OpenBench, clock: ManualClock
) -> None:
    ours, theirs = await open_bench(), await open_bench()
    handled: list[float] = []

    async def handle(job: Job) -> None:
        handled.append(clock.now())

    ours.queue("mail").work(handle)
    due = clock.now() + 20
    await theirs.queue("mail").put("a", delay=20)
    await until(lambda: clock._next() is not None and clock._sleepers[0][0] <= due, "our kernel to know of it")
    await clock.advance(20)

    await until(lambda: handled, "the job")
    assert handled == [due]


async def test_two_kernels_share_a_queue_and_nothing_is_done_twice(open_bench: OpenBench, clock: ManualClock) -> None:
    benches = [await open_bench(), await open_bench()]
    handled: Counter[tuple[int, int]] = Counter()

    for at, bench in enumerate(benches):

        async def handle(job: Job, at: int = at) -> None:
            handled[at, job.body] += 1
            await asyncio.sleep(0)

        bench.queue("mail").work(handle, workers=3, name="share")
    await asyncio.gather(*(benches[0].queue("mail").put(number) for number in range(200)))
    await until(lambda: benches[0].queue("mail").stats.done == 200, "every job")

    assert sorted(body for _, body in handled) == list(range(200))
    assert set(handled.values()) == {1}


async def test_a_blocked_kernel_keeps_its_jobs(open_bench: OpenBench, clock: ManualClock) -> None:
    ours, theirs = await open_bench(), await open_bench()
    begun: list[tuple[str, int]] = []
    gate = asyncio.Event()

    def handler(name: str):
        async def handle(job: Job) -> None:
            begun.append((name, job.attempts))
            await gate.wait()

        return handle

    ours.queue("mail").work(handler("ours"), lease=10)
    await ours.queue("mail").put("a")
    await until(lambda: begun, "the job to begin")
    desk = ours.queue("mail").crews["handle"].desk
    desk._keeper.cancel()  # as a cell that blocks the loop would keep it from running
    theirs.queue("mail").work(handler("theirs"), lease=10)
    await clock.advance(60)

    assert begun == [("ours", 1)]
    gate.set()
    await until(lambda: ours.queue("mail").stats.done == 1, "the job to be done")


async def test_a_lease_that_was_lost_stops_its_handler(open_bench: OpenBench, clock: ManualClock) -> None:
    ours, theirs = await open_bench(), await open_bench()
    begun: list[int] = []
    stopped: list[str] = []

    async def handle(job: Job) -> None:
        begun.append(job.attempts)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopped.append(job.body)
            raise

    queue = ours.queue("mail")
    crew = queue.work(handle, lease=30)
    ticket = await queue.put("a")
    await until(lambda: begun, "the job to begin")
    await theirs.store.queues.bury("mail", (ticket.id, 1), "somebody set it aside")

    await clock.advance(10)

    assert (begun, stopped) == ([1], ["a"])
    assert [worker.status for worker in crew.workers] == ["running"]
    assert [row["error"] for row in queue.dead()] == ["somebody set it aside"]


async def test_a_killed_worker_is_followed_by_another_at_once(tmp_path: Path) -> None:
    handled: list[tuple[str, int]] = []

    async def handle(job: Job) -> None:
        handled.append((job.body, job.attempts))

    async with Workbench.open(tmp_path / "post.db") as bench:
        queue = bench.queue("mail")
        for body in ("a", "b"):
            await queue.put(body)
        async with child(tmp_path, "hang") as dies:
            await until(lambda: len(lines(tmp_path, "begun")) == 2, "the child to begin")
            queue.work(handle)
            assert (queue.stats.leased, handled) == (2, [])
            dies.kill()
            await until(lambda: queue.stats.done == 2, "another to finish")

        assert sorted(handled) == [("a", 2), ("b", 2)]
        assert [row["error"] for row in queue.jobs()] == [None, None]
    assert sorted(lines(tmp_path, "begun")) == ["a 1", "b 1"]


async def test_a_job_that_takes_its_kernel_down_is_set_aside(tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "post.db") as bench:
        queue = bench.queue("mail")
        await queue.put("poison")
        await queue.put("good")
        for _ in range(3):
            async with child(tmp_path, "fuse") as dies:
                assert await dies.wait() == 7

        async with child(tmp_path, "fuse") as lives:
            assert await lives.wait() == 0

        assert lines(tmp_path, "begun") == ["poison 1", "poison 2", "poison 3", "good 1"]
        (dead,) = queue.dead()
        assert (dead["body"], dead["error"]) == ("poison", "its host died while it was handled, 3 times")
        assert queue.stats.done == 1


@pytest.mark.slow
async def test_ten_kills_at_random_moments_lose_no_job(tmp_path: Path) -> None:
    jobs, chance = 200, random.Random(7)
    async with Workbench.open(tmp_path / "post.db") as bench:
        queue = bench.queue("mail")
        await asyncio.gather(*(queue.put(number) for number in range(jobs)))
        for kill in range(10):
            effects = len(lines(tmp_path, "effects"))
            async with child(tmp_path, "work", jobs) as dies:
                enough = min(effects + chance.randrange(0, 12), jobs)
                await until(lambda enough=enough: len(lines(tmp_path, "effects")) >= enough, f"kill {kill}")
                dies.kill()
        async with child(tmp_path, "work", jobs) as lives:
            assert await lives.wait() == 0

        stats = queue.stats
    done = Counter(lines(tmp_path, "effects"))
    assert set(done) == {str(number) for number in range(jobs)}
    assert (stats.done, stats.waiting, stats.leased, stats.dead) == (jobs, 0, 0, 0)
    assert sum(done.values()) - jobs <= 10 * 4  # what was at work at a kill, and nothing else, ran again
