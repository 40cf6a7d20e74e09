"""Stored messages: what is built, read back, and sent to a provider."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies

from workbench.models.messages import (
    Call,
    ToolResult,
    calls_of,
    library_version,
    model_message,
    results_of,
    text_of,
    tool_results_message,
    turns_in,
    unique_ids,
    user_message,
    user_text,
)
from workbench.models.model import Turn


def asked(raw: str) -> Call:
    (call,) = calls_of(model_message([Call("c", "add", None, raw, "unread")], model="m"))
    return call


def test_a_message_built_twice_is_the_same():
    assert user_message("hello") == user_message("hello")
    assert user_message("hello") == {
        "fmt": "pai2",
        "lib": library_version(),
        "json": {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "hello"}]},
    }


def test_the_library_reads_every_message_built_here():
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    history = [
        user_message("hello"),
        model_message(["Let me see.", Call("c1", "add", {"a": 1}, '{"a": 1}', None)], model="scripted"),
        tool_results_message([ToolResult("c1", "add", {"sum": 1}, "failed")]),
    ]

    read = ModelMessagesTypeAdapter.validate_json(json.dumps([message["json"] for message in history]))

    assert [type(part).__name__ for message in read for part in message.parts] == [
        "UserPromptPart",
        "TextPart",
        "ToolCallPart",
        "ToolReturnPart",
    ]
    assert read[2].parts[0].outcome == "failed"
    assert read[2].parts[0].content == {"sum": 1}


def test_what_was_put_in_is_read_back():
    call = Call("c1", "add", {"a": 1}, '{"a": 1}', None)
    result = ToolResult("c1", "add", [1, "two"], "denied")

    assert calls_of(model_message(["one ", "two", call], model="m")) == [call]
    assert text_of(model_message(["one ", "two", call, "three"], model="m")) == "one two\n\nthree"
    assert results_of(tool_results_message([result])) == [result]
    assert user_text(user_message("hello")) == "hello"
    assert user_text(tool_results_message([result])) is None
    assert turns_in([user_message("a"), model_message(["b"], model="m"), user_message("c")]) == 1


@pytest.mark.parametrize("raw", ["", "  ", "{}"])
def test_no_argument_text_means_no_arguments(raw):
    assert (asked(raw).args, asked(raw).error) == ({}, None)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"a": 1', "no JSON"),
        ("[1, 2]", "a list, not a JSON object"),
        ('"text"', "a text, not a JSON object"),
        ("null", "null, not a JSON object"),
        ('{"a": NaN}', "NaN is no JSON value"),
        ('{"a": 1e999}', "a number that is no JSON value"),
        ('{"a": "\\ud800"}', "half of a surrogate pair"),
        ('{"a":' * 200 + "1" + "}" * 200, "nested more than 150 deep"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_argument_text_that_is_no_object_is_kept_with_the_reason(raw, reason):
    call = asked(raw)

    assert call.args is None
    assert call.raw == raw
    assert reason in (call.error or "")


@given(strategies.integers(0, 60))
def test_cut_off_arguments_are_never_half_taken(cut):
    whole = '{"order_id": "A-1001", "lines": [1, 2.5, null], "note": "é\\n"}'
    call = asked(whole[:cut])

    assert call.args in (None, {}) if whole[:cut].strip() != whole else call.args == json.loads(whole)
    assert (call.args is None) == (call.error is not None)


def test_results_are_told_as_json():
    content: dict[Any, Any] = {
        "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        "price": Decimal("1.50"),
        "id": uuid.UUID(int=1),
        "tags": {"b", "a"},
        "pair": (1, b"hi"),
        "odd": float("nan"),
    }

    (result,) = results_of(tool_results_message([ToolResult("c", "t", content)]))

    assert result.content == {
        "at": "2026-01-02T00:00:00+00:00",
        "price": "1.50",
        "id": "00000000-0000-0000-0000-000000000001",
        "tags": ["a", "b"],
        "pair": [1, "aGk="],
        "odd": None,
    }


def test_empty_and_repeated_ids_are_made_of_turn_and_position():
    earlier = model_message([Call("x", "t", {}, "{}", None)], model="m")

    assert unique_ids(["a", "a", None, "", "x"], [earlier]) == ["a", "call_1_1", "call_1_2", "call_1_3", "call_1_4"]
    assert unique_ids(["call_0_1", None], []) == ["call_0_1", "call_0_1_"]


def test_a_turn_comes_back_equal_from_plain_data():
    message = model_message(["Hello", Call("c1", "add", None, "{", "cut")], model="m")
    turn = Turn.of(message, model="m", finish="tool_call", input_tokens=3, output_tokens=2, cost_microdollars=None)

    assert Turn.from_plain(json.loads(json.dumps(turn.to_plain()))) == turn
    assert turn.calls[0].raw == "{"
