"""Evaluations: many runs of one agent, each scored once, whatever happens in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from houses import House, until

from workbench import Agent, models, tool
from workbench.errors import BadInput, CallConflict
from workbench.models.model import Request, Turn
from workbench.models.script import call

SUMS = [{"request": "1 + 1", "expected": "2"}, {"request": "2 + 2", "expected": "4"}, "7 + 7"]


class Adder:
    """A model that adds, counts how many answer at once, and waits at a gate."""

    name = "adder"

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.busy = self.most = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def ask(self, request: Request, on_text: Any) -> Turn:
        text = request.history[0]["json"]["parts"][0]["content"]
        self.asked.append(text)
        self.busy += 1
        self.most = max(self.most, self.busy)
        try:
            await asyncio.sleep(0)
            await self.gate.wait()
        finally:
            self.busy -= 1
        if text == "7 + 7":
            raise ValueError("seven is too hard")
        one, other = text.split(" + ")
        return await models.scripted(str(int(one) + int(other))).ask(request, on_text)


def exact(result: Any) -> bool:
    """Whether the output is the expected one."""
    return bool(result.output == result.expected)


async def length(result: Any) -> int:
    """How long the output is."""
    return len(result.output)


async def test_every_case_is_run_and_scored_into_a_table(house: House) -> None:
    adder = Adder()
    bench = await house.open(agent := Agent("adder", model=adder))

    table = await bench.evaluate(agent, SUMS, score=[exact, length], repeats=2, id="sums")

    assert table.columns == ("case", "repeat", "run", "output", "exact", "length", "tokens", "cost", "seconds", "error")
    assert [(row["case"], row["repeat"], row["run"], row["output"], row["exact"], row["length"]) for row in table] == [
        (0, 0, "sums.0.0", "2", True, 1),
        (0, 1, "sums.0.1", "2", True, 1),
        (1, 0, "sums.1.0", "4", True, 1),
        (1, 1, "sums.1.1", "4", True, 1),
        (2, 0, "sums.2.0", None, None, None),
        (2, 1, "sums.2.1", None, None, None),
    ]
    assert [row["error"] for row in table.failures] == ["ValueError: seven is too hard"] * 2
    summary = table.summary
    assert (summary["runs"], summary["failed"], summary["exact"], summary["length"]) == (6, 2, 1.0, 1.0)
    last = f"sums: 6 runs, 2 failed, exact 1.00, length 1.00, {summary['tokens']} tokens, no price"
    assert repr(table).splitlines()[-1] == last
    assert "<p>sums: 6 runs, 2 failed" in table._repr_html_()
    assert bench.runs["sums.0.0"].output == "2"


async def test_no_more_runs_are_out_than_are_asked_for(room: House) -> None:
    adder = Adder()
    bench = await room.open(agent := Agent("adder", model=adder))

    await bench.evaluate(agent, ["1 + 1"], repeats=9, at_once=3)

    assert (adder.most, len(adder.asked)) == (3, 9)


async def test_what_has_finished_is_neither_run_nor_scored_again(house: House) -> None:
    scored: list[str] = []

    def exact(result: Any) -> bool:
        scored.append(result.request)
        return bool(result.output == result.expected)

    adder = Adder()
    first = await house.open(agent := Agent("adder", model=adder))
    evaluation = first.evaluate(agent, SUMS[:2], score=exact, at_once=1, id="sums")
    await until(lambda: scored)
    adder.gate.clear()
    await until(lambda: evaluation.done == 1)
    await until(lambda: adder.busy)
    await first.close()
    adder.gate.set()
    asked = list(adder.asked)

    again = await house.open(agent)
    table = await again.evaluate(agent, SUMS[:2], score=exact, at_once=1, id="sums")

    assert asked == ["1 + 1", "2 + 2"]
    assert adder.asked == ["1 + 1", "2 + 2", "2 + 2"]  # the second was cut off while its model answered
    assert scored == ["1 + 1", "2 + 2"]
    assert [row["exact"] for row in table] == [True, True]
    assert await again.evaluate(agent, SUMS[:2], score=exact, at_once=1, id="sums") == table
    assert scored == ["1 + 1", "2 + 2"]


async def test_a_score_that_raises_or_is_no_number_is_told_in_its_row(room: House) -> None:
    def broken(result: Any) -> float:
        raise KeyError("ruler")

    bench = await room.open(agent := Agent("adder", model=Adder()))

    table = await bench.evaluate(agent, SUMS[:1], score={"broken": broken, "odd": lambda r: "much", "exact": exact})

    assert [table[0][name] for name in ("broken", "odd", "exact")] == [None, None, True]
    assert table[0]["error"] == "score broken: KeyError: 'ruler'"
    assert (table.summary["broken"], table.summary["exact"], table.summary["failed"]) == (None, 1.0, 1)


class Failed(BaseException):
    """What a test library fails with."""


class Shy:
    """What cannot be shown."""

    def __repr__(self) -> str:
        raise ValueError("not to be seen")


def fails(error: BaseException) -> Any:
    """A score function that raises."""

    def raising(result: Any) -> float:
        raise error

    return raising


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (fails(Failed("2 is not 3")), "score odd: Failed: 2 is not 3"),
        (fails(SystemExit(1)), "score odd: SystemExit: 1"),
        (lambda result: 10**400, f"score odd gave {10**400!r:.60}, which is no number and no truth value"),
        (lambda result: Shy(), "score odd gave a Shy that cannot be shown (ValueError), which is no number and no"),
    ],
    ids=["fails as a test does", "leaves", "has no float", "cannot be shown"],
)
async def test_no_score_keeps_the_others_from_their_rows(room: House, score: Any, words: str) -> None:
    bench = await room.open(agent := Agent("adder", model=Adder()))

    table = await bench.evaluate(agent, SUMS[:2], score={"odd": score, "exact": exact})

    assert [(row["odd"], row["exact"]) for row in table] == [(None, True), (None, True)]
    assert table[0]["error"][: len(words)] == words


async def test_a_case_whose_run_cannot_begin_has_that_in_its_row(room: House) -> None:
    bench = await room.open(agent := Agent("adder", model=Adder()))
    await bench.run(agent, "3 + 3", id="sums.0.0")

    table = await bench.evaluate(agent, SUMS[:2], score=exact, id="sums")

    assert [(row["output"], row["exact"]) for row in table] == [(None, None), ("4", True)]
    assert table[0]["error"].startswith("CallConflict: the run 'sums.0.0' is 'adder' with '3 + 3' and is asked for as")


async def test_a_score_that_changes_its_case_changes_it_for_no_other(room: House) -> None:
    bench = await room.open(agent := Agent("adder", model=Adder()))

    def spoils(result: Any) -> int:
        result.case.clear()
        return 0

    table = await bench.evaluate(agent, SUMS[:1], score=[spoils, exact])

    assert (table[0]["spoils"], table[0]["exact"], table[0]["error"]) == (0, True, None)


async def test_a_score_sees_the_calls_and_the_whole_case(room: House) -> None:
    @tool(read_only=True)
    def look_up(order_id: str) -> str:
        """Look an order up."""
        return f"{order_id} is paid"

    seen: list[Any] = []
    agent = Agent("clerk", tools=[look_up], model=models.scripted(call("look_up", order_id="A-1"), "Paid."))
    bench = await room.open(agent)

    await bench.evaluate(agent, [{"request": "A-1?", "name": "paid order", "tags": ["easy"]}], score=seen.append)

    result = seen[0]
    assert (result.request, result.case["tags"], result.output) == ("A-1?", ["easy"], "Paid.")
    assert [(made["tool"], made["outcome"], made["result"]) for made in result.calls] == [
        ("look_up", "success", "A-1 is paid")
    ]


async def test_a_run_that_waits_for_a_person_is_waited_for(room: House) -> None:
    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"{amount} paid"

    agent = Agent("clerk", tools=[pay], model=models.scripted(call("pay", amount=3), "Paid."))
    bench = await room.open(agent)
    evaluation = bench.evaluate(agent, ["Pay 3"], id="pays")
    approval = await bench.runs["pays.0.0"].approval() if "pays.0.0" in bench.runs else None
    while approval is None:
        await asyncio.sleep(0.001)
        approval = await bench.runs["pays.0.0"].approval() if "pays.0.0" in bench.runs else None

    assert repr(evaluation) == "<Evaluation pays of clerk: 0 of 1 runs done>"
    await bench.approvals.approve(approval.id)

    assert [row["output"] for row in await evaluation] == ["Paid."]


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"cases": []}, "needs at least one case"),
        ({"cases": [{"question": "?"}]}, "case 0 is a text, or a dict with a 'request' in words"),
        ({"cases": ["a"], "repeats": 0}, "repeats is a whole number from 1"),
        ({"cases": ["a"], "at_once": 0}, "at_once is a whole number from 1"),
        ({"cases": ["a"], "score": 3}, "score is a function, a list of them, or a dict"),
        ({"cases": ["a"], "score": [exact, exact]}, "two score functions have one name"),
        ({"cases": ["a"], "score": {"score": exact, "<lambda>": exact}}, "two score functions have one name, 'score'"),
        ({"cases": ["a"], "score": {"s" * 513: exact}}, "the name of a score has at most 512 bytes"),
        ({"cases": ["a"], "id": "e" * 509}, "the id of an evaluation has at most 508 bytes"),
        (
            {"cases": ["a"], "score": {"tokens": exact}},
            "the score 'tokens' is a function with a name that no column",
        ),
        ({"cases": ["a"], "id": ""}, "the id of an evaluation"),
    ],
)
async def test_an_evaluation_that_cannot_be_is_refused(room: House, terms: dict[str, Any], words: str) -> None:
    bench = await room.open(agent := Agent("adder", model=Adder()))

    with pytest.raises(BadInput, match=words):
        bench.evaluate(agent, **terms)

    assert bench.keys() == []


async def test_one_id_is_one_evaluation(room: House) -> None:
    bench = await room.open(agent := Agent("adder", model=Adder()))
    await bench.evaluate(agent, SUMS[:1], id="sums")

    with pytest.raises(CallConflict, match="the evaluation 'sums' is there already with another agent, other cases"):
        bench.evaluate(agent, SUMS, id="sums")
