"""Agents whose code changes while a run is under way: nothing is stranded, decisions stand, what cannot be is named."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import House, calls, clerk, ears, steps_done, until

from workbench import Agent, ToolContext, tool
from workbench.errors import Drift, RunFailed
from workbench.models.script import call


class Shop:
    """A tool in the versions that a cell may have, and what really ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def agent(self, *, wait: asyncio.Event | None = None, **policy: Any) -> Agent:
        """An agent that cancels an order under this policy, and then waits if there is something to wait for."""

        def cancel(order: str) -> str:
            self.ran.append(order)
            return f"{order} cancelled"

        async def pause() -> str:
            if wait is not None:
                await wait.wait()
            return "ok"

        made = tool(name="cancel", **policy)(cancel)
        hold = tool(name="pause", read_only=True)(pause)
        return clerk([call("cancel", order="A-1"), call("pause")], "Done.", tools=[made, hold])


async def asked(house: House, agent: Agent) -> tuple[Any, Any, str]:
    """A bench, a run of the agent that waits, and the id of what it asks."""
    bench = await house.open(agent)
    run = bench.run(agent, "Cancel A-1", id="r1")
    return bench, run, (await run.approval()).id


async def test_a_tool_that_is_gone_closes_its_request_and_is_told(house: House) -> None:
    shop = Shop()
    bench, run, id = await asked(house, shop.agent(approval=True))

    await run.kill()
    bench.add(new := clerk(call("cancel", order="A-1"), "Done."))
    await run.recover()

    assert await run == "Done."
    assert bench.approvals.pending() == []
    assert (await bench.approvals.get(id)).status == "superseded"
    assert [result.outcome for result in ears(new).told] == ["retried", "success"]
    assert shop.ran == []


async def test_a_tool_that_is_gone_after_it_was_approved_is_told(house: House) -> None:
    shop, go = Shop(), asyncio.Event()
    bench, run, id = await asked(house, shop.agent(approval=True))
    await run.kill()
    await bench.approvals.approve(id)

    bench.add(clerk([call("cancel", order="A-1"), call("pause")], "Done."))
    await run.recover()
    go.set()

    assert await run == "Done."
    assert shop.ran == []


@pytest.mark.parametrize("before", [True, lambda args: True])
@pytest.mark.parametrize("after", [True, False, lambda args: True, lambda args: False])
@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_decision_stands_whatever_the_policy_became(
    house: House, before: Any, after: Any, decision: str
) -> None:
    shop = Shop()
    bench, run, id = await asked(house, shop.agent(approval=before))
    await run.kill()
    await getattr(bench.approvals, decision)(id)

    bench.add(shop.agent(approval=after))
    await run.recover()

    assert await run == "Done."
    assert shop.ran == (["A-1"] if decision == "approve" else [])
    assert calls(run)[0]["status"] == ("success" if decision == "approve" else "denied")


@pytest.mark.parametrize("after", [True, False, lambda args: False])
async def test_a_question_that_is_open_stays_open_whatever_the_policy_became(house: House, after: Any) -> None:
    shop = Shop()
    bench, run, id = await asked(house, shop.agent(approval=lambda args: True))
    await run.kill()

    bench.add(shop.agent(approval=after))
    await run.recover()
    request = await run.approval()

    assert (request.id, shop.ran) == (id, [])
    await bench.approvals.approve(id)
    assert await run == "Done."
    assert shop.ran == ["A-1"]


@pytest.mark.parametrize("after", [True, lambda args: True, lambda args: False])
async def test_a_call_that_was_begun_without_asking_is_not_asked_about(house: House, after: Any) -> None:
    began, go = [], asyncio.Event()

    def version(approval: Any) -> Agent:
        @tool(name="work", idempotent=True, approval=approval)
        async def work() -> str:
            began.append(1)
            await go.wait()
            return "worked"

        return clerk(call("work"), "Done.", tools=[work])

    bench = await house.open(agent := version(False))
    run = bench.run(agent, "Work")
    await until(lambda: began)
    await run.kill()

    bench.add(version(after))
    go.set()
    await run.recover()

    assert await run == "Done."
    assert (len(began), calls(run)[0]["status"]) == (2, "success")


async def test_whether_a_call_may_run_again_was_settled_when_it_began(house: House) -> None:
    began, go = [], asyncio.Event()

    def version(idempotent: bool) -> Agent:
        @tool(name="ship", idempotent=idempotent)
        async def ship() -> str:
            began.append(1)
            await go.wait()
            return "shipped"

        return clerk(call("ship"), "Done.", tools=[ship])

    bench = await house.open(agent := version(False))
    run = bench.run(agent, "Ship")
    await until(lambda: began)
    await run.kill()

    bench.add(version(True))
    go.set()
    foretold = [group["group"] for group in run.view()["recovery"]]
    await run.recover()
    await run

    assert foretold == ["replayed", "interrupted"]
    assert (len(began), calls(run)[0]["status"]) == (1, "interrupted")


async def test_other_steps_of_a_tool_are_named_and_the_earlier_code_brings_the_run_back(house: House) -> None:
    done, go = [], asyncio.Event()

    def version(name: str) -> Agent:
        @tool(name="refund", idempotent=True)
        async def refund(ctx: ToolContext) -> str:
            await ctx.step(name, lambda: done.append(name))
            await go.wait()
            return "refunded"

        return clerk(call("refund"), "Done.", tools=[refund])

    bench = await house.open(agent := version("pay back"))
    run = bench.run(agent, "Refund")
    await until(lambda: steps_done(run) == ["pay back"])
    await run.kill()

    bench.add(version("charge"))
    await run.recover()
    with pytest.raises(
        RunFailed, match=r"stopped with Drift: message 1 of 'run:.*' recorded the step 'pay back'"
    ) as caught:
        await run
    assert isinstance(caught.value.__cause__, Drift)
    assert done == ["pay back"]

    bench.add(version("pay back"))
    go.set()
    await run.recover()
    assert await run == "Done."
    assert done == ["pay back"]


async def test_recovering_a_run_without_its_agent_names_the_agent(house: House) -> None:
    shop = Shop()
    first, _, _ = await asked(house, shop.agent(approval=True))
    await first.close()
    again = await house.open()

    await again.runs["r1"].recover()

    with pytest.raises(RunFailed, match=r"stopped with NoCode: no agent 'clerk' here; add it with bench\.add"):
        await again.runs["r1"]
    assert len(again.approvals.pending()) == 1
