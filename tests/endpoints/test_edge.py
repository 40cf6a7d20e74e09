"""The edge of a door: who gets in, from where, with how much, and what becomes of everyone else."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.middleware import Middleware
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from workbench import Workbench
from workbench.door import Limits

pytestmark = pytest.mark.usefixtures("echoing")
CALLERS = {"desktop": "desktop-token-of-a-test", "editor": "the-other-token-of-a-test"}
BEARER = {"Authorization": f"Bearer {CALLERS['desktop']}"}


async def test_a_caller_is_known_by_its_token_which_goes_no_further(bench: Workbench, http: httpx.AsyncClient) -> None:
    door = await bench.publish(mcp=CALLERS)

    answer = await http.post(f"{door.url}/mcp", headers=BEARER, content=b"{}")

    assert (answer.status_code, answer.json()["caller"]) == (200, "mcp:desktop")
    assert "authorization" not in answer.json()["headers"]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", "")],
        [("Authorization", "Bearer")],
        [("Authorization", f"Basic {CALLERS['desktop']}")],
        [("Authorization", f"Bearer {CALLERS['desktop']}x")],
        [("Authorization", f"Bearer {CALLERS['desktop'][:-1]}")],
        [("Authorization", f"Bearer {CALLERS['desktop'].upper()}")],
        [("Authorization", CALLERS["desktop"])],
        [("Authorization", f"Bearer {CALLERS['desktop']}")] * 2,
        [("Authorization", "Bearer wrong-token-of-a-test"), ("Authorization", f"Bearer {CALLERS['desktop']}")],
        [("Authorization", b"Bearer \xff\xfe")],
        [("X-Workbench-Token", CALLERS["desktop"])],
    ],
)
async def test_without_exactly_one_good_bearer_nothing_is_served(
    bench: Workbench, http: httpx.AsyncClient, headers: Any
) -> None:
    door = await bench.publish(mcp=CALLERS)

    answer = await http.post(f"{door.url}/mcp", headers=headers, content=b"{}")

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="mcp", error="invalid_token"'
    assert "resource_metadata" not in answer.headers["www-authenticate"]
    assert door.refused == 1


@pytest.mark.parametrize("path", ["/health", "/card", "/mcp", "/mcp/below", "/nowhere"])
async def test_another_host_or_a_page_of_one_reaches_no_route(
    bench: Workbench, http: httpx.AsyncClient, path: str
) -> None:
    door = await bench.publish(mcp=CALLERS)

    rebound = await http.get(f"{door.url}{path}", headers={**BEARER, "Host": "evil.example"})
    page = await http.get(f"{door.url}{path}", headers={**BEARER, "Origin": "https://evil.example"})
    hidden = await http.get(f"{door.url}{path}", headers={**BEARER, "Origin": "null"})
    near = await http.get(f"{door.url}{path}", headers={**BEARER, "Host": "127.0.0.1.evil.example"})

    assert (rebound.status_code, page.status_code, hidden.status_code, near.status_code) == (421, 403, 403, 421)


async def test_names_of_this_machine_and_the_public_one_are_let_in(bench: Workbench, http: httpx.AsyncClient) -> None:
    door = await bench.publish(mcp=CALLERS, public_url="https://hub.example.org/proxy/1")
    here = f"http://127.0.0.1:{door.port}"

    for host in ("localhost", f"LOCALHOST:{door.port}", "[::1]:80", "127.0.0.1", "hub.example.org"):
        assert (await http.get(f"{here}/health", headers={"Host": host})).json() == {"status": "ok"}
    origin = {**BEARER, "Origin": "https://hub.example.org"}
    assert (await http.post(f"{here}/mcp", headers=origin, content=b"")).status_code == 200
    assert door.url == "https://hub.example.org/proxy/1"


async def test_a_public_name_with_letters_beyond_ascii_is_let_in(bench: Workbench, http: httpx.AsyncClient) -> None:
    door = await bench.publish(mcp=CALLERS, public_url="https://bücher.example")
    here, name = f"http://127.0.0.1:{door.port}", "xn--bcher-kva.example"

    assert (await http.get(f"{here}/health", headers={"Host": name})).json() == {"status": "ok"}
    origin = {**BEARER, "Host": name, "Origin": f"https://{name}"}
    assert (await http.post(f"{here}/mcp", headers=origin, content=b"")).status_code == 200


async def test_health_and_public_paths_need_no_token_and_others_are_nowhere(
    bench: Workbench, http: httpx.AsyncClient
) -> None:
    door = await bench.publish(mcp=CALLERS)

    assert (await http.get(f"{door.url}/health")).status_code == 200
    assert (await http.get(f"{door.url}/card", headers=BEARER)).json()["caller"] == "None"
    assert "authorization" not in (await http.get(f"{door.url}/card", headers=BEARER)).json()["headers"]
    assert (await http.get(f"{door.url}/mcpx", headers=BEARER)).status_code == 404
    assert (await http.get(f"{door.url}/a2a", headers=BEARER)).status_code == 404


async def test_a_body_is_taken_up_to_the_limit_and_not_a_byte_more(bench: Workbench, http: httpx.AsyncClient) -> None:
    door = await bench.publish(mcp=CALLERS)
    most = 4 * 1024 * 1024

    async def dripping(size: int) -> Any:
        for _ in range(0, size, 65_536):
            yield b"x" * 65_536
        yield b"x" * (size % 65_536)

    whole = await http.post(f"{door.url}/mcp", headers=BEARER, content=b"x" * most)
    declared = await http.post(f"{door.url}/mcp", headers=BEARER, content=b"x" * (most + 1))
    chunked = await http.post(f"{door.url}/mcp", headers=BEARER, content=dripping(most + 1))

    assert (whole.status_code, whole.json()["size"]) == (200, most)
    assert (declared.status_code, chunked.status_code) == (413, 413)


async def test_the_owners_middleware_comes_before_every_other_check(bench: Workbench, http: httpx.AsyncClient) -> None:
    seen: list[str] = []

    def outer(app: Any) -> Any:
        async def barred(scope: Any, receive: Any, send: Any) -> None:
            seen.append("outer")
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b"not from there"})

        return barred

    class Inner:
        def __init__(self, app: Any, note: str) -> None:
            self.app, self.note = app, note

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            seen.append(self.note)
            await self.app(scope, receive, send)

    door = await bench.publish(mcp=CALLERS, middleware=[outer, Middleware(Inner, note="inner")])
    answer = await http.post(f"{door.url}/mcp", headers={"Host": "evil.example"}, content=b"x" * 5_000_000)
    assert (answer.status_code, answer.text, seen) == (403, "not from there", ["outer"])
    assert door.refused == 0

    seen.clear()
    door = await bench.publish(
        mcp=CALLERS, middleware=[Middleware(Inner, note="first"), Middleware(Inner, note="next")]
    )
    assert (await http.post(f"{door.url}/mcp", headers=BEARER)).status_code == 200
    assert seen == ["first", "next"]


async def test_one_callers_limits_are_its_own(bench: Workbench, http: httpx.AsyncClient) -> None:
    door = await bench.publish(mcp=CALLERS, limits=Limits(in_flight=2, rate=0.001, burst=4))
    editor = {"Authorization": f"Bearer {CALLERS['editor']}"}

    async with (
        http.stream("GET", f"{door.url}/mcp/stream", headers=BEARER) as first,
        http.stream("GET", f"{door.url}/mcp/stream", headers=BEARER) as second,
    ):
        crowded = await http.post(f"{door.url}/mcp", headers=BEARER)
        assert door.connected == {"mcp:desktop": 2}
        other = await http.post(f"{door.url}/mcp", headers=editor)
        assert (first.status_code, second.status_code) == (200, 200)

    assert (crowded.status_code, crowded.headers["retry-after"], other.status_code) == (429, "1", 200)
    statuses = [(await http.post(f"{door.url}/mcp", headers=editor)).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]


async def test_what_was_answered_is_open_no_more_once_its_caller_knows(
    bench: Workbench, http: httpx.AsyncClient
) -> None:
    door = await bench.publish(mcp=CALLERS)

    assert (await http.post(f"{door.url}/mcp/linger", headers=BEARER)).status_code == 200

    assert door.connected == {}


async def test_the_text_of_an_exception_stays_here(
    bench: Workbench, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    door = await bench.publish(mcp=CALLERS)

    answer = await http.post(f"{door.url}/mcp/raise", headers=BEARER, content=b"{}")

    assert (answer.status_code, answer.text) == (500, "Internal Server Error")
    assert (await http.post(f"{door.url}/mcp", headers=BEARER)).status_code == 200


async def test_a_revoked_token_ends_what_its_caller_has_open(
    bench: Workbench, http: httpx.AsyncClient, echoing: list[Any]
) -> None:
    door = await bench.publish(mcp=CALLERS)
    editor = {"Authorization": f"Bearer {CALLERS['editor']}"}

    async with (
        http.stream("GET", f"{door.url}/mcp/stream", headers=BEARER) as revoked,
        http.stream("GET", f"{door.url}/mcp/stream", headers=editor) as other,
    ):
        lines = revoked.aiter_lines()
        assert await anext(lines) == "data: hello"
        door.revoke("mcp:desktop")
        assert [line async for line in lines] == [""]

        assert (await http.post(f"{door.url}/mcp", headers=BEARER)).status_code == 401
        assert (await http.post(f"{door.url}/mcp", headers=editor)).status_code == 200
        assert (door.connected, other.is_closed) == ({"mcp:editor": 1}, False)
    assert echoing[0].events == ["running", "forget mcp:desktop"]


async def test_a_thousand_refused_requests_leave_nothing_behind(bench: Workbench) -> None:
    door = await bench.publish(mcp=CALLERS)
    tasks = len(asyncio.all_tasks())
    bearer = "Authorization: Bearer wrong-token-of-a-test"
    wrong = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{bearer}\r\nContent-Length: 2\r\n\r\n{{}}"
    elsewhere = "GET /card HTTP/1.1\r\nHost: evil.example\r\n\r\n"

    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    statuses = []
    for asked in [wrong, elsewhere] * 500:
        writer.write(asked.encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        statuses.append(int(head.split()[1]))
        await reader.readexactly(int(head.lower().partition("content-length: ")[2].split()[0]))
    writer.close()
    await writer.wait_closed()

    assert statuses == [401, 421] * 500
    assert (door.refused, list(door.calls), door.connected) == (1000, [], {})
    assert len(asyncio.all_tasks()) == tasks


async def test_no_token_is_in_any_log_or_in_the_store(
    tmp_path: Path, http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpcore").setLevel(logging.INFO)  # the client's own, which does log what it sends
    monkeypatch.setenv("WORKBENCH_MCP_CALLERS_DESKTOP", CALLERS["desktop"])

    async with Workbench.open(tmp_path / "agents.db") as bench:
        door = await bench.publish(mcp=True)
        assert (await http.post(f"{door.url}/mcp/ask", headers=BEARER)).json()["caller"] == "mcp:desktop"
        assert (await http.post(f"{door.url}/mcp", headers={"Authorization": "Bearer no-such-token-here"})).is_error
        shown = f"{door!r}{door._repr_html_()}{door.configuration}{door.calls!r}{bench!r}{vars(door)}"

    logged = "".join(f"{record.getMessage()}{record.__dict__}" for record in caplog.records)
    assert logged
    stored = b"".join(path.read_bytes() for path in list_of(tmp_path)).decode("latin-1")
    for text in (logged, shown, stored):
        assert CALLERS["desktop"] not in text
        assert "no-such-token-here" not in text
    assert "${WORKBENCH_TOKEN}" in shown


def list_of(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_web_socket_has_the_same_edge_and_logs_no_token(
    bench: Workbench, caplog: pytest.LogCaptureFixture
) -> None:
    door = await bench.publish(mcp=CALLERS)
    address = f"ws://127.0.0.1:{door.port}/mcp"
    caplog.set_level(logging.DEBUG)
    logging.getLogger("websockets.client").setLevel(logging.INFO)  # the client's own, which does log what it sends

    for headers in ({}, {"Authorization": "Bearer wrong-token-of-a-test"}, {**BEARER, "Origin": "http://evil.example"}):
        with pytest.raises(InvalidStatus, match="HTTP 403"):
            await connect(address, additional_headers=headers, proxy=None)
    async with connect(address, additional_headers=BEARER, proxy=None) as socket:
        assert door.connected == {"mcp:desktop": 1}
        door.revoke("mcp:desktop")
        with pytest.raises(ConnectionClosed):
            await socket.recv()

    logged = "".join(f"{record.getMessage()}{record.__dict__}" for record in caplog.records)
    assert CALLERS["desktop"] not in logged
    assert "wrong-token-of-a-test" not in logged
