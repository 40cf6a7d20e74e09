"""The A2A server: the literal requests of the protocol, the official client, and whose tasks they are."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.types import a2a_pb2 as pb
from pydantic import BaseModel

from workbench import Agent, Workbench, models, tool
from workbench.door import Door

TOKENS = {"partner": "partner-token-of-a-test", "other": "the-other-token-of-a-test"}
HOLD = asyncio.Event


class Weather(BaseModel):
    city: str
    degrees: int


@tool(approval=True)
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return f"{order_id} cancelled"


@tool
async def stay() -> str:
    """Never end."""
    await asyncio.Event().wait()
    return "never"


@tool
def broken() -> str:
    """Fail."""
    raise RuntimeError("password=hunter2")


def agents() -> list[Agent]:
    asks = models.scripted(models.call("cancel_order", order_id="A-1001"), "It is cancelled.")
    return [
        Agent("support-agent", model=models.scripted("It is shipped."), description="Answers questions."),
        Agent("careful", tools=[cancel_order], model=asks),
        Agent("slow", tools=[stay], model=models.scripted(models.call("stay"), "Never.")),
        Agent("weather", model=models.scripted('{"city": "Rome", "degrees": 21}'), output=Weather),
        Agent("broken", tools=[broken], model=models.scripted()),
    ]


@pytest.fixture
async def bench() -> AsyncIterator[Workbench]:
    async with Workbench.open(":memory:", *agents()) as bench:
        yield bench


@pytest.fixture
async def door(bench: Workbench) -> AsyncIterator[Door]:
    door = await bench.publish(a2a=TOKENS)
    yield door
    await door.close()


class Speaker:
    """Speaks JSON-RPC to a door, as the protocol's examples are written."""

    def __init__(self, http: httpx.AsyncClient, door: Door, caller: str = "partner") -> None:
        self.http, self.door, self.caller = http, door, caller

    async def post(self, body: Any, **headers: str) -> httpx.Response:
        token = {"Authorization": f"Bearer {TOKENS[self.caller]}"}
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.http.post(
            f"{self.door.url}/a2a", content=content, headers={"Content-Type": "application/json", **token, **headers}
        )

    async def ask(self, method: str, params: Any, **headers: str) -> Any:
        answer = (await self.post({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}, **headers)).json()
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", 7)
        return answer.get("result", answer.get("error"))

    async def ask_1_0(self, method: str, params: Any) -> Any:
        return await self.ask(method, params, **{"A2A-Version": "1.0"})

    async def send(self, text: str, skill: str | None = "support-agent", **more: Any) -> Any:
        message = {
            "kind": "message",
            "role": "user",
            "messageId": f"m-{text}",
            "parts": [{"kind": "text", "text": text}],
        }
        params: dict[str, Any] = {"message": message | more.pop("message", {}), **more}
        return await self.ask("message/send", params | ({"metadata": {"skill": skill}} if skill else {}))


@pytest.fixture
async def say(http: httpx.AsyncClient, door: Door) -> Speaker:
    return Speaker(http, door)


@pytest.fixture
async def other(http: httpx.AsyncClient, door: Door) -> Speaker:
    return Speaker(http, door, "other")


async def test_the_common_request_is_answered_with_a_completed_task(say: Speaker, bench: Workbench) -> None:
    literal = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "message/send",
        "params": {
            "message": {
                "kind": "message",
                "messageId": "m-1",
                "role": "user",
                "parts": [{"kind": "text", "text": "Where is A-1001?"}],
            },
            "metadata": {"skill": "support-agent"},
        },
    }

    answer = (await say.post(literal)).json()
    again = (await say.post(literal)).json()

    task = answer["result"]
    run = bench.runs[task["id"]]
    assert (answer["jsonrpc"], answer["id"], task["kind"]) == ("2.0", 1, "task")
    assert task["status"]["state"] == "completed"
    assert task["artifacts"] == [
        {"artifactId": f"{run.id}-answer", "name": "answer", "parts": [{"kind": "text", "text": "It is shipped."}]}
    ]
    assert [part["text"] for message in task["history"] for part in message["parts"]] == ["Where is A-1001?"]
    assert (str(run.principal), run.request) == ("a2a:partner", "Where is A-1001?")
    assert again["result"]["id"] == task["id"]
    assert len(bench.runs) == 1


