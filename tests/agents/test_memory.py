"""Memory: notes that are kept once, found by their words, and seen by nobody else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from houses import House, clerk, ears, until

from workbench import ToolContext, tool
from workbench.agents.context import Principal
from workbench.errors import BadInput, NoCode
from workbench.models.script import call

ANA, BO = Principal("ana", "mcp"), Principal("bo", "mcp")


@tool
async def note_down(ctx: ToolContext, text: str, tags: list[str] | None = None) -> str:
    """Keep a note."""
    return await ctx.remember(text, tags=tags or [])


@tool
async def look_up(ctx: ToolContext, query: str | None = None, tag: str | None = None) -> list[str]:
    """Find notes."""
    return [note["text"] for note in await ctx.recall(query, tag=tag)]


async def test_a_run_recalls_what_an_earlier_one_remembered(house: House) -> None:
    writes = clerk(call("note_down", text="Ana likes blue", tags=["colour"]), "Noted.", tools=[note_down])
    bench = await house.open(writes)
    await bench.run(writes, "I like blue")
    reads = clerk(call("look_up", query="what does ANA like?"), "Blue.", tools=[look_up])

    await bench.run(reads, "What do I like?")

    assert ears(reads).told[0].content == ["Ana likes blue"]
    assert [(note["text"], note["tags"], note["principal"]) for note in bench.notes()] == [
        ("Ana likes blue", ["colour"], "owner:you")
    ]


async def test_a_tool_sees_the_notes_of_its_principal_alone(house: House) -> None:
    bench = await house.open()
    for who, text in ((ANA, "the code is 1234"), (BO, "the code is 9876"), (None, "the code of the owner")):
        await bench.notes.remember(text, tags=["code"], principal=who)
    told = []

    for who in (ANA, BO, None):
        for asked in ({"query": "code"}, {"tag": "code"}, {}):
            agent = clerk(call("look_up", **asked), "Done.", tools=[look_up])
            await bench.run(agent, "What is the code?", principal=who)
            told.append(ears(agent).told[0].content)

    assert told == [["the code is 1234"]] * 3 + [["the code is 9876"]] * 3 + [["the code of the owner"]] * 3
    assert [len(bench.notes("code", principal=who)) for who in (ANA, BO, None)] == [1, 1, 3]


async def test_the_order_of_ones_notes_does_not_tell_of_anothers(house: House) -> None:
    bench = await house.open()
    for text in ("alpha beta beta", "alpha alpha beta"):
        await bench.notes.remember(text, principal=ANA)
    before = [note["text"] for note in bench.notes("alpha beta", principal=ANA)]

    for number in range(20):
        await bench.notes.remember(f"alpha {number}", principal=BO)

    assert [note["text"] for note in bench.notes("alpha beta", principal=ANA)] == before


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "'",
        "a OR b",
        "NEAR(a b)",
        "text:blue",
        "blue*",
        "^blue",
        "-blue",
        "(",
        "a AND",
        '" OR 1=1 --',
        "\0",
        "{}",
        "💥",
    ],
)
async def test_hostile_words_are_words(house: House, query: str) -> None:
    bench = await house.open()
    await bench.notes.remember("blue or near", principal=ANA)
    await bench.notes.remember("green", principal=BO)

    found = bench.notes(query, principal=ANA)

    assert {note["principal"] for note in found} <= {"mcp:ana"}
    assert len(found) == any(word in query.casefold().replace("*", "") for word in ("blue", "near", "or"))


async def test_notes_that_fit_best_come_first(house: House) -> None:
    bench = await house.open()
    for text in ("the cat sat", "the dog and the cat", "a dog, a dog and another dog", "Über Grün"):
        await bench.notes.remember(text)

    assert [note["text"] for note in bench.notes("dog")] == ["a dog, a dog and another dog", "the dog and the cat"]
    assert [note["text"] for note in bench.notes("sat cat")] == ["the cat sat", "the dog and the cat"]
    assert [note["text"] for note in bench.notes("uber GRUN")] == ["Über Grün"]
    assert list(bench.notes("!?")) == []
    assert [note["text"] for note in bench.notes(limit=2)] == ["Über Grün", "a dog, a dog and another dog"]


async def test_a_note_is_kept_once_and_recalled_as_before_by_a_call_that_runs_again(house: House) -> None:
    began, held = asyncio.Event(), asyncio.Event()
    seen: list[Any] = []

    @tool(idempotent=True)
    async def study(ctx: ToolContext) -> str:
        """Study."""
        await ctx.remember("one", tags=["a"])
        seen.append([note["text"] for note in await ctx.recall()])
        began.set()
        await held.wait()
        return "studied"

    bench = await house.open(agent := clerk(call("study"), "Done.", tools=[study]))
    run = bench.run(agent, "Study")
    await began.wait()
    await run.kill()
    await bench.notes.remember("two")
    held.set()

    await run.recover()

    assert await run == "Done."
    assert [note["text"] for note in bench.notes()] == ["two", "one"]
    assert seen == [["one"], ["one"]]


async def test_a_note_is_forgotten_by_whose_it_is(house: House) -> None:
    bench = await house.open()
    id = await bench.notes.remember("secret", principal=ANA)

    with pytest.raises(NoCode) as foreign:
        await bench.notes.forget(id, principal=BO)
    with pytest.raises(NoCode) as unknown:
        await bench.notes.forget("note-000000000000", principal=BO)
    assert str(foreign.value).replace(id, "X") == str(unknown.value).replace("note-000000000000", "X")
    assert await bench.notes.forget(id, principal=ANA) == 1

    assert (len(bench.notes), list(bench.notes("secret"))) == (0, [])


async def test_all_notes_of_one_are_forgotten_at_once(house: House) -> None:
    bench = await house.open()
    for who in (ANA, ANA, BO):
        await bench.notes.remember("x", principal=who)

    assert await bench.notes.forget(principal=ANA) == 2

    assert [note["principal"] for note in bench.notes()] == ["mcp:bo"]


async def test_pruning_leaves_notes_and_the_doctor_counts_them(house: House) -> None:
    bench = await house.open()
    await bench.notes.remember("four")

    await bench.prune(house.clock.now() + 1)

    assert (await bench.doctor()).facts["bytes_by_kind"]["notes"] == {"rows": 1, "bytes": 4}


async def test_notes_are_exported_one_a_line(house: House, tmp_path: Path) -> None:
    bench = await house.open()
    await bench.notes.remember("first", tags=["a"], principal=ANA)
    await bench.notes.remember("second", principal=BO)

    assert bench.notes.export(tmp_path / "all.jsonl") == 2
    assert bench.notes.export(tmp_path / "ana.jsonl", principal=ANA) == 1
    with pytest.raises(BadInput, match="is there already"):
        bench.notes.export(tmp_path / "ana.jsonl")

    (row,) = map(json.loads, (tmp_path / "ana.jsonl").read_text().splitlines())
    assert (row["text"], row["tags"], row["principal"]) == ("first", ["a"], "mcp:ana")


@pytest.mark.parametrize(
    ("text", "tags", "words"),
    [
        ("", [], "a note is a text"),
        (3, [], "a note is a text"),
        ("x", "tag", "tags are given as a list"),
        ("x", [1], "tags are texts"),
    ],
)
async def test_what_is_no_note_is_refused(room: House, text: Any, tags: Any, words: str) -> None:
    bench = await room.open()

    with pytest.raises(BadInput, match=words):
        await bench.notes.remember(text, tags=tags)


@pytest.mark.parametrize("nobody", ["", [], {}, "owner:you", 0])
async def test_what_is_no_principal_is_not_taken_for_the_owner(room: House, nobody: Any) -> None:
    bench = await room.open(agent := clerk("Hello."))
    await bench.notes.remember("mine")
    await bench.run(agent, "Say hello", conversation="c")

    with pytest.raises(BadInput, match="a principal is a Principal, found"):
        await bench.notes.forget(principal=nobody)
    with pytest.raises(BadInput, match="a principal is a Principal, found"):
        await bench.notes.remember("theirs", principal=nobody)
    with pytest.raises(BadInput, match="a principal is a Principal, found"):
        bench.conversation("c", principal=nobody)

    assert [note["text"] for note in bench.notes()] == ["mine"]


async def test_notes_are_seen_from_every_bench_of_the_store(house: House) -> None:
    here, there = await house.open(), await house.open()

    await here.notes.remember("shared words")

    await until(lambda: len(there.notes("shared")) == 1)
