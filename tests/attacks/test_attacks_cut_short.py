"""Calls that were cut off behind one of their steps: the run goes on, whatever their next try does."""

from __future__ import annotations

import asyncio

import pytest

from workbench import Agent, ToolContext, Workbench, models, tool

LIMIT = 20.0


@pytest.mark.parametrize("idempotent", [True, False])
async def test_a_call_cut_off_behind_a_step_is_told_to_the_model(idempotent: bool) -> None:
    reached, effects, tries = asyncio.Event(), [], []

    @tool(idempotent=idempotent)
    async def pay(ctx: ToolContext) -> str:
        tries.append(ctx.call_id)
        if len(tries) > 1:
            raise ConnectionError("the network is away")
        await ctx.step("pay", lambda key: effects.append(key))
        reached.set()
        await asyncio.Event().wait()
        return "paid"

    agent = Agent("agent", tools=[pay], model=models.scripted([models.call("pay")], "Well."))
    async with Workbench.open(":memory:", agent) as bench, asyncio.timeout(LIMIT):
        run = bench.run(agent, "Go")
        await reached.wait()
        await run.kill()
        await run.recover()

        assert await run == "Well."
        (call,) = (row for row in run.view()["rows"] if row["kind"] == "call")
        assert call["status"] == ("failed" if idempotent else "interrupted")
    assert len(effects) == 1
    assert len(tries) == (2 if idempotent else 1)
