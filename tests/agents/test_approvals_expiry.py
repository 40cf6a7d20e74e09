"""Expiry: a request that nobody decides in time is an outcome of its own, in any worker, also after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from houses import PATIENCE, Desk, House, calls, clerk, ears

from workbench import tool
from workbench.errors import AlreadyDecided, BadInput
from workbench.models.script import call


class Hurry(Desk):
    """A desk whose question waits for a minute."""

    def __init__(self) -> None:
        super().__init__()
        self.cancel.expires = 60.0


async def passed(house: House, seconds: float, condition: Callable[[], Any]) -> None:
    """Return once the time has passed, and the scheduler, whose reads are made in a thread, has seen it."""
    await house.clock.advance(seconds)
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await house.clock.advance(0.5)
            await asyncio.sleep(0.001)


async def test_case_22_u32_an_expired_request_is_told_as_no_decision_and_is_nobodys(room: House) -> None:
    desk = Hurry()
    bench = await room.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()
    asked_at = room.clock.now()
    assert request.expires_at == asked_at + 60

    await room.clock.advance(59)
    assert run.status == "waiting"
    await room.clock.advance(2)
    assert await run == "All done."

    expired = await bench.approvals.get(request.id)
    assert (expired.status, expired.decided_by, expired.via, expired.reason) == ("expired", "timeout", None, None)
    assert expired.decided_at == asked_at + 60
    assert desk.ran == []
    (result,) = ears(agent).told
    assert (result.content, result.outcome) == ("No decision in time. Nothing was done.", "denied")
    assert calls(run)[0]["note"] == "no decision in time"


async def test_case_22_by_default_nothing_expires(room: House) -> None:
    bench = await room.open(agent := Desk().agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()

    await room.clock.jump(20 * 86_400)
    await room.clock.advance(60)

    assert request.expires_at is None
    assert [pending.id for pending in bench.approvals.pending()] == [request.id]


async def test_a_deadline_passes_while_nobody_is_there_and_is_kept_by_the_next_worker(house: House) -> None:
    desk = Hurry()
    first = await house.open(agent := desk.agent())
    request = await first.run(agent, "Cancel A-1002", id="r1").approval()
    await first.close()
    await house.clock.advance(100)

    again = await house.open(agent)

    await passed(house, 1, lambda: again.runs["r1"].status == "completed")
    assert (await again.approvals.get(request.id)).status == "expired"
    assert (desk.ran, len(ears(agent).requests)) == ([], 2)


async def test_a_deadline_is_that_of_the_first_life(house: House) -> None:
    desk = Hurry()
    first = await house.open(agent := desk.agent())
    request = await first.run(agent, "Cancel A-1002", id="r1").approval()
    await house.clock.advance(50)
    await first.close()

    again = await house.open(agent)

    (found,) = again.approvals.pending()
    assert found.expires_at == request.expires_at
    await passed(house, 11, lambda: again.runs["r1"].status == "completed")


async def test_any_worker_ends_the_wait_of_a_killed_run(house: House) -> None:
    first = await house.open(agent := Hurry().agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    request = await run.approval()
    await run.kill()
    stranger = await house.open()

    await passed(house, 61, lambda: first.approvals.pending() == [])

    assert (await stranger.approvals.get(request.id)).status == "expired"
    assert run.alive is False


async def test_a_decision_that_comes_too_late_hears_that_the_time_was_over(house: House) -> None:
    desk = Hurry()
    first = await house.open(agent := desk.agent())
    request = await first.run(agent, "Cancel A-1002", id="r1").approval()
    await first.close()
    reader = await house.open(worker=False)
    await house.clock.advance(60)

    with pytest.raises(AlreadyDecided, match="is already expired, by timeout") as caught:
        await reader.approvals.approve(request.id)

    assert (caught.value.status, caught.value.by, caught.value.at) == ("expired", "timeout", house.clock.now())
    assert reader.approvals.pending() == []


async def test_a_decision_in_time_stands_when_the_deadline_passes(room: House) -> None:
    desk = Hurry()
    bench = await room.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()
    await room.clock.advance(30)
    await bench.approvals.approve(request.id)

    await room.clock.advance(60)

    assert await run == "All done."
    assert (await bench.approvals.get(request.id)).status == "approved"
    assert desk.ran == [("A-1002", "")]


async def test_an_expiry_is_seconds_or_a_timedelta(room: House) -> None:
    @tool(approval=True, expires=timedelta(minutes=5))
    def send(to: str) -> str:
        return to

    bench = await room.open(agent := clerk(call("send", to="ana"), "Sent.", tools=[send]))
    request = await bench.run(agent, "Send it").approval()

    assert request.expires_at == room.clock.now() + 300
    with pytest.raises(BadInput, match="the expiry of tool 'send' is a number of seconds above 0"):
        tool(approval=True, expires=0, name="send")(lambda to: to)
