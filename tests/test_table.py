"""Tables: lists that show themselves."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.table import MOST, STYLE, Table


@dataclass
class Row:
    name: str
    size: int | None


async def test_a_table_is_a_list_that_may_be_awaited() -> None:
    table = Table([1, 2], columns=())

    assert table == [1, 2]
    assert await table is table


def test_a_table_shows_mappings_and_objects_alike() -> None:
    expected = "name   size\nfirst  1\nother"

    assert repr(Table([Row("first", 1), Row("other", None)], columns=("name", "size"))) == expected
    assert repr(Table([{"name": "first", "size": 1}, {"name": "other"}], columns=("name", "size"))) == expected


def test_a_long_value_is_cut_and_kept_on_one_line() -> None:
    table = Table([{"text": "two\nlines"}, {"text": "x" * 100}], columns=["text"])

    assert repr(table).splitlines() == ["text", "two lines", "x" * 59 + "…"]
    assert table[1]["text"] == "x" * 100


def test_a_table_in_a_cell_holds_no_markup_of_its_rows() -> None:
    shown = Table([{"<b>": "<script>alert(1)</script>"}], columns=["<b>"])._repr_html_()

    assert shown == (
        f'<div class="wb-table">{STYLE}<table><thead><tr><th>&lt;b&gt;</th></tr></thead>'
        "<tbody><tr><td>&lt;script&gt;alert(1)&lt;/script&gt;</td></tr></tbody></table></div>"
    )


def test_a_large_table_says_how_much_it_leaves_out() -> None:
    table = Table([{"n": number} for number in range(MOST + 7)], columns=["n"])

    assert len(table) == MOST + 7
    assert repr(table).splitlines()[-1] == "7 more rows"
    assert table._repr_html_().endswith("<p>7 more rows</p>")
    assert len(repr(table).splitlines()) == MOST + 2


def test_an_empty_table_shows_its_columns() -> None:
    assert repr(Table([], columns=("name", "size"))) == "name  size"


def test_instants_are_shown_as_times_and_kept_as_seconds() -> None:
    table = Table([{"at": 1764455056.319, "last": 3, "took": 1.5}, {"at": 1e300, "last": None}], ("at", "last", "took"))

    assert repr(table).splitlines() == [
        "at                       last  took",
        "2025-11-29 22:24:16.319  3     1.5",
        "1e+300",
    ]
    assert "<td>2025-11-29 22:24:16.319</td><td>3</td><td>1.5</td>" in table._repr_html_()
    assert table[0]["at"] == 1764455056.319
