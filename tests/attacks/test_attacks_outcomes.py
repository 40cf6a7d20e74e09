"""What a tool can raise, whatever it is, is an outcome that the model hears of; it runs once."""

from __future__ import annotations

import asyncio
import concurrent.futures

import pytest

from workbench import Agent, ToolContext, Workbench, models, tool


class Mute(Exception):
    """An error whose words fail."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


RAISED = [
    KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, StopAsyncIteration, asyncio.CancelledError,
    concurrent.futures.CancelledError, TimeoutError, RecursionError, Mute,
]  # fmt: skip


@pytest.mark.parametrize("error", RAISED)
@pytest.mark.parametrize("kind", ["plain", "async", "step", "plain step"])
async def test_whatever_a_tool_raises_is_told_to_the_model(kind: str, error: type[BaseException]) -> None:
    times: list[str] = []

    def fails(key: str) -> None:
        times.append(key)
        raise error

    async def fails_on_the_loop(key: str) -> None:
        fails(key)

    @tool
    def plain() -> None:
        fails("")

    @tool
    async def on_loop() -> None:
        fails("")

    @tool
    async def stepping(ctx: ToolContext) -> None:
        await ctx.step("fails", fails_on_the_loop if kind == "step" else fails)

    act = {"plain": plain, "async": on_loop}.get(kind, stepping)
    agent = Agent("agent", tools=[act], model=models.scripted([models.call(act.name)], "Well."))
    async with Workbench.open(":memory:", agent) as bench:
        run = bench.run(agent, "Go")

        assert await run == "Well."
        (call,) = (row for row in run.view()["rows"] if row["kind"] == "call")
        assert call["status"] == "failed"
    assert len(times) == 1
