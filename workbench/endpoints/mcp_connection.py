"""The connection to a server of tools over MCP: one owner task for each, which others only ask.

- A session is entered and left in the owner's task, because it may not be left in another, and every cell is one.
- Whoever calls learns of a lost link at once. The next call brings the link back, after a pause that grows while the
  server cannot be reached.
- A question that the server asks in the middle of a call is put to whoever made the call, in its task.
- A change of the server's tools is looked at beside the calls.

Source: ENDPOINTS 1.10, CASES u20. Knows nothing of agents.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput, LinkError
from workbench.loop import Home

if TYPE_CHECKING:
    from mcp.client import Client, ClientRequestContext, IncomingMessage
    from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult
    from mcp_types import Tool as ServerTool

    from workbench.endpoints.mcp_place import Place

__all__ = ["Connection", "Question"]

PAUSES = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds before the first, second, … try to bring a link back; the last one from then on."""

PAGES = 100
"""Pages of a list of tools that are read at most, so that a server that never ends one holds nobody."""

Question = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Asks a person, by a text and the JSON schema of the answer; gives the answer, or None for none."""

log = logging.getLogger("workbench")


class _Call:
    """A call on its way: what its server asks meanwhile."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[tuple[str, dict[str, Any], asyncio.Future[Any]]] = asyncio.Queue()


_current: ContextVar[_Call | None] = ContextVar("_current", default=None)


