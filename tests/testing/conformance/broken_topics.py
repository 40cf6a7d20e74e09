"""Topics that are broken in one way each: the negative controls of their laws."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.store.memory import MemoryStore
from workbench.store.memory_topic import MemoryTopics
from workbench.store.topic import Post, Published, TopicInfo
from workbench.store.topic_room import TopicLine


class NumbersEverything(MemoryTopics):
    def _publish(self, line: TopicLine, body: str) -> int:
        if body == '"x"':
            line.last += sum(other.last for other in self._room.lines.values())
        return super()._publish(line, body)


class ReadsTheNumberAfterwards(MemoryTopics):
    async def publish(self, topic: str, bodies: Sequence[str]) -> list[int]:  # type: ignore[override]
        positions = await super().publish(topic, bodies)
        if bodies[0] in [f'"{number}"' for number in range(5)]:
            await asyncio.sleep(0)
            return [self._look(topic).last]
        return positions


class ReadsTheLastAgain(MemoryTopics):
    def read_now(self, topic: str, after: int, limit: int) -> list[Published]:
        return super().read_now(topic, 3 if after == 4 and self._look(topic).last == 4 else after, limit)


class ForgetsMarks(MemoryTopics):
    def join(self, topic: str, subscriber: str, position: int) -> Any:
        mark = self._look(topic).marks.get(subscriber)
        if mark is not None and mark.position == 5:
            mark.position = position
        return super().join(topic, subscriber, position)


class LetsEveryoneJoin(MemoryTopics):
    def join(self, topic: str, subscriber: str, position: int) -> Any:
        mark = self._look(topic).marks.get(subscriber)
        if mark is not None:
            mark.holder = None
        return super().join(topic, subscriber, position)


class PartsForNobody(MemoryTopics):
    def part(self, topic: str, subscriber: str, *, forget: bool = False) -> Any:
        mark = self._look(topic).marks.get(subscriber)
        holder = None if mark is None else mark.holder
        parted = super().part(topic, subscriber, forget=forget)
        if mark is not None:
            mark.holder = holder
        return parted


class RemembersForEver(MemoryTopics):
    def part(self, topic: str, subscriber: str, *, forget: bool = False) -> Any:
        return super().part(topic, subscriber)


class MovesForStrangers(MemoryTopics):
    def advance(self, topic: str, subscriber: str, expect: int, position: int) -> Any:
        mark = self._look(topic).marks.get(subscriber)
        if mark is not None and mark.holder is not None:
            mark.holder = self._host().id
        return super().advance(topic, subscriber, expect, position)


class PostsThenCompares(MemoryTopics):
    def deliver(self, topic: str, subscriber: str, expect: int, position: int, post: Post) -> Any:
        moved = super().deliver(topic, subscriber, expect, position, post)
        if not moved.result():
            self._post(post)
        return moved


class NumbersAnewWhenEmpty(MemoryTopics):
    async def forget(self, topic: str, *, before: float | None = None, keep: int | None = None) -> int:
        gone = await super().forget(topic, before=before, keep=keep)
        line = self._look(topic)
        if not line.events:
            line.last = line.pruned = 0
        return gone


class PrunesWhatIsNew(MemoryTopics):
    async def prune(self, before: float) -> int:
        return await super().prune(before + 0.001)


class TellsNobody(MemoryTopics):
    def publish(self, topic: str, bodies: Sequence[str]) -> Any:
        wrote, self._wrote = self._wrote, lambda: None
        done = super().publish(topic, bodies)
        self._wrote = wrote
        return done


class HidesWhatWasPruned(MemoryTopics):
    def topics_now(self) -> list[TopicInfo]:
        return [replace(info, pruned=0) for info in super().topics_now()]


def keeper(topics: type[MemoryTopics]) -> type[MemoryStore]:
    """The memory keeper with other topics."""
    return type(topics.__name__, (MemoryStore,), {"topics_of": topics})


BROKEN_TOPICS: dict[type[MemoryTopics], str] = {
    NumbersEverything: "positions_rise_by_one_in_each_topic",
    ReadsTheNumberAfterwards: "hosts_that_publish_at_once_share_the_positions",
    ReadsTheLastAgain: "events_are_read_in_order_after_a_position",
    ForgetsMarks: "a_subscriber_goes_on_where_it_had_got_to",
    LetsEveryoneJoin: "a_subscriber_belongs_to_one_live_host",
    PartsForNobody: "a_subscriber_that_parted_is_free",
    RemembersForEver: "a_subscriber_that_is_forgotten_begins_anew",
    MovesForStrangers: "a_move_is_compared",
    PostsThenCompares: "a_delivered_event_is_in_the_log_once",
    NumbersAnewWhenEmpty: "forgotten_events_are_counted_and_their_positions_stay",
    HidesWhatWasPruned: "forgotten_events_are_counted_and_their_positions_stay",
    PrunesWhatIsNew: "prune_forgets_events_that_are_old",
    TellsNobody: "an_event_of_another_host_is_told",
}
