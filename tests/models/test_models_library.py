"""The model library behind the port, against a server on the loopback: streams, failures, and what is sent."""

from __future__ import annotations

import asyncio
import json

import pytest
from openai_server import Answer, OpenAIServer, called, closing, text

from workbench import models
from workbench.errors import BadInput, ModelFailed
from workbench.models.messages import Call, ToolResult, model_message, tool_results_message, user_message
from workbench.models.model import Request, ToolSpec, Turn

pytest.importorskip("openai")

ADD = ToolSpec("add", "Add.", {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})


async def asked(*answers: Answer, request: Request | None = None) -> tuple[Turn, list[str], OpenAIServer]:
    async with OpenAIServer(*answers) as server:
        pieces: list[str] = []
        model = models.openai_compatible(server.url, "qwen3")
        turn = await model.ask(request or Request("Be kind.", [user_message("hi")], [ADD]), pieces.append)
        await model.close()
        return turn, pieces, server


async def failure_of(answer: Answer) -> ModelFailed:
    async with OpenAIServer(answer) as server:
        model = models.openai_compatible(server.url, "qwen3")
        with pytest.raises(ModelFailed) as failure:
            await model.ask(Request(None, [user_message("hi")]), print)
        await model.close()
        assert len(server.requests) == 1, "the provider's own retries are off"
        return failure.value


async def test_an_answer_streams_and_is_counted():
    turn, pieces, server = await asked(Answer([text("Hel"), text("lo"), *closing("stop", 7, 3)]))

    assert pieces == ["Hel", "lo"]
    assert (turn.text, turn.finish, turn.input_tokens, turn.output_tokens) == ("Hello", "stop", 7, 3)
    assert turn.cost_microdollars is None
    sent = server.requests[0]
    assert sent["messages"] == [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["add"]


async def test_a_turn_is_stable_from_the_first_time():
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    turn, _, _ = await asked(Answer([text("Hello"), called(("c1", "add", '{"a": 1}')), *closing("tool_calls")]))

    read = ModelMessagesTypeAdapter.validate_json(json.dumps([turn.message["json"]]))
    assert json.loads(ModelMessagesTypeAdapter.dump_json(read, exclude_none=True)) == [turn.message["json"]]
    assert Turn.from_plain(json.loads(json.dumps(turn.to_plain()))) == turn


async def test_a_typed_output_is_asked_for_as_a_tool_that_must_be_called():
    final = ToolSpec("final_result", "Answer.", ADD.parameters)

    turn, _, server = await asked(
        Answer([called(("c1", "final_result", '{"a": 1}')), *closing("tool_calls")]),
        request=Request(None, [user_message("hi")], [ADD], output=final),
    )

    sent = server.requests[0]
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["add", "final_result"]
    assert sent["tool_choice"] == "required"
    assert [(call.tool, call.args) for call in turn.calls] == [("final_result", {"a": 1})]


@pytest.mark.parametrize("cut", range(len("<think>Hm.</think>Done.")))
async def test_a_thought_is_kept_apart_wherever_the_stream_cuts_it(cut):
    said = "<think>Hm.</think>Done."

    turn, _, _ = await asked(Answer([text(said[:cut]), text(said[cut:]), *closing("stop")]))

    assert (turn.text, turn.thinking) == ("Done.", "Hm.")


async def test_a_thought_that_the_limit_cut_off_is_no_answer():
    failure = await failure_of(Answer([text("<think>Hm, let me"), *closing("length")]))

    assert (failure.kind, "before it said anything" in str(failure)) == ("length", True)


async def test_a_conversation_is_read_once_and_sent_whole():
    history = [user_message("one"), model_message(["two"], model="m"), user_message("three")]
    async with OpenAIServer(*[Answer([text("ok"), *closing("stop")])] * 2) as server:
        model = models.openai_compatible(server.url, "qwen3")
        for _ in range(2):
            await model.ask(Request(None, list(history)), print)
            history += [model_message(["four"], model="m"), user_message("five")]
        await model.close()

    said = [[message["content"] for message in request["messages"]] for request in server.requests]
    assert said == [["one", "two", "three"], ["one", "two", "three", "four", "five"]]


async def test_ids_that_are_missing_or_repeated_are_rewritten():
    calls = (("x", "add", '{"a": 1}'), ("x", "add", '{"a": 2}'), (None, "add", '{"a": 3}'), ("", "add", ""))

    turn, _, _ = await asked(Answer([called(*calls), *closing("tool_calls")]))

    assert [call.id for call in turn.calls] == ["x", "call_0_1", "call_0_2", "call_0_3"]
    assert [call.args for call in turn.calls] == [{"a": 1}, {"a": 2}, {"a": 3}, {}]


@pytest.mark.parametrize("cut", range(len('{"a": [1, "x"]}') + 1))
async def test_a_history_with_cut_off_arguments_can_still_be_sent(cut):
    raw = '{"a": [1, "x"]}'[:cut]
    broken = model_message([Call("c1", "add", None, raw, "cut")], model="m")
    told = tool_results_message([ToolResult("c1", "add", "the arguments are no JSON", "retried")])

    turn, _, server = await asked(
        Answer([text("ok"), *closing("stop")]), request=Request(None, [user_message("hi"), broken, told])
    )

    sent = server.requests[0]["messages"]
    assert isinstance(json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]), dict)
    assert (sent[1]["tool_calls"][0]["id"], sent[2]["tool_call_id"]) == ("c1", "c1")
    assert turn.text == "ok"


