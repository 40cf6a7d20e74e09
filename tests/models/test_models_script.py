"""Scripted models: turns by the history, never by a counter."""

from __future__ import annotations

import json
import os

import pytest

from workbench import models
from workbench.errors import BadInput, ModelFailed
from workbench.models.messages import ToolResult, tool_results_message, user_message
from workbench.models.model import Request


async def ask(model, *history):
    pieces: list[str] = []
    turn = await model.ask(Request(None, list(history)), pieces.append)
    return turn, pieces


async def test_a_script_plays_its_turns_in_order():
    model = models.scripted([models.call("refund_order", order_id="A-1001")], "Refunded.")

    first, _ = await ask(model, user_message("Refund it"))
    told = tool_results_message([ToolResult(first.calls[0].id, "refund_order", {"ok": True})])
    second, pieces = await ask(model, user_message("Refund it"), first.message, told)

    assert [(call.id, call.tool, call.args) for call in first.calls] == [
        ("call_0_0", "refund_order", {"order_id": "A-1001"})
    ]
    assert (first.finish, second.finish) == ("tool_call", "stop")
    assert second.text == "Refunded."
    assert pieces == ["Refunded."]


async def test_a_new_model_with_the_same_script_carries_on():
    turns = ["One.", "Two.", "Three."]
    first, _ = await ask(models.scripted(*turns), user_message("go"))

    second, _ = await ask(models.scripted(*turns), user_message("go"), first.message, user_message("on"))

    assert second.text == "Two."


async def test_asking_twice_gives_the_same_turn():
    model = models.scripted([models.call("a"), "and", models.call("a")], "end")

    once, _ = await ask(model, user_message("go"))
    twice, _ = await ask(model, user_message("go"))

    assert once == twice
    assert [call.id for call in once.calls] == ["call_0_0", "call_0_1"]


async def test_beyond_its_end_a_script_fails_and_says_how_long_it_is():
    model = models.scripted("Only this.")
    first, _ = await ask(model, user_message("go"))

    with pytest.raises(ModelFailed, match="asked for turn 2 and its script has 1; add a turn") as failure:
        await ask(model, first.message)

    assert (failure.value.kind, failure.value.retryable, failure.value.turns) == ("script", False, 1)


async def test_text_streams_word_by_word():
    _, pieces = await ask(models.scripted("Order  A-1001\nwas refunded."), user_message("go"))

    assert pieces == ["Order  ", "A-1001\n", "was ", "refunded."]


async def test_a_log_counts_the_asks(tmp_path):
    log = tmp_path / "asks.jsonl"
    model = models.scripted("One.", log=log)

    first, _ = await ask(model, user_message("go"))
    with pytest.raises(ModelFailed):
        await ask(model, first.message)

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["turn"], line["pid"]) for line in lines] == [(0, os.getpid()), (1, os.getpid())]


@pytest.mark.parametrize(
    ("turn", "words"),
    [(3, "turn 1 of the script has 3"), ([], "empty"), ("  ", "empty"), (["a", None], "turn 1 of the script has None")],
)
def test_what_is_no_turn_is_refused_when_the_script_is_made(turn, words):
    with pytest.raises(BadInput, match=words):
        models.scripted(turn)
