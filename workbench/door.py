"""The door: a published endpoint as its owner holds it, and the doors that one bench has open.

- `Workbench.publish` opens one; the code that serves it, and its heavy libraries, are loaded then, through a hook, for
  the bench knows nothing of HTTP.
- A channel (mcp, a2a, wire) is served by one door of a bench at a time: opening another replaces the door that has it.
- Doors of one bench open one after another, and none opens once the bench closes.
- Nothing of a door ever shows a token: what is to be copied says `${WORKBENCH_TOKEN}`.

Source: DESIGN 2 and rule 13. Knows nothing of sockets or protocols.
"""

from __future__ import annotations

import asyncio
import html
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from workbench.errors import BadInput, StoreError
from workbench.given import whole
from workbench.loop import Home
from workbench.table import Table

__all__ = ["Audit", "Door", "Doors", "Given", "Limits", "Opened", "Publication", "Visit", "publish_with"]

Given = Mapping[str, str] | bool | None
"""Who may call: tokens by the caller's name, True for those of the environment, nothing for a channel that is shut."""

FASTEST = 1e9
"""Requests a second that a caller may be given."""

REMEMBERED = 1000
"""Calls that a door remembers; the runs that they began are in the store."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one caller may have of a door.

    `in_flight` requests and open streams at once; `rate` requests a second in the long run and `burst` at once;
    `sessions` that are kept between requests; `body` bytes of a request. Raises: BadInput.
    """

    in_flight: int = 512
    rate: float = 200.0
    burst: int = 1000
    sessions: int = 64
    body: int = 4 * 1024 * 1024

    def __post_init__(self) -> None:
        for name, least in (("in_flight", 1), ("burst", 1), ("sessions", 0), ("body", 1)):
            whole(f"{name} of Limits", getattr(self, name), least)
        if type(self.rate) not in (int, float) or not 0 < self.rate <= FASTEST:
            raise BadInput(
                f"rate of Limits is a number of requests a second above 0 and at most {FASTEST:g}, found {self.rate!r}"
            )


@dataclass(frozen=True, slots=True)
class Publication:
    """What `Workbench.publish` was asked for."""

    given: Mapping[str, Given]
    port: int
    host: str
    approvals: Literal["decline", "wait"]
    middleware: Sequence[Any]
    public_url: str | None
    default_agent: str | None
    limits: Limits

    @property
    def channels(self) -> list[str]:
        """What is to be served, of mcp, a2a and wire."""
        return [channel for channel, given in self.given.items() if given is not None and given is not False]


@dataclass(frozen=True, slots=True)
class Visit:
    """One call that came through a door. `what` is the method and what it names; `run` the run that it began, or ""."""

    at: float
    caller: str
    what: str
    run: str = ""


