"""Histories: how much of its conversation a model is told, always valid, and the original kept."""

from __future__ import annotations

from typing import Any

import pytest
from houses import Desk, House, clerk, ears

from workbench.agents.history import Earlier, History, tokens_of
from workbench.errors import BadInput
from workbench.models.messages import calls_of, results_of, text_of, user_message, user_text
from workbench.models.model import Request
from workbench.models.script import call, scripted


def said(request: Request) -> list[str]:
    """Who said what in a request, tools left out."""
    return [user_text(message) or text_of(message) for message in request.history]


def is_valid(history: list[dict[str, Any]]) -> bool:
    """Whether every call has its result right behind it, and every result its call."""
    for before, after in zip([None, *history], [*history, None], strict=True):
        asked = [] if before is None else [call.id for call in calls_of(before)]
        given = [] if after is None else [result.call_id for result in results_of(after)]
        if asked != given:
            return False
    return True


class Sums:
    """A model that sums up: with each of these texts in turn. It keeps what it was asked with."""

    name = "sums"

    def __init__(self, *texts: str) -> None:
        self.asked: list[list[str]] = []
        self._texts = texts

    async def ask(self, request: Request, on_text: Any) -> Any:
        self.asked.append(said(request))
        return await scripted(*[self._texts[len(self.asked) - 1]] * 99).ask(request, on_text)


async def test_the_last_runs_are_told(house: House) -> None:
    agent = clerk("One.", "Two.", "Three.", "Four.", history=History(runs=1))
    bench = await house.open(agent)

    for text in ("A", "B", "C", "D"):
        await bench.run(agent, text, conversation="c")

    assert said(ears(agent).requests[-1]) == ["C", "Three.", "D"]
    assert [said["text"] for said in bench.conversation("c").messages] == [
        "A",
        "One.",
        "B",
        "Two.",
        "C",
        "Three.",
        "D",
        "Four.",
    ]


async def test_what_has_room_is_told_newest_first(house: House) -> None:
    agent = clerk("x" * 400, "Two.", "Three.", history=History(tokens=60))
    bench = await house.open(agent)

    for text in ("A", "B", "C"):
        await bench.run(agent, text, conversation="c")

    assert said(ears(agent).requests[1]) == ["B"]
    assert said(ears(agent).requests[2]) == ["B", "Two.", "C"]


async def test_a_long_run_forgets_its_oldest_rounds_and_never_its_request(house: House) -> None:
    desk = Desk(approval=False)
    cancels = [call("cancel_order", order_id=f"A-100{number}", reason="y" * 80) for number in range(5)]
    agent = clerk(*cancels, "Done.", tools=[desk.cancel], history=History(tokens=150))
    bench = await house.open(agent)

    assert await bench.run(agent, "Cancel all of them") == "Done."

    histories = [request.history for request in ears(agent).requests]
    assert all(map(is_valid, histories))
    assert {user_text(history[0]) for history in histories} == {"Cancel all of them"}
    assert max(tokens_of(history) for history in histories) < 220
    assert [result.content for result in results_of(histories[-1][-1])] == ["A-1004 cancelled"]
    assert len(desk.ran) == 5


async def test_what_does_not_fit_is_summed_up_once_and_built_upon(house: House) -> None:
    sums = Sums("They said A and B.", "They said A to D.")
    agent = clerk(*(f"{number}." for number in range(9)), history=History(runs=2, summarise=True, model=sums))
    bench = await house.open(agent)

    for text in "ABCDEF":
        await bench.run(agent, text, conversation="c")

    first = "Summary of the earlier conversation:\nThey said A and B."
    assert [said(request) for request in ears(agent).requests[2:5]] == [
        ["A", "0.", "B", "1.", "C"],
        [first, "C", "2.", "D"],
        [first, "C", "2.", "D", "3.", "E"],
    ]
    assert sums.asked[1] == [first, "C", "2.", "D", "3.", "Summarise the conversation above."]
    assert said(ears(agent).requests[5])[0] == "Summary of the earlier conversation:\nThey said A to D."
    assert len(bench.conversation("c").messages) == 12


async def test_a_summary_is_made_once_whatever_becomes_of_the_kernel(house: House) -> None:
    desk, sums = Desk(), Sums("Summed up.")
    agent = clerk(
        *("One.", "Two.", call("cancel_order", order_id="A-1002"), "Done."),
        tools=[desk.cancel],
        history=History(runs=1, summarise=True, model=sums),
    )
    bench = await house.open(agent)
    for text in ("A", "B"):
        await bench.run(agent, text, conversation="c")
    run = bench.run(agent, "C", conversation="c")
    request = await run.approval()
    await run.kill()
    await run.recover()
    await bench.approvals.approve(request.id)

    assert await run == "Done."
    assert len(sums.asked) == 1
    assert run.state["usage"]["model_calls"] == 3
    assert user_text(ears(agent).requests[-1].history[0]) == "Summary of the earlier conversation:\nSummed up."


async def test_a_deleted_run_is_in_no_summary(house: House) -> None:
    agent = clerk(*"123456", history=History(runs=1, summarise=True, model=Sums("A said this.", "Of B and C.")))
    bench = await house.open(agent)
    runs = [bench.run(agent, text, conversation="c") for text in "ABC"]
    for run in runs:
        await run
    await runs[0].process.dispose()

    await bench.delete(runs[0].id)
    await bench.run(agent, "D", conversation="c")

    assert said(ears(agent).requests[-1]) == ["Summary of the earlier conversation:\nOf B and C.", "D"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"runs": 0}, "runs of a history is a whole number from 1"),
        ({"tokens": 1.5}, "tokens of a history is a whole number from 1"),
        ({"summarise": True}, "needs a bound"),
        ({"runs": 1, "summarise": 3}, "summarise is True, False"),
        ({"runs": 1, "model": "offline"}, "add summarise=True"),
    ],
)
def test_a_history_that_cannot_be_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        History(**options)


def test_left_alone_everything_is_told() -> None:
    own = [user_message("Hello")]

    assert Earlier([[user_message("Before")]]).told(own, History()) == ([user_message("Before"), *own], 0)
    assert Earlier().told(own, History()) == (own, 0)
