"""Working: jobs are handled in order, failures come back or are set aside, a disposed worker gives its job back."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from workbench import Workbench
from workbench.errors import BadInput, LeaseLost, StoreError
from workbench.messaging.job import Job
from workbench.store.memory import MemoryStore
from workbench.testing import ManualClock


class Handled:
    """A handler that keeps what it saw, fails as often as it is told, and can be held."""

    __name__ = "handled"

    def __init__(self, *, fail: int = 0) -> None:
        self.jobs: list[Job] = []
        self.fail = fail
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self, job: Job) -> None:
        self.jobs.append(job)
        await self.gate.wait()
        if len(self.jobs) <= self.fail:
            raise ValueError(f"boom {len(self.jobs)}")

    @property
    def bodies(self) -> list[Any]:
        return [job.body for job in self.jobs]


async def test_a_worker_drains_the_queue_in_order(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled()
    crew = queue.work(handled)
    for body in "abc":
        await queue.put(body)
    await queue.put("urgent", priority=1)

    await clock.idle()

    assert sorted(handled.bodies) == ["a", "b", "c", "urgent"]
    assert (queue.stats.done, queue.stats.waiting, queue.stats.leased) == (4, 0, 0)
    (worker,) = crew.workers
    assert worker.state == {
        "status": "idle",
        "holding": None,
        "done": 4,
        "failed": 0,
        "last": [job.id for job in handled.jobs],
    }


async def test_many_workers_take_many_jobs_at_once(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled()
    handled.gate.clear()
    crew = queue.work(handled, workers=10)
    await asyncio.gather(*(queue.put(number) for number in range(25)))
    await clock.idle()

    assert handled.bodies == list(range(10))
    assert queue.stats.leased == 10
    assert {worker.state["status"] for worker in crew.workers} == {"working"}
    assert [worker.state["holding"] for worker in crew.workers] == [job.id for job in handled.jobs]
    handled.gate.set()
    await clock.idle()

    assert sorted(handled.bodies) == list(range(25))
    assert queue.stats.done == 25
    assert sum(worker.state["done"] for worker in crew.workers) == 25


async def test_a_failure_is_tried_again_after_a_back_off(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled(fail=2)
    await queue.put("a")
    crew = queue.work(handled, backoff=10)

    await clock.advance(9.9)
    assert len(handled.jobs) == 1
    assert (queue.stats.delayed, queue.jobs()[0]["error"]) == (1, "ValueError: boom 1")
    await clock.advance(0.1)
    assert len(handled.jobs) == 2
    await clock.advance(19.9)
    assert len(handled.jobs) == 2
    await clock.advance(0.1)

    assert [(job.attempts, job.error) for job in handled.jobs] == [
        (1, None),
        (2, "ValueError: boom 1"),
        (3, "ValueError: boom 2"),
    ]
    assert queue.stats.done == 1
    assert (crew.workers[0].state["done"], crew.workers[0].state["failed"]) == (1, 2)


async def test_a_job_whose_attempts_are_used_up_is_set_aside(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled(fail=2)
    await queue.put("poison")
    await queue.put("good", delay=100)
    queue.work(handled, max_attempts=2, backoff=lambda attempts: 7.0 * attempts)

    await clock.advance(100)

    assert handled.bodies == ["poison", "poison", "good"]
    (dead,) = queue.dead()
    assert (dead["body"], dead["attempts"], dead["error"]) == ("poison", 2, "ValueError: boom 2")
    assert dead["at"] == clock.now() - 93


async def test_a_dead_letter_is_edited_and_tried_again(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled(fail=1)
    queue.work(handled, max_attempts=1)
    ticket = await queue.put({"to": "nobody"})
    await clock.idle()

    again = await queue.requeue(ticket.id, {"to": "somebody"})
    await clock.idle()

    assert again.id == ticket.id
    assert handled.bodies == [{"to": "nobody"}, {"to": "somebody"}]
    assert [job.attempts for job in handled.jobs] == [1, 1]
    assert (queue.stats.done, queue.stats.dead) == (1, 0)
    with pytest.raises(BadInput, match=rf"no job {ticket.id} of 'mail' is dead, these are: \[\]"):
        await queue.requeue(ticket.id)
    with pytest.raises(BadInput, match="is dead"):
        await queue.discard(ticket.id)


async def test_a_dead_letter_is_discarded_for_good(bench: Workbench, clock: ManualClock) -> None:
    queue = bench.queue("mail")
    ticket = await queue.put("a")
    await (await queue.take()).bury("boom")

    await queue.discard(ticket.id)

    assert (queue.dead(), queue.stats.dead) == ([], 0)


async def test_a_handler_gives_its_job_up_by_itself(bench: Workbench, clock: ManualClock) -> None:
    queue, seen = bench.queue("mail"), []

    async def handle(job: Job) -> None:
        seen.append((job.body, job.attempts))
        if job.body == "bad":
            await job.bury("no such address")
            raise RuntimeError("after it was buried")
        if job.attempts == 1:
            await job.release(delay=5, error="not yet")

    await queue.put("bad")
    await queue.put("late")
    queue.work(handle)
    await clock.advance(5)

    assert seen == [("bad", 1), ("late", 1), ("late", 2)]
    assert [row["error"] for row in queue.dead()] == ["no such address"]
    assert queue.stats.done == 1


async def test_a_delayed_job_is_handled_at_its_instant(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled()
    queue.work(handled)
    await queue.put("later", delay=60)
    await queue.put("sooner", delay=30)

    await clock.advance(29.9)
    assert handled.bodies == []
    await clock.advance(0.1)
    assert handled.bodies == ["sooner"]
    await clock.advance(30)
    assert handled.bodies == ["sooner", "later"]


async def test_a_lease_is_extended_while_the_handler_lives(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled()
    handled.gate.clear()
    queue.work(handled, workers=2, lease=30)
    await queue.put("long")

    await clock.advance(300)
    handled.gate.set()
    await clock.idle()

    assert handled.bodies == ["long"]
    assert queue.stats.done == 1


async def test_a_paused_queue_hands_nothing_out(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled()
    queue.work(handled)
    await queue.pause()
    await queue.put("a")
    await clock.advance(100)
    assert (handled.bodies, queue.stats.paused) == ([], True)

    await queue.resume()
    await clock.idle()

    assert (handled.bodies, queue.stats.paused) == (["a"], False)


async def test_a_disposed_worker_gives_its_job_back_uncounted(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled()
    handled.gate.clear()
    crew = queue.work(handled)
    await queue.put("a")
    await clock.idle()

    await crew.dispose()

    assert (queue.stats.waiting, queue.jobs()[0]["attempts"]) == (1, 0)
    assert queue.crews == {}
    handled.gate.set()
    queue.work(handled)
    await clock.idle()
    assert [job.attempts for job in handled.jobs] == [1, 1]


async def test_closing_the_bench_gives_every_job_back(make_store: Any, clock: ManualClock) -> None:
    bench = await Workbench.open(store=make_store(), clock=clock)
    queue, handled = bench.queue("mail"), Handled()
    handled.gate.clear()
    queue.work(handled, workers=2)
    waiting = asyncio.ensure_future(queue.take())
    for body in "abc":
        await queue.put(body)
    by_hand = await waiting

    await bench.close()

    async with Workbench.open(store=make_store(), clock=clock) as again:
        jobs = again.queue("mail").jobs()
        assert sorted((row["body"], row["attempts"]) for row in jobs if row["id"] != by_hand.id) == [
            (body, 0) for body in "abc" if body != by_hand.body
        ]
        taken = [await again.queue("mail").take() for _ in range(3)]
        assert {job.id: job.attempts for job in taken}[by_hand.id] == 2  # its host is gone


async def test_closing_the_bench_tells_those_who_wait(make_store: Any) -> None:
    bench = await Workbench.open(store=make_store())
    waiting = asyncio.ensure_future(bench.queue("mail").take())
    await asyncio.sleep(0)

    await bench.close()

    with pytest.raises(StoreError, match="closed"):
        await waiting


async def test_who_gives_up_waiting_leaves_the_job_to_others(bench: Workbench, clock: ManualClock) -> None:
    queue = bench.queue("mail")
    first, second = asyncio.ensure_future(queue.take()), asyncio.ensure_future(queue.take())
    await clock.idle()
    first.cancel()
    await queue.put("a")
    await clock.idle()

    assert (await second).body == "a"
    third = asyncio.ensure_future(queue.take())
    await queue.put("b")
    third.cancel()
    await clock.idle()
    assert (await queue.take()).body == "b"


async def test_the_same_handler_again_replaces_its_crew(bench: Workbench, clock: ManualClock) -> None:
    queue, old, new = bench.queue("mail"), Handled(), Handled()
    first = queue.work(old, workers=3)

    second = queue.work(new, workers=2)
    await queue.put("a")
    await clock.idle()

    assert {worker.status for worker in first.workers} == {"disposed"}
    assert (queue.crews, old.bodies, new.bodies) == ({"handled": second}, [], ["a"])
    assert repr(second).splitlines()[0] == "2 workers of 'mail' (handled)"


async def test_a_plain_function_runs_in_a_thread(bench: Workbench, clock: ManualClock) -> None:
    queue, threads, done = bench.queue("mail"), [], asyncio.Event()
    loop = asyncio.get_running_loop()

    def handle(job: Job) -> None:
        threads.append(threading.current_thread().name)
        loop.call_soon_threadsafe(done.set)
        if job.body == "stop":
            raise StopIteration

    queue.work(handle, max_attempts=1)
    await queue.put("a")
    async with asyncio.timeout(10):
        await done.wait()
        done.clear()
        await queue.put("stop")
        while not queue.stats.dead:
            await asyncio.sleep(0)

    assert [name.startswith("workbench-mail") for name in threads] == [True, True]
    assert queue.dead()[0]["error"] == "RuntimeError: the handler raised StopIteration"
    assert queue.stats.done == 1


async def test_a_function_that_ends_while_its_worker_is_disposed_has_done_its_job(bench: Workbench) -> None:
    queue, begun, go = bench.queue("mail"), threading.Event(), threading.Event()

    def handle(job: Job) -> None:
        begun.set()
        go.wait(10)

    crew = queue.work(handle)
    await queue.put("a")
    await asyncio.to_thread(begun.wait, 10)

    ending = asyncio.ensure_future(crew.dispose())
    await asyncio.sleep(0)
    go.set()
    await ending

    assert queue.stats.done == 1


async def test_a_job_by_hand_is_the_callers_to_end(bench: Workbench, clock: ManualClock) -> None:
    queue = bench.queue("mail")
    for body in "abcd":
        await queue.put(body)

    done, back, dead, kept = [await queue.take(lease=10) for _ in range(4)]
    await done.ack()
    await back.release(error="later")
    await dead.bury("boom")
    await clock.advance(9)
    await kept.extend(10)
    await clock.advance(9)

    assert [(row["body"], row["status"]) for row in queue.jobs()] == [
        ("a", "done"),
        ("b", "waiting"),
        ("c", "dead"),
        ("d", "leased"),
    ]
    await clock.advance(1)
    assert (await queue.take()).body == "b"
    assert ((late := await queue.take()).body, late.attempts) == ("d", 2)
    with pytest.raises(LeaseLost, match=r"was leased again \(lease 2, ours 1\)"):
        await kept.ack()


async def test_a_body_that_cannot_be_read_is_set_aside(bench: Workbench, clock: ManualClock) -> None:
    from workbench.store.queue import NewJob

    queue, handled = bench.queue("mail"), Handled()
    await bench.store.queues.put("mail", [NewJob('{"$":"code","v":1}')])
    queue.work(handled)
    await clock.idle()

    (dead,) = bench.store.queues.jobs_now("mail", status="dead")
    assert "the stored tag 'code' is not one this version knows" in (dead.error or "")
    assert handled.jobs == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"handler": 7}, "a queue is worked by a function of a job, found 7"),
        ({"workers": 0}, "workers is a whole number from 1, found 0"),
        ({"max_attempts": True}, "max_attempts is a whole number from 1, found True"),
        ({"lease": 0}, "lease is a number of seconds, at least 0.001, found 0"),
        ({"backoff": -1}, "backoff is a number of seconds, at least 0, found -1"),
        ({"name": ""}, "a crew is a text of at least one character, found ''"),
    ],
)
async def test_what_cannot_work_is_refused(bench: Workbench, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refused:
        bench.queue("mail").work(**{"handler": print} | options)

    assert str(refused.value).startswith(words)
    assert bench.queue("mail").crews == {}


async def test_a_bench_that_is_no_worker_works_on_nothing() -> None:
    async with Workbench.open(store=MemoryStore(), worker=False) as bench:
        with pytest.raises(BadInput, match="worker=False"):
            bench.queue("mail").work(print)


async def test_waiting_for_a_job_costs_no_thread_and_no_statement(bench: Workbench, clock: ManualClock) -> None:
    queue = bench.queue("mail")
    crew = queue.work(Handled(), workers=200)
    await clock.idle()
    threads, asked = threading.active_count(), []
    lease = bench.store.queues.lease
    bench.store.queues.lease = lambda *args, **terms: asked.append(args[1]) or lease(*args, **terms)  # type: ignore[method-assign]

    await clock.advance(3600)
    assert (asked, threading.active_count()) == ([], threads)
    await queue.put("a")
    await clock.idle()

    assert asked[0] == 200
    assert len(asked) <= 2
    assert sum(worker.state["done"] for worker in crew.workers) == 1


async def test_a_queue_is_drained_when_nothing_is_left_but_dead_letters(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled(fail=1)
    for body in "abc":
        queue.put(body)
    queue.put("later", delay=60)
    drained = asyncio.ensure_future(queue.drained())
    await clock.idle()
    queue.work(handled, max_attempts=1)
    await clock.advance(59)
    assert not drained.done()

    await clock.advance(1)

    assert (await drained).dead == 1
    assert handled.bodies == ["a", "b", "c", "later"]
    assert (await queue.drained()).done == 3


async def test_a_job_for_later_that_a_handler_puts_last_is_not_forgotten(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), []

    async def handle(job: Job) -> None:
        handled.append(job.body)
        if job.body < 5:
            queue.put(job.body + 1, delay=1)

    queue.work(handle)
    await queue.put(0)
    await clock.advance(5)

    assert handled == [0, 1, 2, 3, 4, 5]


async def test_a_lambda_around_a_coroutine_is_awaited_on_the_loop(bench: Workbench) -> None:
    queue, loops = bench.queue("mail"), []

    async def handle(job: Job) -> None:
        loops.append(asyncio.get_running_loop())

    queue.work(lambda job: handle(job), name="lambda")
    await queue.put("a")

    assert (await queue.drained()).done == 1
    assert loops == [asyncio.get_running_loop()]


async def test_a_loop_that_was_blocked_extends_its_leases_before_it_takes_more(
    bench: Workbench, clock: ManualClock
) -> None:
    queue, handled = bench.queue("mail"), Handled()
    handled.gate.clear()
    crew = queue.work(handled, workers=2, lease=10)
    await queue.put("long")
    await clock.idle()
    crew.desk._keeper.cancel()  # as a cell that blocks the loop keeps it from running

    await clock.advance(60)

    assert [(job.body, job.attempts) for job in handled.jobs] == [("long", 1)]
    handled.gate.set()
    assert (await queue.drained()).done == 1


async def test_a_bench_lists_its_queues_and_topics(bench: Workbench) -> None:
    await bench.queue("mail").put("a")
    await bench.topic("orders").publish("b")

    assert bench.queues == [
        {"queue": "mail", "waiting": 1, "delayed": 0, "leased": 0, "done": 0, "dead": 0, "paused": False}
    ]
    assert bench.topics == [{"topic": "orders", "events": 1, "last": 1, "pruned": 0}]
