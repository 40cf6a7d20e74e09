"""The window: what goes down, what comes up, and that neither can be lost, doubled or run on the wrong thread."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref
from typing import TYPE_CHECKING, Any

import ipywidgets
import pytest

from workbench.patch import apply
from workbench.widgets import base
from workbench.widgets.base import Window
from workbench.widgets.pace import Pace

if TYPE_CHECKING:
    from conftest import Board, FrontEnd, HandTimers

    from workbench.errors import AlreadyDecided


@pytest.fixture
def hand_paced(timers: HandTimers, monkeypatch: pytest.MonkeyPatch) -> HandTimers:
    """Windows whose pace and quiet time move by hand."""
    pace = Pace(timers)
    monkeypatch.setattr(base, "_pace", lambda: pace)
    return timers


async def idle() -> None:
    for _ in range(12):
        await asyncio.sleep(0)


def replayed(front: FrontEnd, start: dict[str, Any]) -> tuple[Any, int]:
    """What a front end that got every patch now holds, and its revision."""
    state, revision = start, 1
    for message in front.sent("patch"):
        assert message["revision"] == revision + 1
        state, revision = apply(state, message["ops"]), message["revision"]
    return state, revision


async def test_the_first_state_holds_everything_before_it(front: FrontEnd, board: Board) -> None:
    board.change(events=list(range(100)))

    window = Window(board)

    kind, data = front.comms[-1].log[0]
    assert (kind, data["state"]["state"]["events"], data["state"]["revision"]) == ("comm_open", list(range(100)), 1)
    assert window.revision == 1


async def test_changes_go_down_as_patches_that_add_up(front: FrontEnd, board: Board, hand_paced: HandTimers) -> None:
    window = Window(board)
    start = json.loads(json.dumps(window.state))

    for step in range(3):
        board.change(step=step, text="so far " * step)
        await idle()
        hand_paced.pass_to(hand_paced.at + 0.06)

    assert replayed(front, start) == (window.state, 4)
    assert window.state["step"] == 2


async def test_many_changes_in_one_turn_are_one_patch(front: FrontEnd, board: Board, hand_paced: HandTimers) -> None:
    Window(board)

    for step in range(500):
        board.change(step=step)
    await idle()
    hand_paced.pass_to(1.0)

    assert [message["ops"][0] for message in front.sent("patch")] == [["set", "/step", 499]]


async def test_a_view_that_did_not_change_sends_nothing(front: FrontEnd, board: Board, hand_paced: HandTimers) -> None:
    Window(board)

    board.now += 5
    board.change()
    await idle()
    hand_paced.pass_to(1.0)

    assert front.messages() == []
    assert hand_paced.armed == 0


async def test_a_reload_sees_the_source_as_it_is_now(front: FrontEnd, board: Board, hand_paced: HandTimers) -> None:
    window = Window(board)
    board.content["status"] = "waiting"

    window.comm.handle_msg({"content": {"data": {"method": "request_state"}}, "buffers": []})

    update = front.messages()[-1]
    assert (update["method"], update["state"]["state"]["status"], update["state"]["revision"]) == (
        "update",
        "waiting",
        2,
    )
    assert front.sent("patch")[0]["revision"] == 2, "who is already there gets the patch that leads to it"


async def test_a_reload_asked_on_another_thread_never_touches_the_source(front: FrontEnd, board: Board) -> None:
    window = Window(board)
    used_on: set[int] = set()
    view = board.view
    board.view = lambda: used_on.add(threading.get_ident()) or view()  # type: ignore[method-assign,func-returns-value]
    board.content["status"] = "waiting"
    request = {"content": {"data": {"method": "request_state"}}, "buffers": []}

    await asyncio.to_thread(window.comm.handle_msg, request)
    await asyncio.sleep(0.06)

    assert used_on == {threading.get_ident()}
    assert front.sent("patch")[0]["ops"][0] == ["set", "/status", "waiting"]


async def test_a_message_on_another_thread_never_touches_the_source(front: FrontEnd, board: Board) -> None:
    window = Window(board)
    used_on: set[int] = set()
    view = board.view
    board.view = lambda: used_on.add(threading.get_ident()) or view()  # type: ignore[method-assign,func-returns-value]

    await asyncio.to_thread(front.say, window, {"kind": "hello"})
    await idle()

    assert used_on == {threading.get_ident()}
    assert len(front.sent("whole")) == 1


async def test_hello_is_answered_with_the_whole(front: FrontEnd, board: Board) -> None:
    window = Window(board)
    board.content["status"] = "waiting"

    front.say(window, {"kind": "hello"})
    await idle()

    assert front.sent("whole") == [
        {"kind": "whole", "revision": 2, "state": {"kind": "board", "status": "waiting", "now": 100.0}}
    ]


async def test_a_command_runs_at_home_and_is_answered(front: FrontEnd, board: Board) -> None:
    window = Window(board)
    board.outcome = {"status": "approved"}
    message = {"id": "c1", "kind": "command", "command": "approve", "args": {"id": "ap-31"}}

    await asyncio.to_thread(front.say, window, message)
    await idle()

    assert board.commands == [("approve", {"id": "ap-31"})]
    assert front.sent("reply") == [{"kind": "reply", "id": "c1", "ok": {"status": "approved"}}]


async def test_what_became_true_goes_down_before_the_answer(front: FrontEnd, board: Board) -> None:
    window = Window(board)

    async def command(name: str, args: dict[str, Any]) -> dict[str, Any]:
        board.change(status="completed")
        return {}

    board.command = command  # type: ignore[method-assign]
    front.say(window, {"id": "c1", "kind": "command", "command": "approve", "args": {}})
    await idle()

    assert [message["kind"] for message in front.sent()][:2] == ["patch", "reply"]


async def test_ten_thousand_tokens_cost_three_times_their_text_at_most(
    front: FrontEnd, board: Board, hand_paced: HandTimers
) -> None:
    board.change(rows=[{"text": ""}])
    window = Window(board)
    words = [f"word{number} " for number in range(6000)]
    text = ""

    for word in words:  # 200 words a second
        text += word
        board.change(rows=[{"text": text}])
        await idle()
        hand_paced.pass_to(hand_paced.at + 0.005)

    patches = front.sent("patch")
    assert len(patches) <= 20 * 0.005 * len(words) + 1
    assert sum(len(json.dumps(message)) for message in patches) <= 3 * len(text)
    assert window.state["rows"][0]["text"].startswith(text[:1000])


async def test_a_refused_command_says_why(front: FrontEnd, board: Board, refusal: AlreadyDecided) -> None:
    window = Window(board)
    board.outcome = refusal

    front.say(window, {"id": "c1", "kind": "command", "command": "approve", "args": {}})
    await idle()

    assert front.sent("reply") == [{"kind": "reply", "id": "c1", "error": str(refusal)}]


async def test_an_unexpected_failure_is_answered_and_logged(
    front: FrontEnd, board: Board, caplog: pytest.LogCaptureFixture
) -> None:
    window = Window(board)
    board.outcome = ZeroDivisionError("no such rate")

    front.say(window, {"id": "c1", "kind": "command", "command": "kill", "args": {}})
    await idle()

    assert front.sent("reply") == [{"kind": "reply", "id": "c1", "error": "ZeroDivisionError: no such rate"}]
    assert caplog.records[0].exc_info is not None


async def test_a_message_outside_the_protocol_runs_nothing(
    front: FrontEnd, board: Board, caplog: pytest.LogCaptureFixture
) -> None:
    window = Window(board)

    for content in (None, 7, {"kind": "commands"}, {"kind": "command", "id": "x", "command": 5, "args": {}}):
        front.say(window, content)
    await idle()

    assert board.commands == []
    assert [reply["id"] for reply in front.sent("reply")] == ["x"]
    assert len(caplog.records) == 3


async def test_the_front_end_cannot_write_a_trait(front: FrontEnd, board: Board) -> None:
    window = Window(board)
    update = {"method": "update", "state": {"state": {"status": "completed"}, "revision": 9}}

    window.comm.handle_msg({"content": {"data": update}, "buffers": []})
    await idle()

    assert (window.state["status"], window.revision) == ("running", 1)
    assert front.messages()[-1]["state"]["state"]["status"] == "running"


async def test_a_closed_comm_ends_the_subscription(front: FrontEnd, board: Board) -> None:
    window = Window(board)
    assert board.changes

    window.comm.handle_close({"content": {"data": {}}})
    await idle()

    assert not board.changes
    board.change(step=1)
    await idle()
    assert front.sent("patch") == []


async def test_a_source_does_not_keep_its_window(front: FrontEnd, board: Board) -> None:
    window = Window(board)
    ends = []

    weakref.finalize(window, ends.append, True)
    ipywidgets.Widget.close(window)  # the front end's side is gone, the subscription is not

    del window
    front.comms.clear()
    gc.collect()

    assert ends == [True]
    assert not board.changes


async def test_a_view_that_cannot_be_made_says_so(
    front: FrontEnd, board: Board, caplog: pytest.LogCaptureFixture
) -> None:
    window = Window(board)
    board.view = lambda: 1 / 0  # type: ignore[method-assign,return-value,assignment]

    front.say(window, {"kind": "hello"})
    await idle()

    assert front.sent("failed")[0]["error"] == "ZeroDivisionError: division by zero"
    assert front.sent("whole")[0]["state"]["status"] == "running"


async def test_a_milestone_is_a_change_of_status(front: FrontEnd, board: Board, hand_paced: HandTimers) -> None:
    reached: list[str] = []
    Window(board, milestone=lambda: reached.append(board.content["status"]))

    for view in ({"step": 1}, {"status": "waiting"}, {"step": 2}, {"status": "completed"}):
        board.change(**view)
        await idle()
        hand_paced.pass_to(hand_paced.at + 0.06)
    await idle()

    assert reached == ["waiting", "completed"]


async def test_a_long_text_is_read_in_parts(front: FrontEnd, board: Board) -> None:
    board.content["rows"] = [{"result": "x" * 1_500_000}]
    window = Window(board)
    assert window.state["rows"][0]["result"] == {"$cut": "x" * 20_000, "length": 1_500_000, "bytes": 1_500_000}

    for start in (0, 1_000_000):
        ask = {
            "id": str(start),
            "kind": "command",
            "command": "read",
            "args": {"path": "/rows/0/result", "start": start},
        }
        front.say(window, ask)
    await idle()

    assert [len(reply["ok"]["text"]) for reply in front.sent("reply")] == [1_000_000, 500_000]
    assert board.commands == []
