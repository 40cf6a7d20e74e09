"""Keepers that are broken in one way each: the controls of the laws of beginning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from workbench.store.claims import Begun
from workbench.store.memory import MemoryStore


class _Begins(MemoryStore):
    """A keeper whose `begin` gives something else: what `spoilt` makes of it."""

    def spoilt(self, key: str, begun: Begun) -> Begun:
        raise NotImplementedError

    def begin(self, key: str, definition: str, args: str, **options: Any) -> Any:
        begun = super().begin(key, definition, args, **options).result()
        return self._done(begun if begun.loaded is None else self.spoilt(key, begun))


class BeginsFromNothing(_Begins):
    def spoilt(self, key: str, begun: Begun) -> Begun:
        return replace(begun, loaded=replace(begun.loaded, snapshot=None))  # type: ignore[type-var]


class LeavesPostsWhereTheyAre(_Begins):
    def spoilt(self, key: str, begun: Begun) -> Begun:
        return replace(begun, waiting=tuple(logged for logged in begun.waiting if logged.call_id is None))


class GivesTheRecordsOfAll(_Begins):
    def spoilt(self, key: str, begun: Begun) -> Begun:
        steps = self._look(key).steps
        return replace(begun, head=tuple(record for seq in sorted(steps) for record in steps[seq]))


class CountsDecidedRequests(_Begins):
    def spoilt(self, key: str, begun: Begun) -> Begun:
        return replace(begun, asks=any(record.key == key for record in self._room.records.values()))


class NeverTakes(MemoryStore):
    def begin(self, key: str, definition: str, args: str, **options: Any) -> Any:
        return super().begin(key, definition, args, **(options | {"force": False}))


class BeginsAnythingOfTheName(MemoryStore):
    def begin(self, key: str, definition: str, args: str, **options: Any) -> Any:
        what = self._make(key).what
        return super().begin(key, definition, what[1] if what and what[0] == definition else args, **options)


class ForgetsTheDead(_Begins):
    def spoilt(self, key: str, begun: Begun) -> Begun:
        return replace(begun, loaded=replace(begun.loaded, cut_off=False))  # type: ignore[type-var]


BROKEN_BEGINNINGS: dict[type[MemoryStore], str] = {
    BeginsFromNothing: "a_life_begins_from_the_last_commit",
    LeavesPostsWhereTheyAre: "a_life_begins_with_all_that_waits",
    GivesTheRecordsOfAll: "a_life_begins_with_the_records_of_its_first_message",
    CountsDecidedRequests: "a_life_says_whether_a_request_of_its_key_is_open",
    NeverTakes: "a_key_of_a_live_host_does_not_begin_elsewhere",
    BeginsAnythingOfTheName: "a_key_that_is_something_else_does_not_begin",
    ForgetsTheDead: "a_life_begins_as_cut_off_when_the_one_before_said_nothing",
}
