"""What a schema says: of bound parameters, defaults, fields and names."""

from __future__ import annotations

import functools
import math
from typing import Any

import pytest
from pydantic import Field

from workbench import Agent
from workbench.agents.tools import as_tool
from workbench.errors import BadInput


class AddsUp:
    """Adds a constant."""

    def __call__(self, n: int) -> int:
        return n + 1


class Evasive:
    def __call__(self, n: int) -> int:
        return n

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"not {name}")


def three(a: int, b: int, c: int = 3) -> tuple[int, int, int]:
    return a, b, c


def limit(n: float = math.inf) -> float:
    return n


def maybe(n: int = None) -> int | None:  # noqa: RUF013 - the default says that it takes None
    return n


def with_field(n: int = Field(3, ge=1, description="How many")) -> int:
    return n


def test_a_bound_parameter_leaves_the_schema():
    made = as_tool(functools.partial(three, b=1))

    assert (made.name, list(made.parameters["properties"])) == ("three", ["a", "c"])


def test_an_infinite_default_stays_out_of_the_schema():
    made = as_tool(limit)

    assert made.parameters["properties"]["n"] == {"type": "number"}
    assert made.validate({}) == {"n": math.inf}


def test_a_none_default_widens_the_type():
    made = as_tool(maybe)

    assert made.parameters["properties"]["n"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert made.validate({"n": None}) == {"n": None}


def test_what_the_schema_holds_reaches_the_model():
    made = as_tool(with_field)

    assert made.parameters["properties"]["n"] == {
        "default": 3,
        "description": "How many",
        "minimum": 1,
        "type": "integer",
    }


def test_callables_without_a_name_get_one():
    assert [as_tool(f).name for f in (lambda: 1, AddsUp(), functools.partial(three, 1))] == [
        "lambda",
        "adds_up",
        "three",
    ]
    assert as_tool(AddsUp()).description == "Adds a constant."


@pytest.mark.parametrize("name", ["größe", "a b", "x" * 65, "<f>"])
def test_a_name_that_no_provider_takes_is_refused(name):
    with pytest.raises(BadInput, match="cannot be a tool's name; give name="):
        as_tool(three, name=name)


def test_an_object_that_evades_every_look_is_refused_in_words():
    with pytest.raises(BadInput, match=r"'Evasive' cannot be looked at as a tool \(RuntimeError: not __name__\)"):
        Agent("clerk", tools=[Evasive()])
