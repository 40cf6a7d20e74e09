"""Keepers that are broken in one way each: the controls of the laws beyond the reference, and of the glance."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from workbench.errors import StoreError
from workbench.store.claims import Host
from workbench.store.fencing import fenced
from workbench.store.glance import Entry
from workbench.store.journal import Commit, Logged, StepRecord
from workbench.store.memory import MemoryStore
from workbench.store.room import Line


class PrunesOpenSteps(MemoryStore):
    async def prune(self, before: float) -> int:
        for line in self._room.lines.values():
            line.steps.clear()
        return await super().prune(before)


class MovesTheCursorBack(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        done = super().commit(key, epoch, commit)
        self._look(key).cursor = min(self._look(key).cursor, commit.cursor)
        return done


class OverwritesSteps(MemoryStore):
    async def steps(self, key: str, seq: int) -> list[StepRecord]:
        return list(
            {
                (each.kind, each.branch, each.name, each.occurrence): each for each in await super().steps(key, seq)
            }.values()
        )


class CommitsATurnLater(MemoryStore):
    async def commit(self, key: str, epoch: int, commit: Commit) -> Any:  # type: ignore[override]
        return await super().commit(key, epoch, commit)


class SpoilsItsNeighbours(MemoryStore):
    _refused = ""

    def append(self, key: str, epoch: int, message: str, *rest: Any, **named: Any) -> Any:
        spoilt = self._refused not in ("", key)
        self._refused = key if epoch != self._look(key).epoch else self._refused
        if spoilt:
            return self._failed(fenced(key, epoch, epoch + 1))
        return super().append(key, epoch, message, *rest, **named)


class TakesAnEmptyAnswerForNone(MemoryStore):
    async def result(self, key: str, call_id: str) -> str | None:
        return await super().result(key, call_id) or None


class IgnoresCase(MemoryStore):
    def _look(self, key: str) -> Line:
        return super()._look(key.lower())

    def _make(self, key: str) -> Line:
        return super()._make(key.lower())


class TakesAnEmptyKey(MemoryStore):
    def _make(self, key: str) -> Line:
        return self._room.lines.setdefault(key, Line(key, self._now()))


class CommitsHalf(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        done = super().commit(key, epoch, commit)
        if isinstance(done.exception(), StoreError):
            self._look(key).version = commit.version
        return done


class TakesHalfACharacter(MemoryStore):
    def put_step(self, key: str, epoch: int, seq: int, record: StepRecord, wake_at: float | None = None) -> Any:
        whole = record.payload.encode("utf-8", "replace").decode()
        return super().put_step(key, epoch, seq, replace(record, payload=whole), wake_at)


class ForgetsLettersWhenItCloses(MemoryStore):
    async def close(self) -> None:
        for line in self._room.lines.values():
            line.dead.clear()
        await super().close()


class DueByNameBackwards(MemoryStore):
    async def due(self, now: float, until: float, limit: int) -> list[str]:  # type: ignore[override]
        wakes = {key: line.wake_at for key, line in self._room.lines.items() if line.wake_at is not None}
        found = await super().due(now, until, limit)
        more = sum(wake <= now for wake in wakes.values()) > len(found)
        if more:
            found.reverse()
            found.sort(key=wakes.__getitem__)
        return found


class HandsOutItsOwnLog(MemoryStore):
    async def pending(self, key: str, cursor: int) -> list[Logged]:
        found = await super().pending(key, cursor)
        return self._look(key).log if found == self._look(key).log else found


class ReadsOnePage(MemoryStore):
    async def pending(self, key: str, cursor: int) -> list[Logged]:
        return (await super().pending(key, cursor))[:1000]


class CommitsTheStateATurnLater(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        line = self._look(key)
        before = line.snapshot
        done = super().commit(key, epoch, commit)
        after, line.snapshot = line.snapshot, before

        async def later() -> Any:
            await asyncio.sleep(0)
            line.snapshot = after
            return await done

        return later()


class GlancesPastAnswers(MemoryStore):
    def history_now(self, key: str) -> list[Entry]:
        return [entry for entry in super().history_now(key) if entry.kind != "answer"]

    async def history(self, key: str) -> list[Entry]:
        return super().history_now(key)


class MakesWhatItLooksAt(MemoryStore):
    def history_now(self, key: str) -> list[Entry]:
        self._make(key)
        return super().history_now(key)


class RenewsNothing(MemoryStore):
    def renew(self, until: float) -> Any:
        return self._done(None)


class LivesForOneMinute(MemoryStore):
    async def open(self, **options: Any) -> None:
        await super().open(**options)
        self._room.__dict__.setdefault("opened", {})[self.host.id] = self._now()

    def _owner(self, line: Line) -> Host | None:
        owner = super()._owner(line)
        opened = self._room.__dict__["opened"]
        return owner if owner is None or self._now() - opened[owner.id] < 60 else None


BROKEN_BEYOND: dict[type[MemoryStore], str] = {
    PrunesOpenSteps: "prune_keeps_the_state_and_what_waits",
    MovesTheCursorBack: "a_cursor_never_moves_back",
    OverwritesSteps: "records_of_one_place_are_all_kept",
    CommitsATurnLater: "writes_land_in_the_order_of_their_calls",
    SpoilsItsNeighbours: "a_refused_write_spoils_no_other",
    TakesAnEmptyAnswerForNone: "payloads_come_back_to_the_letter",
    IgnoresCase: "odd_keys_are_kept_apart",
    TakesAnEmptyKey: "a_key_is_never_empty",
    CommitsHalf: "a_commit_that_fails_leaves_nothing",
    TakesHalfACharacter: "what_no_store_can_hold_is_refused_alone",
    ForgetsLettersWhenItCloses: "everything_is_there_after_it_was_closed",
    DueByNameBackwards: "keys_that_are_due_together_come_by_name",
    HandsOutItsOwnLog: "what_was_read_belongs_to_its_reader",
    ReadsOnePage: "a_long_log_is_kept_in_order",
    CommitsTheStateATurnLater: "a_reader_sees_whole_commits",
    GlancesPastAnswers: "a_glance_shows_what_a_reader_is_given",
    MakesWhatItLooksAt: "a_glance_at_what_there_is_not_is_empty",
    RenewsNothing: "a_renewed_lease_is_seen_by_other_hosts",
    LivesForOneMinute: "a_renewed_host_keeps_its_keys",
}