class Connection:
    """A link to one server. `timeout` is how long to wait for it, and for each answer, in seconds.

    `mode` is "auto", or "legacy" for the protocol as it was before 2026.
    """

    def __init__(self, place: Place, timeout: float, mode: str = "auto") -> None:
        self.place = place
        self.timeout = timeout
        self.mode = mode
        self.on_change: Callable[[], None] = _nothing
        self._home = Home.of_running()
        self._client: asyncio.Future[Client] = self._home.loop.create_future()
        self._lost = asyncio.Event()
        self._wanted = asyncio.Event()
        self._closing = asyncio.Event()
        self._failures = 0
        self._calls: list[_Call] = []
        self._owner: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether the link stands, as far as anybody knows."""
        return self._client.done() and not self._client.cancelled() and self._client.exception() is None

    async def listed(self) -> list[ServerTool]:
        """The tools of the server. Raises: LinkError."""
        client, tools, cursor = await self._ready(), [], None
        for _ in range(PAGES):
            page = await self._asked(client.list_tools(cursor=cursor, cache_mode="refresh"), "its tools")
            tools += page.tools
            cursor = page.next_cursor
            if not cursor:
                break
        return tools

    async def call(
        self, name: str, args: dict[str, Any], *, say: Callable[[str], None], question: Question, call_id: str
    ) -> CallToolResult:
        """What the server's tool gives. Cancelling cancels it there.

        Raises: BadInput for arguments that no server can be sent, which would cut the link; LinkError.
        """
        _check(name, args)
        client, call = await self._ready(), _Call()

        async def told(progress: float, total: float | None, message: str | None) -> None:
            say(message or (f"{progress:g}" if total is None else f"{progress:g} of {total:g}"))

        async def work() -> CallToolResult:
            _current.set(call)
            meta: Any = {"workbench/call_id": call_id}
            return await client.call_tool(name, args, self.timeout, told, meta=meta)

        self._calls.append(call)
        working = self._home.loop.create_task(self._asked(work(), f"tool {name!r}"), name=f"{self.place.words} {name}")
        try:
            result: CallToolResult = await _served(call, working, question)
            return result
        finally:
            self._calls.remove(call)
            if not working.done():
                working.cancel()
                await asyncio.wait([working])

    async def close(self) -> None:
        """Leave the server; a command that was started ends."""
        self._closing.set()
        self._lost.set()
        self._wanted.set()
        if self._owner is not None and not self._owner.done():
            if not self.connected:
                self._owner.cancel()  # it may wait long for a server that does not answer
            await asyncio.wait([self._owner])
        self._drop()
        self.place.close()

    async def _ready(self) -> Client:
        """The session, brought back if it was lost. Raises: LinkError."""
        if self._closing.is_set():
            raise LinkError(
                f"the connection to {self.place.words} is closed; call mcp_tools again", place=self.place.words
            )
        if self._owner is None or self._owner.done():
            self._owner = self._home.start(self._own(), name=f"connection to {self.place.words}")
        elif self._client.done() and not self.connected:
            self._client = self._home.loop.create_future()
        self._wanted.set()
        done, _ = await asyncio.wait([self._client], timeout=self.timeout)
        if not done:
            raise LinkError(
                f"{self.place.words} did not answer within {self.timeout:g} s; "
                "see that it runs, or give a longer timeout",
                place=self.place.words,
            )
        return self._client.result()

    async def _asked(self, work: Awaitable[Any], what: str) -> Any:
        """What a request gives. Raises: LinkError in our words when the link or the server fails it."""
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        try:
            return await work
        except TimeoutError as error:
            raise self._error(f"did not answer about {what} within {self.timeout:g} s") from error
        except MCPError as error:
            if error.code == REQUEST_TIMEOUT:
                raise self._error(f"did not answer about {what} within {self.timeout:g} s") from error
            if self.place.refusal or error.code == CONNECTION_CLOSED:
                self._drop()
                raise self._error(
                    f"was lost while it was asked about {what}, which may or may not have happened"
                ) from error
            raise self._error(f"refuses {what}: {error.message} ({error.code})") from error

    def _error(self, words: str) -> LinkError:
        if self.place.refusal:
            words = f"answers {self.place.refusal}: it does not accept the token"
        return LinkError(f"{self.place.words} {words}", place=self.place.words)

    # In the owner's task.

    async def _own(self) -> None:
        while not self._closing.is_set():
            self._lost.clear()
            self._wanted.clear()
            try:
                await self._hold()
            except asyncio.CancelledError as error:
                if _is_cancelled():
                    raise
                self._ended(error)  # the library's way to say that the server went away
            except Exception as error:
                self._ended(error)
            await self._wanted.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), PAUSES[min(self._failures, len(PAUSES) - 1)])

    async def _hold(self) -> None:
        from mcp.client import Client

        client = Client(
            self.place.transport(),
            read_timeout_seconds=self.timeout,
            mode=self.mode,
            message_handler=self._heard,
            elicitation_callback=self._elicited,
        )
        async with client:
            self._failures = 0
            if not self._client.done():
                self._client.set_result(client)
            listening = self._home.loop.create_task(self._listen(client), name=f"changes of {self.place.words}")
            try:
                await self._lost.wait()
            finally:
                listening.cancel()
                await asyncio.wait([listening])

    def _ended(self, error: BaseException) -> None:
        """The link broke: whoever waits for one that never stood hears why, others have it brought back."""
        stood = self.connected or self._lost.is_set()
        self._drop()
        if not stood:
            self._failures += 1
            self._client.set_exception(self._why(error))
            self._client.exception()  # nobody need wait for it

    def _drop(self) -> None:
        """Have nobody use the session any more."""
        self._lost.set()
        if self.connected:
            self._client = self._home.loop.create_future()

    def _why(self, error: BaseException) -> LinkError:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        said = f"; it said: {self.place.said}" if self.place.said else ""
        failed = self._error(f"cannot be spoken to: {str(error) or type(error).__name__}{said}")
        failed.__cause__ = error
        return failed

    async def _listen(self, client: Client) -> None:
        """Hear of changes where they are told only to who listens."""
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        with suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self.on_change()

    async def _heard(self, message: IncomingMessage) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self.on_change()

    async def _elicited(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """Have who made the call ask; a question that belongs to no call, or wants a browser, is declined."""
        from mcp_types import ElicitResult

        call = _current.get() or (self._calls[-1] if self._calls else None)
        if call is None or params.mode != "form":
            log.warning("%s asks %r, which cannot be asked here; declined", self.place.words, params.message)
            return ElicitResult(action="decline")
        answer: asyncio.Future[Any] = self._home.loop.create_future()
        call.asked.put_nowait((params.message, params.requested_schema, answer))
        value = await answer
        return ElicitResult(action="cancel") if value is None else ElicitResult(action="accept", content=value)


async def _served(call: _Call, working: asyncio.Task[Any], question: Question) -> Any:
    """The outcome of a call, whose questions are asked in the current task meanwhile."""
    while not working.done():
        asked = asyncio.ensure_future(call.asked.get())
        try:
            await asyncio.wait([working, asked], return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                message, schema, answer = asked.result()
                value = await question(message, schema)
                if not answer.done():
                    answer.set_result(value)
        finally:
            asked.cancel()
    return working.result()


def _check(name: str, args: Mapping[str, Any]) -> None:
    try:
        json.dumps(args, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadInput(
            f"the arguments of {name!r} have half of a character in them; use text of UTF-8", tool=name
        ) from None


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _nothing() -> None:
    """Hear nothing."""