class Audit:
    """Who called what, and when: the newest calls of a door. Written from any thread."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._visits: deque[Visit] = deque(maxlen=REMEMBERED)
        self.refused = 0

    def record(self, caller: str, what: str, run: str = "") -> None:
        """Remember a call."""
        self._visits.append(Visit(self._now(), caller, what, run))

    @property
    def visits(self) -> list[Visit]:
        """The calls that are remembered, oldest first."""
        return list(self._visits)


class Opened(Protocol):
    """What serves a door: the front that listens."""

    @property
    def connected(self) -> Mapping[str, int]:
        """How many requests and streams each caller has open now."""
        ...

    def revoke(self, caller: str) -> None:
        """Refuse the token of a caller (`mcp:desktop`) from now on, and end what it has open."""
        ...

    async def close(self) -> None:
        """Stop listening, and end what is open."""
        ...


class Door:
    """A published endpoint: `url`, `port`, `channels`, `callers`, `calls`, `connected`, `configuration`, `close()`."""

    def __init__(
        self,
        url: str,
        port: int,
        callers: Mapping[str, Sequence[str]],
        configuration: Mapping[str, str],
        audit: Audit,
        front: Opened,
    ) -> None:
        self.url = url
        self.port = port
        self.callers = dict(callers)
        """The names that may call, by channel."""
        self.configuration = dict(configuration)
        """What clients are told, ready to be copied, by the client's name; with `${WORKBENCH_TOKEN}` for the token."""
        self._audit = audit
        self._front = front
        self._closing: asyncio.Task[None] | None = None

    @property
    def closed(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._closing is not None

    @property
    def channels(self) -> list[str]:
        """What it serves, of mcp, a2a and wire."""
        return list(self.callers)

    @property
    def calls(self) -> Table:
        """Who called what, when, and the run that came of it; the newest first."""
        return Table(reversed(self._audit.visits), columns=("at", "caller", "what", "run"))

    @property
    def connected(self) -> dict[str, int]:
        """The callers that have something open now, and how many requests and streams each."""
        return {} if self.closed else dict(self._front.connected)

    @property
    def refused(self) -> int:
        """How many requests the edge refused: no token or a wrong one, another host, too large, too many."""
        return self._audit.refused

    def revoke(self, caller: str) -> None:
        """Refuse the token of `caller` (`mcp:desktop`) from now on, and end its streams and sessions.

        What it has begun goes on, as any run. Raises: BadInput for a caller that there is not.
        """
        self._front.revoke(caller)

    async def close(self) -> None:
        """Stop listening; open streams end within half a second, runs go on. Closing twice does nothing.

        Who is cancelled while it waits for that leaves a door that is closed all the same.
        """
        if self._closing is None:
            self._closing = Home.of_running().start(self._front.close(), name=f"close {self.url}")
        elif self._closing.done():
            return
        await asyncio.shield(self._closing)

    def __repr__(self) -> str:
        served = "; ".join(f"{channel} for {', '.join(names)}" for channel, names in self.callers.items())
        return f"<Door {self.url}: {'closed' if self.closed else served}>"

    def _repr_html_(self) -> str:
        copied = "".join(
            f"<details><summary>{html.escape(name)}</summary><pre>{html.escape(text)}</pre></details>"
            for name, text in self.configuration.items()
        )
        return f"<p>{html.escape(repr(self))}</p>{copied}{self.calls._repr_html_()}"


Publish = Callable[[Any, Publication, Sequence[Door]], Awaitable[Door]]
"""Opens a door for a bench (Any here: it is of a higher room), as asked, and closes those that it replaces, once all is
checked and its port is had. When it raises, nothing of it is open."""

_publish: Publish | None = None


def publish_with(publish: Publish) -> None:
    """Fill the hook by which doors are opened."""
    global _publish
    _publish = publish


class Doors:
    """The doors that one bench has open: iteration, `open`, `close`."""

    def __init__(self) -> None:
        self._known: list[Door] = []
        self._turn = asyncio.Lock()

    async def open(self, bench: Any, wanted: Publication) -> Door:
        """Open a door in place of those that have one of its channels. Who is cancelled meanwhile leaves none open.

        Raises: BadInput; StoreError when the bench is closed by the time that its turn comes.
        """
        opening = asyncio.ensure_future(self._in_turn(bench, wanted))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            await asyncio.shield(Home.of_running().start(_undone(opening), name="undo a cancelled publish"))
            raise

    async def _in_turn(self, bench: Any, wanted: Publication) -> Door:
        if _publish is None:
            raise StoreError("this bench has nothing to publish with; import workbench before its rooms")
        async with self._turn:
            bench._check_open()
            replaced = [door for door in self._known if not set(wanted.channels).isdisjoint(door.channels)]
            door = await _publish(bench, wanted, replaced)
            self._known = [known for known in self._known if known not in replaced] + [door]
            return door

    def __iter__(self) -> Iterator[Door]:
        return iter([door for door in self._known if not door.closed])

    async def close(self) -> None:
        """Close all of them, once those that are about to open are."""
        async with self._turn:
            for door in self._known:
                await door.close()


async def _undone(opening: asyncio.Future[Door]) -> None:
    """End the opening of a door, and close one that has opened all the same."""
    opening.cancel()
    await asyncio.wait([opening])
    if not opening.cancelled() and opening.exception() is None:
        await opening.result().close()
