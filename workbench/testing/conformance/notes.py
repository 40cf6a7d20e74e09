"""The laws of notes: kept once, found by plain words, and seen by nobody else.

Source: DESIGN 2 (`ctx.remember`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.notes import Note
from workbench.testing.conformance.law import Law, Open, enrol

if TYPE_CHECKING:
    from workbench.store.notes import NoteStore
    from workbench.testing.clock import ManualClock

__all__ = ["NOTES"]

NOTES: list[Law] = []
law = enrol(NOTES)


async def put(notes: NoteStore, owner: str, id: str, text: str, *tags: str, at: float = 1.0) -> bool:
    """Keep a note, as the laws do."""
    return await notes.put(Note(owner, id, text, tags, at))


def texts(found: list[Note]) -> list[str]:
    """The texts of notes, in their order."""
    return [note.text for note in found]


@law
async def a_note_is_kept_once_for_its_id(open_store: Open, clock: ManualClock) -> None:
    """Without it, a tool that runs again keeps its note twice, or changes it."""
    notes = (await open_store()).notes

    assert await put(notes, "ana", "1", "first")

    assert not await put(notes, "ana", "1", "second")
    assert await put(notes, "bo", "1", "of another")
    assert texts(notes.notes_now("ana")) == ["first"]


@law
async def notes_come_newest_first_and_at_most_limit(open_store: Open, clock: ManualClock) -> None:
    """Without it, what was remembered last is what is not recalled."""
    notes = (await open_store()).notes
    for id, at in (("1", 2.0), ("2", 3.0), ("3", 1.0), ("4", 3.0)):
        await put(notes, "ana", id, id, at=at)

    assert texts(notes.notes_now("ana", limit=3)) == ["4", "2", "1"]


@law
async def a_note_is_found_by_any_of_the_words_whatever_their_case_and_accents(
    open_store: Open, clock: ManualClock
) -> None:
    """Without it, a question in a sentence finds nothing."""
    notes = (await open_store()).notes
    await put(notes, "ana", "1", "Über Grün")
    await put(notes, "ana", "2", "about red")

    assert texts(notes.notes_now("ana", words=["what", "uber", "is"])) == ["Über Grün"]
    assert texts(notes.notes_now("ana", words=["about"])) == ["about red"]
    assert notes.notes_now("ana", words=[]) == notes.notes_now("ana", words=["blue"]) == []


@law
async def notes_that_fit_best_come_first(open_store: Open, clock: ManualClock) -> None:
    """Without it, a common word hides what was asked for."""
    notes = (await open_store()).notes
    await put(notes, "ana", "1", "the rare word and the others", at=1.0)
    for number in range(5):
        await put(notes, "ana", f"c{number}", f"the common one {number}", at=2.0 + number)

    assert texts(notes.notes_now("ana", words=["the", "rare"], limit=2)) == [
        "the rare word and the others",
        "the common one 4",
    ]


@law
async def what_is_asked_for_is_never_a_query(open_store: Open, clock: ManualClock) -> None:
    """Without it, whoever asks writes the search, or breaks it."""
    notes = (await open_store()).notes
    await put(notes, "ana", "1", "blue")
    await put(notes, "bo", "2", "green")

    for word in ('"', "blue*", "blue OR green", "text:blue", "' OR 1=1 --", "NEAR(", "-", "\0"):
        found = notes.notes_now("ana", words=[word])
        assert [note.owner for note in found] in ([], ["ana"]), word


@law
async def a_search_for_one_owner_sees_nothing_of_another(open_store: Open, clock: ManualClock) -> None:
    """Without it, one person's notes are in what another finds, in its order or its count."""
    notes = (await open_store()).notes
    await put(notes, "ana", "1", "alpha beta beta", "t", at=1.0)
    await put(notes, "ana", "2", "alpha alpha beta", "t", at=1.0)
    before = texts(notes.notes_now("ana", words=["alpha", "beta"]))
    for number in range(9):
        await put(notes, "bo", f"{number}", "alpha", "t", at=9.0)

    assert texts(notes.notes_now("ana", words=["alpha", "beta"])) == before
    assert {note.owner for note in (*notes.notes_now("ana"), *notes.notes_now("ana", tag="t"))} == {"ana"}
    assert (notes.count_now("ana"), notes.count_now("bo"), notes.count_now("cy"), notes.count_now()) == (2, 9, 0, 11)
    assert len(notes.notes_now(words=["alpha"])) == 11


@law
async def a_tag_is_matched_whole(open_store: Open, clock: ManualClock) -> None:
    """Without it, a tag finds what only looks like it."""
    notes = (await open_store()).notes
    await put(notes, "ana", "1", "a plan", "work", "plans")
    await put(notes, "ana", "2", "another plan", "workshop")

    assert texts(notes.notes_now("ana", tag="work")) == ["a plan"]
    assert texts(notes.notes_now("ana", tag="work", words=["plan"])) == ["a plan"]
    assert notes.notes_now("ana", tag="w%") == notes.notes_now("ana", tag="Work") == []
    assert notes.notes_now("ana", tag="work")[0].tags == ("work", "plans")


@law
async def a_dropped_note_is_found_no_more(open_store: Open, clock: ManualClock) -> None:
    """Without it, what somebody wanted forgotten is recalled, or everybody's is gone."""
    notes = (await open_store()).notes
    for owner, id in (("ana", "1"), ("ana", "2"), ("ana", "3"), ("bo", "1")):
        await put(notes, owner, id, "secret")

    assert (await notes.drop("ana", "1"), await notes.drop("ana", "1"), await notes.drop("cy", "1")) == (1, 0, 0)
    assert sorted((note.owner, note.id) for note in notes.notes_now(words=["secret"])) == [
        ("ana", "2"),
        ("ana", "3"),
        ("bo", "1"),
    ]
    assert await notes.drop("ana") == 2

    assert [(note.owner, note.id) for note in notes.notes_now(words=["secret"])] == [("bo", "1")]


@law
async def pruning_leaves_notes_alone(open_store: Open, clock: ManualClock) -> None:
    """Without it, memory lasts as long as history does."""
    store = await open_store()
    await put(store.notes, "ana", "1", "kept")

    await store.prune(10.0**10)

    assert texts(store.notes.notes_now("ana")) == ["kept"]
