"""Tools: the decorator, checked arguments, approvals that fail closed, and sets."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from workbench.agents.tools import Tool, as_tool, tool, toolset
from workbench.errors import BadInput, ToolArgumentsInvalid

OrderId = Annotated[str, Field(pattern=r"^A-\d{4}$", description="The order number, e.g. A-1001")]


class Line(BaseModel):
    sku: str
    count: int = Field(gt=0)


@tool
def lookup(order_id: OrderId) -> dict[str, str]:
    """Look an order up by its number."""
    return {"id": order_id}


@tool(read_only=True, idempotent=True, approval=True, expose=False, name="place", description="Place it.", timeout=5.0)
async def place_order(lines: list[Line], on: dt.date | None = None) -> int:
    return sum(line.count for line in lines)


async def test_a_tool_says_what_the_engine_must_know():
    assert isinstance(place_order, Tool)
    assert (place_order.name, place_order.description, place_order.timeout) == ("place", "Place it.", 5.0)
    assert (place_order.read_only, place_order.idempotent, place_order.approval, place_order.expose) == (
        True,
        True,
        True,
        False,
    )
    assert (place_order.is_async, place_order.takes_context, place_order.returns) == (True, None, int)
    assert (lookup.read_only, lookup.idempotent, lookup.approval, lookup.expose, lookup.timeout) == (
        False,
        False,
        False,
        True,
        None,
    )
    assert repr(place_order) == "<tool place(lines, on) read_only idempotent approval>"


async def test_a_tool_is_still_the_function():
    assert lookup("A-1001") == {"id": "A-1001"}
    assert lookup(order_id="any") == {"id": "any"}
    assert await place_order([Line(sku="a", count=2)]) == 2
    assert (lookup.__name__, lookup.__doc__) == ("lookup", "Look an order up by its number.")


def test_a_tool_as_a_model_is_told_of_it():
    assert lookup.spec.parameters == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string", "pattern": r"^A-\d{4}$", "description": "The order number, e.g. A-1001"}
        },
        "required": ["order_id"],
        "additionalProperties": False,
    }


def test_checked_arguments_are_real_values():
    values = place_order.validate({"lines": [{"sku": "a", "count": 2}], "on": "2026-01-02"})

    assert values == {"lines": [Line(sku="a", count=2)], "on": dt.date(2026, 1, 2)}


@pytest.mark.parametrize(
    ("args", "parameter", "found", "expected"),
    [
        ({}, "order_id", "missing", "a value"),
        ({"order_id": "B"}, "order_id", "'B'", r"to match pattern '^A-\d{4}$'"),
        ({"order_id": 7}, "order_id", "7", "a valid string"),
        ({"order_id": "A-1001", "to": 1}, "to", "1", "no such parameter"),
        ([1], "arguments", "[1]", "an object"),
        (None, "arguments", "None", "an object"),
    ],
)
def test_arguments_that_do_not_fit_are_named(args, parameter, found, expected):
    with pytest.raises(ToolArgumentsInvalid) as refusal:
        lookup.validate(args)

    error = refusal.value
    assert (error.tool, error.parameter, error.found, error.expected) == ("lookup", parameter, found, expected)
    assert str(error) == (
        f"tool 'lookup' cannot take these arguments: {parameter} is {found}, expected {expected}; "
        "call it again with arguments that fit"
    )


def test_every_problem_is_named_with_its_place():
    with pytest.raises(ToolArgumentsInvalid) as refusal:
        place_order.validate({"lines": [{"sku": "a", "count": 0}, {"count": "x" * 200}]})

    problems = {problem["parameter"]: problem for problem in refusal.value.problems}
    assert set(problems) == {"lines[0].count", "lines[1].sku", "lines[1].count"}
    assert problems["lines[0].count"]["expected"] == "greater than 0"
    assert len(problems["lines[1].count"]["found"]) == 80


def test_a_predicate_decides_by_the_checked_arguments():
    pay = as_tool(lambda amount, note="": None, name="pay", approval=lambda args: args["amount"] > 100)

    assert pay.needs_approval({"amount": 100}) is False
    assert pay.needs_approval({"amount": 101}) is True


def pay(amount: float, to: str = "") -> None: ...


@pytest.mark.parametrize(
    "predicate",
    [
        lambda args: 1 / 0,
        lambda args: None,
        lambda args: 0,
        lambda args: "",
        lambda args: args["nothing"],
        lambda: False,
    ],
    ids=["raises", "none", "zero", "empty", "key", "signature"],
)
def test_a_predicate_that_does_not_say_false_asks(predicate):
    assert as_tool(pay, approval=predicate).needs_approval({"amount": 1}) is True


@pytest.mark.parametrize("args", [{}, {"amount": "lots"}, {"amount": 1, "x": 1}, None, [], "amount"])
def test_malformed_arguments_ask(args):
    assert as_tool(pay, approval=lambda args: False).needs_approval(args) is True


def test_a_predicate_that_gives_a_coroutine_asks():
    async def later(args: dict[str, Any]) -> bool:
        return False

    assert as_tool(pay, approval=lambda args: later(args)).needs_approval({"amount": 1}) is True
    with pytest.raises(BadInput, match="approval predicate of tool 'pay' is async; give a plain function"):
        as_tool(pay, approval=later)


def test_an_approval_that_is_no_policy_is_refused():
    with pytest.raises(BadInput, match="approval='yes'; give True, False, or a function"):
        as_tool(pay, approval="yes")


def test_a_predicate_cannot_change_what_runs():
    def clear(args: dict[str, Any]) -> bool:
        args.clear()
        return False

    args = {"amount": 1.0}
    made = as_tool(pay, approval=clear)

    assert made.needs_approval(args) is False
    assert args == {"amount": 1.0}


def test_a_tool_stays_the_tool_it_is():
    assert as_tool(lookup) is lookup


def test_a_set_finds_tools_by_name():
    found = toolset([lookup, pay, place_order])

    assert list(found) == ["lookup", "pay", "place"]
    assert isinstance(found["pay"], Tool)


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(
        BadInput, match=r"two tools are called 'lookup'; give one of them another name with as_tool\(…, name=…\)"
    ):
        toolset([lookup, as_tool(pay, name="lookup")])


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
    "additionalProperties": False,
}


async def test_a_tool_of_another_server_gets_its_arguments_as_one_object():
    async def forward(args: dict[str, Any]) -> Any:
        return args

    made = Tool.from_schema(forward, "weather", "The weather.", SCHEMA, read_only=True, approval=True)

    assert await made.invoke({"city": "Paris", "days": 2}, None) == {"city": "Paris", "days": 2}
    assert (made.name, made.description, made.parameters, made.is_async) == ("weather", "The weather.", SCHEMA, True)
    assert (made.read_only, made.needs_approval({"city": "Paris"})) == (True, True)


@pytest.mark.parametrize(
    ("args", "parameter"),
    [({}, "city"), ({"city": 3}, "city"), ({"city": "a", "days": True}, "days"), ({"city": "a", "x": 1}, "x")],
)
def test_a_tool_of_another_server_checks_the_outermost_level(args, parameter):
    made = Tool.from_schema(lambda args: args, "weather", "", SCHEMA)

    with pytest.raises(ToolArgumentsInvalid) as refusal:
        made.validate(args)

    assert refusal.value.parameter == parameter


def test_a_schema_that_is_none_of_an_object_is_refused():
    with pytest.raises(BadInput, match="the schema of tool 'weather' is of type 'array'; a tool takes an object"):
        Tool.from_schema(lambda args: args, "weather", "", {"type": "array"})
