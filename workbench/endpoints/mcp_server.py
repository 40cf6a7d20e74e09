"""The MCP server: a bench's agents and tools for any MCP client, both eras of the protocol on one path.

- The SDK's low-level server: registry, schemas, identity, approvals and runs are the bench's own.
- What is offered is listed without asking the bench, so a busy cell does not make the list look dead; a change of it is
  announced to whoever listens.
- A request is its caller's whatever its session says; see `mcp_sessions`.

Source: ENDPOINTS 0 and 1; Model Context Protocol, revisions 2024-11-05 to 2026-07-28. Knows nothing of the edge.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import weakref
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import mcp_types as mt
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from workbench.endpoints.catalogue import catalogue_of
from workbench.endpoints.errands import Errands
from workbench.endpoints.mcp_calls import CALLER, FOLLOW_UPS, Calls, caller_of
from workbench.endpoints.mcp_configuration import configurations
from workbench.endpoints.mcp_questions import sealing
from workbench.endpoints.mcp_resources import Resources
from workbench.endpoints.mcp_results import as_tool, telling
from workbench.endpoints.mcp_sessions import Sessions
from workbench.endpoints.mcp_tasks import Tasks
from workbench.errors import BadInput
from workbench.plain import decode, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext
    from starlette.types import Receive, Scope, Send

    from workbench.endpoints.callers import Caller
    from workbench.endpoints.service import Reception

__all__ = ["McpService", "service"]

log = logging.getLogger("workbench")
PATH = "/mcp"
NAME = "workbench"
SEAL = "seal"  # the kind of the record that has the key of states
LISTENERS, BACKLOG = 256, 64
INSTRUCTIONS = (
    "ask_<agent> asks an agent; when the answer takes longer than you wait you get the id of its run, and get_run has "
    "the rest. Every other tool runs once for each call."
)


def service(reception: Reception) -> McpService:
    """What the door serves under `/mcp`. Raises: BadInput when two things would have one name."""
    return McpService(reception)


class McpService:
    """Implements `workbench.endpoints.service.Service`. `server` is the SDK's; handlers can be added to it."""

    paths = (PATH,)
    public = ()

    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sessions: Sessions | None = None
        self._bus = InMemorySubscriptionBus()
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._telling: set[asyncio.Task[None]] = set()
        errands = Errands(reception.bench, declines=reception.approvals == "decline")
        tasks = Tasks(reception, errands, caller_of)
        self.calls = Calls(reception, errands, tasks)
        self.calls.catalogue = catalogue_of(reception.bench)
        self.server = _Server(
            NAME,
            version=version("jupyter-agent-workbench"),
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_subscriptions_listen=ListenHandler(self._bus, max_subscriptions=LISTENERS, max_buffered_events=BACKLOG),
            get_tool_input_schema=self._schema_of,
        )
        self.server.middleware.append(telling)
        self.server.add_request_handler("tools/call", mt.CallToolRequestParams, self.calls.carry_out)
        tasks.serve(self.server)
        Resources(reception, errands, caller_of).serve(self.server)
        runs = reception.bench.runs
        self._stops = [of.subscribe(self._changed) for of in (runs.known, reception.bench.policy.changes)]
        self._app = AuthContextMiddleware(self._serve)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for `/mcp`."""
        caller: Caller = scope["user"]
        token = AccessToken(token="", client_id=str(caller), subject=str(caller), scopes=[])
        await self._app(dict(scope) | {CALLER: caller, "user": AuthenticatedUser(token)}, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While it is entered, requests are answered."""
        self._loop = asyncio.get_running_loop()
        self.server.middleware.append(sealing(await self._reception.at_home(self._key), NAME))
        self._sessions = Sessions(self.server, self._reception.limits.sessions)
        async with self._sessions.run():
            yield

    async def _key(self) -> bytes:
        """The key that the states of requests are sealed with; the store keeps it, so that they outlive a restart."""
        bench = self._reception.bench
        fresh = encode({"key": secrets.token_bytes(32)})
        await bench.store.put_record(SEAL, NAME, SEAL, fresh, status="open", at=bench.clock.now())
        record = await bench.store.get_record(SEAL, NAME)
        key: bytes = decode(fresh if record is None else record.body)["key"]
        return key

    def configuration(self) -> Mapping[str, str]:
        """What MCP clients are told."""
        return configurations(f"{self._reception.address}{PATH}")

    async def forget(self, caller: Caller) -> None:
        """End the sessions of a caller."""
        if self._sessions is not None:
            await self._sessions.forget(str(caller))

    async def closed(self) -> None:
        """Look at the bench no more."""
        for stop in self._stops:
            stop()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._sessions is not None:
            await self._sessions.handle_request(scope, receive, send)

    async def _list_tools(
        self, ctx: ServerRequestContext[Any, Any], params: mt.PaginatedRequestParams | None
    ) -> mt.ListToolsResult:
        self._connections.add(ctx.session._connection)
        tools = [as_tool(offer) for offer in self.calls.catalogue.values()]
        return mt.ListToolsResult(tools=[*tools, *FOLLOW_UPS.values()], ttl_ms=0, cache_scope="private")

    def _schema_of(self, name: str) -> Mapping[str, Any] | None:
        offer, follow_up = self.calls.catalogue.get(name), FOLLOW_UPS.get(name)
        if offer is not None:
            return offer.input_schema
        return None if follow_up is None else follow_up.input_schema

    def _changed(self) -> None:
        """On the bench's loop: what it offers may be another."""
        try:
            catalogue = catalogue_of(self._reception.bench)
        except BadInput as error:
            return log.error("the door goes on offering what it did: %s", error)
        if catalogue != self.calls.catalogue:
            self.calls.catalogue = catalogue
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._announce)
        return None

    def _announce(self) -> None:
        """On the front's loop: say so to whoever listens."""
        task = asyncio.ensure_future(self._tell())
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for connection in list(self._connections):
            await connection.send_tool_list_changed()


class _Server(Server[dict[str, Any]]):
    """A server that says that its list of tools can change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> Any:
        """What a client of the handshake era is told."""
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)