async def test_version_1_0_is_spoken_at_the_same_address(say: Speaker) -> None:
    message = {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}
    metadata = {"skill": "support-agent"}

    sent = await say.ask_1_0("SendMessage", {"message": message, "metadata": metadata})
    got = await say.ask_1_0("GetTask", {"id": sent["task"]["id"]})
    unsaid = await say.ask("SendMessage", {"message": message, "metadata": metadata})
    mixed = await say.ask_1_0("message/send", {"message": message, "metadata": metadata})

    assert sent["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert got == sent["task"]
    assert unsaid["code"] == -32009
    assert "code" in mixed


async def test_a_typed_answer_is_a_data_part(say: Speaker) -> None:
    task = await say.send("Rome?", "weather")

    assert task["artifacts"][0]["parts"] == [{"kind": "data", "data": {"city": "Rome", "degrees": 21}}]


async def test_an_approval_is_input_required_and_waits_for_the_owner(say: Speaker, bench: Workbench) -> None:
    task = await say.send("Cancel A-1001", "careful")
    follow_up = await say.send("Yes, do it", "careful", message={"taskId": task["id"], "contextId": task["contextId"]})
    (request,) = bench.approvals.pending()
    await bench.approvals.approve(request.id)
    assert await bench.runs[task["id"]] == "It is cancelled."
    done = await say.ask("tasks/get", {"id": task["id"]})

    assert task["status"]["state"] == follow_up["status"]["state"] == "input-required"
    assert task["status"]["message"]["parts"][0]["text"] == "it waits for a person at the bench"
    assert done["status"]["state"] == "completed"
    late = await say.send("And now?", "careful", message={"taskId": task["id"]})
    assert late["code"] == -32004


async def test_a_context_is_a_conversation_of_its_caller(say: Speaker, other: Speaker, bench: Workbench) -> None:
    first = await say.send("One", message={"contextId": "c-1"})
    second = await say.send("Two", message={"contextId": "c-1"})
    theirs = await other.send("One", message={"contextId": "c-1"})

    assert [task["contextId"] for task in (first, second, theirs)] == ["c-1"] * 3
    rooms = [bench.runs[task["id"]].conversation for task in (first, second, theirs)]
    assert rooms == ["a2a:partner/support-agent/c-1"] * 2 + ["a2a:other/support-agent/c-1"]
    listed = await say.ask("tasks/list", {"contextId": "c-1"})
    assert {task["id"] for task in listed["tasks"]} == {first["id"], second["id"]}


async def test_what_is_anothers_is_not_found(say: Speaker, other: Speaker) -> None:
    task = await say.send("Stay", "slow", configuration={"blocking": False})
    unknown = await other.ask("tasks/get", {"id": "a2a-0000"})

    for method in ("tasks/get", "tasks/cancel", "tasks/resubscribe"):
        params = {"id": task["id"]}
        if method == "tasks/resubscribe":
            answer = await other.post({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
            error = json.loads(answer.text.partition("data: ")[2].splitlines()[0])["error"]
        else:
            error = await other.ask(method, params)
        assert error["code"] == unknown["code"] == -32001, method
        assert error["message"].replace(task["id"], "a2a-0000") == unknown["message"]
    follow_up = await other.send("Go on", "slow", message={"taskId": task["id"]})
    assert follow_up["code"] == -32001
    assert (await other.ask("tasks/list", {}))["tasks"] == []
    assert (await say.ask("tasks/get", {"id": task["id"]}))["status"]["state"] == "working"


async def test_a_task_is_cancelled_once(say: Speaker, bench: Workbench) -> None:
    task = await say.send("Stay", "slow", configuration={"blocking": False})

    cancelled = await say.ask("tasks/cancel", {"id": task["id"]})
    again = await say.ask("tasks/cancel", {"id": task["id"]})

    assert cancelled["status"]["state"] == "canceled"
    assert bench.runs[task["id"]].status == "cancelled"
    assert bench.runs[task["id"]].state["cancelled_by"] == "a2a:partner"
    assert again["code"] == -32002


async def test_a_stream_tells_the_task_and_its_end(say: Speaker) -> None:
    message = {"kind": "message", "role": "user", "messageId": "m", "parts": [{"kind": "text", "text": "Where?"}]}
    params = {"message": message, "metadata": {"skill": "support-agent"}}

    answer = await say.post({"jsonrpc": "2.0", "id": 7, "method": "message/stream", "params": params})

    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [json.loads(line[6:])["result"] for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events[0]["kind"] == "task"
    assert [event["kind"] for event in events][-2:] == ["artifact-update", "status-update"]
    assert (events[-1]["status"]["state"], events[-1]["final"]) == ("completed", True)
    assert events[-2]["artifact"]["parts"] == [{"kind": "text", "text": "It is shipped."}]


async def test_tasks_are_listed_page_by_page(say: Speaker) -> None:
    sent = [(await say.send(f"Question {number}"))["id"] for number in range(5)]

    first = await say.ask_1_0("ListTasks", {"pageSize": 2})
    second = await say.ask_1_0("ListTasks", {"pageSize": 2, "pageToken": first["nextPageToken"]})
    third = await say.ask_1_0(
        "ListTasks", {"pageSize": 2, "pageToken": second["nextPageToken"], "includeArtifacts": True}
    )
    odd = await say.ask_1_0("ListTasks", {"pageSize": 1_000})

    pages = [[task["id"] for task in page["tasks"]] for page in (first, second, third)]
    assert [*pages[0], *pages[1], *pages[2]] == sent[::-1]
    assert (first["totalSize"], third.get("nextPageToken")) == (5, "")
    assert "artifacts" not in first["tasks"][0]
    assert third["tasks"][0]["artifacts"]
    assert odd["code"] == -32602


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "tasks/get"}', -32600),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}]', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/steal", "params": {}}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": 5}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {}}}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", -32700),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": ' + b"[" * 100 + b"]" * 100 + b"}", -32700),
    ],
)
async def test_a_request_that_is_none_is_refused_by_its_code(say: Speaker, body: bytes, code: int) -> None:
    assert (await say.post(body)).json()["error"]["code"] == code
    assert (await say.send("Still there?"))["status"]["state"] == "completed"


