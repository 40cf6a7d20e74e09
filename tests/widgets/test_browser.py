"""Values reach a browser and come back without losing anything, and what cannot is marked."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import BadInput
from workbench.widgets.browser import LONG, from_browser, to_browser

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8"), max_size=20)
)
keys = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(["$int", "$cut", "$map", "$float"])
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=20
)


@given(values)
def test_every_value_comes_back_as_it_went(value: Any) -> None:
    sent = json.dumps(to_browser(value), allow_nan=False)

    assert from_browser(json.loads(sent)) == value


def test_an_integer_that_javascript_would_round_travels_as_text() -> None:
    assert to_browser([2**53 - 1, 2**53, -(2**60)]) == [2**53 - 1, {"$int": str(2**53)}, {"$int": str(-(2**60))}]


def test_what_no_message_can_carry_is_replaced() -> None:
    assert to_browser({"\ud800": "a\udfffb", "n": float("nan")}) == {"?": "a?b", "n": {"$float": "nan"}}


def test_a_long_text_is_its_beginning_and_its_size() -> None:
    shown = to_browser("é" * (LONG + 1))

    assert (len(shown["$cut"]), shown["length"], shown["bytes"]) == (20_000, LONG + 1, 2 * (LONG + 1))


def test_a_cut_text_cannot_come_back_as_an_argument() -> None:
    with pytest.raises(BadInput):
        from_browser({"body": {"$cut": "abc", "length": 9, "bytes": 9}})


@pytest.mark.parametrize("mean", [{"$int": "1e5"}, {"$int": 5}, {"$float": "x"}, {"$map": 3}])
def test_a_mark_that_is_none_is_refused(mean: Any) -> None:
    with pytest.raises(BadInput):
        from_browser([mean])


def test_what_is_not_json_is_shown_as_text() -> None:
    value = {"at": dt.date(2026, 11, 29), "sum": Decimal("1.50"), "raw": b"abc", "pair": (1, 2), "set": {2, 1}, 5: None}

    assert to_browser(value) == {
        "at": "2026-11-29",
        "sum": "1.50",
        "raw": "3 bytes",
        "pair": [1, 2],
        "set": [1, 2],
        "5": None,
    }


def test_what_was_sent_stays_when_its_owner_changes_it() -> None:
    rows = [{"steps": ["a"]}]

    sent = to_browser(rows)
    rows[0]["steps"].append("b")

    assert sent == [{"steps": ["a"]}]
