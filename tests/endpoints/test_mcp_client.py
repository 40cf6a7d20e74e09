"""Tools of a server of the official library, used by agents of a bench."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from workbench import Agent, Workbench, models
from workbench.endpoints import mcp_tools
from workbench.endpoints.mcp_client import LARGEST_SCHEMA, McpTools
from workbench.errors import BadInput
from workbench.models.messages import results_of
from workbench.testing import Notebook

PROGRAM = Path(__file__).with_name("tools_server.py")
COMMAND = [sys.executable, str(PROGRAM)]


class Heard:
    """A scripted model that keeps what its calls came to."""

    name = "scripted"

    def __init__(self, *turns: Any) -> None:
        self.script = models.scripted(*turns)
        self.results: list[tuple[str, Any]] = []

    async def ask(self, request: Any, on_text: Any) -> Any:
        self.results += [(result.outcome, result.content) for result in results_of(request.history[-1])]
        return await self.script.ask(request, on_text)


@pytest.fixture
async def bench() -> AsyncIterator[Workbench]:
    async with Workbench.open(":memory:") as opened:
        yield opened


@pytest.fixture
async def tools() -> AsyncIterator[McpTools]:
    listed = await mcp_tools(command=COMMAND)
    yield listed
    await listed.close()


def agent(tools: Any, *calls: Any) -> tuple[Agent, Heard]:
    heard = Heard(*calls, "Done.")
    return Agent("clerk", tools=tools, model=heard), heard


async def test_an_agent_uses_the_tools_of_a_server(bench: Workbench, tools: McpTools) -> None:
    clerk, heard = agent(
        tools,
        models.call("add", a=2, b=3),
        models.call("add", a="two", b=3),
        models.call("fail", words="out of paper"),
        models.call("files_delete", path="notes.txt"),
        models.call("die"),
        models.call("add", a=1, b=1),
    )

    assert await bench.run(clerk, "Use them all") == "Done."

    assert [tool.name for tool in tools] == ["add", "fail", "files_delete", "slow", "greet", "grow", "die"]
    outcomes = [outcome for outcome, _ in heard.results]
    assert outcomes == ["success", "retried", "failed", "success", "failed", "success"]
    results = [content for _, content in heard.results]
    assert (results[0], results[3], results[5]) == (
        {"total": 5},
        {"result": "notes.txt is gone"},
        {"total": 2},
    )
    assert "out of paper" in results[2]
    assert "which may or may not have happened" in results[4]


async def test_two_who_ask_for_one_server_at_once_have_one_connection() -> None:
    first, second = await asyncio.gather(mcp_tools(command=COMMAND), mcp_tools(command=COMMAND))

    assert first is second
    await first.close()


async def test_who_gives_up_takes_the_server_from_nobody_else() -> None:
    gives_up = asyncio.ensure_future(mcp_tools(command=COMMAND))
    stays = asyncio.ensure_future(mcp_tools(command=COMMAND))
    await asyncio.sleep(0)
    gives_up.cancel()

    tools = await stays
    assert gives_up.cancelled()
    assert await mcp_tools(command=COMMAND) is tools
    await tools.close()


async def test_a_question_of_the_server_waits_in_the_inbox(bench: Workbench, tools: McpTools) -> None:
    clerk, heard = agent(tools, models.call("greet"), models.call("greet"))
    run = bench.run(clerk, "Greet twice")

    first = await run.approval()
    assert first.sentence.endswith("asks: What is your name?")
    assert sorted(first.schema["properties"]) == ["name"]
    await bench.approvals.answer(first.id, {"name": "Ada"})
    second = await run.approval()
    await bench.approvals.dismiss(second.id)

    assert await run == "Done."
    assert [content for _, content in heard.results] == [{"result": "Hello Ada"}, {"result": "Nobody, for cancel"}]


async def test_the_owner_says_what_asks_whatever_the_server_hints(bench: Workbench) -> None:
    tools = await mcp_tools(
        command=COMMAND, approval={"files.*": True, "add": lambda args: args["a"] > 100}, prefix="far_"
    )
    clerk, _ = agent(
        tools,
        [models.call("far_add", a=1, b=1), models.call("far_add", a=101, b=1)],
        models.call("far_files_delete", path="x"),
    )
    run = bench.run(clerk, "Add and delete")

    asked = []
    for _ in range(2):
        request = await run.approval()
        asked.append((request.tool, request.args))
        await bench.approvals.approve(request.id)

    assert await run == "Done."
    assert asked == [("far_add", {"a": 101, "b": 1}), ("far_files_delete", {"path": "x"})]
    assert not any(tool.read_only or tool.idempotent for tool in tools)
    trusting = await mcp_tools(command=COMMAND, trust_hints=True)
    assert [tool.name for tool in trusting if tool.read_only and tool.idempotent] == ["add"]
    assert trusting is tools
    await tools.close()


async def test_a_tool_that_its_server_changed_asks_until_it_is_listed_again(bench: Workbench, tools: McpTools) -> None:
    tools._seen["add"] = tools._seen["add"].replace("Add two numbers.", "Add two small numbers.")
    grower, _ = agent(tools, models.call("grow"))
    clerk, _ = agent(tools, models.call("add", a=1, b=1))

    await bench.run(grower, "Grow")
    async with asyncio.timeout(30):
        while not tools.changes:
            await asyncio.sleep(0.01)
    run = bench.run(clerk, "Add")
    request = await run.approval()

    assert request.tool == "add"
    assert tools.changes == ["newcomer is new", "add is described or takes arguments otherwise"]
    assert "changed: newcomer is new; await tools.refresh() takes it" in repr(tools)
    await bench.approvals.approve(request.id)
    assert await run == "Done."
    assert await tools.refresh() == ["newcomer is new", "add is described or takes arguments otherwise"]
    assert (tools.changes, [tool.name for tool in tools][-1]) == ([], "newcomer")


async def test_what_is_too_large_or_no_schema_is_left_out_and_said() -> None:
    listed = await mcp_tools(command=[sys.executable, "-c", ODD])

    assert [tool.name for tool in listed] == ["good"]
    assert f"its schema is longer than {LARGEST_SCHEMA} characters" in listed.left_out["large"]
    assert "is no JSON schema" in listed.left_out["broken"]
    assert len(listed[0].description) == 4_000
    assert "left out: large" in repr(listed)
    await listed.close()


ODD = """
import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import ListToolsResult, Tool

