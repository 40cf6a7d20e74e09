"""A tool that wants a person's yes while it runs: it is asked for once, and only then does it go on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import House, calls, clerk, ears, until

from workbench import ToolContext, tool
from workbench.errors import NeedsApproval
from workbench.models.script import call


class Till:
    """A tool that pays small sums at once and wants a yes for large ones."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        self.go = asyncio.Event()
        self.go.set()
        self.pay = tool(name="pay")(self._pay)

    async def _pay(self, amount: int, ctx: ToolContext) -> str:
        """Pay an amount."""
        balance = await ctx.step("look", lambda key: self.log.append("looked") or 100)
        if amount > balance and not ctx.approved:
            raise NeedsApproval(f"{amount} is more than {balance}")
        self.log.append(amount)
        await self.go.wait()
        return f"paid {amount}"

    def agent(self, amount: int = 200) -> Any:
        return clerk(call("pay", amount=amount), "Done.", tools=[self.pay])


async def test_a_call_that_needs_no_yes_asks_for_none(room: House) -> None:
    till = Till()
    bench = await room.open(agent := till.agent(5))
    run = bench.run(agent, "Pay")

    assert await run == "Done."
    assert (till.log, calls(run)[0]["approval"]) == (["looked", 5], None)


async def test_a_yes_lets_it_run_again_and_says_so(house: House) -> None:
    till = Till()
    bench = await house.open(agent := till.agent())
    run = bench.run(agent, "Pay", id="r1")

    request = await run.approval()
    assert (request.tool, request.args, till.log) == ("pay", {"amount": 200}, ["looked"])
    (asked,) = bench._runtime.requests.known()
    assert (asked.body["message"], calls(run)[0]["status"]) == ("200 is more than 100", "waiting")
    await bench.approvals.approve(request.id, by="ana")

    assert await run == "Done."
    (row,) = calls(run)
    assert (row["status"], row["result"], row["note"]) == ("success", "paid 200", "approved by ana")
    assert (till.log, [step["name"] for step in row["steps"]]) == (["looked", "looked", 200], ["look", "approved/look"])


async def test_a_no_keeps_it_from_running_again(room: House) -> None:
    till = Till()
    bench = await room.open(agent := till.agent())
    run = bench.run(agent, "Pay")

    await bench.approvals.reject((await run.approval()).id, "too much")

    assert await run == "Done."
    assert (till.log, calls(run)[0]["status"]) == (["looked"], "denied")
    assert ears(agent).told[0].content == "A person declined this call: too much"


async def test_the_arguments_may_be_edited(room: House) -> None:
    till = Till()
    bench = await room.open(agent := till.agent())
    run = bench.run(agent, "Pay")

    await bench.approvals.approve((await run.approval()).id, {"amount": 150})

    assert await run == "Done."
    assert (till.log[-1], calls(run)[0]["args"]) == (150, {"amount": 150})


async def test_the_question_survives_a_kill_and_the_tool_goes_on_once(house: House) -> None:
    till = Till()
    bench = await house.open(agent := till.agent())
    run = bench.run(agent, "Pay", id="r1")
    first = await run.approval()

    await run.kill()
    await run.recover()
    assert (await run.approval()).id == first.id
    await run.kill()
    await bench.approvals.approve(first.id)
    till.go.clear()
    await run.recover()
    await until(lambda: 200 in till.log)
    await run.kill()
    till.go.set()
    await run.recover()

    assert await run == "Done."
    assert (till.log, calls(run)[0]["status"]) == (["looked", "looked", 200], "interrupted")


async def test_who_wants_a_yes_twice_has_failed(room: House) -> None:
    @tool
    def never() -> None:
        raise NeedsApproval("always")

    agent = clerk(call("never"), "Done.", tools=[never])
    bench = await room.open(agent)
    run = bench.run(agent, "Try")
    await bench.approvals.approve((await run.approval()).id)

    assert await run == "Done."
    assert (calls(run)[0]["status"], calls(run)[0]["error"]["type"]) == ("failed", "NeedsApproval")


@pytest.mark.parametrize("policy", [True, lambda args: True])
async def test_who_was_asked_before_is_not_asked_again(room: House, policy: Any) -> None:
    till = Till()
    till.pay = tool(name="pay", approval=policy)(till._pay)
    bench = await room.open(agent := till.agent())
    run = bench.run(agent, "Pay")
    await bench.approvals.approve((await run.approval()).id)

    assert await run == "Done."
    assert till.log == ["looked", 200]
