"""What a door never does: offer or run what needs, or by policy may need, a person; and whom it asks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_clients import TOKENS, connected

from workbench import Agent, ToolContext, Workbench, models, tool
from workbench.agents.policy import Rule
from workbench.errors import BadInput

done: list[str] = []


@tool
def archive(name: str) -> str:
    """Archive something."""
    return f"{name} archived"


@tool(approval=True)
def delete(name: str) -> str:
    """Delete something."""
    done.append(name)
    return f"{name} deleted"


@tool
async def ask_back(ctx: ToolContext) -> str:
    """Ask a person."""
    return str(await ctx.ask_user("Which one?"))


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


def clerk(*turns: Any) -> Agent:
    return Agent("clerk", tools=[archive, delete, ask_back], model=models.scripted(*turns))


@pytest.mark.parametrize(
    ("rule", "listed"),
    [
        (Rule("ask", "arch*"), False),
        (Rule("deny", "archive"), False),
        (Rule("allow", "archive", args={"name": {"eq": "a"}}), False),
        (Rule("allow", "archive"), True),
        (Rule("deny", "delete"), True),
        (Rule("ask", "archive", agent="other"), True),
    ],
)
async def test_a_rule_that_can_stop_a_call_takes_its_tool_off_the_list_and_says_so(
    bench: Workbench, rule: Rule, listed: bool
) -> None:
    bench.add(clerk("Hello."))
    door = await bench.publish(mcp=TOKENS)
    told = asyncio.Event()

    async def heard(message: Any) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            told.set()

    async with connected(door.url, "legacy", message_handler=heard) as client:
        before = [tool.name for tool in (await client.list_tools()).tools]
        await bench.policy.add(rule)
        if not listed:
            async with asyncio.timeout(10):
                await told.wait()
        after = [tool.name for tool in (await client.list_tools()).tools]

        assert "archive" in before
        assert ("archive" in after) is listed
        if not listed:
            with pytest.raises(MCPError, match="Unknown tool: archive"):
                await client.call_tool("archive", {"name": "a"})


async def test_a_door_that_declines_refuses_by_rule_and_asks_nobody(bench: Workbench) -> None:
    bench.add(clerk(models.call("delete", name="a"), "It was declined."))
    door = await bench.publish(mcp=TOKENS)

    async with connected(door.url) as client:
        answer = await client.call_tool("ask_clerk", {"message": "Delete a"})

    assert answer.structured_content is not None
    assert answer.structured_content["output"] == "It was declined."
    assert (done, bench.approvals.pending()) == ([], [])
    [run] = list(bench.runs)
    [decision] = [row["value"] for row in bench.journal(run.id) if row["name"] == "@outcome"]
    assert decision["status"] == "denied"
    assert decision["note"] == "rejected by the rule approvals=decline: nobody is asked on its behalf"
    assert "needs a person's yes" in decision["content"]


async def test_a_child_of_a_run_that_asks_nobody_asks_nobody_either(bench: Workbench) -> None:
    boss = Agent("boss", tools=[clerk(models.call("delete", name="a"), "No.")], model=models.scripted(
        models.call("ask_clerk", message="Delete a"), "It cannot be."
    ))  # fmt: skip
    bench.add(boss)
    door = await bench.publish(mcp=TOKENS)

    async with connected(door.url) as client:
        answer = await client.call_tool("ask_boss", {"message": "Delete a"})

    assert answer.structured_content is not None
    assert answer.structured_content["output"] == "It cannot be."
    assert (done, bench.approvals.pending()) == ([], [])


async def test_a_door_that_waits_leaves_it_to_the_owner(bench: Workbench) -> None:
    bench.add(clerk(models.call("delete", name="a"), "Deleted."))
    door = await bench.publish(mcp=TOKENS, approvals="wait")
    lines: list[str | None] = []
    asked = asyncio.Event()

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        lines.append(message)
        if message == "it waits for a person at the bench":
            asked.set()

    async with connected(door.url) as client:
        calling = asyncio.ensure_future(client.call_tool("ask_clerk", {"message": "Delete a"}, progress_callback=heard))
        async with asyncio.timeout(10):
            await asked.wait()
        [request] = bench.approvals.pending()
        standing = await client.call_tool("get_run", {"run": request.run})
        await bench.approvals.approve(request.id)
        answer = await calling

    assert standing.structured_content == {
        "run": request.run,
        "status": "waiting",
        "note": "it waits for a person at the bench",
    }
    assert answer.structured_content == {"run": request.run, "status": "completed", "output": "Deleted."}
    assert done == ["a"]


async def test_two_things_of_one_name_are_refused_when_the_door_is_opened(bench: Workbench) -> None:
    @tool(name="ask_clerk")
    def impostor(x: int) -> int:
        """Looks like an agent."""
        return x

    bench.add(clerk("Hello."), Agent("other", tools=[impostor]))

    with pytest.raises(BadInput, match="agent 'clerk' and tool 'ask_clerk' of 'other' would both be 'ask_clerk'"):
        await bench.publish(mcp=TOKENS)

    assert list(bench.doors) == []
