"""The laws bite: a keeper that is broken in one way fails exactly the law that forbids it."""

from __future__ import annotations

from functools import partial

import pytest
from broken import BROKEN
from broken_beginnings import BROKEN_BEGINNINGS
from broken_beyond import BROKEN_BEYOND
from broken_claims import BROKEN_CLAIMS
from broken_conversations import BROKEN_CONVERSATIONS
from broken_conversations import keeper as with_conversations
from broken_notes import BROKEN_NOTES
from broken_notes import keeper as with_notes
from broken_queues import BROKEN_QUEUES
from broken_queues import keeper as with_queues
from broken_schedules import BROKEN_SCHEDULES
from broken_schedules import keeper as with_schedules
from broken_topics import BROKEN_TOPICS
from broken_topics import keeper as with_topics

from workbench.store.memory import MemoryStore, Room
from workbench.store.memory_conversations import MemoryConversations
from workbench.store.memory_notes import MemoryNotes
from workbench.store.memory_queue import MemoryQueues
from workbench.store.memory_schedules import MemorySchedules
from workbench.store.memory_topic import MemoryTopics
from workbench.testing.conformance import check, laws
from workbench.testing.conformance.journal import JOURNAL
from workbench.testing.conformance.retention import RETENTION
from workbench.testing.conformance.wakes import WAKES

CONTROLS = BROKEN | BROKEN_BEYOND | BROKEN_CLAIMS | BROKEN_BEGINNINGS


@pytest.fixture(autouse=True)
def a_law_that_hangs_is_broken_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.testing.conformance.law.LONGEST", 5.0)


async def test_a_sound_keeper_breaks_no_law() -> None:
    assert await check(lambda: partial(MemoryStore, Room())) == {}


@pytest.mark.parametrize(("keeper", "law"), CONTROLS.items(), ids=lambda each: getattr(each, "__name__", None))
async def test_a_broken_keeper_fails_exactly_one_law(keeper: type[MemoryStore], law: str) -> None:
    assert list(await check(lambda: partial(keeper, Room()))) == [law]


@pytest.mark.parametrize(("queues", "law"), BROKEN_QUEUES.items(), ids=lambda each: getattr(each, "__name__", None))
async def test_a_keeper_with_broken_queues_fails_exactly_one_law(queues: type[MemoryQueues], law: str) -> None:
    assert list(await check(lambda: partial(with_queues(queues), Room()))) == [law]


@pytest.mark.parametrize(
    ("schedules", "law"), BROKEN_SCHEDULES.items(), ids=lambda each: getattr(each, "__name__", None)
)
async def test_a_keeper_with_broken_schedules_fails_exactly_one_law(schedules: type[MemorySchedules], law: str) -> None:
    assert list(await check(lambda: partial(with_schedules(schedules), Room()))) == [law]


@pytest.mark.parametrize(
    ("conversations", "law"), BROKEN_CONVERSATIONS.items(), ids=lambda each: getattr(each, "__name__", None)
)
async def test_a_keeper_with_broken_conversations_fails_exactly_one_law(
    conversations: type[MemoryConversations], law: str
) -> None:
    assert list(await check(lambda: partial(with_conversations(conversations), Room()))) == [law]


@pytest.mark.parametrize(("notes", "law"), BROKEN_NOTES.items(), ids=lambda each: getattr(each, "__name__", None))
async def test_a_keeper_with_broken_notes_fails_exactly_one_law(notes: type[MemoryNotes], law: str) -> None:
    assert list(await check(lambda: partial(with_notes(notes), Room()))) == [law]


@pytest.mark.parametrize(("topics", "law"), BROKEN_TOPICS.items(), ids=lambda each: getattr(each, "__name__", None))
async def test_a_keeper_with_broken_topics_fails_exactly_one_law(topics: type[MemoryTopics], law: str) -> None:
    assert list(await check(lambda: partial(with_topics(topics), Room()))) == [law]


def test_each_law_has_a_control() -> None:
    of_parts = (BROKEN_QUEUES, BROKEN_TOPICS, BROKEN_SCHEDULES, BROKEN_CONVERSATIONS, BROKEN_NOTES)
    controls = {*CONTROLS.values(), *(law for part in of_parts for law in part.values())}

    assert controls == {law.name for law in laws()}


def test_the_laws_of_the_reference_are_twenty_eight() -> None:
    assert len([*JOURNAL, *WAKES, RETENTION[0]]) == 28


def test_each_law_says_what_breaks_without_it() -> None:
    assert [law.name for law in laws() if not (law.__doc__ or "").startswith("Without it, ")] == []
    assert len({law.name for law in laws()}) == len(laws())
