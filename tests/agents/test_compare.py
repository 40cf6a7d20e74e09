"""Comparisons: which rows stand beside each other, and what is said to differ in them."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from houses import House, clerk
from pydantic import Field

from workbench import compare, tool
from workbench.agents.differences import changed_fields, pieces
from workbench.errors import BadInput
from workbench.models.script import call


@tool(read_only=True)
def look_up(order_id: str) -> dict[str, Any]:
    """Look an order up."""
    return {"id": order_id, "lines": [{"item": "tent", "price": 90 if order_id == "A-1" else 120}]}


@tool
def refund(order_id: str, pin: Annotated[str, Field(json_schema_extra={"format": "password"})] = "") -> str:
    """Refund an order."""
    return f"{order_id} refunded"


def agent(*turns: Any, name: str = "clerk") -> Any:
    return clerk(*turns, tools=[look_up, refund]).but(name)


async def two(house: House, first: list[Any], second: list[Any]) -> Any:
    """The comparison of two finished runs that play these turns."""
    bench = await house.open(one := agent(*first, name="one"), other := agent(*second, name="other"))
    a, b = bench.run(one, "Refund A-1", id="a"), bench.run(other, "Refund A-1", id="b")
    await a, await b
    return compare(a, b)


async def test_equal_runs_have_no_row_that_differs(room: House) -> None:
    turns = [call("look_up", order_id="A-1"), "Done."]

    comparison = await two(room, turns, turns)

    view = comparison.view()
    assert comparison.same
    assert [row["how"] for row in view["rows"]] == ["same"] * 4
    assert view["now_line"]["strong"] == "The same in every row."
    assert [row["differs"] for row in comparison.table] == ["", "", "", ""]


async def test_differences_are_told_by_word_argument_and_leaf(room: House) -> None:
    comparison = await two(
        room,
        [call("look_up", order_id="A-1"), "The tent costs 90."],
        [call("look_up", order_id="A-2"), "The tent costs 120."],
    )

    rows = {row["id"]: row for row in comparison.view()["rows"]}
    assert [row["how"] for row in rows.values()] == ["same", "same", "changed", "changed"]
    assert rows["r2"]["args"] == [{"path": "order_id", "how": "changed", "a": "A-1", "b": "A-2"}]
    assert rows["r2"]["result"] == [
        {"path": "id", "how": "changed", "a": "A-1", "b": "A-2"},
        {"path": "lines[0].price", "how": "changed", "a": 90, "b": 120},
    ]
    assert rows["r3"]["pieces"] == [
        {"how": "same", "text": "The tent costs "},
        {"how": "removed", "text": "90"},
        {"how": "added", "text": "120"},
        {"how": "same", "text": "."},
    ]
    assert [row["differs"] for row in comparison.table] == ["", "", "order_id, id, lines[0].price", "words"]
    assert comparison.view()["now_line"]["text"] == "from look_up (t1.0) on. Both are completed."


async def test_a_turn_more_stands_alone_and_the_others_stay_together(room: House) -> None:
    comparison = await two(
        room,
        [call("refund", order_id="A-1"), "Done."],
        [call("look_up", order_id="A-1"), call("refund", order_id="A-1"), "Done."],
    )

    steps = [(row["step"], row["differs"]) for row in comparison.table]
    assert steps == [
        ("request", ""),
        ("turn-1", "only b"),
        ("t1.0", "only b"),
        ("turn-1 / turn-2", ""),
        ("t1.0 / t2.0", ""),
        ("turn-2 / turn-3", ""),
    ]


async def test_another_tool_in_the_same_place_is_a_change(room: House) -> None:
    comparison = await two(room, [call("refund", order_id="A-1"), "Done."], [call("look_up", order_id="A-1"), "Done."])

    rows = comparison.view()["rows"]
    assert [(row["how"], row["what"]) for row in rows] == [
        ("same", "request"),
        ("same", "turn"),
        ("changed", "refund"),
        ("same", "turn"),
    ]
    assert [rows[2]["a"]["tool"], rows[2]["b"]["tool"]] == ["refund", "look_up"]


async def test_a_fork_shows_what_it_shares_and_what_it_cost(house: House) -> None:
    bench = await house.open(one := agent(call("look_up", order_id="A-1"), call("refund", order_id="A-1"), "Done."))
    run = bench.run(one, "Refund A-1", id="a")
    await run
    await house.clock.advance(60)
    fork = await run.fork(edit={"t1.0": {"id": "A-1", "lines": []}}, id="b")
    await fork

    view = compare(run, fork).view()

    assert (view["a"]["shared_turns"], view["b"]["shared_turns"]) == (0, 1)
    assert [half["shared"] for row in view["rows"] if (half := row["b"]) is not None] == [
        False,
        True,
        True,
        False,
        False,
        False,
    ]
    assert view["rows"][2]["result"] == [
        {"path": "lines[0].item", "how": "removed", "a": "tent", "b": None},
        {"path": "lines[0].price", "how": "removed", "a": 90, "b": None},
        {"path": "lines", "how": "added", "a": None, "b": []},
    ]
    said = repr(compare(run, fork)).splitlines()
    assert said[0].startswith("a: a of clerk, completed, 3 turns, ")
    assert said[1].startswith("b: b of clerk, completed, 3 turns (1 shared), ")
    assert said[2].startswith("1 of 6 rows differs, from look_up (t1.0) on. Both are completed.")


async def test_a_secret_argument_is_never_compared(room: House) -> None:
    comparison = await two(
        room,
        [call("refund", order_id="A-1", pin="1234"), "Done."],
        [call("refund", order_id="A-1", pin="9876"), "Done."],
    )

    assert comparison.same
    assert "1234" not in str(comparison.view())


async def test_only_runs_are_compared(room: House) -> None:
    bench = await room.open(one := agent("Done."))
    run = bench.run(one, "Go")

    with pytest.raises(BadInput, match=r"two runs are compared, found 'a'; bench.runs\[id\] gives the run of an id"):
        compare(run, "a")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="a comparison has no command 'kill'"):
        await compare(run, run).command("kill", {})


def test_a_text_of_very_many_words_is_compared_by_lines() -> None:
    long = "".join(f"line {number} of it\n" for number in range(1000))

    made = pieces(long, long.replace("line 500 ", "row 500 "))

    assert [piece["text"] for piece in made if piece["how"] != "same"] == ["line 500 of it\n", "row 500 of it\n"]
    assert "".join(piece["text"] for piece in made if piece["how"] != "added") == long


def test_types_are_a_difference() -> None:
    assert [field["path"] for field in changed_fields({"a": 1, "b": [1, 2]}, {"a": 1.0, "b": [1, True]})] == [
        "a",
        "b[1]",
    ]
    assert changed_fields({}, []) == [{"path": "", "how": "changed", "a": {}, "b": []}]
