"""Copies: a key goes to a file and into another store whole, or not at all, and there goes on or is only looked at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench import Agent, Workbench, durable, models, tool
from workbench.durable.copies import VERSION
from workbench.errors import BadInput, NoCode, ProcessEnded
from workbench.plain import canonical
from workbench.process.calls import Call
from workbench.store.upkeep import ROWS

effects: list[str] = []
LARGE = "large " * 30_000


@durable(key="story:{name}", max_attempts=1)
async def story(ctx: Any, name: str) -> Any:
    """Everything that a key can have: states, steps, answers, a parked call, a letter, a message that waits."""
    state = ctx.restored or {"lines": []}
    yield state
    async for message in ctx:
        match message:
            case Call({"line": line}, reply):
                done = await ctx.step("write", lambda key: effects.append(key) or line)
                state = state | {"lines": [*state["lines"], done]}
                reply(len(state["lines"]))
            case Call("park", reply):
                state = state | {"parked": reply.id}
            case Call({"answer": value}, reply):
                ctx.reply(state["parked"], value)
                reply(None)
            case "hang":
                await ctx.step("before", lambda key: effects.append(key))
                await ctx.sleep("hang", 3600)
                state = state | {"lines": [*state["lines"], "woke"]}
            case "poison":
                raise ValueError("poison")
        yield state


async def told(place: Path | str, **options: Any) -> Workbench:
    """A bench with one key of everything, asleep in its last message."""
    bench = await Workbench.open(place, story, **options)
    process = bench.lookup(story, name="a")
    for number in range(5):
        await process.call({"line": f"line {number} " + "x" * 300}, id=f"line {number}")
    await process.call({"line": LARGE}, id="large")
    await process.cast("poison")
    parked = process.call("park", id="park")
    await process.until(lambda state: "parked" in state)
    await process.cast("hang")
    await process.cast("nobody takes this")
    del parked
    return bench


def rows(bench: Workbench, key: str) -> list[tuple[Any, ...]]:
    """What the journal has of a key, but for row numbers and lives that ended meanwhile."""
    names = ("at", "kind", "seq", "epoch", "branch", "name", "value")
    return [tuple(row[name] for name in names) for row in bench.journal(key) if row["kind"] != "activation"]


@pytest.mark.parametrize("target", ["other.db", ":memory:"])
@pytest.mark.parametrize("source", ["a.db", ":memory:"])
async def test_a_copy_has_everything_of_its_key(source: str, target: str, tmp_path: Path) -> None:
    bench = await told(source if source == ":memory:" else tmp_path / source)
    await bench.lookup(story, name="a").dispose()
    original = rows(bench, "story:a")

    count = await bench.export("story:a", tmp_path / "a.jsonl")
    there = await Workbench.open(target if target == ":memory:" else tmp_path / target)
    key = await there.import_(tmp_path / "a.jsonl")

    assert key == "story:a"
    assert rows(there, "story:a") == original
    assert count == len((tmp_path / "a.jsonl").read_text().splitlines()) - 2
    assert [there.journal(key).at(seq) for seq in range(1, 9)] == [bench.journal(key).at(seq) for seq in range(1, 9)]
    letters = [letter.letter for letter in there.store.letters_now(key=key)]
    assert letters == [letter.letter for letter in bench.store.letters_now(key=key)]
    assert there.keys()[0]["owner"] == "a read-only copy"
    await there.export(key, tmp_path / "again.jsonl")
    first, second = ((tmp_path / name).read_text().splitlines()[1:-1] for name in ("a.jsonl", "again.jsonl"))
    assert [json.loads(line)["row"] for line in second] == [json.loads(line)["row"] for line in first]
    await there.close()
    await bench.close()


async def test_a_copy_that_is_continued_repeats_nothing(tmp_path: Path) -> None:
    effects.clear()
    bench = await told(tmp_path / "a.db")
    process = bench.lookup(story, name="a")
    while not any("#9#" in key for key in effects):
        await process.states.change()
    await bench.lookup(story, name="a").dispose()
    await bench.export("story:a", tmp_path / "a.jsonl")
    await bench.close()
    done = list(effects)

    async with Workbench.open(tmp_path / "b.db", story) as there:
        await there.import_(tmp_path / "a.jsonl", read_only=False)
        process = there.lookup(story, name="a")

        assert await process.call({"line": "line 0 " + "x" * 300}, id="line 0") == 1
        await process.until(lambda state: "parked" in state)
        assert effects == done
        assert there.keys()[0]["pending"] == 2
        assert there.keys()[0]["next_wake"] is not None


async def test_a_read_only_copy_does_nothing_until_it_is_taken(tmp_path: Path) -> None:
    bench = await Workbench.open(tmp_path / "a.db", story)
    process = bench.lookup(story, name="a")
    await process.call({"line": "one"}, id="one")
    await process.dispose()
    await bench.export("story:a", tmp_path / "a.jsonl")
    await bench.close()

    async with Workbench.open(tmp_path / "b.db", story) as there:
        await there.import_(tmp_path / "a.jsonl")
        follower = there.lookup(story, name="a")
        await follower.until(lambda state: state == {"lines": ["one"]})
        assert there.elsewhere["story:a"].label == "a read-only copy"
        await follower.cast("hello")
        with pytest.raises(
            ProcessEnded, match=r"'story:a' is a read-only copy, in which nothing runs; there is nothing"
        ):
            await there.kill("story:a")

        taken = there.lookup(story, take=True, name="a")

        assert await taken.call({"line": "two"}, id="two") == 2
        assert there.elsewhere == {}


@pytest.mark.parametrize("target", ["b.db", ":memory:"])
async def test_a_read_only_copy_of_a_run_that_waits_cannot_be_killed(target: str, tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "a.db", payer()) as bench:
        await bench.run("payer", "Pay 1", id="r1").approval()
        await bench.export("r1", tmp_path / "r1.jsonl")

    async with Workbench.open(target if target == ":memory:" else tmp_path / target, payer()) as there:
        await there.import_(tmp_path / "r1.jsonl")

        with pytest.raises(ProcessEnded, match=r"kill it where it came from, or delete the copy$"):
            await there.kill("r1")
        assert there.runs["r1"].status == "waiting"


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    effects.append(f"paid {amount}")
    return f"paid {amount}"


def payer() -> Agent:
    return Agent("payer", tools=[pay], model=models.scripted([models.call("pay", amount=1)], "Paid."))


async def test_a_run_takes_its_approvals_along(tmp_path: Path) -> None:
    effects.clear()
    bench = await Workbench.open(tmp_path / "a.db", payer())
    run = bench.run("payer", "Pay 1", id="r1")
    request = await run.approval()
    await run.kill()
    await bench.export("r1", tmp_path / "r1.jsonl")
    await bench.close()

    async with Workbench.open(tmp_path / "b.db", payer()) as there:
        assert await there.import_(tmp_path / "r1.jsonl", read_only=False) == "run:r1"
        assert [each.id for each in there.approvals.pending()] == [request.id]
        await there.approvals.approve(request.id)

        assert await there.runs["r1"] == "Paid."
        assert effects == ["paid 1"]


async def test_a_finished_run_can_be_shown_from_a_read_only_copy(tmp_path: Path) -> None:
    bench = await Workbench.open(tmp_path / "a.db", payer())
    run = bench.run("payer", "Pay 1", id="r1")
    await bench.approvals.approve((await run.approval()).id)
    await run
    await bench.export("r1", tmp_path / "r1.jsonl")
    await bench.close()

    async with Workbench.open(tmp_path / "b.db", payer()) as there:
        await there.import_(tmp_path / "r1.jsonl")

        assert there.runs["r1"].status == "completed"
        assert there.runs["r1"].output == "Paid."


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of an export."""
    import asyncio

    folder = tmp_path_factory.mktemp("exported")

    async def fill() -> None:
        bench = await told(folder / "a.db")
        await bench.export("story:a", folder / "a.jsonl")
        await bench.close()

    asyncio.run(fill())
    return (folder / "a.jsonl").read_text()