async def test_no_skill_an_unknown_one_no_words_and_files_are_refused(say: Speaker) -> None:
    assert "name one in metadata.skill, there are support-agent, careful" in (await say.send("Hello", None))["message"]
    assert (await say.send("Hello", "nobody"))["code"] == -32602
    assert (await say.send("", "support-agent"))["code"] == -32602
    file = {"kind": "file", "file": {"uri": "http://example.com/a"}}
    assert (await say.send("Look", message={"parts": [file]}))["code"] == -32005


async def test_a_failure_inside_is_told_without_its_words(say: Speaker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    task = await say.send("Break", "broken")

    assert task["status"]["state"] == "failed"
    assert "hunter2" not in json.dumps(task)
    assert f"finds the reason in run {task['id']}" in task["status"]["message"]["parts"][0]["text"]
    assert not any(token in caplog.text for token in TOKENS.values())


async def test_push_notifications_are_not_supported(say: Speaker) -> None:
    config = {"taskId": "t", "pushNotificationConfig": {"url": "http://127.0.0.1:1/"}}

    assert (await say.ask("tasks/pushNotificationConfig/set", config))["code"] == -32003


async def test_the_card_is_public_and_shows_no_secret(http: httpx.AsyncClient, door: Door) -> None:
    card = (await http.get(f"{door.url}/.well-known/agent-card.json")).json()

    assert [skill["id"] for skill in card["skills"]] == ["support-agent", "careful", "slow", "weather", "broken"]
    assert (card["url"], card["protocolVersion"], card["preferredTransport"]) == (f"{door.url}/a2a", "0.3", "JSONRPC")
    assert (card["capabilities"]["streaming"], card["capabilities"].get("pushNotifications", False)) == (True, False)
    assert "bearer" in card["securitySchemes"]
    assert not any(token in json.dumps(card) for token in TOKENS.values())
    assert (await http.post(f"{door.url}/a2a", json={})).status_code == 401


async def test_an_only_agent_and_a_default_need_no_skill(http: httpx.AsyncClient) -> None:
    one = Agent("one", model=models.scripted("First."))
    async with Workbench.open(":memory:", one) as bench:
        door = await bench.publish(a2a=TOKENS)
        task = await Speaker(http, door).send("Hello", None)
        await door.close()

    assert task["artifacts"][0]["parts"][0]["text"] == "First."


async def test_the_official_client_sends_streams_gets_and_cancels(door: Door) -> None:
    headers = {"Authorization": f"Bearer {TOKENS['partner']}"}
    async with httpx.AsyncClient(headers=headers, timeout=30) as http:
        config = ClientConfig(httpx_client=http, streaming=True, supported_protocol_bindings=["JSONRPC"])
        client = await create_client(door.url, client_config=config)
        message = pb.Message(message_id="m-1", role=pb.Role.ROLE_USER, parts=[pb.Part(text="Where is it?")])
        request = pb.SendMessageRequest(message=message)
        request.metadata["skill"] = "support-agent"

        events = [event async for event in client.send_message(request)]
        task = await client.get_task(pb.GetTaskRequest(id=events[0].task.id))
        await client.close()

    assert events[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED
    assert task.artifacts[0].parts[0].text == "It is shipped."