plain = {"type": "object", "properties": {}}
large = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(5000)}}
broken = {"type": "object", "properties": {"a": {"type": "nothing"}}}

async def listed(ctx, params):
    tools = [Tool(name="good", description="x" * 10_000, input_schema=plain),
             Tool(name="large", input_schema=large), Tool(name="broken", input_schema=broken)]
    return ListToolsResult(tools=tools, ttl_ms=0, cache_scope="private")

async def main():
    server = Server("odd", on_list_tools=listed)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"approval": "always"}, "approval is True, False, a function of the arguments, or these by name"),
        ({"prefix": "a.b"}, "a prefix of names is letters, digits, _ and -"),
        ({"approval": {"add": 5}}, "approval is True, False, a function of the arguments, or these by name"),
        ({"approval": {5: True}}, r"approval has the names of tools, .* found \[5\]"),
        ({"trust_hints": "no"}, "trust_hints is True or False, found 'no'"),
        ({"trust_hints": None}, "trust_hints is True or False, found None"),
        ({"env": 5}, "env is variables by name"),
        ({"timeout": -1}, "timeout"),
    ],
)
async def test_what_cannot_be_is_refused_before_anything_is_begun(options: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        await mcp_tools(command=["no-such-program"], **options)


async def test_a_timeout_that_cannot_be_is_refused_where_the_connection_is_known_too(tools: McpTools) -> None:
    with pytest.raises(BadInput, match="timeout is a number of seconds"):
        await mcp_tools(command=COMMAND, timeout="x")  # type: ignore[arg-type]

    assert await tools.refresh() == []


async def test_a_connection_is_made_used_and_closed_in_three_cells(tmp_path: Path) -> None:
    sources = (
        f"from workbench.endpoints import mcp_tools\ntools = await mcp_tools(command={COMMAND!r})",
        "from workbench import Agent, Workbench, models\n"
        "bench = await Workbench.open('agents.db')\n"
        "clerk = Agent('clerk', tools=tools, model=models.scripted(models.call('add', a=2, b=2), 'Four.'))\n"
        "print(await bench.run(clerk, 'Add'))",
        "await tools.close()\nawait bench.close()\nprint(tools)",
    )
    cells = [
        nbformat.v4.new_code_cell(source, metadata={"tags": [f"cell{number}"]}) for number, source in enumerate(sources)
    ]
    async with Notebook(nbformat.v4.new_notebook(cells=cells), cwd=tmp_path) as book:
        await book.run_all()

        assert book.errors == []
        assert book.output(tag="cell1") == "Four."
        assert ", not connected: add, fail" in book.output(tag="cell2")