@pytest.mark.parametrize("chunk", [text("Hel"), called(("x", "add", '{"a": 1'))])
async def test_a_stream_that_ends_early_is_no_answer(chunk):
    failure = await failure_of(Answer([chunk], done=False))

    assert (failure.kind, failure.retryable) == ("cut_short", True)


async def test_an_answer_without_usage_is_still_an_answer():
    turn, _, _ = await asked(Answer([text("Hello"), text("", "stop")]))

    assert (turn.text, turn.input_tokens, turn.tokens) == ("Hello", None, None)


async def test_a_broken_connection_is_told_apart():
    failure = await failure_of(Answer([text("Hel")], broken=True))

    assert (failure.kind, failure.retryable) == ("connection", True)


async def test_a_server_that_is_not_there_is_a_connection_failure():
    async with OpenAIServer() as server:
        url = server.url

    with pytest.raises(ModelFailed, match="cannot be reached") as failure:
        await models.openai_compatible(url, "qwen3").ask(Request(None, [user_message("hi")]), print)

    assert failure.value.kind == "connection"


async def test_calls_cut_by_the_output_limit_are_no_calls():
    failure = await failure_of(Answer([called(("x", "add", '{"a": 1')), *closing("length", 7, 3)]))

    assert (failure.kind, failure.input_tokens, failure.output_tokens) == ("length", 7, 3)
    assert "no tool was run" in str(failure)


async def test_text_cut_by_the_output_limit_is_an_answer_that_says_so():
    turn, _, _ = await asked(Answer([text("Once upon"), *closing("length")]))

    assert (turn.text, turn.finish) == ("Once upon", "length")


async def test_an_empty_answer_is_a_failure():
    failure = await failure_of(Answer(closing("stop")))

    assert (failure.kind, failure.retryable) == ("empty", True)


async def test_a_refusal_says_why():
    refusal = text("")
    refusal["choices"][0]["delta"] = {"role": "assistant", "refusal": "I must not"}

    failure = await failure_of(Answer([refusal, *closing("stop")]))

    assert (failure.kind, failure.retryable) == ("rejected", False)
    assert "declined to answer (I must not)" in str(failure)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "rejected", False),
        (401, "rejected", False),
        (429, "rate_limit", True),
        (500, "server", True),
        (503, "server", True),
    ],
)
async def test_a_failing_status_has_its_kind(status, kind, retryable):
    failure = await failure_of(Answer(status=status, headers="retry-after: 7\r\n"))

    assert (failure.kind, failure.retryable, failure.status, failure.retry_after) == (kind, retryable, status, 7.0)


async def test_cancelling_ends_the_request_at_once():
    async with OpenAIServer(Answer([text("Hel")] * 50_000)) as server:
        started = asyncio.Event()
        model = models.openai_compatible(server.url, "qwen3")
        task = asyncio.create_task(model.ask(Request(None, [user_message("hi")]), lambda piece: started.set()))
        await started.wait()

        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()


async def test_a_history_of_another_format_is_refused_by_name():
    model = models.openai_compatible("http://127.0.0.1:1/v1", "qwen3")

    with pytest.raises(BadInput, match="message 1 of the history has the format 'pai3'; this version reads 'pai2'"):
        await model.ask(Request(None, [user_message("hi"), {**user_message("hi"), "fmt": "pai3"}]), print)


async def test_a_history_that_cannot_be_read_names_who_wrote_it():
    model = models.openai_compatible("http://127.0.0.1:1/v1", "qwen3")
    unread = {"fmt": "pai2", "lib": "9.9", "json": {"kind": "request", "parts": [{"part_kind": "hologram"}]}}

    with pytest.raises(BadInput, match=r"cannot read a history written by 9\.9 .*; upgrade it"):
        await model.ask(Request(None, [unread]), print)


async def test_a_price_is_known_for_a_provider_that_has_one():
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.usage import RequestUsage

    from workbench.models.library import _cost

    def response(name: str) -> ModelResponse:
        usage = RequestUsage(input_tokens=1_000_000, output_tokens=0)
        return ModelResponse([TextPart("a")], model_name=name, provider_name="openai", usage=usage)

    assert _cost(response("gpt-4o-mini")) == 150_000
    assert _cost(response("a model of my own")) is None


async def test_a_named_provider_does_not_retry_on_its_own(monkeypatch):
    async with OpenAIServer(Answer(status=500), Answer(status=500)) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "unused")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        with pytest.raises(ModelFailed) as failure:
            await models.resolve("openai-chat:gpt-4o").ask(Request(None, [user_message("hi")]), print)

    assert (failure.value.kind, len(server.requests)) == ("server", 1)
