"""Publishing: how a door is opened, from what was asked for to what listens.

- Everything that can be refused is refused before the door that it replaces is closed.
- A door opens again on the port that it had, which its store remembers for each channel: what clients were told stays
  true after a restart.
- A protocol's libraries are loaded when it is published.

Source: DESIGN 2, ENDPOINTS 0. Knows no protocol but by the name of its module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.door import Audit, Door
from workbench.endpoints.app import App, names_of
from workbench.endpoints.callers import Callers
from workbench.endpoints.front import Front, listening
from workbench.endpoints.service import Reception
from workbench.errors import BadInput
from workbench.given import whole
from workbench.loop import Home
from workbench.plain import decode, encode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from workbench.bench import Workbench
    from workbench.door import Publication
    from workbench.endpoints.service import Service
    from workbench.store.store import Store

__all__ = ["MODULES", "publish"]

MODULES = {
    "mcp": "workbench.endpoints.mcp_server",
    "a2a": "workbench.endpoints.a2a_server",
    "wire": "workbench.endpoints.wire",
}
"""The module of each channel; its function `service(reception)` makes what is served."""

KIND = "door"  # of the records that remember ports


async def publish(bench: Workbench, wanted: Publication, make_room: Callable[[], Awaitable[None]]) -> Door:
    """Open a door as asked; `make_room` closes those that it replaces. Raises: BadInput."""
    callers = _callers(wanted)
    names = names_of(_host(wanted.host), wanted.public_url)
    port = whole("port", wanted.port, 0, 65_535)
    if wanted.approvals not in ("decline", "wait"):
        raise BadInput(f"approvals is 'decline' or 'wait', found {wanted.approvals!r}")
    port = port or await _remembered(bench.store, callers) or 0
    audit, home = Audit(bench.clock.now), Home.of_running()
    receptions = {channel: Reception(bench, home, of, audit, wanted) for channel, of in callers.items()}
    services: dict[str, Service] = {}
    try:
        for channel in callers:
            services[channel] = import_module(MODULES[channel]).service(receptions[channel])
        app = App(services, callers, names, wanted.limits, audit, wanted.middleware)
        await make_room()
        bound = listening(wanted.host, port)
        port = bound.getsockname()[1]
        for reception in receptions.values():
            reception.address = _address(wanted, port)
        front = Front(app, bound, services, callers, receptions)
        await front.start()
    except BaseException:
        for service in services.values():
            await service.closed()
        raise
    await _remember(bench.store, callers, port, bench.clock.now())
    configuration = {name: text for service in services.values() for name, text in service.configuration().items()}
    serving = {channel: of.names for channel, of in callers.items()}
    return Door(_address(wanted, port), port, serving, configuration, audit, front)


def _callers(wanted: Publication) -> dict[str, Callers]:
    """Who may call, by channel. Raises: BadInput when no channel is asked for."""
    asked = {channel: given for channel, given in wanted.given.items() if given is not None and given is not False}
    if not asked:
        raise BadInput(
            "a door serves what it is told to, and nothing was; write e.g. bench.publish(mcp={'desktop': token}), or "
            "mcp=True for the tokens of the environment"
        )
    return {channel: Callers(channel, given) for channel, given in asked.items()}


def _host(host: object) -> str:
    if not isinstance(host, str) or not host:
        raise BadInput(f"host is an address of this machine, e.g. '127.0.0.1', found {host!r}")
    return host


def _address(wanted: Publication, port: int) -> str:
    """The base URL of the door, as others reach it."""
    if wanted.public_url is not None:
        return wanted.public_url.rstrip("/")
    host = f"[{wanted.host}]" if ":" in wanted.host else wanted.host
    return f"http://{host}:{port}"


async def _remembered(store: Store, channels: Iterable[str]) -> int | None:
    """The port on which one of the channels was last published from this store."""
    ports = await _ports(store)
    return next((ports[channel] for channel in channels if channel in ports), None)


async def _remember(store: Store, channels: Iterable[str], port: int, now: float) -> None:
    ports = await _ports(store)
    for channel in channels:
        if ports.get(channel) != port:
            body = encode({"channel": channel, "port": port})
            await store.put_record(KIND, f"{channel}@{port}@{now!r}", KIND, body, status="open", at=now)


async def _ports(store: Store) -> dict[str, int]:
    ports: dict[str, int] = {}
    for record in await store.find_records(KIND):
        body: Any = decode(record.body)
        if type(body) is dict and type(body.get("port")) is int and 0 < body["port"] < 65_536:
            ports[str(body.get("channel"))] = body["port"]
    return ports
