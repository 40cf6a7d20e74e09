"""Numbers, times and values in words."""

from __future__ import annotations

from workbench.widgets import words


def test_durations_are_exact_while_short() -> None:
    assert [words.took(seconds) for seconds in (None, 0.041, 0.9996, 1.94, 59.96, 4325)] == [
        "",
        "41 ms",
        "1.0 s",
        "1.9 s",
        "0:59",
        "1:12:05",
    ]


def test_an_unknown_price_is_never_zero() -> None:
    assert [words.cost(amount) for amount in (None, 0, 42_100, 1_234_567_890)] == [
        "no price",
        "$0.000",
        "$0.042",
        "$1,234.57",
    ]


def test_what_nobody_reported_is_said_to_be_that() -> None:
    none = {"model_calls": 2, "input_tokens": None, "output_tokens": None, "cost_microdollars": None}
    some = {"model_calls": 2, "input_tokens": 1284, "output_tokens": 212, "cost_microdollars": 42_100}

    for usage, lacking, tokens, cost in (
        (none, 2, "not reported", "no price"),
        (some, 1, "at least 1,284 in, 212 out", "at least $0.042"),
        (some, 0, "1,284 in, 212 out", "$0.042"),
        ({**none, "model_calls": 0}, 0, "0 in, 0 out", "no price"),
    ):
        counted = {**usage, "unreported": lacking, "unpriced": lacking}
        assert (words.tokens(counted), words.spent(counted)) == (tokens, cost)


def test_arguments_read_as_code() -> None:
    assert words.arguments({"order_id": "A-1", "limit": 3, "deep": [None]}) == 'order_id="A-1", limit=3, deep=[null]'


def test_a_cut_value_says_how_long_it_is() -> None:
    assert words.short("x" * 100, 10) == '"xxxxxxxx… (102 characters)'


def test_what_hides_in_a_text_is_a_mark_and_lines_stay() -> None:
    assert words.visible("a\x00\x7f\u200b\u202eb\tc\n👩\u200d🔧") == "a␀␡⟨U+200B⟩⟨U+202E⟩b\tc\n👩\u200d🔧"