async def refused(text: str | bytes, tmp_path: Path) -> str:
    """The words with which a file is refused; nothing of it is in the store."""
    file = tmp_path / "bad.jsonl"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    async with Workbench.open(tmp_path / "b.db") as bench:
        with pytest.raises(BadInput) as caught:
            await bench.import_(file)
        assert list(bench.keys()) == []
    return str(caught.value)


def signed(lines: list[dict[str, Any]]) -> str:
    """The text of rows with digests that fit, as a forger would make it."""
    mark, made = "", []
    for row in lines:
        mark = hashlib.blake2b(mark.encode() + canonical(row).encode(), digest_size=16).hexdigest()
        made.append(json.dumps({"row": row, "digest": mark}))
    return "\n".join(made) + "\n"


async def test_a_file_that_was_edited_cut_off_or_put_together_is_refused_by_line(exported: str, tmp_path: Path) -> None:
    lines = exported.splitlines(keepends=True)

    edited = [*lines[:4], lines[4].replace('"seq":', '"seq":1'), *lines[5:]]
    assert "line 5 does not fit its digest" in await refused("".join(edited), tmp_path)
    assert "line 7 does not fit its digest" in await refused("".join([*lines[:6], *lines[7:]]), tmp_path)
    assert "line 3 does not fit its digest" in await refused("".join([*lines[:2], lines[3], lines[2]]), tmp_path)
    assert "ends without its last row; it was cut off" in await refused("".join(lines[:-1]), tmp_path)
    assert "the file was cut off there" in await refused(exported[:-40], tmp_path)
    assert "is behind the end" in await refused(exported + lines[-1], tmp_path)
    assert "ends without its last row" in await refused("", tmp_path)
    assert "cannot be read as an export" in await refused(b"\xff\xfe", tmp_path)
    assert "line 1 is no line of an export" in await refused("[" * 100_000, tmp_path)
    assert "line 1 is no line of an export" in await refused(
        '{"row": {"row": "header", "at": 1e999}, "digest": ""}', tmp_path
    )
    assert "line 1 is no line of an export" in await refused('{"row": 1' + "0" * 5000 + "}", tmp_path)


