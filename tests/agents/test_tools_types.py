"""Annotations written as text: resolved where the function is defined, or refused by name when the tool is made."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest
from pydantic import BaseModel, Field

from workbench.agents.tools import as_tool, tool
from workbench.errors import BadInput

if TYPE_CHECKING:
    from decimal import Decimal

    from workbench.agents.context import ToolContext


class Order(BaseModel):
    where: str = "module"


def test_types_of_the_module_are_found():
    @tool
    def ship(order: Order, note: Annotated[str, Field(description="A note")] = "") -> list[Order]:
        return [order]

    assert ship.parameters["properties"]["note"]["description"] == "A note"
    assert ship.returns == list[Order]


def test_types_of_the_function_around_it_come_first():
    class Order(BaseModel):
        place: int

    @tool
    def ship(order: Order) -> Order:
        return order

    assert ship.bind(ship.validate({"place": 1}), None)() == Order(place=1)
    assert ship.returns is Order


def test_types_of_functions_further_out_are_found():
    class Outer(BaseModel):
        n: int

    def inside():
        class Inner(BaseModel):
            m: int

        @tool
        def both(a: Outer, b: Optional[Inner] = None) -> Any:  # noqa: UP045
            return a, b

        return both, Inner

    both, inner = inside()

    assert both.bind(both.validate({"a": {"n": 1}, "b": {"m": 2}}), None)() == (Outer(n=1), inner(m=2))


def test_a_type_that_a_function_closes_over_is_found_later():
    class Local(BaseModel):
        n: int

    def function(a: Local) -> Local:
        return Local(n=a.n + 1)

    def elsewhere():
        return as_tool(function)

    assert elsewhere().bind({"a": Local(n=1)}, None)() == Local(n=2)


def test_a_local_of_some_other_function_is_not_taken():
    def order(order: Order) -> Any:
        return order

    def elsewhere():
        Order = int  # noqa: F841
        return as_tool(order)

    assert elsewhere().bind(elsewhere().validate({"where": "here"}), None)() == Order(where="here")


def test_code_of_a_notebook_cell_finds_its_types():
    cell = (
        "from __future__ import annotations\nfrom pydantic import BaseModel\nfrom workbench.agents.tools import tool\n"
        "class Cell(BaseModel):\n    n: int\n"
        "@tool\ndef double(a: Cell, ctx: ToolContext) -> Cell:\n    return Cell(n=2 * a.n)\n"
    )
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(cell, namespace)

    double = namespace["double"]
    assert double.bind(double.validate({"n": 2}), None)() == namespace["Cell"](n=4)
    assert double.takes_context == "ctx"


def test_a_type_that_cannot_be_resolved_is_refused_when_the_tool_is_made():
    def pay(amount: Decimal) -> None: ...

    with pytest.raises(
        BadInput,
        match=r"tool 'pay' has a parameter 'amount' of type 'Decimal', .* resolved here .*; define the type",
    ) as refusal:
        as_tool(pay)

    assert (refusal.value.tool, refusal.value.parameter) == ("pay", "amount")


def test_a_return_type_that_is_not_there_is_any():
    def pay() -> Decimal: ...

    assert as_tool(pay).returns is Any


def test_a_wrapped_function_resolves_where_it_was_written():
    def once(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)

        return inner

    @tool
    @once
    def ship(order: Order) -> Order:
        return order

    assert ship.returns is Order


@pytest.mark.parametrize("annotation", ["ToolContext", "context.ToolContext", "ToolContext | None", "'ToolContext'"])
def test_the_context_is_known_by_its_name_alone(annotation):
    def act(n: int, given) -> Any:
        return n, given

    act.__annotations__["given"] = annotation
    made = as_tool(act)

    assert (made.takes_context, list(made.parameters["properties"])) == ("given", ["n"])
    assert made.bind({"n": 1}, "the context")() == (1, "the context")


def test_the_context_is_known_by_its_type():
    from workbench.agents.context import ToolContext as Context

    def act(n: int, *, given: Context) -> Any:
        return n, given

    def optional(given: Annotated[Context | None, "metadata"] = None) -> Any:
        return given

    act.__annotations__["given"] = Context
    optional.__annotations__["given"] = Annotated[Context | None, "metadata"]

    assert as_tool(act).bind({"n": 1}, "here")() == (1, "here")
    assert as_tool(optional).bind({}, "here")() == "here"


def test_the_context_may_stand_anywhere():
    def first(ctx: ToolContext, n: int) -> Any:
        return ctx, n

    def by_place(n: int, ctx: ToolContext, /, *rest: int) -> Any:
        return n, ctx, rest

    def bare(n, ctx):
        return n, ctx

    assert as_tool(first).bind({"n": 1}, "c")() == ("c", 1)
    assert as_tool(by_place).bind({"n": 1, "rest": [2]}, "c")() == (1, "c", (2,))
    assert as_tool(bare).bind({"n": 1}, "c")() == (1, "c")


def test_two_contexts_are_refused():
    def act(a: ToolContext, b: ToolContext) -> None: ...

    with pytest.raises(BadInput, match="two parameters for its context, 'a' and 'b'; keep one"):
        as_tool(act)


def test_a_partial_of_a_tool_with_context_keeps_it():
    async def act(n: int, ctx: ToolContext, m: int = 2) -> Any:
        return n, ctx, m

    made = as_tool(functools.partial(act, m=3))

    assert made.is_async
    assert asyncio.run(made.invoke({"n": 1}, "c")) == (1, "c", 3)  # type: ignore[arg-type]
