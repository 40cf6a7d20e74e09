"""Odd values over A2A: half characters, deep nesting, numbers that JSON or a double does not have, in and out."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, create_client
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict
from pydantic import BaseModel
from test_a2a_server import TOKENS, Speaker

from workbench import Agent, ToolContext, Workbench, models, tool
from workbench.door import Door

HALF = "\ud800"


class Tree(BaseModel):
    leaf: Any


@tool
def mutter(ctx: ToolContext) -> str:
    """Says half of a character on its way, and gives one."""
    ctx.progress(f"at {HALF} it")
    return HALF


def deep(levels: int, value: Any = 1) -> Any:
    for _ in range(levels):
        value = {"a": value}
    return value


def answering(leaf: Any) -> Any:
    return models.scripted(json.dumps({"leaf": leaf}))


AGENTS = {
    "plain": Agent("plain", model=models.scripted("Fine.")),
    "half": Agent("half", model=models.scripted(f"x{HALF}y"), description=f"Says {HALF}."),
    "muttering": Agent("muttering", tools=[mutter], model=models.scripted(models.call("mutter"), "Done.")),
    "deep": Agent("deep", output=Tree, model=answering(deep(150))),
    "deepish": Agent("deepish", output=Tree, model=answering(deep(35))),
    "wide": Agent("wide", output=Tree, model=answering(10**400)),
    "exact": Agent("exact", output=Tree, model=answering(2**53 + 1)),
}


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    async with Workbench.open(":memory:", *AGENTS.values()) as bench:
        yield await bench.publish(a2a=TOKENS, default_agent="plain")


@pytest.fixture
async def say(http: httpx.AsyncClient, door: Door) -> Speaker:
    return Speaker(http, door)


async def test_whatever_the_answers_are_each_is_told_and_all_are_listed(say: Speaker) -> None:
    told = {name: await say.send(f"Ask {name}", name) for name in AGENTS}

    texts = {name: task["artifacts"][0]["parts"][0] for name, task in told.items()}
    assert texts["half"]["text"] == "x?y"
    assert json.loads(texts["deep"]["text"]) == {"leaf": deep(150)}
    assert json.loads(texts["deepish"]["text"]) == {"leaf": deep(35)}
    assert json.loads(texts["wide"]["text"]) == {"leaf": 10**400}
    assert json.loads(texts["exact"]["text"]) == {"leaf": 2**53 + 1}
    listed = await say.ask("tasks/list", {"includeArtifacts": True})
    assert {task["id"] for task in listed["tasks"]} == {task["id"] for task in told.values()}


async def test_the_official_client_reads_whatever_the_answers_are(door: Door) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['partner']}"}
    async with httpx.AsyncClient(headers=headers, timeout=30) as http:
        config = ClientConfig(httpx_client=http, streaming=True, supported_protocol_bindings=["JSONRPC"])
        client = await create_client(door.url, client_config=config)
        for name in AGENTS:
            message = pb.Message(message_id=f"m-{name}", role=pb.Role.ROLE_USER, parts=[pb.Part(text="Say it.")])
            request = pb.SendMessageRequest(message=message)
            request.metadata["skill"] = name
            events = [event async for event in client.send_message(request)]
            assert events[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED, name
        listed = await client.list_tasks(pb.ListTasksRequest(include_artifacts=True))
        await client.close()

    assert len(listed.tasks) == len(AGENTS)
    assert "Says ?." in json.dumps(MessageToDict(await card_of(door)))


async def card_of(door: Door) -> pb.AgentCard:
    async with httpx.AsyncClient() as http:
        return await A2ACardResolver(http, door.url).get_agent_card()


UNREADABLE, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602


def get(**fields: str) -> bytes:
    """A request for a task, with some of its fields as other texts of JSON."""
    whole = {"jsonrpc": '"2.0"', "id": "1", "method": '"tasks/get"', "params": '{"id": "x"}'} | fields
    return ("{" + ", ".join(f'"{name}": {text}' for name, text in whole.items()) + "}").encode()


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (UNREADABLE, b""),
        (UNREADABLE, b"\xff\xfe{"),
        (UNREADABLE, b'{"method": "\xff"}'),
        (UNREADABLE, get().decode().encode("utf-16")),
        (UNREADABLE, get(id="9" * 5_000)),
        (UNREADABLE, get(id="9" * 400)),
        (UNREADABLE, get(params='{"id": "x", "historyLength": NaN}')),
        (UNREADABLE, get(params='{"id": "x", "metadata": {"a": 1e999}}')),
        (UNREADABLE, get(params=r'{"id": "\ud800"}')),
        (UNREADABLE, get(params='{"id": "x", "metadata": ' + '{"a": ' * 100 + "1" + "}" * 101)),
        (INVALID_REQUEST, b"[" + get() + b"]"),
        (INVALID_REQUEST, b"[]"),
        (INVALID_REQUEST, b"null"),
        (INVALID_REQUEST, get(method="[]")),
        (INVALID_REQUEST, get(method="{}")),
        (INVALID_REQUEST, get(method='["tasks/get"]')),
        (INVALID_REQUEST, get(method="null")),
        (INVALID_REQUEST, get(id="{}")),
        (INVALID_REQUEST, get(id="true")),
        (INVALID_REQUEST, get(id="1.5")),
        (INVALID_REQUEST, get(jsonrpc="2")),
        (INVALID_PARAMS, get(params="[]")),
        (INVALID_PARAMS, get(params="5")),
        (INVALID_PARAMS, get(params='{"id": "x", "historyLength": 9223372036854775808}')),
        (INVALID_PARAMS, get(method='"GetTask"', params='{"id": 5}')),
        (INVALID_PARAMS, get(method='"ListTasks"', params='{"pageSize": "many"}')),
        (INVALID_PARAMS, get(method='"tasks/list"', params='{"pageSize": "many"}')),
    ],
)
async def test_a_request_that_is_none_is_refused_and_no_exception_told(say: Speaker, code: int, body: bytes) -> None:
    for version in ({}, {"A2A-Version": "1.0"}):
        answer = await say.post(body, **version)

        assert (answer.status_code, answer.json()["error"]["code"]) == (200, code)
        assert not any(word in answer.text for word in ("codec", "digits", "Error", "parseError", "int("))


@pytest.mark.parametrize(
    "part",
    [
        {"kind": "file", "file": {"bytes": "%%%"}},
        {"kind": "data", "data": {"a": {"$": [9007199254740993]}}},
        {"kind": "text", "text": "x\0"},
        {"kind": "data", "data": [1]},
    ],
)
async def test_an_odd_part_of_a_message_breaks_nothing_inside(say: Speaker, part: Any) -> None:
    answer = await say.send("Odd", "plain", message={"parts": [part]})

    assert answer.get("kind") == "task" or answer["code"] in (INVALID_PARAMS, -32005)


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe{",
        b'{"message": "\xff"}',
        b"{",
        b"null",
        b"[1]",
        b'{"message": 5}',
        b'{"a": ' + b"9" * 5_000 + b"}",
        rb'{"message": {"messageId": "\ud800"}}',
        b'{"a": ' * 100_000,
    ],
)
async def test_a_body_that_is_none_is_a_bad_request_over_http_and_json(say: Speaker, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['partner']}", "A2A-Version": "1.0"}
    for path in ("message:send", "message:stream", "lab/message:send"):
        answer = await say.http.post(f"{say.door.url}/a2a/rest/{path}", content=body, headers=headers)

        error = answer.json()["error"]
        assert (answer.status_code, error["status"]) == (400, "INVALID_ARGUMENT")
        assert error["message"].startswith(("the request ", "Invalid parameters: they are no SendMessageRequest"))


@pytest.mark.parametrize("asked", ["tasks?pageSize=many", "tasks/x?historyLength=%FF", "lab/tasks?historyLength=x"])
async def test_a_query_that_does_not_fit_is_a_bad_request_without_the_parsers_words(say: Speaker, asked: str) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['partner']}", "A2A-Version": "1.0"}
    answer = await say.http.get(f"{say.door.url}/a2a/rest/{asked}", headers=headers)

    assert answer.status_code == 400
    assert answer.json()["error"]["message"].endswith(("ListTasksRequest of A2A 1.0", "GetTaskRequest of A2A 1.0"))


async def test_what_did_not_fit_is_in_the_log(say: Speaker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "workbench")

    await say.post(get(method='"ListTasks"', params='{"pageSize": "many"}'))

    assert "parameters over A2A do not fit: Failed to parse pageSize field" in caplog.text
