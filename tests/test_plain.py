"""Plain data: what the journal holds comes back as it went in, and nothing in it can do anything."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from workbench.errors import BadInput, NotPlain
from workbench.plain import DEPTH, PLAIN, SIZE, canonical, decode, digest, encode, shape_of

texts = st.text(st.characters(exclude_categories=()))
hashable = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.just(dt.UTC))
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
)
values = st.recursive(
    hashable,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(texts | st.just("$"), inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.sets(hashable, max_size=4)
    ),
    max_leaves=20,
)


def same(a: Any, b: Any) -> bool:
    """Equal, and of equal types all the way down."""
    if type(a) is not type(b):
        return False
    if type(a) is dict:
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if type(a) in (list, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if type(a) is set:
        return a == b and sorted(map(repr, a)) == sorted(map(repr, b))
    return bool(a == b)


@settings(max_examples=100, deadline=None)
@given(values)
def test_what_comes_back_is_what_went_in(value: Any) -> None:
    text = encode(value)

    assert same(decode(text), value)
    assert text.encode().decode() == text


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(texts | st.just("$"), values, min_size=2, max_size=5))
def test_a_digest_does_not_see_the_order_of_keys(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))

    assert digest(value) == digest(turned)
    assert canonical(value) == canonical(turned)


@pytest.mark.parametrize(
    ("one", "other"),
    [(True, 1), (1, 1.0), (None, "null"), ([1], (1,)), ("1", 1), (b"a", "a"), ({"a": 1}, {"a": True}), ([], {})],
    ids=str,
)
def test_different_types_are_different_values(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)
    assert encode(one) != encode(other)


def test_data_cannot_pass_for_a_tag() -> None:
    for forged in ({"$": "bytes", "v": "AAAA"}, {"$": "typed", "v": 1}, {"$": None}, {"$": {"$": "set", "v": []}}):
        assert decode(encode(forged)) == forged


Point = namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "is a object, and only plain data can be stored"),
        (Path("a"), "only plain data can be stored"),
        (float("nan"), "is nan, which JSON cannot hold"),
        (float("-inf"), "is -inf, which JSON cannot hold"),
        ({1: 2}, "has the key 1 of type int, and only text can be a key; use str(1)"),
        (OrderedDict(a=1), "is a OrderedDict, which would come back as a dict"),
        (Point(1, 2), "is a Point, which would come back as a tuple"),
        (Text("x"), "is a Text, which would come back as a str"),
        (frozenset((1,)), "is a frozenset"),
        (bytearray(b"x"), "is a bytearray"),
        (Color.RED, "nothing declares that type to restore it"),
        (Level.LOW, "nothing declares that type to restore it"),
        (1j, "is a complex"),
        (dt.time(1), "is a time"),
        (10**5000, "more digits than Python writes as text"),
        (lambda: 1, "is a function"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_what_is_not_plain_is_refused_by_its_path(value: Any, words: str) -> None:
    with pytest.raises(NotPlain) as caught:
        encode({"orders": [0, {"when": value}]}, "state")

    assert words in str(caught.value)
    assert str(caught.value).startswith("state.orders[1].when ")
    assert caught.value.path == "state.orders[1].when"


def test_what_contains_itself_is_refused() -> None:
    loop: list[Any] = []
    loop.append(loop)

    with pytest.raises(NotPlain, match=f"nested more than {DEPTH} levels deep, or contains itself"):
        encode(loop)


@pytest.mark.parametrize("wrap", [lambda value: [value], lambda value: {"a": value}, lambda value: (value,)])
def test_depth_has_a_limit_that_can_be_reached(wrap: Any) -> None:
    value: Any = 1
    for _ in range(DEPTH):
        value = wrap(value)

    assert decode(encode(value)) == value
    with pytest.raises(NotPlain):
        encode(wrap(value))


def test_size_has_a_limit() -> None:
    assert len(encode("x" * (SIZE - 2))) == SIZE
    with pytest.raises(NotPlain, match=f"value is {SIZE + 1} bytes as text, more than the limit of {SIZE}"):
        encode("x" * (SIZE - 1))
    with pytest.raises(NotPlain, match=f"value is {SIZE + 2} bytes"):
        encode("é" * (SIZE // 2))


@pytest.mark.parametrize(
    "text",
    [
        '{"$":"pickle","v":"gASVAAAAAAAAAA=="}',
        '{"$":["os","system"],"v":"true"}',
        '{"$":"decimal","v":"abc"}',
        '{"$":"dict","v":5}',
        '{"$":"uuid"}',
        '{"$":"set","v":[[1]]}',
        '{"$":"timedelta","v":[1e300,0,0]}',
    ],
)
def test_a_tag_that_nobody_wrote_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="the stored"):
        decode(text)


class Receipt(BaseModel):
    number: str
    total: Decimal
    at: dt.datetime


@dataclass
class Parcel:
    weight: float
    tags: set[str]


RECEIPT = Receipt(number="R-1", total=Decimal("9.90"), at=dt.datetime(2024, 5, 1, tzinfo=dt.UTC))


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (Receipt, RECEIPT),
        (Receipt | None, RECEIPT),
        (Receipt | None, None),
        (list[Receipt], [RECEIPT, RECEIPT]),
        pytest.param(dict[str, Parcel], {"a": Parcel(1.5, {"x", "y"})}, id="parcels"),  # sets have no one order
        (Color, Color.RED),
        (Level, Level.LOW),
        (Path, Path("a/b")),
        (frozenset[int], frozenset((1, 2))),
        (tuple[Parcel, int], (Parcel(1.0, set()), 2)),
    ],
    ids=str,
)
def test_a_declared_type_restores_what_text_lost(annotation: Any, value: Any) -> None:
    shape = shape_of(annotation)

    back = shape.decode(shape.encode(value))

    assert back == value
    assert type(back) is type(value)


def test_a_typed_value_reads_as_plain_data_without_its_type() -> None:
    text = shape_of(Receipt).encode(RECEIPT)

    assert decode(text) == {"number": "R-1", "total": "9.90", "at": "2024-05-01T00:00:00Z"}
    assert PLAIN.decode(text) == decode(text)


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(NotPlain, match="state is a dict and does not fit"):
        shape_of(Receipt, strict=True).encode({"number": 5}, "state")


def test_a_type_that_nothing_can_restore_is_refused_in_our_words() -> None:
    class Socket:
        pass

    with pytest.raises(NotPlain, match=r"state is a .*Socket and does not fit"):
        shape_of(Socket).encode(Socket(), "state")


def test_a_value_that_its_type_loses_is_refused() -> None:
    class Half(BaseModel):
        kept: int
        _lost: int = 0

    half = Half(kept=1)
    half._lost = 5

    with pytest.raises(NotPlain, match="would not come back equal"):
        shape_of(Half).encode(half)


@pytest.mark.parametrize("annotation", [None, type(None), Any, object, str, int, dict, list, "Receipt"])
def test_plain_annotations_need_no_shape(annotation: Any) -> None:
    assert shape_of(annotation) is PLAIN


def test_an_id_is_an_id() -> None:
    id = uuid.UUID(int=7)

    assert decode(encode(id)) == id
