"""The connection to a server of tools, with servers of the official library in processes of their own."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from workbench.endpoints.mcp_connection import Connection
from workbench.endpoints.mcp_place import Place
from workbench.errors import BadInput, LinkError

PROGRAM = Path(__file__).with_name("tools_server.py")
TOKEN = "a-token-of-some-length"
Connect = Callable[..., Connection]
Serve = Callable[..., Awaitable[str]]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    async with AsyncExitStack() as open_ones:

        def make(
            url: str | None = None, *, token: str | None = TOKEN, timeout: float = 30.0, mode: str = "auto"
        ) -> Connection:
            command = None if url is not None else [sys.executable, str(PROGRAM)]
            connection = Connection(Place(url, command, token if url is not None else None, None), timeout, mode)
            open_ones.push_async_callback(connection.close)
            return connection

        yield make


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Begins a server on a port, or on that of one that was stopped; gives its URL."""
    async with AsyncExitStack() as children:

        async def begin(port: int | None = None) -> str:
            port = port or free_port()
            child = await asyncio.create_subprocess_exec(
                sys.executable, str(PROGRAM), "--port", str(port), "--token", TOKEN
            )
            children.push_async_callback(child.wait)
            children.callback(lambda: child.returncode is None and child.kill())
            await until_it_listens(port)
            return f"http://127.0.0.1:{port}/mcp"

        yield begin


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def until_it_listens(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                await writer.wait_closed()
                return


async def nobody(message: str, schema: dict[str, Any]) -> Any:
    raise AssertionError(f"nobody should be asked {message!r}")


async def called(connection: Connection, name: str, args: dict[str, Any] | None = None, **options: Any) -> Any:
    asked = {"say": [].append, "question": nobody, "call_id": "c-1", **options}
    return await connection.call(name, args or {}, **asked)


@pytest.mark.parametrize("over", ["pipes", "http"])
async def test_tools_are_listed_and_called_in_tasks_that_did_not_connect(
    connect: Connect, serve: Serve, over: str
) -> None:
    connection = connect(await serve() if over == "http" else None)

    tools = await asyncio.create_task(connection.listed())
    results = await asyncio.gather(*(called(connection, "add", {"a": n, "b": 1}) for n in range(5)))
    failed = await called(connection, "fail", {"words": "as told"})

    assert [tool.name for tool in tools] == ["add", "fail", "files.delete", "slow", "greet", "grow", "die"]
    assert [result.structured_content for result in results] == [{"total": n + 1} for n in range(5)]
    assert failed.is_error
    assert "as told" in failed.content[0].text
    await asyncio.create_task(connection.close())
    assert not connection.connected


async def test_half_of_a_character_is_refused_before_it_is_sent_and_the_link_stays(connect: Connect) -> None:
    connection = connect(None)
    await connection.listed()

    with pytest.raises(BadInput, match="the arguments of 'fail' have half of a character in them"):
        await called(connection, "fail", {"words": "\ud800"})

    assert connection.connected
    assert (await called(connection, "add", {"a": 1, "b": 1})).structured_content == {"total": 2}
    await connection.close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_question_of_the_server_is_put_to_who_made_the_call(connect: Connect, mode: str) -> None:
    connection, asked = connect(mode=mode), []

    async def question(message: str, schema: dict[str, Any]) -> Any:
        asked.append((message, sorted(schema["properties"]), asyncio.current_task()))
        return {"name": "Ada"}

    async def no_answer(message: str, schema: dict[str, Any]) -> Any:
        return None

    greeted = await called(connection, "greet", question=question)
    left = await called(connection, "greet", question=no_answer)

    assert greeted.content[0].text == "Hello Ada"
    assert left.content[0].text == "Nobody, for cancel"
    assert asked == [("What is your name?", ["name"], asyncio.current_task())]


async def test_progress_is_told_and_a_call_that_is_cancelled_is_over(connect: Connect) -> None:
    connection = connect()
    said: asyncio.Queue[str] = asyncio.Queue()

    call = asyncio.create_task(called(connection, "slow", say=said.put_nowait))
    line = await asyncio.wait_for(said.get(), 30)
    call.cancel()
    await asyncio.wait([call])

    assert line == "one of three"
    assert call.cancelled()
    assert (await called(connection, "add", {"a": 1, "b": 2})).structured_content == {"total": 3}


async def test_a_server_that_dies_in_a_call_is_told_of_at_once_and_begun_again_by_the_next(connect: Connect) -> None:
    connection = connect()

    with pytest.raises(
        LinkError, match=r"was lost while it was asked about tool 'die', which may or may not have happened"
    ):
        await called(connection, "die")
    again = await called(connection, "add", {"a": 2, "b": 2})

    assert again.structured_content == {"total": 4}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_change_of_the_tools_is_heard(connect: Connect, mode: str) -> None:
    connection, heard = connect(mode=mode), asyncio.Event()
    connection.on_change = heard.set
    await connection.listed()

    await called(connection, "grow")

    await asyncio.wait_for(heard.wait(), 30)
    assert "newcomer" in [tool.name for tool in await connection.listed()]


async def test_a_refused_token_is_named_as_such_and_never_shown(
    connect: Connect, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    connection = connect(await serve(), token="another-token-of-some-length")

    with pytest.raises(
        LinkError, match=r"http://127\.0\.0\.1:\d+/mcp answers 401 Unauthorized: it does not accept the token"
    ):
        await connection.listed()

    assert "another-token" not in caplog.text
    assert "another-token" not in repr(connection.place)


async def test_nothing_at_the_address_and_a_command_that_ends_are_said(connect: Connect) -> None:
    url = f"http://127.0.0.1:{free_port()}/mcp"
    with pytest.raises(LinkError, match=rf"{url} cannot be spoken to: "):
        await connect(url).listed()

    words = "import sys; sys.exit('no such database')"
    ends = Connection(Place(None, [sys.executable, "-c", words], None, None), 30.0)
    with pytest.raises(LinkError, match=r"cannot be spoken to: .*; it said: no such database"):
        await ends.listed()
    await ends.close()


async def test_a_server_that_does_not_answer_is_said_to_have_taken_too_long() -> None:
    silent = Connection(Place(None, [sys.executable, "-c", "input()\nimport time\ntime.sleep(60)"], None, None), 0.5)

    with pytest.raises(LinkError, match=r"within 0\.5 s|cannot be spoken to: "):
        await silent.listed()
    async with asyncio.timeout(8):  # whoever waits for its answer has longer
        await silent.close()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((None, None, None, None), "give one"),
        (("http://a/mcp", ["b"], None, None), "give one"),
        (("ftp://a", None, None, None), "begins with http:// or https://"),
        (("http://a:99999", None, None, None), "has a host and port that can be, found 'http://a:99999'"),
        (("http://me:secret@a:99999/?k=1", None, None, None), r"found 'http://…@a:99999/\?…'$"),
        (("http://me:secret@a", ["b"], None, None), r"found url='http://…@a' and command=\['b'\]; give one$"),
        (("http://a b/", None, None, None), "has a host and port that can be"),
        (("http://me:secret@a", None, "t", None), "a login in its url or a token, found both for 'a'"),
        (("http://a", None, None, {"A": "b"}), "a url takes no env"),
        ((None, 5, None, None), "is a list of words"),
        ((None, {"a": 1}, None, None), "is a list of words"),
        ((None, ["\ud800"], None, None), "is a list of words"),
        ((None, "uvx server", None, None), "is a list of words"),
        ((None, [], None, None), "is a list of words"),
        (("http://a/mcp", None, "", None), "is the text that the server gave you"),
        (("http://a/mcp", None, "é" * 20, None), "characters that no header carries"),
        ((None, ["b"], "t", None), "takes no token"),
        ((None, ["b"], None, 5), "env is variables by name, such as .*, found int"),
        ((None, ["b"], None, [("A", "b")]), "env is variables by name, such as .*, found list"),
        ((None, ["b"], None, {5: "b"}), "a variable of env is named by a text without = in it, found 5"),
        ((None, ["b"], None, {"A=B": "b"}), "a variable of env is named by a text without = in it, found 'A=B'"),
        ((None, ["b"], None, {"A": 5}), "variable 'A' of env is a text of whole characters, found int"),
        ((None, ["b"], None, {"A": "b\0"}), "variable 'A' of env is a text of whole characters, found str"),
    ],
)
def test_a_place_that_is_none_is_refused(given: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Place(*given)


async def test_the_login_and_the_query_of_a_url_are_in_no_error() -> None:
    lost = Connection(Place("http://me:hunter2@127.0.0.1:1/mcp?key=hunter3", None, None, None), 10.0)

    with pytest.raises(LinkError, match=r"^http://127\.0\.0\.1:1/mcp cannot be spoken to: ") as error:
        await lost.listed()

    assert "hunter" not in f"{error.value}{error.value.fields}{lost.place}"
    await lost.close()
