"""Plain data through a whole bench: what is handed over survives a restart exactly, or is refused before anything."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from workbench import Workbench, durable
from workbench.errors import BadInput, NotPlain, WorkbenchError
from workbench.plain import DEPTH, SIZE
from workbench.process.calls import Call

WHEN = dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"), fold=1)
HOSTILE: list[Any] = [
    "\0 \ud800 \udfff \u2028 \ufffe 😀 e\u0301 \x7f \\u0000 \"'; DROP TABLE keys; --",
    {"\0": 1, "": 2, "$": 3, "__class__": "os.system", "key#1": 4},
    {"$": "os.system", "v": "true"},
    [10**400, -(2**63), 2**53 + 1, -0.0, 5e-324, 1.7976931348623157e308, True, 1, 1.0],
    (b"\x00\xff", {1, "1", (1,)}, Decimal("1E-999"), WHEN, dt.timedelta(days=-1, microseconds=1)),
]
LARGE = 50_000_000


@durable(key="echo:{name}", max_attempts=1)
async def echo(ctx: Any, name: str) -> Any:
    """Gives back what it hears, as a step does and as its state."""
    yield ctx.restored
    async for message in ctx:
        match message:
            case Call({"step": value}, reply):
                yield {"kept": await ctx.step("keep", lambda key: value)}
                reply(value)
            case Call({"make": size}, reply):
                made = await ctx.step("make", lambda key: "é" * size)
                yield made
                reply(made)
            case Call({"bad step": _}, _):
                await ctx.step("bad", lambda key: {"when": [object()]})
            case Call({"bad state": _}, _):
                yield {"orders": [1, {"price": float("nan")}]}
            case Call({"bad reply": _}, reply):
                reply({"keys": {1: 2}})


def alike(one: object, other: object) -> bool:
    """Equal with all types; `repr` tells them apart."""
    return shown(one) == shown(other) and one == other


def shown(value: object) -> str:
    """`repr`, with the members of a set in one order."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {shown(item)}' for key, item in value.items())}}}"
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    return repr(sorted(map(repr, value))) if isinstance(value, set) else repr(value)


@pytest.mark.parametrize("value", HOSTILE, ids=["text", "keys", "forged tag", "numbers", "tags"])
async def test_hostile_values_survive_a_restart_exactly(value: Any, tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "a.db", echo) as bench:
        assert alike(await bench.lookup(echo, name="a").call({"step": value}, id="one"), value)

    async with Workbench.open(tmp_path / "a.db", echo) as bench:
        process = bench.lookup(echo, name="a")

        assert alike(await process.call({"step": value}, id="one"), value)
        rows = {row["kind"]: row["value"] for row in bench.journal("echo:a")}
        assert alike(rows["message"], {"step": value})
        assert alike(rows["step"], value)
        assert alike(bench.journal("echo:a").at(1), {"kept": value})
        await process.until(lambda state: alike(state, {"kept": value}))


async def test_hostile_arguments_make_a_key_of_their_own(tmp_path: Path) -> None:
    names = ["a", "a:b", "~1", 1, True, 1.0, None, ["a"], {"a": 1}, "\0", "é", "e\u0301", "%7E1", "a#1"]
    async with Workbench.open(tmp_path / "a.db", echo) as bench:
        for number, name in enumerate(names):
            await bench.lookup(echo, name=name).call({"step": number}, id="one")

        heard = [await bench.lookup(echo, name=name).call({"step": n}, id="one") for n, name in enumerate(names)]
        assert heard == list(range(len(names)))
        assert len(bench.keys()) == len(names)


async def test_half_a_character_in_a_key_is_refused(tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "a.db", echo) as bench:
        with pytest.raises(BadInput, match="a name is text of UTF-8"):
            await bench.lookup(echo, name="\ud800").call({"step": 1}, id="one")
        assert list(bench.keys()) == []


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"orders": [0, {"when": object()}]}, r"message\.orders\[1\]\.when is a object"),
        ({"x": float("inf")}, r"message\.x is inf"),
        ({"x": {2: 1}}, r"message\.x has the key 2 of type int"),
        ("x" * SIZE, rf"message is {SIZE + 2} bytes as text, more than the limit of {SIZE}"),
    ],
    ids=["object", "number", "key", "size"],
)
async def test_a_message_that_is_not_plain_is_refused_and_nothing_is_written(
    message: Any, words: str, tmp_path: Path
) -> None:
    async with Workbench.open(tmp_path / "a.db", echo) as bench:
        process = bench.lookup(echo, name="a")
        with pytest.raises(NotPlain, match=words):
            await process.cast(message)
        with pytest.raises(NotPlain, match=words):
            await process.call(message, id="one")

        assert await process.call({"step": 1}, id="one") == 1
        assert [row["seq"] for row in bench.journal("echo:a") if row["kind"] == "message"] == [1]


async def test_depth_has_one_limit_in_messages_steps_and_states(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(DEPTH - 1):
        deep = [deep]
    async with Workbench.open(tmp_path / "a.db", echo) as bench:
        process = bench.lookup(echo, name="a")
        assert await process.call({"step": deep}, id="one") == deep
        with pytest.raises(NotPlain, match=rf"nested more than {DEPTH} levels deep"):
            await process.call({"step": [deep]}, id="two")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("bad step", r"\.when\[0\] is a object"),
        ("bad state", r"state\.orders\[1\]\.price is nan"),
        ("bad reply", r"reply\.keys has the key 1 of type int"),
    ],
)
async def test_what_a_body_makes_that_is_not_plain_is_named_by_its_path(what: str, words: str, tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "a.db", echo) as bench:
        process = bench.lookup(echo, name="a")

        with pytest.raises(WorkbenchError, match=words):
            await process.call({what: 1}, id="one")

        [letter] = bench.dead_letters
        assert letter.message == {what: 1}
        kinds = [row["kind"] for row in bench.journal("echo:a")]
        assert "step" not in kinds
        assert bench.journal("echo:a").at(1) is None


@pytest.mark.slow
async def test_fifty_megabytes_go_through_message_step_state_and_answer(tmp_path: Path) -> None:
    text = "é" * (LARGE // 2)
    async with Workbench.open(tmp_path / "a.db", echo, durability="process") as bench:
        process = bench.lookup(echo, name="a")
        assert await process.call({"step": text}, id="one") == text

    async with Workbench.open(tmp_path / "a.db", echo, durability="process") as bench:
        process = bench.lookup(echo, name="a")

        assert await process.call({"step": text}, id="one") == text
        assert bench.journal("echo:a").at(1) == {"kept": text}
        await process.until(lambda state: state == {"kept": text})
        with pytest.raises(WorkbenchError, match=f"bytes as text, more than the limit of {SIZE}"):
            await process.call({"make": SIZE // 2}, id="two")


@durable(key="shared")
async def shared(ctx: Any, name: str) -> Any:
    """A key that does not tell its arguments apart."""
    async for _ in ctx:
        yield name


async def test_a_key_that_is_stored_with_other_arguments_is_refused_and_both_are_named(tmp_path: Path) -> None:
    async with Workbench.open(tmp_path / "a.db", shared) as bench:
        await bench.lookup(shared, name="ada").cast("go")
    async with Workbench.open(tmp_path / "a.db", shared) as bench:
        second = bench.lookup(shared, name="bo")
        with pytest.raises(WorkbenchError):
            await second.cast("go")

        assert "shared({'name': 'ada'})" in str(second.error)
        assert "shared({'name': 'bo'})" in str(second.error)
