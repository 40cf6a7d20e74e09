"""Tools that were made for other libraries: accepted as they are, their approval flags enforced by our loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import mcp.types
import pydantic_ai
import pytest
from houses import House, calls, clerk, ears
from pydantic_ai import FunctionToolset, ModelRetry, RunContext
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import CombinedToolset, ExternalToolset, WrapperToolset

from workbench import Agent
from workbench.agents.foreign import mcp_tool, tools_of
from workbench.errors import BadInput
from workbench.models.script import call


def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


def whose(ctx: RunContext[Any], n: int) -> str:
    return f"{ctx.deps} {n} {ctx.tool_call_id} {ctx.tool_call_approved}"


async def row_of(house: House, tools: list[Any], tool: str, /, **args: Any) -> dict[str, Any]:
    """The row of a call that nobody is asked about."""
    agent = clerk(call(tool, **args), "Done.", tools=tools)
    bench = await house.open(agent)
    run = bench.run(agent, "Do it", id="r1")
    assert await run == "Done."
    return calls(run)[0]


def bag() -> Any:
    made = pydantic_ai.Agent("test", tools=[add])

    @made.tool
    def mine(ctx: RunContext[Any], n: int) -> int:
        return n

    return made


@pytest.mark.parametrize(
    ("given", "tool", "args", "result"),
    [
        (lambda: pydantic_ai.Tool(add), "add", {"a": 1}, 2),
        (lambda: pydantic_ai.Tool(whose, name="who"), "who", {"n": 2}, "None 2 run:r1#1#t1.0 False"),
        (lambda: whose, "whose", {"n": 2}, "None 2 run:r1#1#t1.0 False"),
        (lambda: FunctionToolset([add, whose]), "add", {"a": 1, "b": 5}, 6),
        (lambda: FunctionToolset([add]).prefixed("math"), "math_add", {"a": 1}, 2),
        (lambda: FunctionToolset([add]).renamed({"plus": "add"}), "plus", {"a": 1}, 2),
        (lambda: FunctionToolset([add, whose]).filtered(lambda _, tool: tool.name == "add"), "add", {"a": 1}, 2),
        (lambda: CombinedToolset([FunctionToolset([add]), FunctionToolset([whose])]), "add", {"a": 1}, 2),
        (bag, "add", {"a": 1}, 2),
        (bag, "mine", {"n": 7}, 7),
    ],
)
async def test_a_tool_of_pydantic_ai_is_accepted_as_it_is(
    room: House, given: Callable[[], Any], tool: str, args: dict[str, Any], result: Any
) -> None:
    row = await row_of(room, [given()], tool, **args)

    assert (row["status"], row["result"]) == ("success", result)


def test_its_schema_is_what_the_model_hears() -> None:
    agent = Agent("clerk", tools=[FunctionToolset([add])])

    (spec,) = agent.specs()
    assert (spec.name, spec.description) == ("add", "Add two numbers.")
    assert spec.parameters["properties"]["a"] == {"type": "integer", "description": "The first."}


async def test_a_list_of_tools_among_tools_is_spread() -> None:
    agent = Agent("clerk", tools=[await tools_of(FunctionToolset([add])), [whose], lambda: 1])

    assert list(agent.tools) == ["add", "whose", "lambda"]


async def test_its_arguments_are_checked_before_it_runs(room: House) -> None:
    row = await row_of(room, [FunctionToolset([add])], "add", a="many")

    assert (row["status"], row["error"]["type"]) == ("retried", "BadArguments")
    assert "a is 'many', expected a valid integer" in row["error"]["message"]


async def test_what_it_needs_is_given_with_its_tools(room: House) -> None:
    tools = await tools_of(FunctionToolset([whose]), deps="the books")

    row = await row_of(room, tools, "whose", n=1)

    assert row["result"] == "the books 1 run:r1#1#t1.0 False"


class Ledger:
    """Tools that want a yes, each in another way, and what really ran."""

    def __init__(self) -> None:
        self.ran: list[tuple[int, bool]] = []

    def pay(self, ctx: RunContext[Any], amount: int) -> str:
        self.ran.append((amount, ctx.tool_call_approved))
        return f"paid {amount}"

    def careful(self, ctx: RunContext[Any], amount: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"limit": 10})
        return self.pay(ctx, amount)


def flagged(ledger: Ledger) -> Any:
    return pydantic_ai.Tool(ledger.pay, requires_approval=True)


def flagged_in_a_set(ledger: Ledger) -> Any:
    return FunctionToolset([flagged(ledger)])


def wrapped(ledger: Ledger) -> Any:
    return FunctionToolset([ledger.pay]).approval_required(lambda ctx, tool, args: args["amount"] > 10)


def wrapped_in_a_prefix(ledger: Ledger) -> Any:
    return wrapped(ledger).filtered(lambda ctx, tool: True)


def raising(ledger: Ledger) -> Any:
    return FunctionToolset([pydantic_ai.Tool(ledger.careful, name="pay")])


WANTING = [flagged, flagged_in_a_set, wrapped, wrapped_in_a_prefix, raising]


@pytest.mark.parametrize("make", WANTING)
async def test_a_call_that_wants_a_yes_runs_only_after_it(room: House, make: Callable[[Ledger], Any]) -> None:
    ledger = Ledger()
    agent = clerk(call("pay", amount=20), "Done.", tools=[make(ledger)])
    bench = await room.open(agent)
    run = bench.run(agent, "Pay")

    request = await run.approval()
    assert (request.tool, request.args, ledger.ran) == ("pay", {"amount": 20}, [])
    await bench.approvals.approve(request.id)

    assert await run == "Done."
    assert (ledger.ran, calls(run)[0]["result"]) == ([(20, True)], "paid 20")


@pytest.mark.parametrize("make", WANTING)
async def test_a_no_keeps_it_from_running(room: House, make: Callable[[Ledger], Any]) -> None:
    ledger = Ledger()
    agent = clerk(call("pay", amount=20), "Done.", tools=[make(ledger)])
    bench = await room.open(agent)
    run = bench.run(agent, "Pay")
    await bench.approvals.reject((await run.approval()).id)

    assert await run == "Done."
    assert (ledger.ran, calls(run)[0]["status"]) == ([], "denied")


async def test_a_small_sum_needs_no_yes(room: House) -> None:
    ledger = Ledger()

    row = await row_of(room, [wrapped(ledger)], "pay", amount=5)

    assert (row["result"], ledger.ran) == ("paid 5", [(5, False)])


async def test_a_tool_whose_result_comes_from_elsewhere_is_answered(room: House) -> None:
    external = ExternalToolset([ToolDefinition(name="fetch", description="Fetch it.")])
    agent = clerk(call("fetch"), call("fetch"), "Done.", tools=[external])
    bench = await room.open(agent)
    run = bench.run(agent, "Fetch")

    await bench.approvals.answer((await run.approval()).id, {"pages": 3})
    await run.until(lambda state: state["turn"] == 2)
    await bench.approvals.approve((await run.approval()).id)

    assert await run == "Done."
    first, second = calls(run)
    assert (first["status"], first["result"]) == ("success", {"pages": 3})
    assert (second["status"], "answer its request as the tool" in second["error"]["message"]) == ("failed", True)


@pytest.mark.parametrize(
    ("error", "status", "type_name", "words"),
    [
        (ModelRetry("try a smaller one"), "retried", "ModelRetry", "try a smaller one"),
        (CallDeferred(), "failed", "CallDeferred", "comes from elsewhere"),
        (ValueError("torn"), "failed", "ValueError", "torn"),
    ],
)
@pytest.mark.parametrize("ours", [True, False])
async def test_what_it_raises_is_an_outcome_of_ours(
    room: House, error: Exception, status: str, type_name: str, words: str, ours: bool
) -> None:
    def fail() -> None:
        raise error

    row = await row_of(room, [fail if ours else FunctionToolset([fail])], "fail")

    assert (row["status"], row["error"]["type"]) == (status, type_name)
    assert words in row["error"]["message"]


async def test_a_failure_that_a_tool_declares_is_told_in_its_words(room: House) -> None:
    from pydantic_ai.exceptions import ToolFailed

    def fail() -> None:
        raise ToolFailed("no such order")

    agent = clerk(call("fail"), "Done.", tools=[FunctionToolset([fail])])
    bench = await room.open(agent)
    run = bench.run(agent, "Try")
    await run

    assert (calls(run)[0]["status"], ears(agent).told[0].content) == ("failed", "ToolFailed: no such order")


async def test_of_a_structured_return_the_value_is_the_result(room: House) -> None:
    def look() -> ToolReturn[Any]:
        return ToolReturn({"n": 1}, metadata={"hidden": True})

    assert (await row_of(room, [FunctionToolset([look])], "look"))["result"] == {"n": 1}


async def test_a_set_that_lists_over_a_connection_is_listed_beforehand(room: House) -> None:
    class Far(WrapperToolset[Any]):
        def apply(self, visitor: Any) -> None:
            visitor(self)

    far = Far(FunctionToolset([add]))
    with pytest.raises(BadInput, match=r"write tools=await tools_of\(toolset\)"):
        Agent("clerk", tools=[far])

    assert (await row_of(room, await tools_of(far), "add", a=1))["result"] == 2


@dataclasses.dataclass
class FunctionTool:
    """The shape that the OpenAI Agents SDK gives its function tools."""

    name: str
    description: str
    params_json_schema: dict[str, Any]
    on_invoke_tool: Callable[[Any, str], Any]
    needs_approval: Any = False
    is_enabled: Any = True
    strict_json_schema: bool = True


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def weather(log: list[Any], **flags: Any) -> FunctionTool:
    async def invoke(ctx: Any, text: str) -> str:
        log.append((ctx.tool_name, ctx.tool_call_id, text))
        return "sunny"

    return FunctionTool("weather", "The weather.", SCHEMA, invoke, **flags)


async def test_a_tool_of_the_openai_shape_is_accepted_as_it_is(room: House) -> None:
    log: list[Any] = []

    row = await row_of(room, [weather(log)], "weather", city="Rome")

    assert (row["result"], log) == ("sunny", [("weather", "run:r1#1#t1.0", '{"city": "Rome"}')])
    assert Agent("clerk", tools=[weather(log, is_enabled=False)]).specs() == []


async def wants(ctx: Any, args: dict[str, Any], call_id: str) -> bool:
    return args["city"] == "Rome"


async def breaks(ctx: Any, args: dict[str, Any], call_id: str) -> bool:
    raise LookupError("no policy")


@pytest.mark.parametrize("needs", [True, wants, breaks, lambda ctx, args, id: "perhaps"])
async def test_its_approval_flag_is_enforced_and_fails_closed(room: House, needs: Any) -> None:
    log: list[Any] = []
    agent = clerk(call("weather", city="Rome"), "Done.", tools=[weather(log, needs_approval=needs)])
    bench = await room.open(agent)
    run = bench.run(agent, "Look")

    request = await run.approval()
    assert (request.args, log) == ({"city": "Rome"}, [])
    await bench.approvals.approve(request.id)

    assert await run == "Done."
    assert len(log) == 1


async def test_a_predicate_that_says_no_asks_nobody(room: House) -> None:
    log: list[Any] = []

    row = await row_of(room, [weather(log, needs_approval=wants)], "weather", city="Oslo")

    assert (row["status"], len(log)) == ("success", 1)


def listed(**annotations: Any) -> mcp.types.Tool:
    return mcp.types.Tool(
        name="weather", description="The weather.", inputSchema=SCHEMA, annotations=annotations or None
    )


class Session:
    """What calls the tools of a server."""

    def __init__(self, result: Any) -> None:
        self.result = result
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        self.asked.append((name, arguments))
        return self.result


def text(*parts: str, **fields: Any) -> mcp.types.CallToolResult:
    content = [mcp.types.TextContent(type="text", text=part) for part in parts]
    return mcp.types.CallToolResult(content=content, **fields)


@pytest.mark.parametrize(
    ("result", "given"),
    [
        (text("sunny"), "sunny"),
        (text("sunny", "and warm"), "sunny\nand warm"),
        (text("{}", structuredContent={"sky": "sunny"}), {"sky": "sunny"}),
        ({"content": [{"type": "text", "text": "sunny"}]}, "sunny"),
        ({"content": [{"type": "image", "data": "AA=="}]}, [{"type": "image", "data": "AA=="}]),
    ],
)
async def test_a_tool_of_an_mcp_server_is_called_through_its_session(room: House, result: Any, given: Any) -> None:
    session = Session(result)

    row = await row_of(room, [mcp_tool(listed(), session.call_tool)], "weather", city="Rome")

    assert (row["status"], row["result"]) == ("success", given)
    assert session.asked == [("weather", {"city": "Rome"})]


async def test_an_error_of_the_server_is_a_failure_in_its_words(room: House) -> None:
    session = Session(text("no such city", isError=True))

    row = await row_of(room, [mcp_tool(listed(), session.call_tool)], "weather", city="Rome")

    assert (row["status"], row["error"]["type"]) == ("failed", "ToolFailed")
    assert row["error"]["message"] == "no such city"


def test_the_hints_of_a_server_say_what_may_be_done_again() -> None:
    async def ask(name: str, args: dict[str, Any]) -> Any: ...

    reads = mcp_tool(listed(readOnlyHint=True, idempotentHint=True, destructiveHint=False), ask)
    unsaid = mcp_tool(listed(), ask)
    policed = mcp_tool(listed(readOnlyHint=True), ask, read_only=False, approval=True, name="sky")

    assert (reads.read_only, reads.idempotent, reads.destructive) == (True, True, False)
    assert (unsaid.read_only, unsaid.idempotent, unsaid.destructive) == (False, False, None)
    assert (policed.read_only, policed.approval, policed.name) == (False, True, "sky")


def test_an_mcp_tool_without_its_caller_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match=r"the MCP tool 'weather' does not say how it is called; write mcp_tool"):
        Agent("clerk", tools=[listed()])
    with pytest.raises(BadInput, match="the schema of tool 'weather' is no JSON schema"):
        mcp_tool({"name": "weather", "inputSchema": {"type": "object", "required": "city"}}, Session(None).call_tool)
