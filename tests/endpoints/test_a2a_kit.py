"""What the A2A technology compatibility kit asks of a door, request by request: its mandatory and capabilities sets.

The agent is the one that the kit needs: the only one of its door, every turn of it ends in `input-required`, and it is
at work for a while when a message says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from workbench import Agent, Workbench, models, tool
from workbench.door import Door

TOKEN = "kit-token-of-a-test"
STATES = {"submitted", "working", "input-required", "completed", "canceled", "failed", "rejected", "auth-required"}


class Gate:
    """Holds the agent at work until it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()


@tool(approval=True)
def settle(what: str) -> str:
    """Settle something."""
    return f"{what} settled"


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def door(gate: Gate) -> AsyncIterator[Door]:
    class Asker:
        """A model that has a person settle whatever it is asked; it takes its time when a message says so."""

        name = "asker"

        def __init__(self) -> None:
            self.script = models.scripted(models.call("settle", what="it"), "Settled.")

        async def ask(self, request: Any, on_text: Any) -> Any:
            if "slowly" in json.dumps(request.history[0]):
                await gate.open.wait()
            return await self.script.ask(request, on_text)

    agent = Agent("asker", tools=[settle], model=Asker(), description="Has a person settle it.")
    async with Workbench.open(":memory:", agent) as bench:
        yield await bench.publish(a2a={"kit": TOKEN})


@pytest.fixture
async def kit(door: Door) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=door.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30) as client:
        yield client


def message(text: str = "Settle it", **more: Any) -> dict[str, Any]:
    parts = [{"kind": "text", "text": text}]
    return {"kind": "message", "role": "user", "messageId": f"m-{text}", "parts": parts} | more


