"""Ends: whoever stops gives its jobs back, who is late changes nothing, and waiting costs nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from handlers import Handled

from workbench import Workbench, process
from workbench.errors import BadInput, LeaseLost, StoreError
from workbench.messaging.job import Job
from workbench.store.memory import MemoryStore
from workbench.testing import ManualClock


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


@pytest.mark.parametrize("given", [None, True, "1", -1, float("nan"), float("inf"), 1e308])
async def test_a_job_by_hand_refuses_times_and_reasons_that_cannot_be(bench: Workbench, given: Any) -> None:
    queue = bench.queue("mail")
    await queue.put("a")
    job = await queue.take()

    for attempt in (job.extend(given), job.release(delay=given)):
        with pytest.raises(BadInput, match="number of seconds"):
            await attempt
    for reason in (5, b"x", ["x"]):
        with pytest.raises(BadInput, match="told by a text"):
            await job.bury(reason)  # type: ignore[arg-type]
        with pytest.raises(BadInput, match="told by a text"):
            await job.release(error=reason)  # type: ignore[arg-type]

    assert not job.over
    await job.bury("caf\udce9")
    assert [letter["error"] for letter in queue.dead()] == ["caf?"]


async def test_a_crew_may_be_disposed_again_and_after_its_bench(make_store: Any) -> None:
    bench = await Workbench.open(store=make_store())
    one, two = bench.queue("mail").work(print, name="one"), bench.queue("mail").work(print, name="two")

    await asyncio.gather(one.dispose(), one.dispose())
    await one.dispose()
    await bench.close()
    await two.dispose()

    assert {worker.status for crew in (one, two) for worker in crew.workers} == {"disposed"}


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


async def test_a_bench_lists_its_queues_and_topics(bench: Workbench) -> None:
    await bench.queue("mail").put("a")
    await bench.topic("orders").publish("b")

    assert bench.queues == [
        {"queue": "mail", "waiting": 1, "delayed": 0, "leased": 0, "done": 0, "dead": 0, "paused": False}
    ]
    assert bench.topics == [{"topic": "orders", "events": 1, "last": 1, "pruned": 0}]


async def test_what_ends_with_the_bench_may_put_and_publish_to_the_last(make_store: Any) -> None:
    bench = await Workbench.open(store=make_store())
    queue, topic = bench.queue("mail"), bench.topic("orders")
    refused: list[str] = []

    @process
    async def parting(ctx: Any) -> AsyncGenerator[str, None]:
        try:
            yield "here"
            async for _ in ctx:
                yield "here"
        finally:
            await topic.publish("bye")
            queue.put("sweep up")
            try:
                queue.work(Handled())
            except StoreError as error:
                refused.append(str(error))

    await bench.spawn(parting).until(lambda state: state == "here")
    await bench.close()

    assert refused == ["the bench of this queue or topic is closing; nothing begins to work or listen here"]
    async with Workbench.open(store=make_store()) as again:
        assert [row["body"] for row in again.topic("orders").history()] == ["bye"]
        assert [row["body"] for row in again.queue("mail").jobs()] == ["sweep up"]


async def test_a_store_that_fails_for_a_while_is_tried_again(
    bench: Workbench, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue, handled, asked = bench.queue("mail"), Handled(), []

    async def fails(*args: Any, **terms: Any) -> Any:
        asked.append(clock.now())
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(bench.store.queues, "lease", fails)
        queue.work(handled)
        for body in "abc":
            await queue.put(body)
        await clock.advance(10)
        assert len(asked) <= 14  # once for each put, and once a second

    await clock.advance(1)
    assert handled.bodies == ["a", "b", "c"]
    assert "no job could be leased from 'mail': the disk is full; trying again in 1.0 s" in caplog.messages
