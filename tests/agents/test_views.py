"""What a person sees of a run in each of its statuses: rows, bars, the now line, what Recover does, and the buttons."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from houses import Desk, House, calls, clerk, until

from workbench import Agent, ToolContext, tool
from workbench.agents.nowline import clock_time
from workbench.errors import RunCancelled, RunFailed
from workbench.models.model import Request, Turn
from workbench.models.script import call
from workbench.models.speech import said


def now_line(run: Any) -> tuple[str, str]:
    """The now line as one reads it, and its shape."""
    line = run.view()["now_line"]
    return f"{line['strong']} {line['text']}".strip(), line["shape"]


def buttons(run: Any) -> list[str]:
    """The labels of what may be pressed."""
    return [action["label"] for action in run.view()["actions"] if action["enabled"]]


class Till:
    """A refund tool of two steps; the second stays at work until it is let go."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.go = asyncio.Event()
        self.refund = tool(idempotent=True, name="refund", description="Refund an order.")(self._refund)

    async def _refund(self, order: str, ctx: ToolContext) -> str:
        await ctx.step("pay back", self._done)
        await ctx.step("email", self._sent)
        return "R-1"

    async def _done(self, key: str) -> str:
        self.effects.append(key)
        return "R-1"

    async def _sent(self, key: str) -> None:
        self.effects.append(key)
        await self.go.wait()


