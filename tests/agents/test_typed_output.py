"""Typed answers: what a model must give, what it is told of what does not fit, and what who awaits the run gets."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
from decimal import Decimal
from typing import Any, Literal

import pytest
from houses import House, calls, clerk, ears
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from workbench import Agent, tool
from workbench.agents.output import FINAL_RESULT
from workbench.errors import BadInput, RunError, RunFailed
from workbench.models.messages import user_text
from workbench.models.script import call


class Line(BaseModel):
    item: str
    price: Decimal


class Invoice(BaseModel):
    """An invoice."""

    number: str = Field(alias="no", pattern=r"^I-\d+$")
    lines: list[Line]
    due: dt.date | None = None


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


class Place(TypedDict):
    city: str
    at: Point


class Mood(enum.Enum):
    good = "good"
    bad = "bad"


GIVEN: list[tuple[Any, Any, Any]] = [
    (Point, {"x": 1}, Point(1)),
    (Place, {"city": "Oslo", "at": {"x": 1, "y": 2}}, {"city": "Oslo", "at": Point(1, 2)}),
    (int, {"value": 42}, 42),
    (bool, {"value": False}, False),
    (float, {"value": 1}, 1.0),
    (Mood, {"value": "bad"}, Mood.bad),
    (Literal["yes", "no"], {"value": "no"}, "no"),
    (list[Point], {"value": [{"x": 1}, {"x": 2}]}, [Point(1), Point(2)]),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dt.datetime, {"value": "2026-03-01T10:00:00Z"}, dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)),
    (tuple[int, str], {"value": [1, "a"]}, (1, "a")),
    (Point | None, {"value": None}, None),
    (Invoice | Point, {"value": {"x": 3}}, Point(3)),
    (
        Invoice,
        {"no": "I-1", "lines": [{"item": "pen", "price": "1.50"}], "due": "2026-03-01"},
        Invoice(no="I-1", lines=[Line(item="pen", price=Decimal("1.50"))], due=dt.date(2026, 3, 1)),
    ),
]


@pytest.mark.parametrize(("kind", "args", "value"), GIVEN, ids=lambda each: getattr(each, "__name__", None))
async def test_who_awaits_a_run_gets_the_value_of_its_type(house: House, kind: Any, args: Any, value: Any) -> None:
    bench = await house.open(agent := clerk(call(FINAL_RESULT, **args), output=kind))
    run = bench.run(agent, "Answer", id="r1")

    found = await run

    assert (found, type(found)) == (value, type(value))
    assert (run.output, run.view()["result"]) == (found, run.state["output"])
    again = (await house.open(clerk(output=kind))).runs["r1"]
    assert (await again, again.output) == (value, value)


@pytest.mark.parametrize("kind", [int, list[Point], Invoice | Point, Invoice, Point, dict[str, int]])
async def test_the_answer_is_asked_for_as_the_arguments_of_a_tool(room: House, kind: Any) -> None:
    args = next(args for known, args, _ in GIVEN if known == kind)
    bench = await room.open(agent := clerk(call(FINAL_RESULT, **args), output=kind))

    await bench.run(agent, "Answer")

    asked = ears(agent).requests[0].output
    assert asked is not None
    assert (asked.name, asked.parameters["type"]) == (FINAL_RESULT, "object")
    json.dumps(asked.parameters, allow_nan=False)


@pytest.mark.parametrize("text", ['{"x": 1, "y": 2}', '```json\n{"x": 1, "y": 2}\n```', '  {"x": "1", "y": 2}\n'])
async def test_a_text_that_is_the_answer_in_json_is_taken(room: House, text: str) -> None:
    bench = await room.open(agent := clerk(text, output=Point))

    assert await bench.run(agent, "Answer") == Point(1, 2)


@pytest.mark.parametrize("text", ["42", '{"value": 42}'])
async def test_a_bare_value_in_a_text_is_taken(room: House, text: str) -> None:
    bench = await room.open(agent := clerk(text, output=int))

    assert await bench.run(agent, "Answer") == 42


async def test_a_misfit_is_told_by_place_and_mended(house: House) -> None:
    wrong = call(FINAL_RESULT, no="7", lines=[{"item": "pen", "price": "dear"}])
    right = call(FINAL_RESULT, no="I-7", lines=[])
    bench = await house.open(agent := clerk(wrong, right, output=Invoice))
    run = bench.run(agent, "Answer")

    assert (await run).number == "I-7"

    (told,) = ears(agent).told
    assert (told.outcome, told.call_id) == ("retried", "call_0_0")
    assert told.content == (
        "BadOutput: no is '7', expected to match pattern '^I-\\d+$'; lines[0].price is 'dear', "
        "expected a valid decimal; call final_result again with what fits"
    )
    assert [row["status"] for row in calls(run)] == ["retried", "success"]


@pytest.mark.parametrize("number", ["nan", "-inf"])
async def test_a_number_that_cannot_be_kept_is_told_and_mended(room: House, number: str) -> None:
    agent = clerk(call("final_result", value=number), call("final_result", value=1.5), output=float)
    bench = await room.open(agent)

    assert await bench.run(agent, "How many?") == 1.5

    (told,) = ears(agent).told
    assert told.content == (
        "BadOutput: a number of the answer is NaN or infinite, expected one that is neither; "
        "call final_result again with what fits"
    )


async def test_words_where_a_value_is_wanted_are_told_so(room: House) -> None:
    bench = await room.open(agent := clerk("Here it comes!", call(FINAL_RESULT, x=1), output=Point))

    assert await bench.run(agent, "Answer") == Point(1)

    history = ears(agent).requests[1].history
    assert user_text(history[-1]) == "BadOutput: the answer is text; answer by calling final_result"


async def test_a_model_that_never_fits_fails_the_run_by_name(room: House) -> None:
    bench = await room.open(agent := clerk(*[call(FINAL_RESULT, x="a")] * 9, output=Point))
    run = bench.run(agent, "Answer")

    with pytest.raises(RunFailed) as caught:
        await run

    assert str(caught.value) == (
        f"run {run.id!r} failed with RunFailed: the model of 'clerk' gave no Point 3 times in a row; the last time it "
        "was told \"BadOutput: x is 'a', expected a valid integer, unable to parse string as an integer; call "
        'final_result again with what fits"; give it clearer instructions, or raise retries of the agent'
    )
    assert len(ears(agent).requests) == 3


async def test_the_chances_begin_anew_after_a_turn_that_could_be_used(room: House) -> None:
    def look() -> str:
        return "seen"

    bad, good = call(FINAL_RESULT, x="a"), call(FINAL_RESULT, x=1)
    script = [bad, "words", call("look"), call("missing"), bad, good]
    bench = await room.open(agent := clerk(*script, tools=[look], output=Point))

    assert await bench.run(agent, "Answer") == Point(1)


async def test_an_answer_beside_other_calls_counts_when_they_succeed(room: House) -> None:
    ran = []

    @tool
    def send() -> str:
        ran.append(1)
        return "sent"

    bench = await room.open(agent := clerk([call(FINAL_RESULT, x=1), call("send")], tools=[send], output=Point))
    run = bench.run(agent, "Answer")

    assert (await run, ran) == (Point(1), [1])
    assert [(row["tool"], row["status"]) for row in calls(run)] == [("final_result", "success"), ("send", "success")]


async def test_an_answer_beside_a_failed_call_is_asked_for_again(room: House) -> None:
    def send() -> str:
        raise OSError("no line")

    script = [[call("send"), call(FINAL_RESULT, x=1)], call(FINAL_RESULT, x=2)]
    bench = await room.open(agent := clerk(*script, tools=[send], output=Point))

    assert await bench.run(agent, "Answer") == Point(2)

    failed, refused = ears(agent).told
    assert (failed.content, refused.outcome) == ("OSError: no line", "retried")
    assert refused.content == (
        "NotTaken: not every other call of this turn succeeded; look at their results, then answer"
    )


async def test_the_first_of_two_answers_is_taken(room: House) -> None:
    bench = await room.open(agent := clerk([call(FINAL_RESULT, x=1), call(FINAL_RESULT, x=2)], output=Point))
    run = bench.run(agent, "Answer")

    assert await run == Point(1)
    assert [row["status"] for row in calls(run)] == ["success", "retried"]


async def test_new_code_changes_no_verdict_of_a_run_in_flight(house: House) -> None:
    @tool(approval=True)
    def send() -> str:
        return "sent"

    script = [call(FINAL_RESULT, x="a"), "words", call("send"), call(FINAL_RESULT, x=1)]
    bench = await house.open(agent := clerk(*script, tools=[send], output=Point, retries=3))
    run = bench.run(agent, "Answer")
    request = await run.approval()
    await run.kill()

    bench.add(clerk(*script, tools=[send], output=dict[str, Any]))  # what did not fit before fits now
    await run.recover()
    await bench.approvals.approve(request.id)

    assert await run == {"x": 1}
    assert [row["status"] for row in calls(run)] == ["retried", "success", "success"]


async def test_an_agent_that_lost_its_type_of_output_goes_on(house: House) -> None:
    @tool(approval=True)
    def send() -> str:
        return "sent"

    script = [call(FINAL_RESULT, x="a"), "words", call("send"), "Done."]
    bench = await house.open(agent := clerk(*script, tools=[send], output=Point, retries=3))
    run = bench.run(agent, "Answer")
    request = await run.approval()
    await run.kill()

    bench.add(clerk(*script, tools=[send]))
    await run.recover()
    await bench.approvals.approve(request.id)

    assert await run == "Done."
    assert [row["status"] for row in calls(run)] == ["retried", "success"]


async def test_an_output_whose_type_changed_is_told_and_still_shown(house: House) -> None:
    bench = await house.open(agent := clerk(call(FINAL_RESULT, x=1), output=Point))
    await bench.run(agent, "Answer", id="r1")

    bench.add(clerk(output=Invoice))

    with pytest.raises(RunError, match="the output of run 'r1' does not fit Invoice any more"):
        await bench.runs["r1"]
    assert bench.runs["r1"].output == {"x": 1, "y": 0}
    assert [row.output for row in bench.runs.find(text="'x'")] == [{"x": 1, "y": 0}]


async def test_the_offline_model_fills_an_output_from_results_and_requests(room: House) -> None:
    @tool(read_only=True)
    def find_point(name: str) -> dict[str, Any]:
        """Find a point by its name."""
        return {"x": 3, "y": 4, "name": name}

    def count_points() -> int:
        """Count the points."""
        return 12

    agents = [
        Agent("finder", tools=[find_point], output=Point),
        Agent("counter", tools=[count_points], output=int),
        Agent("reader", output=Point),
        Agent("lost", output=Invoice),
    ]
    bench = await room.open(*agents)

    assert await bench.run(agents[0], "Find the point 'home'") == Point(3, 4)
    assert await bench.run(agents[1], "Count the points") == 12
    assert await bench.run(agents[2], "The point has x 5 and y 6") == Point(5, 6)
    with pytest.raises(RunFailed, match="the model of 'lost' gave no Invoice 3 times in a row"):
        await bench.run(agents[3], "Hello")


async def test_who_was_handed_the_run_gives_its_own_type(house: House) -> None:
    second = clerk(call(FINAL_RESULT, x=4), output=Point).but("second")
    first = clerk(call("hand_off_to_second", message="Go on"), output=Invoice, handoffs=[second])
    bench = await house.open(first, second)

    assert await bench.run(first, "Begin", id="r1") == Point(4)
    assert bench.runs["r1"].output == Point(4)


def test_a_type_without_a_schema_is_refused_by_the_agent() -> None:
    class Opaque:
        pass

    with pytest.raises(BadInput, match=r"agent 'clerk' has the output .*Opaque.*, which has no JSON schema"):
        Agent("clerk", output=Opaque)


def test_a_tool_of_the_name_that_answers_have_is_refused() -> None:
    def final_result() -> None:
        """Give it."""

    with pytest.raises(BadInput, match="agent 'clerk' has a tool 'final_result'"):
        Agent("clerk", tools=[final_result], output=int)


@pytest.mark.parametrize("retries", [-1, True, "2", None])
def test_retries_are_a_whole_number(retries: Any) -> None:
    with pytest.raises(BadInput, match="retries of agent 'clerk' is a whole number from 0"):
        Agent("clerk", retries=retries)


async def test_a_wrong_tool_name_is_told_and_budgeted(room: House) -> None:
    def look() -> str:
        return "seen"

    script = [call("lok"), call("look"), "Done."]
    bench = await room.open(agent := clerk(*script, tools=[look]), stubborn := clerk(*[call("lok")] * 9).but("other"))

    assert await bench.run(agent, "Look") == "Done."
    with pytest.raises(RunFailed, match=r"gave nothing that can be used 3 times in a row; .*'lok' does not exist"):
        await bench.run(stubborn, "Look")
