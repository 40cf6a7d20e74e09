"""Conversations: runs that continue one another, one at a time, in order, whoever runs them."""

from __future__ import annotations

import gc

import pytest
from houses import Desk, House, clerk, ears, until

from workbench import Agent
from workbench.agents.context import Principal
from workbench.errors import CallConflict, RunCancelled, RunFailed
from workbench.models.messages import results_of, text_of, user_text
from workbench.models.model import Request
from workbench.models.script import call


def said(request: Request) -> list[str]:
    """Who said what in a request, tools left out."""
    return [user_text(message) or text_of(message) for message in request.history]


async def test_a_run_continues_the_one_before_it(house: House) -> None:
    bench = await house.open(agent := clerk("Hello Ana.", "You are Ana."))

    assert await bench.run(agent, "I am Ana", conversation="c") == "Hello Ana."
    assert await bench.run(agent, "Who am I?", conversation="c") == "You are Ana."

    assert [said(request) for request in ears(agent).requests] == [
        ["I am Ana"],
        ["I am Ana", "Hello Ana.", "Who am I?"],
    ]


async def test_runs_outside_a_conversation_know_nothing_of_each_other(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."))

    await bench.run(agent, "One")
    await bench.run(agent, "Two")
    await bench.run(agent, "Three", conversation="c")

    assert [said(request) for request in ears(agent).requests] == [["One"], ["Two"], ["Three"]]


async def test_one_run_at_a_time_and_in_the_order_of_beginning(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent("One.", "Two."))
    runs = [bench.run(agent, text, conversation="c") for text in ("Cancel A-1002", "Second", "Third")]
    request = await runs[0].approval()
    await until(lambda: all(run.process.activation is not None for run in runs))

    assert [run.status for run in runs] == ["waiting", "queued", "queued"]
    assert len(ears(agent).requests) == 1
    await bench.approvals.approve(request.id)

    assert [await run for run in reversed(runs)] == ["All done.", "Two.", "One."]
    assert said(ears(agent).requests[-1]) == ["Cancel A-1002", "", "", "One.", "Second", "Two.", "Third"]


async def test_conversations_of_two_names_and_of_two_principals_are_apart(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."))
    ana, bo = Principal("ana", "mcp"), Principal("bo", "mcp")

    await bench.run(agent, "One", conversation="c", principal=ana)
    await bench.run(agent, "Two", conversation="c", principal=bo)
    await bench.run(agent, "Three", conversation="d", principal=ana)
    await bench.run(agent, "Four", conversation="c")

    assert [said(request) for request in ears(agent).requests] == [["One"], ["Two"], ["Three"], ["Four"]]


async def test_the_notebook_and_the_command_line_are_one_owner(house: House) -> None:
    bench = await house.open(agent := clerk("Hello.", "Again."))

    await bench.run(agent, "One", conversation="c", principal=Principal("you", "cli"))

    assert await bench.run(agent, "Two", conversation="c") == "Again."


async def test_another_agent_joins_the_conversation(house: House) -> None:
    bench = await house.open(first := clerk("Hello Ana."), second := Agent("second", model="offline"))

    await bench.run(first, "I am Ana", conversation="c")
    run = bench.run(second, "Who am I?", conversation="c")
    await run

    assert [exchange.number for exchange in bench.store.conversations.exchanges_now("owner:you", "c")] == [1, 2]


async def test_a_cancelled_run_leaves_its_place_to_the_next(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    first, second, third = (bench.run(agent, text, conversation="c") for text in ("Cancel A-1002", "Two", "Three"))
    await first.approval()
    await until(lambda: third.process.activation is not None)

    assert await second.cancel() == "cancelled"
    assert third.status == "queued"
    assert await first.cancel() == "cancelled"

    assert await third == "All done."
    with pytest.raises(RunCancelled):
        await second
    assert said(ears(agent).requests[-1]) == ["Cancel A-1002", "", "", "Three"]
    assert [result.outcome for result in results_of(ears(agent).requests[-1].history[2])] == ["interrupted"]
    assert desk.ran == []


async def test_a_failed_run_leaves_a_history_that_the_next_goes_on_from(house: House) -> None:
    desk = Desk(approval=False)
    bench = await house.open(agent := desk.agent(*[call("cancel_order", order_id="A-1003")] * 2), Agent("other"))
    agent.max_turns = 2

    with pytest.raises(RunFailed, match="used all of its 2 model turns"):
        await bench.run(agent, "Cancel them", conversation="c")
    agent.max_turns = 20
    run = bench.run(agent, "Go on", conversation="c")

    assert await run == "All done."
    request = ears(agent).requests[2]
    assert said(request) == ["Cancel them", "", "", "", "", "Go on"]
    assert [result.content for message in request.history for result in results_of(message)] == [
        "A-1002 cancelled",
        "A-1003 cancelled",
    ]


async def test_a_killed_run_keeps_the_others_waiting_until_it_recovers(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent("One."))
    first, second = (bench.run(agent, text, conversation="c") for text in ("Cancel A-1002", "Two"))
    request = await first.approval()

    await first.kill()
    await until(lambda: second.status == "queued")
    assert (first.alive, second.alive) == (False, True)
    await first.recover()
    await bench.approvals.approve(request.id)

    assert [await second, await first] == ["All done.", "One."]


async def test_a_run_that_nobody_holds_is_still_waited_for(house: House) -> None:
    desk = Desk()
    here, there = await house.open(agent := desk.agent("One.")), await house.open(agent)
    request = await here.run(agent, "Cancel A-1002", conversation="c").approval()
    second = there.run(agent, "Two", conversation="c")
    await until(lambda: second.process.activation is not None)
    gc.collect()

    await here.approvals.approve(request.id)

    assert await second == "All done."


async def test_a_killed_run_that_was_queued_is_queued_still(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent("One."))
    first, second = (bench.run(agent, text, conversation="c") for text in ("Cancel A-1002", "Two"))
    request = await first.approval()
    await until(lambda: second.process.activation is not None and second.process.activation.ledger is not None)

    await second.kill()
    assert (second.alive, second.status) == (False, "queued")
    await bench.approvals.approve(request.id)
    assert await first == "One."
    await second.recover()

    assert await second == "All done."


async def test_a_restart_keeps_the_order_and_what_was_said(house: House) -> None:
    desk = Desk()
    before = await house.open(agent := desk.agent("One.", "Two."))
    runs = [before.run(agent, text, conversation="c") for text in ("Cancel A-1002", "Second", "Third")]
    request = await runs[0].approval()
    await before.close()

    bench = await house.open(agent)
    await bench.approvals.approve(request.id)

    assert [await bench.runs[run.id] for run in reversed(runs)] == ["All done.", "Two.", "One."]
    assert len(ears(agent).requests) == 4


async def test_runs_of_two_kernels_take_turns_on_one_store(house: House) -> None:
    desk = Desk()
    here, there = await house.open(agent := desk.agent("One.", "Two.")), await house.open(agent)
    first = here.run(agent, "Cancel A-1002", conversation="c")
    request = await first.approval()
    second = there.run(agent, "Second", conversation="c")
    third = here.run(agent, "Third", conversation="c")
    await until(lambda: all(run.process.activation is not None for run in (second, third)))

    assert [run.status for run in (first, second, third)] == ["waiting", "queued", "queued"]
    assert [there.runs[third.id].status, here.runs[second.id].status] == ["queued", "queued"]
    await there.approvals.approve(request.id)

    assert [await third, await second, await first] == ["All done.", "Two.", "One."]
    assert said(ears(agent).requests[-1]) == ["Cancel A-1002", "", "", "One.", "Second", "Two.", "Third"]


async def test_a_replay_is_told_what_was_told_before(house: House) -> None:
    desk = Desk()
    bench = await house.open(
        agent := clerk("Hi.", call("cancel_order", order_id="A-1002"), "Done.", tools=[desk.cancel])
    )
    await bench.run(agent, "Hello", conversation="c")
    run = bench.run(agent, "Cancel it", conversation="c")
    request = await run.approval()
    await run.kill()
    queued = bench.run(agent, "Next", conversation="c")

    await run.recover()
    await bench.approvals.approve(request.id)

    assert await run == "Done."
    assert said(ears(agent).requests[2])[:3] == ["Hello", "Hi.", "Cancel it"]
    assert len(ears(agent).requests[2].history) == 5
    assert len(bench.store.history_now(run.key)) > 0
    await queued.cancel()


async def test_an_id_of_another_conversation_is_a_conflict(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."))
    run = bench.run(agent, "Hi", id="r1", conversation="c")

    assert bench.run(agent, "Hi", id="r1", conversation="c") is run
    with pytest.raises(CallConflict, match=r"in conversation 'c'.*in conversation 'd'"):
        bench.run(agent, "Hi", id="r1", conversation="d")
    with pytest.raises(CallConflict, match="in no conversation"):
        bench.run(agent, "Hi", id="r1")

    await run
    assert len(bench.store.conversations.exchanges_now("owner:you", "c")) == 1


async def test_a_deleted_run_is_no_more_in_its_conversation(house: House) -> None:
    bench = await house.open(agent := clerk("One.", "Two.", "Three."))
    first = bench.run(agent, "A", conversation="c")
    await first
    await bench.run(agent, "B", conversation="c")
    await first.process.dispose()

    await bench.delete(first.id)
    await bench.run(agent, "C", conversation="c")

    assert said(ears(agent).requests[-1]) == ["B", "Two.", "C"]
