"""Recorded models: asked once, played ever after."""

from __future__ import annotations

import json

import pytest
from openai_server import Answer, OpenAIServer, closing
from openai_server import text as said

from workbench import models
from workbench.errors import BadInput, ModelFailed
from workbench.models.messages import user_message
from workbench.models.model import Request, ToolSpec


async def ask(model, text="hi", **more):
    pieces: list[str] = []
    turn = await model.ask(Request(None, [user_message(text)], **more), pieces.append)
    return turn, "".join(pieces)


@pytest.fixture
def cassette(tmp_path):
    return tmp_path / "tapes" / "cassette.json"


async def test_a_recorded_turn_is_not_asked_again(cassette, tmp_path):
    log = tmp_path / "asks"
    first, streamed = await ask(models.recorded(models.scripted("Hello you.", log=log), cassette))

    again, played = await ask(models.recorded(models.scripted("Hello you.", log=log), cassette))

    assert again == first
    assert streamed == played == "Hello you."
    assert len(log.read_text().splitlines()) == 1


async def test_another_request_is_another_turn(cassette):
    model = models.recorded(models.scripted("Hello."), cassette)
    await ask(model)
    await ask(model, "other")
    await ask(model, settings={"temperature": 0})
    await ask(model, tools=[ToolSpec("a", "", {"type": "object"})])

    assert len(json.loads(cassette.read_text())["turns"]) == 4
    assert [path.name for path in cassette.parent.iterdir()] == ["cassette.json"]


async def test_times_do_not_make_a_new_request(cassette):
    model = models.recorded(models.scripted("One.", "Two."), cassette)
    first, _ = await ask(model)
    later = json.loads(json.dumps(first.message))
    later["json"]["timestamp"] = "2030-01-01T00:00:00Z"

    for message in (first.message, later):
        await model.ask(Request(None, [user_message("hi"), message]), print)

    assert len(json.loads(cassette.read_text())["turns"]) == 2


async def test_playing_needs_neither_key_nor_package(cassette):
    name = "nobody:at-all"
    model = models.recorded(models.scripted("Hello."), cassette)
    model.name = name
    await ask(model)

    turn, _ = await ask(models.recorded(name, cassette))

    assert turn.text == "Hello."


async def test_a_turn_that_is_missing_and_cannot_be_recorded_says_both(cassette):
    with pytest.raises(
        BadInput, match="has no turn for this request: it is empty, and it cannot be recorded: model 'nobody:at-all'"
    ):
        await ask(models.recorded("nobody:at-all", cassette))


async def test_without_recording_a_missing_turn_fails(cassette):
    with pytest.raises(ModelFailed, match="record it again"):
        await ask(models.recorded(models.scripted("Hello."), cassette, record=False))

    assert not cassette.exists()


@pytest.mark.parametrize(
    ("text", "more", "differs"),
    [
        ("other", {}, "history"),
        ("hi", {"settings": {"temperature": 0}}, "settings"),
        ("hi", {"tools": [ToolSpec("a", "new", {})]}, "tools"),
        ("hi", {"output": ToolSpec("a", "new", {})}, "output"),
        ("other", {"settings": {"seed": 1}}, "history and settings"),
    ],
)
async def test_a_request_that_changed_is_told_by_what_of_it_is_new(cassette, text, more, differs):
    await ask(models.recorded(models.scripted("Hello."), cassette))

    with pytest.raises(ModelFailed) as missing:
        await ask(models.recorded(models.scripted("Hello."), cassette, record=False), text, **more)

    assert str(missing.value) == (
        f"cassette {str(cassette)!r} has no turn for this request: the nearest one that it has differs in {differs}; "
        "record it again"
    )


async def test_a_cassette_holds_no_key_header_or_login(cassette):
    pytest.importorskip("openai")
    async with OpenAIServer(Answer([said("Hello"), *closing("stop")])) as server:
        url = server.url.replace("http://", "http://ada:hidden-login@") + "?key=hidden-query"
        model = models.openai_compatible(url, "qwen3", api_key="hidden-key")
        settings = {"extra_headers": {"x-api-key": "hidden-header"}, "extra_body": {"token": "hidden-body"}}
        turn, _ = await ask(models.recorded(model, cassette), settings=settings)
        await model.close()

    assert (turn.text, len(server.requests)) == ("Hello", 1)
    assert "hidden" not in cassette.read_text() + json.dumps(turn.to_plain()) + model.name
    assert "127.0.0.1" in cassette.read_text()


@pytest.mark.parametrize("content", ["no json", "[]", '{"format": "other"}'])
async def test_a_file_that_is_no_cassette_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.json"
    path.write_text(content)

    with pytest.raises(BadInput, match="is no cassette"):
        await ask(models.recorded(models.scripted("Hello."), path))

    assert path.read_text() == content
