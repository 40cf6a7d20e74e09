"""Instructions that are a function of the run: called once, kept, the same in every life."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from houses import House, clerk, ears, until

from workbench import tool
from workbench.agents.context import Principal
from workbench.agents.instructions import RunInfo
from workbench.errors import RunFailed
from workbench.models.script import call


@tool(approval=True)
def send() -> str:
    """Send it."""
    return "sent"


async def test_a_function_hears_what_the_run_is_about(room: House) -> None:
    heard: list[RunInfo] = []

    def told(info: RunInfo) -> str:
        heard.append(info)
        return f"You speak to {info.principal.name}."

    bench = await room.open(agent := clerk("Done.", instructions=told))
    await bench.run(agent, "Hello", id="r1", conversation="c1", principal=Principal("ada", "cli"))

    (info,) = heard
    assert (info.id, info.agent, info.request, info.conversation) == ("r1", "clerk", "Hello", "c1")
    assert (str(info.principal), info.asked_at) == ("cli:ada", room.clock.now())
    assert ears(agent).requests[0].instructions == "You speak to ada."


async def test_every_turn_and_every_life_sees_the_same(house: House) -> None:
    asked = []

    async def told(info: RunInfo) -> str:
        asked.append(info.id)
        return f"number {len(asked)}"

    bench = await house.open(agent := clerk(call("send"), "Done.", tools=[send], instructions=told))
    run = bench.run(agent, "Send")
    request = await run.approval()

    await run.kill()
    await run.recover()
    await bench.approvals.approve(request.id)

    assert await run == "Done."
    assert [request.instructions for request in ears(agent).requests] == ["number 1", "number 1"]
    assert len(asked) == 1


async def test_a_plain_function_may_block(room: House) -> None:
    threads = []

    def told(info: RunInfo) -> str:
        threads.append(threading.current_thread())
        return "Be kind."

    bench = await room.open(agent := clerk("Done.", instructions=told))
    await bench.run(agent, "Hello")

    assert threads[0] is not threading.main_thread()


async def test_a_text_is_no_step(room: House) -> None:
    bench = await room.open(agent := clerk("Done.", instructions="Be kind."))
    await bench.run(agent, "Hello", id="r1")

    assert [row["name"] for row in bench.journal("r1") if row["kind"] == "step"] == ["turn"]
    assert ears(agent).requests[0].instructions == "Be kind."


async def test_a_function_that_raises_fails_the_run_by_name(room: House) -> None:
    def told(info: RunInfo) -> str:
        raise KeyError("customer")

    bench = await room.open(agent := clerk("Done.", instructions=told))
    run = bench.run(agent, "Hello", id="r1")

    with pytest.raises(RunFailed) as caught:
        await run

    assert "the instructions of agent 'clerk' for run 'r1' raised KeyError: 'customer'; mend the function" in str(
        caught.value
    )
    assert "told(info" in caught.value.traceback or "raise KeyError" in caught.value.traceback
    assert ears(agent).requests == []


@pytest.mark.parametrize("given", [7, ["be kind"], b"be kind"])
async def test_what_is_no_text_is_refused(room: House, given: Any) -> None:
    bench = await room.open(agent := clerk("Done.", instructions=lambda info: given))

    with pytest.raises(RunFailed, match="the function returns a text, or None for none"):
        await bench.run(agent, "Hello")


async def test_each_agent_of_a_run_that_is_handed_over_has_its_own(house: House) -> None:
    asked = []

    def told(info: RunInfo) -> str:
        asked.append((info.agent, info.request))
        return f"You are {info.agent}."

    second = clerk(call("send"), "Done.", tools=[send], instructions=told).but("second")
    hand = call("hand_off_to_second", message="Go on")
    bench = await house.open(first := clerk(hand, instructions=told, handoffs=[second]).but("first"), second)
    run = bench.run(first, "Begin")
    request = await run.approval()

    await run.kill()
    await run.recover()
    await bench.approvals.approve(request.id)

    assert await run == "Done."
    assert asked == [("first", "Begin"), ("second", "Go on")]
    assert {request.instructions for request in ears(second).requests} == {"You are second."}


@pytest.mark.parametrize("function_first", [True, False])
async def test_a_run_in_flight_survives_the_change_of_its_kind(house: House, function_first: bool) -> None:
    kinds: list[Any] = [lambda info: "from a function", "from a text"]
    first, second = kinds if function_first else reversed(kinds)
    bench = await house.open(agent := clerk(call("send"), "Done.", tools=[send], instructions=first))
    run = bench.run(agent, "Send")
    request = await run.approval()
    await run.kill()

    bench.add(new := clerk(call("send"), "Done.", tools=[send], instructions=second))
    await run.recover()
    await until(lambda: run.status == "waiting")
    await bench.approvals.approve(request.id)

    assert await run == "Done."
    assert ears(new).requests[0].instructions == "from a function"
