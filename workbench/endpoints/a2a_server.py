"""The A2A server: the agents of a bench as one A2A agent with a skill for each.

- One card at `/.well-known/agent-card.json`, public, made anew for each request, so agents may come and go.
- JSON-RPC at `/a2a`, both 1.0 and 0.3 of the protocol by the method's name; 1.0 over HTTP+JSON below `/a2a/rest`.
- Approvals wait for people at the bench. There are no push notifications.

Source: A2A 1.0 and 0.3; ENDPOINTS 0 (7 to 9) and 2. Knows nothing of the edge.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.common import ServerCallContextBuilder, StarletteUser
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH, VERSION_HEADER
from starlette.applications import Starlette
from starlette.routing import Mount

from workbench.endpoints.a2a_front import Front
from workbench.endpoints.a2a_handler import CALLER, Handler
from workbench.endpoints.errands import Errands
from workbench.words import as_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from workbench.agents.agent import Agent
    from workbench.endpoints.callers import Caller
    from workbench.endpoints.service import Reception

__all__ = ["A2aService", "service"]

PATH = "/a2a"
REST = f"{PATH}/rest"
LEGACY = "X-A2A-Extensions"


def service(reception: Reception) -> A2aService:
    """What the door serves under `/a2a`, and its card."""
    return A2aService(reception)


class A2aService:
    """Implements `workbench.endpoints.service.Service`."""

    paths = (PATH, AGENT_CARD_WELL_KNOWN_PATH)
    public = (AGENT_CARD_WELL_KNOWN_PATH,)

    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self._skills: list[AgentSkill] = []
        self._look()
        self._stop = reception.bench.runs.known.subscribe(self._look)
        handler = Handler(reception, Errands(reception.bench, declines=False), lambda: [s.id for s in self._skills])
        builder = _Contexts()
        rpc = create_jsonrpc_routes(handler, PATH, builder, enable_v0_3_compat=True)
        rest = create_rest_routes(handler, builder)
        card = create_agent_card_routes(self._made(), self._card)
        self._app = Front(Starlette(routes=[*card, *rpc, Mount(REST, routes=rest)]), PATH, REST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for the card or for `/a2a`."""
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Nothing of it has to be begun."""
        yield

    def configuration(self) -> Mapping[str, str]:
        """What A2A clients are told."""
        base = self._reception.address
        return {
            "A2A": f"card: {base}{AGENT_CARD_WELL_KNOWN_PATH}\nAuthorization: Bearer ${{WORKBENCH_TOKEN}}",
            "A2A (python)": _PYTHON.format(base=base),
        }

    async def forget(self, caller: Caller) -> None:
        """A caller has nothing here but its open requests, which the edge ends."""

    async def closed(self) -> None:
        """Look at the bench no more."""
        self._stop()

    def _look(self) -> None:
        """On the bench's loop: know its agents as they are now."""
        self._skills = [_skill(agent) for agent in self._reception.bench.agents.values()]

    async def _card(self, _: AgentCard) -> AgentCard:
        return self._made()

    def _made(self) -> AgentCard:
        base, scheme = self._reception.address, "bearer"
        interfaces = [
            AgentInterface(url=f"{base}{PATH}", protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=f"{base}{REST}", protocol_binding="HTTP+JSON", protocol_version="1.0"),
            AgentInterface(url=f"{base}{PATH}", protocol_binding="JSONRPC", protocol_version="0.3"),
        ]
        return AgentCard(
            name="workbench",
            description="Durable agents of a notebook. Each skill is one of them; name it in metadata.skill.",
            version=version("jupyter-agent-workbench"),
            supported_interfaces=interfaces,
            capabilities=AgentCapabilities(streaming=True, push_notifications=False, extended_agent_card=False),
            default_input_modes=["text/plain", "application/json"],
            default_output_modes=["text/plain", "application/json"],
            skills=self._skills,
            security_schemes={scheme: SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme=scheme))},
            security_requirements=[SecurityRequirement(schemes={scheme: StringList()})],
        )


class _Contexts(ServerCallContextBuilder):
    """Contexts of calls that hold who calls and which version is spoken, and no other header: some of it is logged."""

    def build(self, request: Request) -> ServerCallContext:
        """The context of a request that the edge let in."""
        caller: Caller = request.scope["user"]
        kept = {name: request.headers[name] for name in (VERSION_HEADER, LEGACY) if name in request.headers}
        return ServerCallContext(
            user=StarletteUser(caller),  # type: ignore[arg-type]
            state={"headers": kept, CALLER: caller},
            requested_extensions=get_requested_extensions(request.headers.getlist(HTTP_EXTENSION_HEADER)),
        )


def _skill(agent: Agent) -> AgentSkill:
    words = agent.description or f"Ask the agent {agent.name}, who answers in words."
    return AgentSkill(id=agent.name, name=agent.name, description=as_text(words), tags=["agent"])


_PYTHON = """\
http = httpx.AsyncClient(headers={{"Authorization": "Bearer ${{WORKBENCH_TOKEN}}"}})
client = await create_client("{base}", client_config=ClientConfig(httpx_client=http, streaming=True))"""
