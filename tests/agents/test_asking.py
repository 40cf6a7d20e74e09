"""Asking a model again: what is tried how often, what it hears, and what a kill in the back-off leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from houses import House, until

from workbench import Agent
from workbench.agents.asking import CHANCES, NUDGES
from workbench.errors import ModelFailed, RunFailed
from workbench.models.failures import failed
from workbench.models.messages import user_text
from workbench.models.model import Request, Turn
from workbench.models.speech import said


class Faulty:
    """A model that fails in the given ways, one per ask, and then answers."""

    name = "faulty"

    def __init__(self, *failures: ModelFailed) -> None:
        self.failures = list(failures)
        self.requests: list[Request] = []

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        self.requests.append(request)
        if self.failures:
            raise self.failures.pop(0)
        return said(["At last."], request, model=self.name)

    @property
    def heard(self) -> list[list[str | None]]:
        """What stood in the history of each ask."""
        return [[user_text(message) for message in request.history] for request in self.requests]


def fails(kind: str, *, retryable: bool = True, **fields: Any) -> ModelFailed:
    return failed(f"the model failed: {kind}", kind, retryable, **fields)


async def test_a_kill_in_the_back_off_neither_starts_over_nor_forgets(house: House) -> None:
    model = Faulty(*[fails("server") for _ in range(9)])
    bench = await house.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Say it", id="r1")

    for tries in (1, 2):
        await until(lambda: [row["kind"] for row in bench.journal("r1")].count("try") == tries)  # noqa: B023
        await run.kill()
        await house.clock.advance(0.4)
        await run.recover()
        await house.clock.advance(0.4)
        assert len(model.requests) == tries, "what is left of the back-off is waited for"
        await house.clock.advance(1.3)

    with pytest.raises(RunFailed, match="failed with ModelFailed: the model failed: server"):
        await run
    assert len(model.requests) == 1 + CHANCES["server"]


async def test_a_turn_that_succeeds_at_once_has_one_record(room: House) -> None:
    bench = await room.open(agent := Agent("clerk", model=Faulty()))

    await bench.run(agent, "Say it", id="r1")

    kinds = [(row["kind"], row["name"]) for row in bench.journal("r1") if row["kind"] in ("step", "try", "failure")]
    assert kinds == [("step", "turn")]


async def test_nothing_is_asked_before_the_provider_allows_it(room: House) -> None:
    model = Faulty(fails("rate_limit", retry_after=30.0))
    bench = await room.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Say it")
    await until(lambda: model.requests)

    await room.clock.advance(29)
    early = len(model.requests)
    line = run.view()["now_line"]
    await room.clock.advance(2)

    assert (await run, early, len(model.requests)) == ("At last.", 1, 2)
    assert (line["shape"], line["text"]) == ("retried", "the model failed: rate_limit.")
    assert line["strong"].startswith("Asks the model again at ")


@pytest.mark.parametrize("kind", ["empty", "length"])
async def test_a_model_that_gave_nothing_usable_hears_why(room: House, kind: str) -> None:
    model = Faulty(fails(kind))
    bench = await room.open(agent := Agent("clerk", model=model))

    assert await bench.run(agent, "Say it") == "At last."

    assert model.heard == [["Say it"], ["Say it", NUDGES[kind]]]


@pytest.mark.parametrize(("kind", "tries"), [*((kind, chances + 1) for kind, chances in CHANCES.items()), ("other", 1)])
async def test_each_kind_of_failure_has_its_chances(room: House, kind: str, tries: int) -> None:
    model = Faulty(*[fails(kind) for _ in range(9)])
    bench = await room.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Say it")

    while run.status != "failed":
        await until(lambda: run.status == "failed" or run.view()["now_line"]["shape"] == "retried")
        await room.clock.advance(60)

    assert len(model.requests) == tries


async def test_chances_are_counted_by_kind(room: House) -> None:
    kinds = ["empty", "length", "empty", "length"]
    model = Faulty(*map(fails, kinds))
    bench = await room.open(agent := Agent("clerk", model=model))

    with pytest.raises(RunFailed, match="the model failed: length"):
        await bench.run(agent, "Say it")

    assert len(model.requests) == 4


async def test_what_failed_tries_took_is_counted_and_told(room: House) -> None:
    model = Faulty(fails("length", input_tokens=100, output_tokens=50, cost_microdollars=7))
    bench = await room.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Say it")

    await run

    usage = run.view()["usage"]
    assert usage == run.state["usage"]
    asked = 2 + len(NUDGES["length"].split())
    assert (usage["input_tokens"], usage["output_tokens"], usage["cost_microdollars"]) == (100 + asked, 52, 7)
    assert run.view()["rows"][1]["note"] == "answered by faulty, after faulty (length)"


async def test_an_error_that_is_no_failure_of_a_model_ends_the_run_at_once(room: House) -> None:
    class Buggy(Faulty):
        async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
            self.requests.append(request)
            raise ZeroDivisionError("a bug")

    model = Buggy()
    bench = await room.open(agent := Agent("clerk", model=model))

    with pytest.raises(RunFailed, match="failed with ZeroDivisionError: a bug"):
        await bench.run(agent, "Say it")

    assert len(model.requests) == 1
