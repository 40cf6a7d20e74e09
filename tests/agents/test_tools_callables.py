"""Any callable as a tool: some seventy kinds, each called by an agent; what cannot be one is told why."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import math
import operator
import pathlib
import re
import sys
import typing
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, TypeVar

import pytest
import typing_extensions
from houses import House, calls, clerk
from pydantic import AfterValidator, BaseModel, Field

from workbench.agents.tools import as_tool
from workbench.errors import BadInput
from workbench.models.script import call

T = TypeVar("T")
Cents = NewType("Cents", int)


class Colour(enum.Enum):
    RED = "red"


class Item(BaseModel):
    name: str
    price: float = 1.0


class Node(BaseModel):
    children: list[Node] = []


class Box(BaseModel, Generic[T]):
    value: T


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Options(typing_extensions.TypedDict, total=False):
    depth: int


class Pair(NamedTuple):
    left: int
    right: str


class Old(typing.TypedDict):
    a: int


class Thing:
    def __init__(self, factor: int = 2) -> None:
        self.factor = factor

    def times(self, n: int) -> int:
        return self.factor * n

    @classmethod
    def made(cls, n: int) -> str:
        return f"{cls.__name__}{n}"

    @staticmethod
    def plain(n: int) -> int:
        return n


class AddsUp:
    """Adds a constant."""

    def __call__(self, n: int) -> int:
        return n + 1


class AsyncCaller:
    async def __call__(self, n: int) -> int:
        return n + 1


def logged(function: Callable[..., T]) -> Callable[..., T]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> T:
        return function(*args, **kwargs)

    return wrapper


def takes(annotation: Any, default: Any = dataclasses.MISSING) -> Callable[[Any], Any]:
    def give(value):
        return value

    give.__annotations__ = {"value": annotation}
    if default is not dataclasses.MISSING:
        give.__defaults__ = (default,)
    return give


def three(a: int, b: int, c: int = 3) -> tuple[int, int, int]:
    return a, b, c


def by_place(a: int, b: int = 2, /, c: int = 3) -> tuple[int, int, int]:
    return a, b, c


def by_name(a: int, *, b: int = 2) -> tuple[int, int]:
    return a, b


def starred(a: int, *rest: int, flag: bool = False) -> tuple[int, tuple[int, ...], bool]:
    return a, rest, flag


def doubly_starred(a: int, **more: int) -> tuple[int, dict[str, int]]:
    return a, more


def everything(a: int, /, b: int, *c: int, d: int, **e: int) -> tuple[Any, ...]:
    return a, b, c, d, e


def bare(a, b=2):
    return a, b


def underlined(_a: int, model_config: str = "x", json: str = "y") -> tuple[int, str, str]:
    return _a, model_config, json


def with_field(n: int = Field(3, ge=1, description="How many")) -> int:
    return n


async def waiting(n: int) -> int:
    return n


def nothing() -> None:
    return None


@logged
def wrapped(n: int) -> int:
    return n


@functools.lru_cache
def cached(n: int) -> int:
    return n


@functools.singledispatch
def dispatched(n: int) -> int:
    return n


def counting(n: int) -> Iterator[int]:
    yield from range(n + 1)


def counting_out(n: int) -> Generator[str, None, int]:
    yield "begun"
    return n


async def counting_later(n: int) -> AsyncIterator[int]:
    yield n


class Yielding:
    def __call__(self, n: int) -> Iterator[int]:
        yield n


class Later(Yielding):
    async def __call__(self, n: int) -> AsyncIterator[int]:
        yield n


def documented(n: int) -> int:
    """Give n.

    Args:
        n: The number.
    """
    return n


ITEM = {"name": "a"}
DAY = dt.date(2026, 1, 2)
ID = uuid.UUID(int=7)

WORKING = [
    ("text", takes(str), {"value": "a"}, "a"),
    ("optional", takes(int | None), {"value": None}, None),
    ("optional by default", takes(int, None), {}, None),
    ("old optional", takes(typing.Optional[int], None), {"value": 1}, 1),  # noqa: UP045
    ("union", takes(int | str), {"value": "a"}, "a"),
    ("literal", takes(Literal["a", "b"]), {"value": "b"}, "b"),
    ("enum", takes(Colour), {"value": "red"}, Colour.RED),
    ("new type", takes(Cents), {"value": 3}, 3),
    ("constraints", takes(Annotated[int, Field(ge=1)]), {"value": 3}, 3),
    ("own validator", takes(Annotated[int, AfterValidator(operator.neg)]), {"value": 3}, -3),
    ("any", takes(Any), {"value": [1]}, [1]),
    ("object", takes(object), {"value": "x"}, "x"),
    ("bare list", takes(list), {"value": [1]}, [1]),
    ("bare dict", takes(dict), {"value": {"a": 1}}, {"a": 1}),
    ("list", takes(list[int]), {"value": [1]}, [1]),
    ("sequence", takes(Sequence[int]), {"value": [1]}, [1]),
    ("tuple", takes(tuple[int, str]), {"value": [1, "a"]}, (1, "a")),
    ("set", takes(set[int]), {"value": [1, 1]}, {1}),
    ("frozen set", takes(frozenset[int]), {"value": [1]}, frozenset({1})),
    ("mapping", takes(dict[str, list[int]]), {"value": {"a": [1]}}, {"a": [1]}),
    ("ordered", takes(collections.OrderedDict[str, int]), {"value": {"a": 1}}, collections.OrderedDict(a=1)),
    ("bytes", takes(bytes), {"value": "a"}, b"a"),
    ("date", takes(dt.date), {"value": "2026-01-02"}, DAY),
    ("instant", takes(dt.datetime), {"value": "2026-01-02T00:00:00Z"}, dt.datetime(2026, 1, 2, tzinfo=dt.UTC)),
    ("duration", takes(dt.timedelta), {"value": "PT1S"}, dt.timedelta(seconds=1)),
    ("decimal", takes(decimal.Decimal), {"value": "1.5"}, decimal.Decimal("1.5")),
    ("uuid", takes(uuid.UUID), {"value": str(ID)}, ID),
    ("path", takes(pathlib.Path), {"value": "/a"}, pathlib.Path("/a")),
    ("pattern", takes(re.Pattern), {"value": "a+"}, re.compile("a+")),
    ("model", takes(Item), ITEM, Item(name="a")),
    ("list of models", takes(list[Item]), {"value": [ITEM]}, [Item(name="a")]),
    ("recursive model", takes(Node), {"children": [{}]}, Node(children=[Node()])),
    ("generic model", takes(Box[int]), {"value": 1}, Box[int](value=1)),
    ("dataclass", takes(Point), {"x": 1}, Point(1)),
    ("typed dict", takes(Options), {"depth": 1}, {"depth": 1}),
    ("named tuple", takes(Pair), {"value": [1, "a"]}, Pair(1, "a")),
    ("type variable", takes(T), {"value": 1}, 1),
    ("infinite default", takes(float, math.inf), {}, math.inf),
    ("default that is no JSON", takes(int, Colour.RED), {"value": 1}, 1),
    ("defaults", three, {"a": 1, "b": 2}, (1, 2, 3)),
    ("positional only", by_place, {"a": 1, "c": 4}, (1, 2, 4)),
    ("keyword only", by_name, {"a": 1, "b": 3}, (1, 3)),
    ("starred", starred, {"a": 1, "rest": [2, 3], "flag": True}, (1, (2, 3), True)),
    ("doubly starred", doubly_starred, {"a": 1, "x": 2}, (1, {"x": 2})),
    ("every kind", everything, {"a": 1, "b": 2, "c": [3], "d": 4, "x": 5}, (1, 2, (3,), 4, {"x": 5})),
    ("unannotated", bare, {"a": "x"}, ("x", 2)),
    ("underlined and shadowing", underlined, {"_a": 1, "json": "z"}, (1, "x", "z")),
    ("default field", with_field, {}, 3),
    ("nothing", nothing, {}, None),
    ("async", waiting, {"n": 1}, 1),
    ("wrapped", wrapped, {"n": 1}, 1),
    ("cached", cached, {"n": 1}, 1),
    ("dispatched", dispatched, {"n": 1}, 1),
    ("partial", functools.partial(three, b=5), {"a": 1}, (1, 5, 3)),
    ("partial by place", functools.partial(three, 5), {"b": 1}, (5, 1, 3)),
    ("partial of a partial", functools.partial(functools.partial(three, b=5), c=6), {"a": 1}, (1, 5, 6)),
    ("partial of async", functools.partial(waiting, n=3), {}, 3),
    ("partial of a method", functools.partial(Thing(3).times), {"n": 2}, 6),
    ("method", Thing(3).times, {"n": 2}, 6),
    ("class method", Thing.made, {"n": 2}, "Thing2"),
    ("static method", Thing.plain, {"n": 2}, 2),
    ("callable object", AddsUp(), {"n": 2}, 3),
    ("async callable object", AsyncCaller(), {"n": 2}, 3),
    ("lambda", lambda n=1: n, {"n": 2}, 2),
    ("lambda giving a coroutine", lambda n: waiting(n), {"n": 2}, 2),
    ("builtin", math.sqrt, {"x": 4}, 2.0),
    ("builtin method", "a-b".replace, {"old": "-", "new": "+"}, "a+b"),
    ("documented", documented, {"n": 1}, 1),
    ("generator", counting, {"n": 2}, 2),
    ("generator that returns", counting_out, {"n": 2}, 2),
    ("async generator", counting_later, {"n": 2}, 2),
    ("partial of a generator", functools.partial(counting, 1), {}, 1),
    ("partial of an async generator", functools.partial(counting_later, n=1), {}, 1),
    ("generator object", Yielding(), {"n": 2}, 2),
    ("async generator object", Later(), {"n": 2}, 2),
    ("lambda giving a generator", lambda n: counting(n), {"n": 2}, 2),
]
AS_JSON = {
    "enum": "red",
    "ordered": {"a": 1},
    "path": "/a",
    "pattern": "a+",
    "model": {"name": "a", "price": 1.0},
    "list of models": [{"name": "a", "price": 1.0}],
    "recursive model": {"children": [{"children": []}]},
    "generic model": {"value": 1},
    "dataclass": {"x": 1, "y": 0},
    "named tuple": [1, "a"],
    "frozen set": [1],
}
"""Results of no declared type that the journal can only hold as JSON."""
NO_RESULT = {"infinite default"}
"""Kinds that give back what is no value of JSON."""


async def test_every_kind_of_callable_is_a_tool_that_an_agent_calls(room: House) -> None:
    kinds = {f"kind_{number}": row for number, row in enumerate(WORKING)}
    tools = [as_tool(function, name=name) for name, (_, function, _, _) in kinds.items()]
    turn = [call(name, **args) for name, (_, _, args, _) in kinds.items()]
    agent = clerk(turn, "Done.", tools=tools)
    bench = await room.open(agent)
    run = bench.run(agent, "Call them all")

    assert await run == "Done."

    came = {kinds[row["tool"]][0]: row for row in calls(run)}
    assert {kind for kind, row in came.items() if row["status"] != "success"} == NO_RESULT
    assert "inf, which JSON cannot hold" in came["infinite default"]["error"]["message"]
    expected = {kind: AS_JSON.get(kind, value) for kind, _, _, value in WORKING if kind not in NO_RESULT}
    assert {kind: row["result"] for kind, row in came.items() if kind not in NO_RESULT} == expected
    assert len(came) >= 60


@pytest.mark.parametrize("kind", [row[0] for row in WORKING])
def test_every_kind_of_callable_has_a_schema_and_a_name(kind: str) -> None:
    made = as_tool(next(row[1] for row in WORKING if row[0] == kind))

    assert made.parameters["type"] == "object"
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", made.name)


def with_callback(done: Callable[[int], None]) -> None: ...


def with_lock(lock: functools.partial) -> None: ...


def with_old_dict(value: Old) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            with_callback,
            r"tool 'with_callback' has a parameter 'done' of type .*Callable.*no JSON schema; annotate it with",
        ),
        (with_lock, r"tool 'with_lock' has a parameter 'lock' of type .*partial.*or bind it with functools.partial"),
        pytest.param(
            with_old_dict,
            r"tool 'with_old_dict' has a parameter 'value' .*import TypedDict from typing_extensions",
            marks=pytest.mark.skipif(sys.version_info >= (3, 12), reason="typing.TypedDict has a schema from 3.12 on"),
        ),
        (Item, "'Item' is a class; give a function"),
        (Thing.times, r"tool 'times' is a method without its object; give the method of an instance \(thing.times\)"),
        (max, "tool 'max' has no signature"),
        (operator.itemgetter(1), "tool 'itemgetter' has no signature"),
        (3, "3 cannot be called"),
        ("name", "'name' cannot be called"),
    ],
)
def test_what_cannot_be_a_tool_says_why_and_what_to_do(function, words):
    with pytest.raises(BadInput, match=words):
        as_tool(function)
