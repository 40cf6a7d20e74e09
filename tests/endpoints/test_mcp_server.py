"""The MCP server: what is listed, what calls come to, and whose runs they are."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import mcp_types as mt
import pytest
from mcp.shared.exceptions import MCPError
from mcp_clients import ERAS, TOKENS, connected
from pydantic import BaseModel, Field

from workbench import Agent, ToolContext, Workbench, models, tool

OrderId = Annotated[str, Field(pattern=r"^A-\d{4}$", description="The order number, e.g. A-1001")]


class Order(BaseModel):
    id: str
    status: str


@tool(read_only=True)
def lookup_order(order_id: OrderId) -> Order:
    """Look an order up by its number."""
    return Order(id=order_id, status="shipped")


@tool(idempotent=True)
def count_orders(days: int = 1) -> int:
    """How many orders came in."""
    return days * 10


@tool(expose=False)
def hidden(x: int) -> int:
    """Never listed."""
    return x


@tool(approval=True)
def cancel_order(order_id: OrderId) -> str:
    """Cancel an order."""
    return f"{order_id} cancelled"


@tool(approval=lambda args: args["amount"] > 100)
def refund(amount: int) -> str:
    """Refund an amount."""
    return f"{amount} refunded"


@tool
def broken(order_id: str) -> str:
    """Fails."""
    raise RuntimeError("password=hunter2")


@tool
async def who(ctx: ToolContext) -> dict[str, str]:
    """Who calls."""
    return {"principal": str(ctx.principal), "call": ctx.call_id}


SUPPORT = Agent(
    "support-agent",
    tools=[lookup_order, count_orders, hidden, cancel_order, refund, broken, who],
    model=models.scripted("It is shipped."),
    description="Answers questions about orders.",
)


@pytest.mark.parametrize("era", ERAS)
async def test_what_may_be_called_is_listed_with_its_schemas_and_hints(bench: Workbench, era: Any) -> None:
    bench.add(SUPPORT)
    door = await bench.publish(mcp=TOKENS)

    async with connected(door.url, era) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert list(listed) == [
        *("ask_support_agent", "lookup_order", "count_orders", "broken", "who"),
        *("get_run", "cancel_run"),
    ]
    order = listed["lookup_order"]
    assert order.description == "Look an order up by its number."
    assert order.input_schema["properties"]["order_id"]["pattern"] == r"^A-\d{4}$"
    assert order.output_schema is not None
    assert order.output_schema["properties"].keys() == {"id", "status"}
    assert order.annotations is not None
    assert (order.annotations.read_only_hint, order.annotations.idempotent_hint) == (True, True)
    assert listed["count_orders"].output_schema == {
        "type": "object",
        "properties": {"result": {"type": "integer"}},
        "required": ["result"],
    }
    asked = listed["ask_support_agent"]
    assert asked.description == "Answers questions about orders."
    assert asked.input_schema["required"] == ["message"]
    assert asked.input_schema["properties"].keys() == {"message", "conversation", "wait_seconds"}


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", ["hidden", "cancel_order", "refund", "nothing"])
async def test_what_is_not_listed_is_unknown(bench: Workbench, era: Any, name: str) -> None:
    bench.add(SUPPORT)
    door = await bench.publish(mcp=TOKENS)

    async with connected(door.url, era) as client:
        with pytest.raises(MCPError, match=f"^Unknown tool: {name}$"):
            await client.call_tool(name, {})

    assert len(bench.runs) == 0
    assert bench.approvals.pending() == []


@pytest.mark.parametrize("era", ERAS)
async def test_a_tool_that_is_called_is_a_durable_run_of_its_own(bench: Workbench, era: Any) -> None:
    bench.add(SUPPORT)
    door = await bench.publish(mcp=TOKENS)

    async with connected(door.url, era) as client:
        structured = await client.call_tool("lookup_order", {"order_id": "A-1001"})
        wrapped = await client.call_tool("count_orders", {"days": 3})
        known = await client.call_tool("who", {})

    assert structured.structured_content == {"id": "A-1001", "status": "shipped"}
    assert wrapped.structured_content == {"result": 30}
    [first, _, third] = list(bench.runs)
    assert (first.status, first.agent, str(first.principal)) == ("completed", "support-agent", "mcp:desktop")
    assert first.request == 'lookup_order {"order_id": "A-1001"}'
    assert known.structured_content == {"principal": "mcp:desktop", "call": f"run:{third.id}#1#t1.0"}
    names = [row["name"] for row in bench.journal(first.id) if row["kind"] == "step"]
    assert names == ["turn", "@intent", "@outcome"]
    assert [(visit.caller, visit.what) for visit in door.calls] == [
        ("mcp:desktop", "who"),
        ("mcp:desktop", "count_orders"),
        ("mcp:desktop", "lookup_order"),
    ]
    assert door.calls[0].run == third.id


@pytest.mark.parametrize("era", ERAS)
async def test_what_goes_wrong_is_told_in_words_for_callers(bench: Workbench, era: Any) -> None:
    bench.add(SUPPORT)
    door = await bench.publish(mcp=TOKENS)

    async with connected(door.url, era) as client:
        misfit = await client.call_tool("lookup_order", {"order_id": "1001"})
        failed = await client.call_tool("broken", {"order_id": "A-1001"})
        asked = await client.call_tool("ask_support_agent", {"message": ""})

    assert misfit.is_error
    assert "order_id is '1001', expected" in text_of(misfit)
    [run] = list(bench.runs)
    assert failed.is_error
    assert text_of(failed) == f"broken: it failed; who runs this bench finds the reason in run {run.id}"
    assert "password=hunter2" in str(run.state["error"])
    assert asked.is_error
    assert text_of(asked).startswith("ask_support_agent: message is")


@pytest.mark.parametrize("era", ERAS)
async def test_an_agent_is_asked_and_its_run_followed_up(bench: Workbench, era: Any) -> None:
    bench.add(SUPPORT)
    door = await bench.publish(mcp=TOKENS)
    lines: list[str | None] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message)

    async with connected(door.url, era) as client:
        asked = await client.call_tool(
            "ask_support_agent", {"message": "Where is A-1001?", "conversation": "c"}, progress_callback=heard
        )
        [run] = list(bench.runs)
        again = await client.call_tool("get_run", {"run": run.id})

    assert asked.structured_content == {"run": run.id, "status": "completed", "output": "It is shipped."}
    assert again.structured_content == asked.structured_content
    assert text_of(asked) == "It is shipped."
    assert lines[0] == f"run {run.id} began"


def text_of(result: Any) -> str:
    return "".join(block.text for block in result.content)


async def test_no_token_of_an_mcp_caller_is_in_any_log(bench: Workbench, caplog: pytest.LogCaptureFixture) -> None:
    bench.add(SUPPORT)
    door = await bench.publish(mcp=TOKENS)
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpcore2").setLevel(logging.INFO)  # the client's own, which does log what it sends

    for era in ERAS:
        async with connected(door.url, era) as client:
            await client.call_tool("count_orders", {})
            await client.call_tool("broken", {"order_id": "A-1001"})

    logged = "".join(f"{record.getMessage()}{record.__dict__}" for record in caplog.records)
    assert "mcp" in logged
    assert [token for token in TOKENS.values() if token in logged] == []


@pytest.mark.parametrize("era", ERAS)
async def test_what_a_tool_asks_is_asked_of_the_client_that_called_it(bench: Workbench, era: Any) -> None:
    @tool
    async def greet(ctx: ToolContext) -> str:
        """Greet somebody."""
        return f"Hello, {await ctx.ask_user('What is your name?')}!"

    bench.add(Agent("host", tools=[greet], model=models.scripted("Hi.")))
    door = await bench.publish(mcp=TOKENS)
    asked: list[str] = []

    async def answer(context: Any, params: Any) -> mt.ElicitResult:
        asked.append(params.message)
        return mt.ElicitResult(action="accept", content={"answer": "Ada"})

    async with connected(door.url, era, elicitation_callback=answer) as client:
        greeted = await client.call_tool("greet", {})
    async with connected(door.url, era) as client:
        mute = await client.call_tool("greet", {})

    assert (greeted.structured_content, asked) == ({"result": "Hello, Ada!"}, ["What is your name?"])
    assert mute.is_error
    assert "was asked of nobody" in text_of(mute)
    assert bench.approvals.pending() == []
