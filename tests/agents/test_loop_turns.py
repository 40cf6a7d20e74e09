"""The loop of an agent: turns that are asked for once, failures that pass and those that do not, text that streams."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from houses import Ears, House, clerk, ears, until

from workbench import Agent
from workbench.errors import ModelFailed, RunFailed
from workbench.models.model import Request, Turn
from workbench.models.script import call
from workbench.models.speech import said


class Moody:
    """A model that fails in the given ways, one per ask, and then answers."""

    name = "moody"

    def __init__(self, *kinds: str, retryable: bool = True) -> None:
        self.kinds = list(kinds)
        self.asks = 0
        self._retryable = retryable

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        self.asks += 1
        on_text(f"try {self.asks} ")
        if self.kinds:
            kind = self.kinds.pop(0)
            raise ModelFailed(f"the model failed: {kind}", kind=kind, retryable=self._retryable, status=503)
        return said(["At last."], request, model=self.name)


async def answer(house: House, model: Any, seconds: float = 10.0) -> tuple[Any, Any]:
    """A run of an agent with this model, and its journal, after some time has passed."""
    bench = await house.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Say it", id="r1")
    await until(lambda: model.asks)
    await house.clock.advance(seconds)
    await until(lambda: run.status in ("completed", "failed"))
    return run, [row for row in bench.journal("r1") if row["kind"] == "step"]


async def test_a_failure_that_may_pass_is_tried_again_within_the_step(room: House) -> None:
    model = Moody("server", "rate_limit")

    run, steps = await answer(room, model)

    assert await run == "At last."
    assert (model.asks, [step["name"] for step in steps]) == (3, ["turn"])
    assert run.state["usage"]["model_calls"] == 1


async def test_a_model_that_keeps_failing_fails_the_run_after_three_tries(room: House) -> None:
    model = Moody(*["server"] * 9)

    run, steps = await answer(room, model)

    with pytest.raises(RunFailed, match="run 'r1' failed with ModelFailed: the model failed: server") as caught:
        await run
    assert (model.asks, steps) == (3, [])
    assert (caught.value.type, run.state["error"]["message"]) == ("ModelFailed", "the model failed: server")


async def test_the_tries_wait_longer_each_time(room: House) -> None:
    model = Moody(*["server"] * 9)
    bench = await room.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Say it")
    await until(lambda: model.asks)

    asks = []
    for _ in range(4):
        await room.clock.advance(0.9)
        asks.append(model.asks)

    assert asks == [1, 2, 2, 3]
    await until(lambda: run.status == "failed")


async def test_a_failure_that_cannot_pass_is_not_tried_again(room: House) -> None:
    model = Moody("rejected", retryable=False)

    run, _ = await answer(room, model)

    with pytest.raises(RunFailed):
        await run
    assert model.asks == 1


async def test_an_empty_answer_is_asked_for_twice_more_and_then_fails(room: House) -> None:
    nudged, stubborn = Moody("empty", "empty"), Moody(*["empty"] * 9)

    run, _ = await answer(room, nudged)

    assert (await run, nudged.asks) == ("At last.", 3)
    bench = await room.open(agent := Agent("other", model=stubborn))
    with pytest.raises(RunFailed, match="ModelFailed: the model failed: empty"):
        await bench.run(agent, "Say it")
    assert stubborn.asks == 3


async def test_a_run_ends_when_its_turns_are_used_up(room: House) -> None:
    ran = []

    def look() -> None:
        ran.append(1)

    bench = await room.open(agent := clerk(*[call("look")] * 9, tools=[look], max_turns=3))
    run = bench.run(agent, "Look for ever", id="r1")

    with pytest.raises(RunFailed) as caught:
        await run

    assert "run 'r1' used all of its 3 model turns without an answer; raise max_turns of 'clerk'" in str(caught.value)
    assert (len(ran), len(ears(agent).requests), run.state["turn"]) == (3, 3, 3)


async def test_a_finished_turn_is_not_asked_for_again_after_a_kill(house: House) -> None:
    began, go = [], asyncio.Event()

    async def wait() -> str:
        began.append(1)
        await go.wait()
        return "ok"

    bench = await house.open(agent := clerk(call("wait"), "Done.", tools=[wait]))
    run = bench.run(agent, "Wait")
    await until(lambda: began)

    for _ in range(3):
        await run.kill()
        await run.recover()
    go.set()

    assert await run == "Done."
    assert len(ears(agent).requests) == 2


async def test_a_turn_that_was_cut_is_asked_for_again(house: House) -> None:
    class Slow(Ears):
        go = asyncio.Event()

        async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
            self.requests.append(request)
            await self.go.wait()
            return said(["Done."], request, model=self.name)

    model = Slow()
    bench = await house.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Say it")
    await until(lambda: model.requests)

    await run.kill()
    model.go.set()
    await run.recover()

    assert await run == "Done."
    assert len(model.requests) == 2
    assert model.requests[0].history == model.requests[1].history


class Teller:
    """A model that says one word whenever it is told to go on."""

    name = "teller"

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        on_text("Once ")
        on_text("upon ")
        await self.go.wait()
        return said(["Once upon a time."], request, model=self.name)


async def test_text_is_seen_while_it_streams_and_gone_when_it_is_said(house: House) -> None:
    model = Teller()
    bench = await house.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Tell")

    state = await run.until(lambda state: state["text"])

    assert (state["text"], state["status"], state["output"]) == ("Once upon ", "running", None)
    (_, row) = run.view()["rows"]
    assert (row["kind"], row["text"], row["streaming"], row["tokens"]) == ("message", "Once upon ", True, None)
    model.go.set()
    assert await run == "Once upon a time."
    assert (run.state["text"], run.view()["rows"][1]["streaming"]) == ("", False)


async def test_text_of_a_failed_try_is_not_mixed_with_the_next(room: House) -> None:
    class Held(Moody):
        go = asyncio.Event()

        async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
            turn = await super().ask(request, on_text)
            await self.go.wait()
            return turn

    model = Held("server")
    bench = await room.open(agent := Agent("clerk", model=model))
    run = bench.run(agent, "Say it")
    await until(lambda: model.asks)

    await room.clock.advance(5)
    state = await run.until(lambda state: "try 2" in state["text"])

    assert state["text"] == "try 2 "
    model.go.set()
    assert await run == "At last."


async def test_tokens_and_costs_are_added_up_and_no_price_is_no_zero(room: House) -> None:
    bench = await room.open(agent := clerk(call("missing"), "Two words."))
    run = bench.run(agent, "Count these four words")

    await run

    usage = run.state["usage"]
    assert usage["model_calls"] == 2
    assert usage["input_tokens"] > usage["output_tokens"] > 0
    assert usage["cost_microdollars"] is None
    assert {name: run.view()["usage"][name] for name in usage} == usage


async def test_an_agent_that_is_replaced_goes_on_from_its_last_commit(house: House) -> None:
    began, go = [], asyncio.Event()

    async def wait() -> str:
        began.append(1)
        await go.wait()
        return "ok"

    bench = await house.open(agent := clerk(call("wait"), "Old words.", tools=[wait]))
    run = bench.run(agent, "Wait")
    await until(lambda: began)

    bench.add(new := clerk(call("wait"), "New words.", tools=[wait]))
    await run.kill()
    go.set()
    await run.recover()

    assert await run == "New words."
    assert (len(ears(agent).requests), len(ears(new).requests)) == (1, 1)
