"""Working: jobs are handled in order, failures come back or are set aside, leases are extended."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from handlers import Handled

from workbench import Workbench
from workbench.errors import BadInput
from workbench.messaging.job import Job
from workbench.testing import ManualClock


async def test_a_worker_drains_the_queue_in_order(bench: Workbench, clock: ManualClock) -> None:
    queue, handled = bench.queue("mail"), Handled()
    crew = queue.work(handled)
    await clock.idle()
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


class Outcome(BaseException):
    """What a test library raises to end a test, say."""


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("caf\udce9.txt"), "ValueError: caf?.txt"),
        (Mute(), "Mute: it cannot say why: RuntimeError"),
        (Outcome("skipped"), "Outcome: skipped"),
        (BaseExceptionGroup("both", [Outcome("one")]), "BaseExceptionGroup: both (1 sub-exception)"),
    ],
)
@pytest.mark.parametrize("plain", [False, True])
async def test_whatever_a_handler_raises_is_a_failure_of_its_job_alone(
    bench: Workbench, error: BaseException, words: str, plain: bool
) -> None:
    queue, handled = bench.queue("mail"), []

    def handle(job: Job) -> None:
        handled.append(job.body)
        if job.body == "poison":
            raise error

    async def handle_on_the_loop(job: Job) -> None:
        handle(job)

    await queue.put("poison")
    await queue.put("next")
    crew = queue.work(handle if plain else handle_on_the_loop, backoff=0)
    await asyncio.wait_for(queue.drained(), 20)

    assert (sorted(handled), crew.workers[0].status) == (["next", "poison", "poison", "poison"], "running")
    assert [letter["error"] for letter in queue.dead()] == [words]


@pytest.mark.parametrize(
    "given", ["soon", None, float("inf"), pytest.param(10**400, id="huge"), ZeroDivisionError, Outcome]
)
async def test_a_back_off_that_fails_costs_no_worker_and_no_job(
    bench: Workbench, clock: ManualClock, given: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def backoff(attempts: int) -> Any:
        if isinstance(given, type):
            raise given
        return given

    queue, handled = bench.queue("mail"), Handled(fail=2)
    await queue.put("a")
    crew = queue.work(handled, backoff=backoff)

    await clock.advance(0.9)
    assert (len(handled.jobs), crew.workers[0].status) == (1, "running")
    await clock.advance(0.1)
    assert len(handled.jobs) == 2
    await clock.advance(2)

    assert (len(handled.jobs), queue.stats.done) == (3, 1)
    assert "a back-off failed after attempt 1" in caplog.text


async def test_a_function_that_raises_what_no_future_carries_has_failed(bench: Workbench) -> None:
    queue = bench.queue("mail")

    def handle(job: Job) -> None:
        raise GeneratorExit

    await queue.put("a")
    queue.work(handle, max_attempts=1)
    await asyncio.wait_for(queue.drained(), 20)

    assert [letter["error"] for letter in queue.dead()] == ["RuntimeError: the handler raised GeneratorExit"]
