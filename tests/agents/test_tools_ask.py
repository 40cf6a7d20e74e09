"""A tool that asks a person for a value: the same question after any crash, one answer, checked before it is taken."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from houses import House, calls, clerk, ears, until
from pydantic import AfterValidator, BaseModel, Field

from workbench import Agent, ToolContext, tool
from workbench.errors import AlreadyDecided, BadInput, NotAnswered
from workbench.models.script import call


class Trip(BaseModel):
    city: str
    day: date
    seats: int = Field(1, ge=1, le=9)


@dataclasses.dataclass
class Point:
    x: int


class Size(enum.Enum):
    SMALL = "small"


def odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError("an odd number is needed")
    return value


def asker(schema: Any, message: str = "Which one?", **options: Any) -> tuple[Agent, list[Any]]:
    """An agent whose tool asks for a value, and the values that came."""
    got: list[Any] = []

    @tool(name="ask", **options)
    async def ask(ctx: ToolContext) -> str:
        got.append(await ctx.ask_user(schema, message))
        return "thanks"

    return clerk(call("ask"), "Done.", tools=[ask]), got


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        (Trip, {"city": "Rome", "day": "2026-05-01"}, Trip(city="Rome", day=date(2026, 5, 1))),
        (Trip, Trip(city="Rome", day=date(2026, 5, 1)), Trip(city="Rome", day=date(2026, 5, 1))),
        (Point, {"x": 1}, Point(1)),
        (Size, "small", Size.SMALL),
        (Literal["a", "b"], "b", "b"),
        (bool, True, True),
        (str, "blue", "blue"),
        (list[int], [1, 2], [1, 2]),
        (int | None, None, None),
        ({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}, {"n": 1}, {"n": 1}),
    ],
)
async def test_an_answer_arrives_as_what_was_asked_for(room: House, schema: Any, answer: Any, value: Any) -> None:
    agent, got = asker(schema)
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")

    request = await run.approval()
    assert (run.status, calls(run)[0]["status"], request.sentence) == ("waiting", "waiting", "Which one?")
    assert [action["command"] for action in request.actions] == ["answer", "reject", "dismiss"]
    await bench.approvals.answer(request.id, answer)

    assert await run == "Done."
    assert got == [value]
    assert (calls(run)[0]["status"], calls(run)[0]["steps"]) == ("success", [])


async def test_the_form_is_in_the_request(room: House) -> None:
    agent, _ = asker(Trip, "Where to?")
    bench = await room.open(agent)
    run = bench.run(agent, "Ask", id="r1")

    request = await run.approval()
    (asked,) = bench._runtime.requests.known()

    assert asked.body["reason"] == "input_required"
    assert (asked.body["message"], asked.body["tool"], asked.body["call"]) == ("Where to?", "ask", "t1.0")
    assert asked.body["schema"] == request.schema == Trip.model_json_schema()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"city": "Rome"}, "day is missing, expected a value"),
        ({"city": 3, "day": "2026-05-01"}, "city is 3, expected a value of type string"),
        ({"city": "Rome", "day": "2026-05-01", "seats": 10}, "seats is 10, expected maximum 9"),
        ("Rome", "the answer is 'Rome', expected a value of type object"),
        (object(), "which is no JSON; give plain data"),
    ],
)
async def test_an_answer_that_does_not_fit_decides_nothing(room: House, answer: Any, words: str) -> None:
    agent, got = asker(Trip)
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")
    request = await run.approval()

    with pytest.raises(BadInput, match=words):
        await bench.approvals.answer(request.id, answer)
    with pytest.raises(BadInput, match=r"asks for a value and not for a yes; use answer\("):
        await bench.approvals.approve(request.id)

    assert (await bench.approvals.get(request.id)).status == "pending"
    await bench.approvals.answer(request.id, {"city": "Rome", "day": "2026-05-01"}, by="ana")
    with pytest.raises(AlreadyDecided, match="by ana"):
        await bench.approvals.answer(request.id, {"city": "Rome", "day": "2026-05-02"})
    await run
    assert got == [Trip(city="Rome", day=date(2026, 5, 1))]


async def test_what_only_the_type_refuses_is_asked_for_again(room: House) -> None:
    agent, got = asker(Annotated[int, AfterValidator(odd)], "How many?")
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")

    await bench.approvals.answer((await run.approval()).id, 2)
    again = await run.approval()
    assert again.sentence == "How many? (not accepted: Value error, an odd number is needed)"
    await bench.approvals.answer(again.id, 3)

    await run
    assert got == [3]


async def test_a_text_alone_is_the_question(room: House) -> None:
    agent, got = asker("What is your name?", "")
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")

    request = await run.approval()
    assert (request.sentence, request.schema) == ("What is your name?", {"type": "string"})
    await bench.approvals.answer(request.id, "Ana")

    await run
    assert got == ["Ana"]


@pytest.mark.parametrize("verb", ["dismiss", "reject"])
async def test_a_question_that_is_closed_fails_its_tool_in_words(room: House, verb: str) -> None:
    agent, got = asker(int)
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")
    request = await run.approval()

    await getattr(bench.approvals, verb)(request.id, *(["not now"] if verb == "reject" else []))

    assert await run == "Done."
    (row,) = calls(run)
    assert (row["status"], row["error"]["type"], got) == ("failed", "NotAnswered", [])
    told = {"dismiss": "was dismissed; nobody", "reject": "was rejected: not now; nobody"}[verb]
    assert told in ears(agent).told[0].content


async def test_a_tool_may_go_on_without_an_answer(room: House) -> None:
    @tool
    async def ask(ctx: ToolContext) -> str:
        try:
            return str(await ctx.ask_user(int, "How many?"))
        except NotAnswered as error:
            return f"guessed, as it was {error.status}"

    agent = clerk(call("ask"), "Done.", tools=[ask])
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")
    await bench.approvals.dismiss((await run.approval()).id)

    await run
    assert calls(run)[0]["result"] == "guessed, as it was dismissed"


async def test_a_question_survives_a_kill_and_has_one_answer(house: House) -> None:
    log = []

    @tool
    async def book(ctx: ToolContext) -> str:
        log.append("looked")
        day = await ctx.ask_user(date, "When?")
        seats = await ctx.ask_user(int, "How many?")
        return await ctx.step("book", lambda key: log.append(key) or f"{seats} on {day}")

    agent = clerk(call("book"), "Booked.", tools=[book])
    bench = await house.open(agent)
    run = bench.run(agent, "Book", id="r1")
    first = await run.approval()

    await run.kill()
    assert run.view()["recovery"][-1]["group"] == "still waits"
    await run.recover()
    assert (await run.approval()).id == first.id
    await bench.approvals.answer(first.id, "2026-05-01")
    await run.until(lambda _: len(bench._runtime.requests.known()) == 2)
    second = await run.approval()
    await run.kill()
    await bench.approvals.answer(second.id, 2)
    await run.recover()

    assert await run == "Booked."
    assert log == ["looked"] * 3 + ["run:r1#1#t1.0#book#0"]
    assert calls(run)[0]["result"] == "2 on 2026-05-01"


async def test_a_call_that_was_cut_after_its_answer_is_interrupted(house: House) -> None:
    log, go = [], asyncio.Event()

    @tool
    async def book(ctx: ToolContext) -> str:
        log.append(await ctx.ask_user(int, "How many?"))
        await go.wait()
        return "booked"

    agent = clerk(call("book"), "I shall look.", tools=[book])
    bench = await house.open(agent)
    run = bench.run(agent, "Book")
    await bench.approvals.answer((await run.approval()).id, 2)
    await until(lambda: log)

    await run.kill()
    go.set()
    await run.recover()

    assert await run == "I shall look."
    assert (log, calls(run)[0]["status"]) == ([2], "interrupted")


async def test_a_question_survives_its_bench_and_is_answered_elsewhere(house: House) -> None:
    agent, got = asker(int)
    bench = await house.open(agent)
    run = bench.run(agent, "Ask", id="r1")
    request = await run.approval()
    await bench.close()

    other = await house.open(worker=False)
    assert [row.id for row in other.approvals.pending()] == [request.id]
    await other.approvals.answer(request.id, 7)
    third = await house.open(agent)

    assert await third.runs["r1"] == "Done."
    assert got == [7]


async def test_a_question_that_nobody_answers_in_time_is_told(room: House) -> None:
    @tool
    async def ask(ctx: ToolContext) -> str:
        try:
            return str(await ctx.ask_user(int, "How many?", expires=60))
        except NotAnswered as error:
            return f"{error.status} by {error.by}"

    agent = clerk(call("ask"), "Done.", tools=[ask])
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")
    request = await run.approval()
    assert request.expires_at == room.clock.now() + 60

    await room.clock.advance(61)

    assert await run == "Done."
    assert calls(run)[0]["result"] == "expired by timeout"


async def test_a_cancel_closes_the_question(room: House) -> None:
    agent, got = asker(int)
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")
    request = await run.approval()

    assert await run.cancel() == "cancelled"

    assert ((await bench.approvals.get(request.id)).status, got) == ("superseded", [])


async def test_the_time_of_a_tool_stands_still_while_a_person_thinks(room: House) -> None:
    agent, got = asker(int, timeout=0.05)
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")
    request = await run.approval()

    await asyncio.sleep(0.1)
    await bench.approvals.answer(request.id, 1)

    assert await run == "Done."
    assert (got, calls(run)[0]["status"]) == ([1], "success")


async def test_what_cannot_be_asked_for_is_told(room: House) -> None:
    def plain(ctx: ToolContext) -> None:
        ctx.ask_user(int).send(None)

    async def shapeless(ctx: ToolContext) -> None:
        await ctx.ask_user(asyncio.Event, "Which?")

    async def no_schema(ctx: ToolContext) -> None:
        await ctx.ask_user({"type": "number of things"}, "Which?")

    turn = [call("plain"), call("shapeless"), call("no_schema")]
    agent = clerk(turn, "No.", tools=[plain, shapeless, no_schema])
    bench = await room.open(agent)
    run = bench.run(agent, "Ask")
    await run

    said = [row["error"]["message"] for row in calls(run)]
    assert said[0] == "a person is asked from a plain tool; write the tool as async def to wait for it"
    assert "has no JSON schema; ask for plain data" in said[1]
    assert "the schema of the answer is no JSON schema: 'number of things' is not valid" in said[2]
