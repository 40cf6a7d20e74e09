"""Queues that are broken in one way each: the negative controls of their laws."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.store.claims import Host
from workbench.store.memory import MemoryStore
from workbench.store.memory_queue import MemoryQueues
from workbench.store.queue import Hold, NewJob, Outlook, Put, QueueStats
from workbench.store.queue_room import QueueLine


class LeasesNewestFirst(MemoryQueues):
    async def lease(self, queue: str, limit: int, **terms: Any) -> Any:  # type: ignore[override]
        jobs = await super().lease(queue, limit, **terms)
        return jobs[:1] + jobs[1:][::-1]


class ReadsThenLeases(MemoryQueues):
    async def lease(self, queue: str, limit: int, **terms: Any) -> Any:  # type: ignore[override]
        jobs = await super().lease(queue, limit, **terms)
        line = self._look(queue)
        if len(jobs) == 3:
            for job in jobs:
                line.change(job, status="waiting")
            await asyncio.sleep(0)
            for job in jobs:
                line.change(line.jobs[job.id], status="leased")
        return jobs


class CountsWhenFinished(MemoryQueues):
    async def lease(self, queue: str, limit: int, **terms: Any) -> Any:  # type: ignore[override]
        return [
            replace(job, attempts=job.attempts - 1) if job.attempts == 1 and job.priority == 2 else job
            for job in await super().lease(queue, limit, **terms)
        ]


class RipensAMomentEarly(MemoryQueues):
    def _free(self, line: QueueLine) -> None:
        for job in line.of("delayed"):
            if job.at <= self._now() + 0.001:
                line.change(job, status="waiting")
        super()._free(line)


class RemembersKeysForEver(MemoryQueues):
    def _put(self, line: QueueLine, new: NewJob, body: str) -> Put:
        same = next((job for job in line.of("done") if job.key == new.key and new.key is not None), None)
        return super()._put(line, new, body) if same is None else Put(same.id, False, same.body)


class LeasesForEver(MemoryQueues):
    def _free(self, line: QueueLine) -> None:
        now = self._now()
        kept = {job.id for job in line.of("leased") if job.at <= now and job.body == '"a"' and job.number == 1}
        elsewhere = {job.id for job in line.of("leased") if job.holder != self._host().id}
        line.kept |= kept & elsewhere if len(line.jobs) == 1 and self._late(line) else set()
        super()._free(line)

    def _late(self, line: QueueLine) -> bool:
        return all(job.at - job.put_at == 30 for job in line.jobs.values())


class LeasesKeptJobsAtTheirTime(MemoryQueues):
    def _free(self, line: QueueLine) -> None:
        line.kept.clear()
        super()._free(line)


class WaitsForTheDead(MemoryQueues):
    def _free(self, line: QueueLine) -> None:
        alive = dict(self._hosts)
        for job in line.of("leased"):
            if job.holder is not None and job.at > self._now():
                self._hosts.setdefault(job.holder, Host(job.holder, "", 0, 0.0))
        super()._free(line)
        for gone in self._hosts.keys() - alive.keys():
            del self._hosts[gone]


class FinishesForAnyone(MemoryQueues):
    def finish(self, queue: str, holds: Sequence[Hold]) -> Any:
        jobs = self._look(queue).jobs
        return super().finish(queue, [(id, jobs[id].number if id in jobs else number) for id, number in holds])


class ExtendsNothing(MemoryQueues):
    def extend(self, queue: str, holds: Sequence[Hold], seconds: float) -> Any:
        line = self._look(queue)
        ends = {id: line.jobs[id].at for id, _ in holds if id in line.jobs}
        done = super().extend(queue, holds, seconds)
        for id, at in ends.items():
            line.change(line.jobs[id], at=at)
        return done


class FinishesTwice(MemoryQueues):
    def finish(self, queue: str, holds: Sequence[Hold]) -> Any:
        line = self._look(queue)
        line.done += sum(line.jobs[id].status == "done" for id, _ in holds if id in line.jobs)
        return super().finish(queue, holds)


class ComesBackAtOnce(MemoryQueues):
    def release(self, queue: str, hold: Hold, *, delay: float = 0.0, **options: Any) -> Any:
        return super().release(queue, hold, delay=delay if delay > 5 else 0.0, **options)


class TriesForEver(MemoryQueues):
    def lease(self, queue: str, limit: int, *, max_attempts: int, **terms: Any) -> Any:
        return super().lease(queue, limit, max_attempts=max_attempts + (max_attempts == 2), **terms)


class IgnoresTheEdit(MemoryQueues):
    def requeue(self, queue: str, id: int, body: str | None = None) -> Any:
        return super().requeue(queue, id)


class DiscardsAnything(MemoryQueues):
    async def discard(self, queue: str, id: int) -> Any:  # type: ignore[override]
        return await super().discard(queue, id) or self._look(queue).jobs[id].status == "waiting"


class RequeuesTheKeyOfAnother(MemoryQueues):
    def requeue(self, queue: str, id: int, body: str | None = None) -> Any:
        line = self._look(queue)
        job = line.jobs.get(id)
        if job is not None and job.status == "dead":
            line.change(job, key=None)
        return super().requeue(queue, id, body)


class PausesOneHost(MemoryQueues):
    async def pause(self, queue: str, paused: bool) -> None:  # type: ignore[override]
        await super().pause(queue, paused)
        self._look(queue).paused = False


class MixesQueues(MemoryQueues):
    def _make(self, queue: str) -> QueueLine:
        return super()._make(queue.lower())


class CountsTheRipeAsDelayed(MemoryQueues):
    def stats_now(self, queue: str) -> QueueStats:
        counts, ripe = super().stats_now(queue), len(self._look(queue).of("waiting"))
        return replace(counts, waiting=ripe, delayed=counts.delayed + counts.waiting - ripe)


class SeesNoLease(MemoryQueues):
    def outlook_now(self) -> dict[str, Outlook]:
        return {name: replace(outlook, elsewhere=False) for name, outlook in super().outlook_now().items()}


class LosesLargeBodies(MemoryQueues):
    async def prune(self, before: float) -> int:
        for line in self._room.lines.values():
            for job in line.of("waiting"):
                if len(job.body) > 100_000:
                    line.change(job, body="")
        return await super().prune(before)


class PrunesTheDead(MemoryQueues):
    async def prune(self, before: float) -> int:
        for line in self._room.lines.values():
            for job in line.of("dead"):
                if job.at < before:
                    line.drop(job)
        return await super().prune(before)


def keeper(queues: type[MemoryQueues]) -> type[MemoryStore]:
    """The memory keeper with other queues."""
    return type(queues.__name__, (MemoryStore,), {"queues_of": queues})


BROKEN_QUEUES: dict[type[MemoryQueues], str] = {
    LeasesNewestFirst: "the_highest_priority_is_leased_first_then_the_oldest",
    ReadsThenLeases: "a_job_is_leased_to_one_of_two_that_ask_at_once",
    CountsWhenFinished: "an_attempt_is_counted_by_the_lease",
    RipensAMomentEarly: "a_delayed_job_waits_out_its_delay",
    RemembersKeysForEver: "a_key_at_work_is_not_put_again",
    LeasesForEver: "a_lease_that_ran_out_is_anyones",
    LeasesKeptJobsAtTheirTime: "a_kept_lease_is_its_hosts_while_that_lives",
    WaitsForTheDead: "the_jobs_of_a_dead_host_are_free_at_once",
    FinishesForAnyone: "a_late_holder_changes_nothing",
    ExtendsNothing: "an_extended_lease_ends_later",
    FinishesTwice: "a_finished_job_is_over",
    ComesBackAtOnce: "a_released_job_comes_back_after_its_delay",
    TriesForEver: "a_job_without_an_attempt_left_is_set_aside",
    IgnoresTheEdit: "a_dead_job_waits_again_when_it_is_requeued",
    DiscardsAnything: "a_discarded_job_is_gone_for_good",
    RequeuesTheKeyOfAnother: "a_requeued_job_does_not_take_the_key_of_another",
    PausesOneHost: "a_paused_queue_leases_nothing",
    MixesQueues: "queues_are_apart",
    CountsTheRipeAsDelayed: "the_counts_are_of_this_instant",
    SeesNoLease: "the_outlook_names_the_next_instant",
    LosesLargeBodies: "bodies_come_back_to_the_letter",
    PrunesTheDead: "prune_forgets_jobs_that_are_over",
}
