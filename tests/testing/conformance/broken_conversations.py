"""Conversations that are broken in one way each: the negative controls of their laws."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.store.conversations import Exchange
from workbench.store.memory import MemoryStore
from workbench.store.memory_conversations import MemoryConversations
from workbench.store.schedules import Firing


def keeper(conversations: type[MemoryConversations]) -> type[MemoryStore]:
    """The memory keeper with these conversations."""
    return type("Keeper", (MemoryStore,), {"conversations_of": conversations})


class WakesNobody(MemoryConversations):
    def enter_now(self, owner: str, name: str, post: Firing, *, wake: float) -> int:
        number = super().enter_now(owner, name, post, wake=wake)
        self._room.lines[post.key].wake_at = None
        return number


class NumbersByTheNewestThatItKnows(MemoryConversations):
    def __init__(self, *shared: Any, **more: Any) -> None:
        super().__init__(*shared, **more)
        self._mine: dict[tuple[str, str], int] = {}

    def enter_now(self, owner: str, name: str, post: Firing, *, wake: float) -> int:
        known = self.exchange_now(post.key)
        number = super().enter_now(owner, name, post, wake=wake)
        if known is None:
            number = self._mine[owner, name] = self._mine.get((owner, name), 0) + 1
        return number


class EntersTwice(MemoryConversations):
    def enter_now(self, owner: str, name: str, post: Firing, *, wake: float) -> int:
        known = self.exchange_now(post.key)
        number = super().enter_now(owner, name, post, wake=wake)
        if known is not None:
            talk = self._room.by_name[owner, name]
            talk.last += 1
            talk.exchanges[talk.last] = replace(known, number=talk.last)
        return number


class ForgetsWhose(MemoryConversations):
    def conversations_now(self, owner: str | None = None) -> Any:
        return super().conversations_now()


class KeepsTheLast(MemoryConversations):
    def keep(self, key: str, content: str, **digest: Any) -> Any:
        known = self._place(key)
        if known is not None and known.content is not None:
            talk = self._room.by_name[known.owner, known.name]
            talk.exchanges[known.number] = replace(known, content=None)
        return super().keep(key, content, **digest)


class TakesTheKeptForOver(MemoryConversations):
    def ahead_now(self, owner: str, name: str, before: int) -> list[str]:
        found = self.exchanges_now(owner, name, before=before)
        over = max((each.number for each in found if each.content is not None), default=0)
        return [each.key for each in found if each.number > over and self._room.has_work(each.key)]


class ReadsOn(MemoryConversations):
    def exchanges_now(self, owner: str, name: str, *, first: int = 1, before: int | None = None) -> list[Exchange]:
        return super().exchanges_now(owner, name, first=first, before=None if first > 1 else before)


class FindsTheNewestDigestOfAll(MemoryConversations):
    def digest_now(self, owner: str, name: str, *, before: int) -> Exchange | None:
        return super().digest_now(owner, name, before=10**9)


class LeavesTheDigest(MemoryConversations):
    def __init__(self, *shared: Any, **more: Any) -> None:
        super().__init__(*shared, **more)
        talks, strike_off = self._room, self._room.strike_off

        def keep_digests(key: str) -> None:
            kept = {name: dict(talk.exchanges) for name, talk in talks.by_name.items()}
            strike_off(key)
            for name, talk in talks.by_name.items():
                talk.exchanges = {number: kept[name][number] for number in talk.exchanges}

        self._room.strike_off = keep_digests  # type: ignore[method-assign]


class PrunesExchangeByExchange(MemoryConversations):
    def __init__(self, *shared: Any, **more: Any) -> None:
        super().__init__(*shared, **more)
        talks = self._room

        def prune(before: float) -> int:
            for talk in talks.by_name.values():
                talk.exchanges = {
                    number: each
                    for number, each in talk.exchanges.items()
                    if each.at >= before or talks.has_work(each.key)
                }
            return 0

        self._room.prune = prune  # type: ignore[method-assign]


class ForgetsTheRunsToo(MemoryConversations):
    def forget(self, owner: str, name: str) -> Any:
        for each in self.exchanges_now(owner, name):
            self._room.lines.pop(each.key, None)
        return super().forget(owner, name)


class CutsWhatIsLarge(MemoryConversations):
    def keep(self, key: str, content: str, **digest: Any) -> Any:
        return super().keep(key, content[:100_000], **digest)


BROKEN_CONVERSATIONS: dict[type[MemoryConversations], str] = {
    WakesNobody: "entering_posts_and_wakes",
    NumbersByTheNewestThatItKnows: "places_are_numbered_in_the_order_of_entering_by_any_host",
    EntersTwice: "the_same_post_has_the_same_place",
    ForgetsWhose: "one_name_of_two_owners_is_two_conversations",
    KeepsTheLast: "what_is_kept_first_stays",
    TakesTheKeptForOver: "what_is_ahead_is_what_has_work_left",
    ReadsOn: "exchanges_are_read_from_and_below_a_number",
    FindsTheNewestDigestOfAll: "the_newest_digest_below_a_number_is_found",
    LeavesTheDigest: "a_deleted_run_leaves_nothing_behind",
    PrunesExchangeByExchange: "a_conversation_is_pruned_as_a_whole_and_never_while_it_is_used",
    ForgetsTheRunsToo: "a_forgotten_conversation_is_gone_and_its_runs_are_not",
    CutsWhatIsLarge: "what_is_left_behind_may_be_large",
}
