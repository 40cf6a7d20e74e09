"""Plain data against a hostile world: canonical forms tell everything apart, and no text makes decoding do a thing."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_plain import same, texts, values

from workbench.durable.keys import key_maker
from workbench.errors import BadInput, NotPlain
from workbench.patch import apply, diff
from workbench.plain import canonical, decode, digest, encode

zones = st.sampled_from(["Europe/Paris", "America/New_York", "Asia/Kathmandu", "UTC", "Etc/GMT+5"])
zoned = st.builds(
    lambda when, zone, fold: when.replace(tzinfo=ZoneInfo(zone), fold=fold),
    st.datetimes(dt.datetime(1970, 1, 2), dt.datetime(2037, 1, 1)),
    zones,
    st.sampled_from([0, 1]),
)
plain_args = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.0, 1.0]) | st.text("ab:~%#1", max_size=5)
)


def ordered(value: Any) -> Any:
    """The value with the keys of its dicts in order, which canonical forms do not see."""
    if type(value) is dict:
        return {key: ordered(value[key]) for key in sorted(value)}
    if type(value) in (list, tuple):
        return type(value)(ordered(item) for item in value)
    return value


@settings(max_examples=300, deadline=None)
@given(values, values)
@example([1], (1,))
@example({"a": {True}}, {"a": {1}})
@example({"$": "tuple", "v": []}, ())
@example(0.0, -0.0)
def test_two_values_have_one_canonical_form_only_if_they_are_the_same(one: Any, other: Any) -> None:
    alike = same(ordered(one), ordered(other)) and repr(ordered(one)) == repr(ordered(other))

    assert (canonical(one) == canonical(other)) >= alike
    if canonical(one) == canonical(other):
        assert same(ordered(one), ordered(other))
        assert digest(one) == digest(other)


@settings(max_examples=300, deadline=None)
@given(st.tuples(plain_args, plain_args), st.tuples(plain_args, plain_args))
@example(("a:b", "c"), ("a", "b:c"))
@example((1, "x"), ("1", "x"))
@example((True, 0), (1, False))
def test_keys_of_different_arguments_never_meet(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    key = key_maker("order:{a}:{b}", ["a", "b"], "order")
    first, second = (key({"a": a, "b": b}) for a, b in (one, other))

    assert (first == second) == same(one, other)


@settings(max_examples=200, deadline=None)
@given(zoned)
@example(dt.datetime(2024, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Paris"), fold=1))
def test_a_time_keeps_its_zone_and_not_only_its_offset(when: dt.datetime) -> None:
    back = decode(encode({"when": when}))["when"]

    assert (back, back.tzinfo, back.fold) == (when, when.tzinfo, when.fold)
    assert back.utcoffset() == when.utcoffset()
    assert back + dt.timedelta(days=200) == when + dt.timedelta(days=200)


def test_a_time_in_a_zone_that_has_no_name_is_refused_by_its_path() -> None:
    class Mars(dt.tzinfo):
        def utcoffset(self, when: dt.datetime | None) -> dt.timedelta | None:
            return None if when is None else dt.timedelta(minutes=37)

    with pytest.raises(NotPlain, match=r"state\.when is a time in Mars, a zone that cannot come back") as caught:
        encode({"when": dt.datetime(2024, 1, 1, tzinfo=Mars())}, "state")
    assert caught.value.path == "state.when"


@pytest.mark.parametrize(
    "zone", ["../../etc/passwd", "/etc/localtime", "no/where", "os", "", "a" * 300, "tzdata.zoneinfo"]
)
def test_a_stored_zone_reads_no_file_of_a_stranger(zone: str) -> None:
    text = json.dumps({"$": "datetime", "v": f"2024-01-01T00:00:00+00:00[{zone}]"})

    with pytest.raises(BadInput, match="the stored datetime"):
        decode(text.replace(": ", ":"))


@settings(max_examples=500, deadline=None)
@given(
    st.text()
    | st.binary().map(lambda raw: raw.decode("latin1"))
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | texts,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["$", "v", "a"]) | texts, inner, max_size=3)
            | st.builds(
                lambda tag, inner: {"$": tag, "v": inner},
                st.sampled_from(
                    [
                        "datetime",
                        "date",
                        "timedelta",
                        "decimal",
                        "uuid",
                        "bytes",
                        "tuple",
                        "set",
                        "dict",
                        "typed",
                        "pickle",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value, separators=(",", ":")))
)
def test_a_text_is_decoded_or_refused_and_nothing_else(text: str) -> None:
    try:
        value = decode(text)
    except BadInput:
        return
    if same(value, value):  # not a number is never itself
        try:
            assert same(decode(encode(value)), value)
        except NotPlain:
            pass  # what only a hand can write, such as NaN


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1,"a":2}', {"a": 2}),
        ('{"$":"dict","v":[["a",1],["a",2]]}', {"a": 2}),
        ('"\\u0000\\ud800"', "\0\ud800"),
        ("1" + "0" * 400, 10**400),
    ],
)
def test_what_only_a_hand_writes_is_read_in_one_way(text: str, value: Any) -> None:
    assert decode(text) == value


ops = st.lists(
    st.lists(
        st.sampled_from(["set", "del", "splice", "exec"])
        | st.sampled_from(["", "/a", "/a/0", "/0", "/-", "/a/b/c", "a", "/~", "/~2"])
        | st.integers(-3, 10**20)
        | st.text(max_size=3)
        | st.lists(st.integers(), max_size=3)
        | st.none(),
        max_size=6,
    ),
    max_size=4,
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from([{"a": [1, 2], "b": "text"}, [1, [2]], "text", None, {"a": {"b": {"c": 1}}}]), ops)
def test_a_patch_is_applied_or_refused_and_nothing_else(value: Any, operations: list[Any]) -> None:
    before = encode(value)
    try:
        apply(value, operations)
    except BadInput:
        pass

    assert encode(value) == before


@settings(max_examples=200, deadline=None)
@given(values, values)
def test_a_patch_between_any_two_values_leads_from_one_to_the_other(one: Any, other: Any) -> None:
    assert same(ordered(apply(one, diff(one, other))), ordered(other))