async def test_a_queued_run_says_that_it_has_not_begun(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."), worker=False)

    run = bench.run(agent, "Say hello", id="r1")
    view = run.view()

    assert (view["status"], view["alive"], view["request"], view["lives"]) == ("queued", True, "Say hello", [])
    assert [(row["kind"], row["who"], row["text"]) for row in view["rows"]] == [("message", "you", "Say hello")]
    assert now_line(run) == ("Queued. The message is in the journal; it has not begun.", "queued")
    assert (view["committed"], view["uncommitted"], view["began_at"]) == (1, 0, house.clock.now())


class Silent:
    """A model that says nothing until it is let go."""

    name = "silent"

    def __init__(self) -> None:
        self.asked = False
        self.go = asyncio.Event()

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        self.asked = True
        await self.go.wait()
        on_text("It ")
        await asyncio.sleep(0)
        return said(["It is."], request, model=self.name)


async def test_a_run_whose_model_is_asked_is_thinking(house: House) -> None:
    model = Silent()
    bench = await house.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Think")
    await until(lambda: model.asked)

    view = run.view()

    assert now_line(run) == ("clerk is thinking.", "running")
    assert (view["rows"][1]["streaming"], view["rows"][1]["spans"][0]["ended_at"]) == (True, None)
    assert buttons(run) == ["Cancel", "Kill"]
    model.go.set()
    assert await run == "It is."


async def test_a_run_whose_tool_is_at_work_names_the_tool_and_the_step(house: House) -> None:
    till = Till()
    bench = await house.open(agent := clerk(call("refund", order="A-1"), "Done.", tools=[till.refund]))
    run = bench.run(agent, "Refund A-1", id="r1")
    await until(lambda: len(till.effects) == 2)
    await house.clock.advance(3)

    (row,) = calls(run)

    assert now_line(run) == ("Working on refund: step email.", "running")
    assert (row["status"], row["args"], row["result"], row["replayed"]) == ("running", {"order": "A-1"}, None, False)
    assert [(step["name"], step["status"], step["took"]) for step in row["steps"]] == [
        ("pay back", "success", 0.0),
        ("email", "running", None),
    ]
    assert [step["key"] for step in row["steps"]] == till.effects
    assert row["spans"][-1] == {"began_at": house.clock.now() - 3, "ended_at": None, "how": "running"}
    till.go.set()
    await run
    assert calls(run)[0]["took"] == 3.0


async def test_a_run_that_waits_shows_the_question_and_how_long_it_waits(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    request = await run.approval()
    await house.clock.advance(12)

    (row,) = calls(run)

    assert now_line(run) == ("1 approval waits for you: cancel_order.", "waiting")
    assert run.view()["now_line"]["action"] == "Show approval"
    assert (row["status"], row["approval"]["id"], row["approval"]["status"]) == ("waiting", request.id, "pending")
    assert row["spans"] == [{"began_at": house.clock.now() - 12, "ended_at": None, "how": "waiting"}]
    assert [action["label"] for action in row["approval"]["actions"]][:3] == ["Approve", "Edit…", "Reject…"]
    assert buttons(run) == ["Cancel", "Kill"]


async def test_questions_beside_work_are_both_told(house: House) -> None:
    desk, till = Desk(), Till()
    asks = [call("cancel_order", order_id=f"A-000{number}") for number in (1, 2)]
    agent = clerk([*asks, call("refund", order="A-1")], "Done.", tools=[desk.cancel, till.refund])
    bench = await house.open(agent)
    run = bench.run(agent, "All of it")
    await until(lambda: len(till.effects) == 2 and len(bench.approvals.pending()) == 2)

    assert now_line(run)[0] == "2 approvals wait for you: cancel_order. Meanwhile refund is at work."
    assert run.status == "running"
    till.go.set()
    await run.until(lambda state: state["status"] == "waiting")
    assert now_line(run)[0] == "2 approvals wait for you: cancel_order."


async def killed_in_the_middle(house: House) -> tuple[Any, Till, Desk, Any]:
    """A run killed with one step done, one cut, one call that may not be repeated, and one that waits."""
    till, desk = Till(), Desk()
    began: list[str] = []

    async def ship(order: str) -> str:
        began.append(order)
        await asyncio.Event().wait()
        return order

    three = [call("refund", order="A-1"), call("ship", order="A-1"), call("cancel_order", order_id="A-1002")]
    agent = clerk(three, "All done.", tools=[till.refund, ship, desk.cancel])
    bench = await house.open(agent)
    run = bench.run(agent, "Do all three", id="r1")
    await until(lambda: len(till.effects) == 2 and began and bench.approvals.pending())
    await house.clock.advance(5)
    await run.kill()
    await house.clock.advance(7)
    return run, till, desk, bench


async def test_a_killed_run_says_what_recover_will_do(house: House) -> None:
    run, _, _, _ = await killed_in_the_middle(house)
    view = run.view()

    assert (view["status"], view["alive"], view["killed_by"]) == ("waiting", False, "you")
    assert view["killed_at"] == house.clock.now() - 7
    assert [(group["group"], group["count"]) for group in view["recovery"]] == [
        ("replayed", 2),
        ("runs again", 1),
        ("interrupted", 1),
        ("still waits", 1),
    ]
    parts = {group["group"]: [part["part"] for part in group["parts"]] for group in view["recovery"]}
    assert parts == {
        "replayed": ["model turn 1", "refund step pay back"],
        "runs again": ["refund step email"],
        "interrupted": ["ship, not idempotent"],
        "still waits": ["cancel_order"],
    }
    words, shape = now_line(run)
    assert shape == "killed"
    assert words == (
        f"Killed by you at {clock_time(house.clock.now() - 7)}. Recover replays 2 records, runs 1 step again, "
        "tells the model about 1 call and asks about 1 approval as before."
    )
    assert (view["now_line"]["action"], buttons(run)) == ("Recover", ["Cancel", "Recover"])


async def test_the_bars_of_a_killed_run_end_where_it_was_killed(house: House) -> None:
    run, _, _, _ = await killed_in_the_middle(house)
    killed = run.view()["killed_at"]

    refund, ship, cancel = calls(run)

    assert [(row["status"], row["spans"][-1]["ended_at"]) for row in (refund, ship)] == [("interrupted", killed)] * 2
    assert {span["how"] for span in refund["spans"] + ship["spans"]} == {"cut"}
    assert (cancel["status"], cancel["spans"][-1]["ended_at"]) == ("waiting", killed)


async def test_a_recovered_run_shows_both_lives_and_what_was_not_repeated(house: House) -> None:
    run, till, desk, bench = await killed_in_the_middle(house)
    killed = run.view()["killed_at"]

    await run.recover()
    await until(lambda: len(till.effects) == 3)
    await house.clock.advance(1)
    till.go.set()
    await bench.approvals.approve((await run.approval()).id)
    assert await run == "All done."

    view = run.view()
    assert [(life["epoch"], life["how"]) for life in view["lives"]] == [(1, "killed"), (2, None)]
    assert (view["lives"][0]["ended_at"], view["lives"][1]["began_at"]) == (killed, killed + 7)
    refund, ship, cancel = calls(run)
    assert [(step["name"], step["replayed"], step["ran_again"]) for step in refund["steps"]] == [
        ("pay back", True, False),
        ("email", False, True),
    ]
    assert [row["status"] for row in (refund, ship, cancel)] == ["success", "interrupted", "success"]
    assert ship["note"] == "the model was told"
    assert [span["how"] for span in refund["spans"]] == ["cut", "done"]
    assert [(row["replayed"], row["kind"]) for row in view["rows"]][:2] == [(False, "message"), (True, "message")]
    assert till.effects == [f"run:r1#1#t1.0#{name}#0" for name in ("pay back", "email", "email")]
    ended = clock_time(house.clock.now())
    assert now_line(run)[0] == (
        f"Completed at {ended} after 1 kill. No finished turn and no finished step was repeated."
    )
    assert (view["recovery"], view["actions"]) == ([], [])
    assert desk.ran == [("A-1002", "")]


async def test_a_run_that_went_on_after_a_clean_close_shows_what_was_replayed(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    await first.run(agent, "Cancel A-1002", id="r1").approval()
    await first.close()
    again = await house.open(agent)

    await again.approvals.approve((await again.runs["r1"].approval()).id)
    run = again.runs["r1"]
    await run

    assert [row["replayed"] for row in run.view()["rows"] if row["kind"] == "message"] == [False, True, False]
    assert now_line(run)[0] == f"Completed at {clock_time(house.clock.now())}."


async def test_a_run_without_its_host_says_since_when_it_is_cut_off(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    await first.run(agent, "Cancel A-1002", id="r1").approval()
    at = house.clock.now()
    await first.close()
    await house.clock.advance(60)

    run = (await house.open()).runs["r1"]

    assert (run.alive, run.status, run.view()["killed_by"]) == (False, "waiting", None)
    assert now_line(run) == (
        f"Cut off at {clock_time(at)}. Recover replays 1 record and asks about 1 approval as before.",
        "killed",
    )


async def test_a_completed_run_shows_its_answer_and_no_buttons(house: House) -> None:
    bench = await house.open(agent := clerk("Hello."))
    run = bench.run(agent, "Say hello")
    await run

    view = run.view()

    assert (view["status"], view["result"], view["error"]) == ("completed", "Hello.", None)
    assert [(row["who"], row["text"], row["streaming"]) for row in view["rows"]] == [
        ("you", "Say hello", False),
        ("clerk", "Hello.", False),
    ]
    assert now_line(run) == (f"Completed at {clock_time(house.clock.now())}.", "completed")
    assert (view["actions"], view["recovery"], view["uncommitted"]) == ([], [], 0)
    assert (view["ended_at"], view["committed"]) == (house.clock.now(), 3)


async def test_a_failed_run_says_why_in_the_now_line(house: House) -> None:
    bench = await house.open(agent := clerk())
    run = bench.run(agent, "Fail")
    with pytest.raises(RunFailed):
        await run

    view = run.view()

    words, shape = now_line(run)
    assert words.startswith("Failed: ModelFailed: the scripted model is asked for turn 1")
    assert (shape, view["now_line"]["tone"], view["error"]["type"]) == ("failed", "red", "ModelFailed")
    assert "Traceback" in view["error"]["traceback"]


async def test_a_cancelled_run_says_by_whom_and_shows_the_closed_request(house: House) -> None:
    desk = Desk()
    bench = await house.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    await run.approval()

    await run.cancel(by="ana")

    (row,) = calls(run)
    assert now_line(run) == (
        f"Cancelled at {clock_time(house.clock.now())} by ana. It stays cancelled.",
        "cancelled",
    )
    assert (row["status"], row["approval"]["status"], row["approval"]["actions"]) == ("denied", "superseded", [])
    with pytest.raises(RunCancelled):
        await run


async def test_two_benches_see_one_run_the_same_way(house: House) -> None:
    desk = Desk()
    first = await house.open(agent := desk.agent())
    run = first.run(agent, "Cancel A-1002", id="r1")
    await run.approval()
    second = await house.open(worker=False)
    seen = second.runs["r1"]
    await until(lambda: seen.view()["elsewhere"])

    mine, theirs = run.view(), seen.view()

    assert theirs["elsewhere"].startswith("pid ")
    assert theirs["rows"] == mine["rows"]
    assert (theirs["status"], theirs["alive"], theirs["lives"]) == (mine["status"], True, mine["lives"])
    await second.approvals.approve((await seen.approval()).id)
    assert await seen == "All done."
    assert [row["status"] for row in calls(seen)] == ["success"]


async def test_listeners_hear_of_every_change_and_can_stop(room: House) -> None:
    desk = Desk()
    bench = await room.open(agent := desk.agent())
    run = bench.run(agent, "Cancel A-1002")
    heard: list[str] = []
    stop = run.subscribe(lambda: heard.append(run.status))
    request = await run.approval()
    await until(lambda: "waiting" in heard)

    stop()
    count = len(heard)
    await bench.approvals.approve(request.id)
    await run

    assert len(heard) == count
