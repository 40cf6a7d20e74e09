"""Publishing: how a door is opened, from what was asked for to what listens.

- Everything that can be refused is refused before the door that it replaces is closed, a port that is taken too.
- A door opens again on the port that it had, which its store remembers for each channel: what clients were told stays
  true after a restart. Where somebody else has that port by now, it is the one before that, or a free one.
- What is cancelled or fails leaves nothing open of the new door.
- A protocol's libraries are loaded when it is published.

Source: DESIGN 2, ENDPOINTS 0. Knows no protocol but by the name of its module.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from workbench.door import Audit, Door, Limits
from workbench.endpoints.app import App, names_of
from workbench.endpoints.callers import Callers
from workbench.endpoints.front import Front, let_go, listening
from workbench.endpoints.service import Reception
from workbench.errors import BadInput
from workbench.given import named, whole
from workbench.loop import Home
from workbench.plain import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from socket import socket

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


async def publish(bench: Workbench, wanted: Publication, replaced: Sequence[Door]) -> Door:
    """Open a door as asked, in place of those `replaced`. Raises: BadInput."""
    callers = _callers(wanted)
    _check(wanted)
    names = names_of(wanted.host, wanted.public_url)
    audit, home = Audit(bench.clock.now), Home.of_running()
    receptions = {channel: Reception(bench, home, of, audit, wanted) for channel, of in callers.items()}
    services: dict[str, Service] = {}
    front: Front | None = None
    try:
        for channel in callers:
            services[channel] = import_module(MODULES[channel]).service(receptions[channel])
        app = App(services, callers, names, wanted.limits, audit, wanted.middleware)
        bound = await _bound(wanted.host, await _ports(bench.store, wanted, replaced), replaced)
        port = bound.getsockname()[1]
        for reception in receptions.values():
            reception.address = _address(wanted, port)
        front = Front(app, bound, services, callers, receptions)
        await front.start()
        await _remember(bench.store, callers, port, bench.clock.now())
    except BaseException:
        if front is not None:
            await front.close()
        else:
            await let_go(services)
        raise
    configuration = {name: text for service in services.values() for name, text in service.configuration().items()}
    serving = {channel: of.names for channel, of in callers.items()}
    return Door(_address(wanted, port), port, serving, configuration, audit, front)


def _callers(wanted: Publication) -> dict[str, Callers]:
    """Who may call, by channel. Raises: BadInput when no channel is asked for."""
    if not wanted.channels:
        raise BadInput(
            "a door serves what it is told to, and nothing was; write e.g. bench.publish(mcp={'desktop': token}), or "
            "mcp=True for the tokens of the environment"
        )
    return {channel: Callers(channel, wanted.given[channel]) for channel in wanted.channels}


def _check(wanted: Publication) -> None:
    """Raises: BadInput for what a door cannot be opened with."""
    if type(wanted.host) is not str or not wanted.host:
        raise BadInput(f"host is an address of this machine, e.g. '127.0.0.1', found {wanted.host!r}")
    whole("port", wanted.port, 0, 65_535)
    if wanted.approvals not in ("decline", "wait"):
        raise BadInput(f"approvals is 'decline' or 'wait', found {wanted.approvals!r}")
    if wanted.default_agent is not None:
        named("default_agent", wanted.default_agent)
    if not isinstance(wanted.limits, Limits):
        raise BadInput(f"limits are given as workbench.door.Limits(in_flight=…), found {wanted.limits!r:.80}")


def _address(wanted: Publication, port: int) -> str:
    """The base URL of the door, as others reach it."""
    if wanted.public_url is not None:
        return wanted.public_url.rstrip("/")
    host = f"[{wanted.host}]" if ":" in wanted.host else wanted.host
    return f"http://{host}:{port}"


async def _bound(host: str, ports: Sequence[int], replaced: Sequence[Door]) -> socket:
    """A socket on the first of the ports that can be had, with those `replaced` closed by then. Raises: BadInput."""
    waiting, own = list(ports), {door.port for door in replaced}
    while True:
        try:
            bound = listening(host, waiting[0])
            break
        except BadInput as error:
            if "port" not in error.fields or (waiting[0] not in own and len(waiting) == 1):
                raise
            if waiting[0] in own:
                await _close(replaced)
                own.clear()
            else:
                del waiting[0]
    try:
        await _close(replaced)
    except BaseException:
        bound.close()
        raise
    return bound


async def _close(doors: Iterable[Door]) -> None:
    for door in doors:
        await door.close()


async def _ports(store: Store, wanted: Publication, replaced: Sequence[Door]) -> list[int]:
    """The ports to try: the one asked for, or those of the doors replaced, those of before, and any that is free."""
    if wanted.port:
        return [wanted.port]
    known = await _remembered(store)
    ports = [door.port for channel in wanted.channels for door in replaced if channel in door.channels]
    ports += [port for channel in wanted.channels for port in known.get(channel, ())]
    return [*dict.fromkeys(ports), 0]


async def _remember(store: Store, channels: Iterable[str], port: int, now: float) -> None:
    known = await _remembered(store)
    for channel in channels:
        if known.get(channel, [0])[0] != port:
            body = encode({"channel": channel, "port": port})
            await store.put_record(KIND, f"{channel}@{port}@{now!r}", KIND, body, status="open", at=now)


async def _remembered(store: Store) -> dict[str, list[int]]:
    """The ports on which each channel was published from this store, the newest first."""
    ports: dict[str, list[int]] = {}
    for record in reversed(await store.find_records(KIND)):
        body: Any = decode(record.body)
        if type(body) is dict and type(body.get("port")) is int and 0 < body["port"] < 65_536:
            ports.setdefault(str(body.get("channel")), []).append(body["port"])
    return ports