async def rpc(kit: httpx.AsyncClient, method: str, params: Any, id: Any = 1) -> Any:
    answer = await kit.post("/a2a", json={"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    assert answer.status_code == 200
    told = answer.json()
    assert told["jsonrpc"] == "2.0"
    assert told["id"] == id
    return told.get("result", told.get("error"))


def events(text: str) -> list[Any]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


async def test_the_card_has_all_that_it_must_have(kit: httpx.AsyncClient, door: Door) -> None:
    answer = await kit.get("/.well-known/agent-card.json")
    card = answer.json()

    assert answer.headers["content-type"].startswith("application/json")
    for field in ("name", "description", "url", "version", "protocolVersion", "preferredTransport"):
        assert isinstance(card[field], str), field
        assert card[field], field
    assert card["defaultInputModes"]
    assert card["defaultOutputModes"]
    for skill in card["skills"]:
        assert all(skill[field] for field in ("id", "name", "description", "tags"))
    assert card["url"] == f"{door.url}/a2a"
    assert [(one["protocolBinding"], one["protocolVersion"]) for one in card["supportedInterfaces"]] == [
        ("JSONRPC", "1.0"),
        ("HTTP+JSON", "1.0"),
        ("JSONRPC", "0.3"),
    ]
    assert card["securitySchemes"]["bearer"]["scheme"] == "bearer"
    assert card["security"] == [{"bearer": []}]


async def test_a_sent_message_is_a_task(kit: httpx.AsyncClient) -> None:
    task = await rpc(kit, "message/send", {"message": message()})

    assert task["kind"] == "task"
    assert task["id"]
    assert task["contextId"]
    assert task["status"]["state"] in STATES
    assert task["status"]["state"] == "input-required"
    assert task["status"]["message"]["role"] == "agent"
    assert task["history"][0]["parts"] == [{"kind": "text", "text": "Settle it"}]


async def test_a_message_with_data_is_taken(kit: httpx.AsyncClient) -> None:
    parts = [{"kind": "data", "data": {"settle": ["it"]}}]

    assert (await rpc(kit, "message/send", {"message": message(parts=parts)}))["kind"] == "task"


@pytest.mark.parametrize("id", ["a-text", 7, 0, None])
async def test_the_id_of_a_request_comes_back(kit: httpx.AsyncClient, id: Any) -> None:
    answer = await kit.post("/a2a", json={"jsonrpc": "2.0", "id": id, "method": "tasks/get", "params": {"id": "none"}})

    assert answer.json()["id"] == id


@pytest.mark.parametrize("missing", ["role", "messageId", "parts"])
async def test_a_message_that_lacks_something_is_invalid(kit: httpx.AsyncClient, missing: str) -> None:
    sent = message()
    del sent[missing]

    error = await rpc(kit, "message/send", {"message": sent})
    assert error["code"] == -32602
    assert missing in error["message"]


@pytest.mark.parametrize("params", [{}, {"message": "text"}, {"message": None}, {"message": {"parts": "text"}}])
async def test_parameters_that_are_none_are_invalid(kit: httpx.AsyncClient, params: Any) -> None:
    assert (await rpc(kit, "message/send", params))["code"] == -32602


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({"id": 1, "method": "message/send", "params": {}}, {-32600}),
        ({"jsonrpc": "2.0", "id": 1, "params": {}}, {-32600}),
        ({"jsonrpc": "2.0", "id": 1, "method": "no/such/method", "params": {}}, {-32601}),
        ({"jsonrpc": "2.0", "id": {"bad": "id"}, "method": "tasks/get", "params": {}}, {-32600, -32602}),
        ({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": "not an object"}, {-32600, -32602}),
        ({"jsonrpc": "2.0", "id": 1, "method": 5, "params": {}}, {-32600}),
    ],
)
async def test_json_rpc_is_kept_to(kit: httpx.AsyncClient, body: Any, codes: set[int]) -> None:
    assert (await kit.post("/a2a", json=body)).json()["error"]["code"] in codes


async def test_what_is_no_json_is_a_parse_error(kit: httpx.AsyncClient) -> None:
    answer = await kit.post(
        "/a2a", content=b'{"jsonrpc": "2.0", "method"', headers={"Content-Type": "application/json"}
    )

    assert answer.json()["error"]["code"] == -32700


async def test_a_task_is_got_with_as_much_history_as_asked(kit: httpx.AsyncClient) -> None:
    task = await rpc(kit, "message/send", {"message": message()})

    whole = await rpc(kit, "tasks/get", {"id": task["id"]})
    short = await rpc(kit, "tasks/get", {"id": task["id"], "historyLength": 1})

    assert whole == task
    assert len(short["history"]) == 1
    assert (await rpc(kit, "tasks/get", {"id": task["id"], "historyLength": -1}))["code"] == -32602


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
async def test_a_task_that_there_is_not_is_not_found(kit: httpx.AsyncClient, method: str) -> None:
    assert (await rpc(kit, method, {"id": "non-existent-task"}))["code"] == -32001
    assert (await rpc(kit, method, {}))["code"] == -32602


async def test_a_message_for_a_task_goes_to_that_task(kit: httpx.AsyncClient) -> None:
    task = await rpc(kit, "message/send", {"message": message()})

    again = await rpc(kit, "message/send", {"message": message("More", taskId=task["id"], contextId=task["contextId"])})
    lost = await rpc(kit, "message/send", {"message": message("More", taskId="non-existent-task")})
    other = await rpc(kit, "message/send", {"message": message("More", taskId=task["id"], contextId="another")})

    assert (again["id"], again["contextId"], again["status"]["state"]) == (
        task["id"],
        task["contextId"],
        "input-required",
    )
    assert lost["code"] == -32001
    assert other["code"] == -32602


async def test_a_context_is_kept_over_its_tasks(kit: httpx.AsyncClient) -> None:
    first = await rpc(kit, "message/send", {"message": message("One", contextId="c-1")})
    assert (await rpc(kit, "tasks/cancel", {"id": first["id"]}))["status"]["state"] == "canceled"
    second = await rpc(kit, "message/send", {"message": message("Two", contextId=first["contextId"])})

    assert (first["contextId"], second["contextId"]) == ("c-1", "c-1")
    assert second["id"] != first["id"]


async def test_a_task_is_cancelled_and_then_over(kit: httpx.AsyncClient) -> None:
    task = await rpc(kit, "message/send", {"message": message()})

    cancelled = await rpc(kit, "tasks/cancel", {"id": task["id"]})

    assert (cancelled["id"], cancelled["status"]["state"]) == (task["id"], "canceled")
    assert (await rpc(kit, "tasks/cancel", {"id": task["id"]}))["code"] == -32002
    assert (await rpc(kit, "tasks/get", {"id": task["id"]}))["status"]["state"] == "canceled"
    resubscribed = await kit.post(
        "/a2a", json={"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task["id"]}}
    )
    assert events(resubscribed.text)[0]["error"]["code"] == -32004


async def test_a_stream_begins_with_the_task_and_ends_where_it_waits(kit: httpx.AsyncClient) -> None:
    answer = await kit.post(
        "/a2a", json={"jsonrpc": "2.0", "id": "s", "method": "message/stream", "params": {"message": message()}}
    )

    assert answer.headers["content-type"].startswith("text/event-stream")
    told = events(answer.text)
    assert {event["id"] for event in told} == {"s"}
    assert told[0]["result"]["kind"] == "task"
    assert told[0]["result"]["status"]["state"] == "working"
    last = told[-1]["result"]
    assert (last["kind"], last["status"]["state"], last["final"]) == ("status-update", "input-required", True)
    assert {event["result"].get("taskId", told[0]["result"]["id"]) for event in told} == {told[0]["result"]["id"]}


async def test_a_working_task_is_subscribed_to_again(kit: httpx.AsyncClient, gate: Gate) -> None:
    params = {"message": message("Settle it slowly"), "configuration": {"blocking": False}}
    task = await rpc(kit, "message/send", params)
    assert task["status"]["state"] == "working"

    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/resubscribe", "params": {"id": task["id"]}}
    async with kit.stream("POST", "/a2a", json=body) as answer:
        told = []
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                told.append(json.loads(line[6:])["result"])
                gate.open.set()

    assert (told[0]["kind"], told[0]["id"], told[0]["status"]["state"]) == ("task", task["id"], "working")
    assert (told[-1]["status"]["state"], told[-1]["final"]) == ("input-required", True)


async def test_a_client_that_leaves_takes_no_run_along(kit: httpx.AsyncClient, gate: Gate) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/stream", "params": {"message": message("Slowly: slowly")}}
    async with kit.stream("POST", "/a2a", json=body) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                task = json.loads(line[6:])["result"]
                break

    gate.open.set()
    async with asyncio.timeout(20):
        while (await rpc(kit, "tasks/get", {"id": task["id"]}))["status"]["state"] != "input-required":
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("what", ["set", "get", "list", "delete"])
async def test_push_notifications_are_refused(kit: httpx.AsyncClient, what: str) -> None:
    task = await rpc(kit, "message/send", {"message": message()})
    config = {"url": "https://example.com/hook", "id": "p"}
    params = {
        "set": {"taskId": task["id"], "pushNotificationConfig": config},
        "get": {"id": task["id"]},
        "list": {"id": task["id"]},
        "delete": {"id": task["id"], "pushNotificationConfigId": "p"},
    }

    assert (await rpc(kit, f"tasks/pushNotificationConfig/{what}", params[what]))["code"] == -32003


async def test_who_has_no_token_or_a_wrong_one_is_not_let_in(door: Door) -> None:
    async with httpx.AsyncClient(base_url=door.url) as stranger:
        for headers in ({}, {"Authorization": "Bearer wrong-token-of-a-test"}, {"Authorization": f"Basic {TOKEN}"}):
            answer = await stranger.post("/a2a", json={}, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_many_messages_at_once_are_tasks_of_their_own(kit: httpx.AsyncClient) -> None:
    sent = [rpc(kit, "message/send", {"message": message(f"Number {number}")}, number) for number in range(20)]

    tasks = await asyncio.gather(*sent)

    assert len({task["id"] for task in tasks}) == len({task["contextId"] for task in tasks}) == 20
    listed = await rpc(kit, "tasks/list", {})
    assert {task["id"] for task in listed["tasks"]} == {task["id"] for task in tasks}
