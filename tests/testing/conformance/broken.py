"""Keepers that are broken in one way each: the negative controls of the laws.

Each is the memory keeper with one verb spoilt. Its name says what is wrong with it; `BROKEN` says which law must
notice.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from workbench.store.claims import Host
from workbench.store.glance import Entry, KeyInfo
from workbench.store.journal import Commit, Loaded, Logged, StepRecord
from workbench.store.letters import SetAside
from workbench.store.memory import MemoryStore
from workbench.store.past import Past
from workbench.store.records import Record

FAR = 10.0**11


class RemembersStrangers(MemoryStore):
    async def load(self, key: str) -> Loaded:  # type: ignore[override]
        loaded = await super().load(key)
        return replace(loaded, snapshot="null") if loaded.epoch == 1 else loaded


class ReadsThenRaisesTheEpoch(MemoryStore):
    async def load(self, key: str) -> Loaded:  # type: ignore[override]
        epoch = self._look(key).epoch
        await asyncio.sleep(0)
        loaded = await super().load(key)
        self._look(key).epoch = epoch + 1
        return replace(loaded, epoch=epoch + 1)


class ForgetsTheVersion(MemoryStore):
    async def load(self, key: str) -> Loaded:  # type: ignore[override]
        return replace(await super().load(key), version=0)


class TakesNullForAbsent(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        return super().commit(key, epoch, replace(commit, snapshot=None) if commit.snapshot == "null" else commit)


class LoadClearsTheWake(MemoryStore):
    def load(self, key: str) -> Any:
        loaded = super().load(key)
        self._look(key).wake_at = None
        return loaded


class RedeliversTheMessageAtTheCursor(MemoryStore):
    async def pending(self, key: str, cursor: int) -> list[Logged]:
        return await super().pending(key, cursor - 1)


class ReadsTheNumberAfterwards(MemoryStore):
    def append(
        self, key: str, epoch: int, message: str, call_id: str | None = None, wake_at: float | None = None
    ) -> Any:
        done = super().append(key, epoch, message, call_id, wake_at)

        async def number() -> int:
            await done
            await asyncio.sleep(0)
            return self._look(key).last_seq

        return number()


class NumbersStartAnew(MemoryStore):
    def load(self, key: str) -> Any:
        loaded = super().load(key)
        line = self._look(key)
        if not line.log and not line.inbox:
            line.last_seq = 0
        return loaded


class MixesTheLogs(MemoryStore):
    async def pending(self, key: str, cursor: int) -> list[Logged]:
        mine = await super().pending(key, cursor)
        if key in ("order:1", "order:2"):
            others = [await super(MixesTheLogs, self).pending(k, cursor) for k in ("order:1", "order:2") if k != key]
            if mine and others[0] and mine[0].message in ('"mine"', '"yours"'):
                return mine + others[0]
        return mine


class SortsTheSteps(MemoryStore):
    async def steps(self, key: str, seq: int) -> list[StepRecord]:
        return sorted(await super().steps(key, seq), key=lambda record: record.kind)


class RedeliversTheLast(MemoryStore):
    async def load(self, key: str) -> Loaded:  # type: ignore[override]
        loaded = await super().load(key)
        return replace(loaded, cursor=loaded.cursor - 1) if loaded.snapshot == "1" and self._look(key).log else loaded


class SharesAnswers(MemoryStore):
    async def result(self, key: str, call_id: str) -> str | None:
        for line in self._room.lines.values():
            if call_id in line.calls and line.calls[call_id].answer is not None:
                return line.calls[call_id].answer
        return None


class AnswersUntilTheNextCommit(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        line = self._look(key)
        done = super().commit(key, epoch, commit)
        if not commit.answers and commit.version == 0 and commit.cursor > 2:
            line.calls.clear()
        return done


class NewestDeadFirst(MemoryStore):
    async def dead(self, key: str) -> Any:
        return (await super().dead(key))[::-1]


class CommitsWhatIsStale(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        return super().commit(key, self._look(key).epoch or epoch, commit)


class ForgetsTheWakeOfWhatIsStale(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        if self._look(key).epoch != epoch:
            self._make(key).wake_at = None
        return super().commit(key, epoch, commit)


class RefusesTheNewestToo(MemoryStore):
    async def put_step(self, key: str, epoch: int, seq: int, record: StepRecord, wake_at: float | None = None) -> None:  # type: ignore[override]
        taken_over = epoch > 1 and len(self._look(key).lives) > 1 and wake_at is None
        await super().put_step(key, epoch + taken_over, seq, record, wake_at)


class LogsForNobody(MemoryStore):
    def append(
        self, key: str, epoch: int, message: str, call_id: str | None = None, wake_at: float | None = None
    ) -> Any:
        if not self._look(key).epoch:
            self._make(key).epoch = epoch
        return super().append(key, epoch, message, call_id, wake_at)


class WakesAMomentEarly(MemoryStore):
    def due(self, now: float, until: float, limit: int) -> Any:
        return super().due(now + 0.001, until, limit)


class HidesForEver(MemoryStore):
    async def due(self, now: float, until: float, limit: int) -> list[str]:  # type: ignore[override]
        return await super().due(now, FAR, limit)


class ReadsThenLeases(MemoryStore):
    async def due(self, now: float, until: float, limit: int) -> list[str]:  # type: ignore[override]
        found = sorted(
            (line.wake_at, line.key)
            for line in self._room.lines.values()
            if line.wake_at is not None and line.wake_at <= now
        )[:limit]
        for _ in range(5):
            await asyncio.sleep(0)
        for _, key in found:
            self._room.lines[key].wake_at = until
        return [key for _, key in found]


class DueByName(MemoryStore):
    async def due(self, now: float, until: float, limit: int) -> list[str]:  # type: ignore[override]
        return sorted(await super().due(now, until, limit))


class KeepsTheFirstDeadline(MemoryStore):
    def put_step(self, key: str, epoch: int, seq: int, record: StepRecord, wake_at: float | None = None) -> Any:
        before = self._look(key).wake_at
        return super().put_step(key, epoch, seq, record, wake_at if before is None else None)


class CommitKeepsTheWake(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        line, before = self._look(key), self._look(key).wake_at
        done = super().commit(key, epoch, commit)
        if commit.dead is not None and commit.snapshot == "1":
            line.wake_at = before
        return done


class EveryAppendMovesTheWake(MemoryStore):
    def append(
        self, key: str, epoch: int, message: str, call_id: str | None = None, wake_at: float | None = None
    ) -> Any:
        line = self._look(key)
        if wake_at is not None and line.wake_at is not None and not line.steps:
            line.wake_at = min(line.wake_at, wake_at)
        return super().append(key, epoch, message, call_id, wake_at)


class MessagesWakeSleepers(MemoryStore):
    def append(
        self, key: str, epoch: int, message: str, call_id: str | None = None, wake_at: float | None = None
    ) -> Any:
        line = self._look(key)
        if wake_at is not None and line.steps and line.epoch == epoch:
            line.wake_at = None
        return super().append(key, epoch, message, call_id, wake_at)


class CommitLeavesTheWake(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        line, before = self._look(key), self._look(key).wake_at
        done = super().commit(key, epoch, commit)
        if line.log and before is not None and commit.version == 0:
            line.wake_at = before
        return done


class EveryMessageWakes(MemoryStore):
    def append(
        self, key: str, epoch: int, message: str, call_id: str | None = None, wake_at: float | None = None
    ) -> Any:
        return super().append(key, epoch, message, call_id, FAR if wake_at is None else wake_at)


class PrunesEveryAnswer(MemoryStore):
    async def prune(self, before: float) -> int:
        gone = await super().prune(before)
        for line in self._room.lines.values():
            line.calls = {id: call for id, call in line.calls.items() if call.given is None}
        return gone


class ForgetsTheMessagesOfCalls(MemoryStore):
    def message_now(self, key: str, call_id: str) -> str | None:
        call = self._look(key).calls.get(call_id)
        return None if call is None or call.given is not None else super().message_now(key, call_id)


class LetsTheLastAnswerWin(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        for call_id, _ in commit.answers:
            if (call := self._look(key).calls.get(call_id)) is not None:
                call.given = call.answer = None
        return super().commit(key, epoch, commit)


class ForgetsParkedCalls(MemoryStore):
    async def load(self, key: str) -> Loaded:  # type: ignore[override]
        loaded = await super().load(key)
        return replace(loaded, open_calls=loaded.open_calls if loaded.snapshot == '"parked"' else ())


class CastsAfterTheWake(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        done = super().commit(key, epoch, commit)
        line = self._look(key)
        if commit.casts and done.exception() is None and len(line.log) == len(commit.casts):
            line.wake_at = None
        return done


class LetsEveryoneClaim(MemoryStore):
    async def claim(self, key: str, *, force: bool = False) -> Host | None:  # type: ignore[override]
        owner = await super().claim(key, force=force)
        return replace(owner, label="nobody") if owner is not None else None


class DecidesTwice(MemoryStore):
    async def decide_record(self, kind: str, id: str, *, expect: str, status: str, decision: str, at: float) -> bool:  # type: ignore[override]
        row = await self.get_record(kind, id)
        if row is None:
            return False
        self._room.records[kind, id] = replace(row, status=expect)
        return await super().decide_record(kind, id, expect=expect, status=status, decision=decision, at=at)


class PostsTwice(MemoryStore):
    def post_now(self, key: str, message: str, **options: Any) -> int:  # type: ignore[override]
        line = self._make(key)
        if message == '"and again"':
            line.calls.clear()
        return super().post_now(key, message, **options)


class TakesEveryPost(MemoryStore):
    def post(self, key: str, message: str, *, most: int | None = None, **options: Any) -> Any:  # type: ignore[override]
        return super().post(key, message, **options)


class ForgetsWhatAKeyIs(MemoryStore):
    async def keys(self, *, definition: str | None = None) -> list[KeyInfo]:
        return [replace(info, definition="") for info in await super().keys()]


class FindsNewestFirst(MemoryStore):
    async def find_records(self, kind: str, *, key: str | None = None, status: str | None = None) -> list[Record]:
        return (await super().find_records(kind, key=key, status=status))[::-1]


class ListsTheLettersOfOneKey(MemoryStore):
    def letters_now(self, *, key: str | None = None, status: str | None = None) -> list[SetAside]:
        found = super().letters_now(key=key, status=status)
        return [letter for letter in found if letter.key == found[0].key]


class RequeuesTwice(MemoryStore):
    def requeue_letter(self, id: int, *, by: str, message: str | None = None) -> Any:
        for line in self._room.lines.values():
            line.dead = [replace(letter, status="waiting") if by == "four" else letter for letter in line.dead]
        return super().requeue_letter(id, by=by, message=message)


class LetsARequeuedLetterLie(MemoryStore):
    def requeue_letter(self, id: int, *, by: str, message: str | None = None) -> Any:
        before = {line.key: line.wake_at for line in self._room.lines.values()}
        done = super().requeue_letter(id, by=by, message=message)
        for key, wake_at in before.items():
            self._room.lines[key].wake_at = wake_at
        return done


class ForgetsTheStepsOfALetter(MemoryStore):
    async def steps(self, key: str, seq: int) -> list[StepRecord]:
        found = await super().steps(key, seq)
        return found[:1] if found and found[0].kind == "requeued" else found


class PrunesTheStepsOfALetter(MemoryStore):
    async def prune(self, before: float) -> int:
        for line in self._room.lines.values():
            if line.dead:
                line.entries = [entry for entry in line.entries if entry.step is None]
        return await super().prune(before)


class GivesAnEditedLetterItsOldSteps(MemoryStore):
    def requeue_letter(self, id: int, *, by: str, message: str | None = None) -> Any:
        done = super().requeue_letter(id, by=by, message=message)
        for line in self._room.lines.values():
            if message is not None:
                line.requeued = {entry.id: 1 for entry in line.inbox}
        return done


class KeepsTheFailureOfARequeuedCall(MemoryStore):
    def requeue_letter(self, id: int, *, by: str, message: str | None = None) -> Any:
        calls = {line.key: dict(line.calls) for line in self._room.lines.values()}
        done = super().requeue_letter(id, by=by, message=message)
        for key, known in calls.items():
            self._room.lines[key].calls = known
        return done


class RequeuesWhatIsDiscarded(MemoryStore):
    def discard_letter(self, id: int, *, by: str) -> Any:
        letters = {letter.id: letter for letter in self.letters_now()}
        done = super().discard_letter(id, by=by)
        line = self._room.lines[letters[id].key] if id in letters else None
        if line is not None and letters[id].letter.call_id is not None:
            line.inbox.append(Entry(self._wrote(), "message", self._now(), payload=letters[id].letter.message))
        return done


class LeavesItsWorkBehind(MemoryStore):
    async def close(self) -> None:
        for line in self._room.lines.values():
            if self._host is not None and line.owner == self._host.id:
                line.owner = None
        await super().close()


class TellsNobodyOfALoss(MemoryStore):
    async def taken(self) -> list[str]:
        return []


class ForgetsOldVersions(MemoryStore):
    def past_now(self, key: str) -> Past:
        past = super().past_now(key)
        return Past(key, self._look(key).snapshot, [replace(commit, version=0) for commit in past.commits])


class PrunesNoState(MemoryStore):
    async def prune(self, before: float) -> int:
        states = {key: line.commits for key, line in self._room.lines.items()}
        gone = await super().prune(before)
        for key, commits in states.items():
            self._look(key).commits = commits
        return gone


BROKEN: dict[type[MemoryStore], str] = {
    RemembersStrangers: "an_unknown_key_is_empty",
    ReadsThenRaisesTheEpoch: "every_load_has_an_epoch_above_all_earlier",
    ForgetsTheVersion: "a_load_gives_what_was_committed",
    TakesNullForAbsent: "a_null_state_is_not_an_absent_one",
    LoadClearsTheWake: "a_load_leaves_the_wake",
    RedeliversTheMessageAtTheCursor: "numbers_rise_and_pending_replays_in_order",
    ReadsTheNumberAfterwards: "ten_appends_at_once_have_ten_numbers",
    NumbersStartAnew: "a_number_is_never_used_twice",
    MixesTheLogs: "logs_of_two_keys_are_separate",
    SortsTheSteps: "steps_and_attempts_are_kept_in_write_order",
    RedeliversTheLast: "a_commit_moves_the_cursor",
    SharesAnswers: "answers_are_read_by_key_and_id",
    AnswersUntilTheNextCommit: "answers_outlive_later_commits",
    NewestDeadFirst: "dead_letters_are_kept_in_order",
    CommitsWhatIsStale: "a_stale_epoch_changes_nothing",
    ForgetsTheWakeOfWhatIsStale: "a_stale_epoch_changes_nothing",
    RefusesTheNewestToo: "the_newest_epoch_writes",
    LogsForNobody: "a_key_never_loaded_is_fenced",
    WakesAMomentEarly: "a_step_wakes_its_key_at_its_instant",
    HidesForEver: "due_hides_a_key_until_its_lease_is_over",
    ReadsThenLeases: "one_of_two_overlapping_callers_gets_the_key",
    DueByName: "due_gives_the_earliest_first_and_at_most_limit",
    KeepsTheFirstDeadline: "a_later_step_replaces_the_wake",
    CommitKeepsTheWake: "a_commit_that_leaves_nothing_clears_the_wake",
    EveryAppendMovesTheWake: "an_append_sets_the_wake_only_where_there_is_none",
    MessagesWakeSleepers: "an_append_leaves_the_wake_of_a_step",
    CommitLeavesTheWake: "a_commit_with_messages_left_moves_the_wake",
    EveryMessageWakes: "a_key_without_a_wake_is_never_due",
    PrunesEveryAnswer: "prune_forgets_answers_given_before_and_keeps_the_rest",
    ForgetsTheMessagesOfCalls: "the_message_and_the_answers_of_calls_are_read_at_once",
    LetsTheLastAnswerWin: "the_first_answer_stands",
    ForgetsParkedCalls: "a_load_names_the_calls_that_are_parked",
    CastsAfterTheWake: "casts_of_a_commit_are_logged_behind_what_waits",
    LetsEveryoneClaim: "a_claimed_key_is_refused_to_another_host",
    TellsNobodyOfALoss: "who_lost_a_key_hears_of_it_once",
    LeavesItsWorkBehind: "what_a_host_that_left_had_unfinished_is_due_at_once",
    DecidesTwice: "the_first_decision_stands",
    PostsTwice: "one_id_is_posted_once",
    TakesEveryPost: "a_post_beyond_the_bound_adds_nothing",
    ForgetsWhatAKeyIs: "keys_are_listed_with_what_is_known_of_them",
    FindsNewestFirst: "records_are_found_oldest_first",
    ListsTheLettersOfOneKey: "letters_are_listed_across_keys",
    RequeuesTwice: "a_letter_is_decided_once",
    LetsARequeuedLetterLie: "a_requeued_letter_wakes_its_key_and_is_waiting_no_more",
    ForgetsTheStepsOfALetter: "a_requeued_letter_keeps_the_steps_that_it_had_finished",
    PrunesTheStepsOfALetter: "a_requeued_letter_keeps_the_steps_that_it_had_finished",
    GivesAnEditedLetterItsOldSteps: "an_edited_letter_is_a_new_message",
    KeepsTheFailureOfARequeuedCall: "a_requeued_call_is_open_again",
    RequeuesWhatIsDiscarded: "a_discarded_letter_stays_and_changes_nothing",
    ForgetsOldVersions: "every_committed_state_can_be_had_again",
    PrunesNoState: "a_pruned_past_leaves_what_is_newer_whole",
}