FORGERIES: dict[str, Callable[[list[dict[str, Any]]], object]] = {
    "is not the header of an export": lambda rows: rows[0].update(format="other"),
    f"known is {VERSION}; update workbench": lambda rows: rows[0].update(version=2),
    "columns (wake_at)": lambda rows: rows[1].pop("wake_at"),
    "columns (extra)": lambda rows: rows[2].update(extra=1),
    "seq cannot be '1'": lambda rows: rows[3].update(seq="1"),
    "epoch cannot be 1000": lambda rows: rows[3].update(epoch=10**30),
    "a row 'os.system' cannot be there": lambda rows: rows[3].update(row="os.system"),
    "a row 'key' cannot be there": lambda rows: rows.insert(3, dict(rows[1])),
    "a 'commit ' cannot be without": lambda rows: rows[3].update(kind="commit "),
    "half of a character": lambda rows: rows[1].update(args="\ud800"),
    "has not all messages": lambda rows: rows[1].update(last_seq=500),
    "seq cannot be -1": lambda rows: rows[3].update(seq=-1),
    "epoch cannot be -1": lambda rows: rows[1].update(epoch=-1),
    "is there already, in line": lambda rows: rows.insert(-1, dict(next(row for row in rows if row["row"] == "call"))),
    "the step '": lambda rows: rows.insert(-1, dict(next(row for row in rows if row.get("kind") == "step"))),
    "the message '": lambda rows: rows.insert(-1, dict(next(row for row in rows if row.get("kind") == "message"))),
    "cursor cannot be behind the last message": lambda rows: rows[1].update(cursor=rows[1]["last_seq"] + 1),
    "a key is not empty": lambda rows: rows[1].update(key=""),
    "says 5 rows": lambda rows: rows[-1].update(rows=5),
}


@pytest.mark.parametrize(("words", "forge"), FORGERIES.items(), ids=list(FORGERIES))
async def test_a_forged_row_with_a_digest_that_fits_is_refused(
    words: str, forge: Callable[[list[dict[str, Any]]], object], exported: str, tmp_path: Path
) -> None:
    rows = [json.loads(line)["row"] for line in exported.splitlines()]
    assert signed(rows).splitlines()[1:] == [json.dumps(json.loads(line)) for line in exported.splitlines()[1:]]

    forge(rows)

    said = await refused(signed(rows), tmp_path)
    assert words.replace("columns (", "") in said


async def test_nothing_is_overwritten_by_an_export_or_an_import(exported: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(exported)
    async with Workbench.open(tmp_path / "b.db", story) as bench:
        await bench.lookup(story, name="a").call({"line": "mine"}, id="one")

        with pytest.raises(BadInput, match="the key 'story:a' is in this store already; delete it first"):
            await bench.import_(tmp_path / "a.jsonl")
        with pytest.raises(BadInput, match="is there already; an export overwrites nothing"):
            await bench.export("story:a", tmp_path / "a.jsonl")
        with pytest.raises(BadInput, match="cannot be written"):
            await bench.export("story:a", tmp_path / "none" / "a.jsonl")
        with pytest.raises(NoCode, match="no key or run 'none'"):
            await bench.export("none", tmp_path / "c.jsonl")
        with pytest.raises(BadInput, match="a file is named by a path, found 5"):
            await bench.export("story:a", 5)  # type: ignore[arg-type]

        assert (tmp_path / "a.jsonl").read_text() == exported
        assert not (tmp_path / "c.jsonl").exists()
        assert bench.lookup(story, name="a").state == {"lines": ["mine"]}


def test_every_row_of_the_format_is_in_the_exported_story(exported: str) -> None:
    found = {json.loads(line)["row"]["row"] for line in exported.splitlines()}

    assert found == {"header", "end", *ROWS} - {"post", "record"}
