"""Odd values over A2A: half characters, deep nesting, numbers that JSON or a double does not have, in and out."""

from __future__ import annotations

import json
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
