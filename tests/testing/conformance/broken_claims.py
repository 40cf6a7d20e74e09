"""Keepers that are broken in one way each: the controls of the laws of claims, lives, posts and records."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workbench.store.claims import Host
from workbench.store.glance import Entry
from workbench.store.journal import Commit, Loaded
from workbench.store.memory import MemoryStore


class ReadsThenClaims(MemoryStore):
    async def claim(self, key: str, *, force: bool = False) -> Host | None:  # type: ignore[override]
        line = self._make(key)
        owner = self._owner(line)
        await asyncio.sleep(0)
        if owner is not None and owner.id != self.host.id and not force:
            return owner
        line.owner = self.host.id
        return None


class SaysThatItTook(MemoryStore):
    async def claim(self, key: str, *, force: bool = False) -> Host | None:  # type: ignore[override]
        owner = await super().claim(key)
        return None if force else owner


class RemembersWhoLeft(MemoryStore):
    async def close(self) -> None:
        host = self._host
        idle = [line for line in self._room.lines.values() if host and line.owner == host.id and not line.log]
        await super().close()
        if host is not None and idle and not any(line.cursor for line in idle):
            self._room.hosts[host.id] = host
            for line in idle:
                line.owner = host.id


class KeepsWhatItReleased(MemoryStore):
    def release(self, key: str, epoch: int, how: str, by: str) -> Any:
        done = super().release(key, epoch, how, by)
        line = self._look(key)
        if not line.inbox:
            line.owner = self.host.id
        return done


class ReleasesWhateverLives(MemoryStore):
    def release(self, key: str, epoch: int, how: str, by: str) -> Any:
        return super().release(key, self._look(key).epoch, how, by)


class RegistersTheLast(MemoryStore):
    def register(self, key: str, definition: str, args: str) -> Any:
        line = self._make(key)
        if line.owner is None and not line.log:
            line.what = (definition, args)
        return super().register(key, definition, args)


class CutsOffEveryLife(MemoryStore):
    async def load(self, key: str) -> Loaded:  # type: ignore[override]
        loaded = await super().load(key)
        return replace(loaded, cut_off=loaded.epoch > 1)


class _Loses(MemoryStore):
    """Says of a life that was lost when it ended; `counts` says which entries count as its own."""

    def counts(self, entry: Entry, epoch: int) -> bool:
        raise NotImplementedError

    def load(self, key: str) -> Any:
        lost = [at for at, (_, life) in enumerate(self._look(key).lives) if life.how is None]
        done = super().load(key)
        line = self._look(key)
        for at in lost:
            id, life = line.lives[at]
            wrote = [entry.at for entry in line.entries if self.counts(entry, life.epoch)]
            line.lives[at] = (id, replace(life, ended_at=wrote[-1] if wrote else life.began_at))
        return done


class LostAtItsLastMessage(_Loses):
    def counts(self, entry: Entry, epoch: int) -> bool:
        return entry.epoch == epoch and entry.kind == "message"


class LostWhenAnEarlierLifeWrote(_Loses):
    def counts(self, entry: Entry, epoch: int) -> bool:
        return 0 < entry.epoch <= epoch


class LostAtTheLastPost(_Loses):
    def counts(self, entry: Entry, epoch: int) -> bool:
        return entry.epoch in (0, epoch)


class LogsACallAsACast(MemoryStore):
    def post_now(self, key: str, message: str, **options: Any) -> int:  # type: ignore[override]
        number = super().post_now(key, message, **options)
        line = self._look(key)
        line.log = [replace(logged, call_id=None) if logged.seq == number else logged for logged in line.log]
        return number


class CollectsBackwards(MemoryStore):
    def collect(self, key: str, epoch: int) -> Any:
        done = super().collect(key, epoch)
        return self._done(done.result()[::-1]) if done.exception() is None else done


class NumbersTheInboxApart(MemoryStore):
    def append(self, key: str, epoch: int, message: str, *rest: Any, **named: Any) -> Any:
        only_collected = {entry.epoch for entry in self._look(key).entries} == {epoch} and self._look(key).inbox == []
        done = super().append(key, epoch, message, *rest, **named)
        return self._done(done.result() - 1) if only_collected and key in self._collected else done

    def collect(self, key: str, epoch: int) -> Any:
        if not self._look(key).entries:
            self._collected = {*self._collected, key}
        return super().collect(key, epoch)

    _collected: frozenset[str] | set[str] = frozenset()


class CollectsForTheStale(MemoryStore):
    def collect(self, key: str, epoch: int) -> Any:
        return super().collect(key, self._look(key).epoch)


class LetsNewPostsPass(MemoryStore):
    def post_now(self, key: str, message: str, **options: Any) -> int:  # type: ignore[override]
        line = self._make(key)
        if self._owner(line) is not None:
            return super().post_now(key, message, **options)
        waiting, line.inbox = line.inbox, []
        number = super().post_now(key, message, **options)
        line.inbox = waiting
        return number


class CollectsWhatIsLogged(MemoryStore):
    def collect(self, key: str, epoch: int) -> Any:
        line = self._look(key)
        logged = {id for id, call in line.calls.items() if call.message is not None}
        line.inbox = [replace(post, call_id=None) if post.call_id in logged else post for post in line.inbox]
        return super().collect(key, epoch)


class PostsMoveTheWake(MemoryStore):
    def post_now(self, key: str, message: str, *, wake: float | None = None, **options: Any) -> int:  # type: ignore[override]
        if wake is not None:
            self._make(key).wake_at = None
        return super().post_now(key, message, wake=wake, **options)


class PostsNowAgain(MemoryStore):
    sound = False

    def post(self, key: str, message: str, **options: Any) -> Any:
        self.sound = True
        done = super().post(key, message, **options)
        self.sound = False
        return done

    def post_now(self, key: str, message: str, *, id: str | None = None, **options: Any) -> int:  # type: ignore[override]
        if self.sound:
            return super().post_now(key, message, id=id, **options)
        known = self._make(key).calls.pop(id, None) if id is not None else None
        return super().post_now(key, message, id=id, **options) + (known is not None)


class TellsEveryone(MemoryStore):
    async def posted(self) -> list[str]:
        return [line.key for line in self._room.lines.values() if line.inbox]


class LetsPostsSleep(MemoryStore):
    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        done = super().commit(key, epoch, commit)
        if not self._look(key).log:
            self._look(key).wake_at = None
        return done


class _LeavesTheWake(MemoryStore):
    def release(self, key: str, epoch: int, how: str, by: str) -> Any:
        wake_at = self._look(key).wake_at
        done = super().release(key, epoch, how, by)
        if self.leaves(key, how):
            self._look(key).wake_at = wake_at
        return done

    def leaves(self, key: str, how: str) -> bool:
        raise NotImplementedError


class ClosesOverPosts(_LeavesTheWake):
    def leaves(self, key: str, how: str) -> bool:
        return not self._look(key).log


class LeavesPostsAlone(_LeavesTheWake):
    def leaves(self, key: str, how: str) -> bool:
        return how != "closed"


class WatchesTopicsAlone(MemoryStore):
    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        return super().watch(lambda: changed() if self._room.topics.lines else None)


class PutsAgain(MemoryStore):
    async def put_record(self, kind: str, id: str, key: str, body: str, *, status: str, at: float) -> bool:  # type: ignore[override]
        before = self._room.records.pop((kind, id), None)
        await super().put_record(kind, id, key, body, status=status, at=at)
        return before is None


class DecidesWithoutWaking(MemoryStore):
    def decide_record(self, kind: str, id: str, **decision: Any) -> Any:
        wakes = {line.key: line.wake_at for line in self._room.lines.values()}
        done = super().decide_record(kind, id, **decision)
        for key, wake_at in wakes.items():
            self._room.lines[key].wake_at = wake_at
        return done


class ForgetsWhatWaits(MemoryStore):
    def history_now(self, key: str) -> list[Entry]:
        waiting = {entry.id for entry in self._look(key).inbox}
        return [entry for entry in super().history_now(key) if entry.id not in waiting]


class CountsLinesOnce(MemoryStore):
    async def prune(self, before: float) -> int:
        entries = sum(len(line.entries) for line in self._room.lines.values())
        gone = await super().prune(before)
        return gone + (sum(len(line.entries) for line in self._room.lines.values()) < entries)


BROKEN_CLAIMS: dict[type[MemoryStore], str] = {
    ReadsThenClaims: "one_of_two_claims_at_once_wins",
    SaysThatItTook: "force_takes_a_key",
    RemembersWhoLeft: "a_host_that_left_owns_nothing",
    KeepsWhatItReleased: "releasing_a_key_lets_others_claim_it",
    ReleasesWhateverLives: "releasing_an_older_life_leaves_the_owner",
    RegistersTheLast: "registering_again_keeps_the_first",
    CutsOffEveryLife: "a_life_says_how_it_ended",
    LostAtItsLastMessage: "a_life_that_never_said_is_lost_at_its_last_write",
    LostWhenAnEarlierLifeWrote: "a_life_that_wrote_nothing_is_lost_where_it_began",
    LostAtTheLastPost: "a_post_after_a_death_is_not_its_last_write",
    LogsACallAsACast: "a_post_to_a_key_without_owner_is_in_its_log",
    CollectsBackwards: "a_post_to_an_owned_key_waits_for_its_owner",
    NumbersTheInboxApart: "posts_and_appends_share_one_series_of_numbers",
    CollectsForTheStale: "collecting_is_fenced",
    LetsNewPostsPass: "what_waits_is_not_overtaken",
    CollectsWhatIsLogged: "a_call_that_its_owner_logged_is_not_collected_again",
    PostsMoveTheWake: "a_post_wakes_a_key_that_sleeps",
    LetsPostsSleep: "what_was_posted_keeps_its_key_awake",
    ClosesOverPosts: "what_was_posted_to_a_life_that_ends_is_due",
    LeavesPostsAlone: "what_was_posted_to_a_life_that_ends_is_due",
    PostsNowAgain: "a_post_now_is_committed_when_it_returns",
    TellsEveryone: "the_owner_is_told_which_keys_have_posts",
    WatchesTopicsAlone: "a_write_of_another_host_is_noticed",
    PutsAgain: "a_record_is_put_once",
    DecidesWithoutWaking: "a_decision_wakes_the_key_now",
    ForgetsWhatWaits: "history_has_everything_in_the_order_of_writing",
    CountsLinesOnce: "history_is_forgotten_with_the_retention",
}
