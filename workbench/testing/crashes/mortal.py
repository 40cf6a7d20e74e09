"""A store that dies: after so many operations nothing that it is asked for lands or returns any more.

- An operation is a verb of the store that is awaited; those that only look do not count, and `due` counts when it gave
  a key. What the store has beside its verbs (queues, topics) does not die with it.
- The last operation lands. Whether its caller hears of it is part of the death.
- A stalled store holds what it is asked for, as a host whose machine was suspended would, until it is woken.
- Asked `slowly`, each answer comes a turn of the loop later.

Works on any store; knows nothing of what is done with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from workbench.errors import StoreError

if TYPE_CHECKING:
    from workbench.store.claims import Host
    from workbench.store.store import Store

__all__ = ["Death", "Mortal"]

LOOKS = frozenset(
    (
        *("result", "due", "posted", "taken", "get_record", "find_records", "keys", "key_info", "history"),
        *("activations", "dead", "prune"),
    )
)
"""Verbs that do not count."""
PASSED = frozenset(("open", "close", "watch"))
FORCED = frozenset(("begin", "claim"))
LAST_TURNS = 20
"""Turns of the loop that the host has after an operation that it still hears of."""


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a host: `after` so many operations, and `how`.

    `heard`: the last operation's caller has its answer. `unheard`: it landed, and nobody was told. `stalled`: as
    `heard`, and the host comes back when others have done its work.
    """

    after: int
    how: Literal["heard", "unheard", "stalled"] = "heard"


class Mortal:
    """A store around another, that dies. `gone` is set when it has; `count` operations were asked for."""

    def __init__(
        self, inner: Store, death: Death | None = None, *, slowly: bool = False, takes_over: bool = False
    ) -> None:
        self.inner = inner
        self.count = 0
        self.working = 0
        self.gone = asyncio.Event()
        self._death = death
        self._slowly = slowly
        self._takes_over = takes_over
        self._state: Literal["alive", "dead", "buried"] = "alive"
        self._held: list[tuple[asyncio.Future[Any], Callable[[], Awaitable[Any]]]] = []

    @property
    def host(self) -> Host:
        """Who it is among the hosts of its place."""
        return self.inner.host

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self.inner, name)
        if not callable(operation) or name in PASSED or name.endswith("_now"):
            return operation
        if self._takes_over and name in FORCED:
            return self._mortal(name, lambda *args, **named: operation(*args, **{**named, "force": True}))
        return self._mortal(name, operation)

    def post_now(self, *args: Any, **named: Any) -> int:
        """`Inbox.post_now`. Raises: StoreError when it is dead."""
        if self._state != "alive":
            raise StoreError("the store died; nothing was posted")
        self._counted("post_now")
        return self.inner.post_now(*args, **named)

    def bury(self) -> None:
        """Have whoever still waits for an answer give up. What they ask for later does nothing."""
        self._state = "buried"
        self.gone.set()
        held, self._held = self._held, []
        for future, _ in held:
            future.cancel()

    def wake(self) -> None:
        """Come back after a stall: what was asked for meanwhile is done now, in order."""
        self._state, self._death = "alive", None
        held, self._held = self._held, []
        for future, operation in held:
            if not future.cancelled():
                _pass_on(self._done(operation), future)

    def _mortal(self, name: str, operation: Callable[..., Awaitable[Any]]) -> Callable[..., asyncio.Future[Any]]:
        def ask(*args: Any, **named: Any) -> asyncio.Future[Any]:
            if self._state == "buried":
                return _nothing(name)
            if self._state == "dead":
                return self._hold(lambda: operation(*args, **named))
            last = None if name in LOOKS else self._counted(name)
            landed = self._done(lambda: operation(*args, **named))
            if name == "due":
                landed.add_done_callback(self._saw_due)
            if last is not None:
                self._die(landed)
            return self._hold(None) if last is not None and last.how == "unheard" else landed

        return ask

    def _counted(self, name: str) -> Death | None:
        """Count an operation; gives the death that it is followed by."""
        self.count += 1
        death = self._death
        return death if death is not None and self.count >= death.after else None

    def _saw_due(self, landed: asyncio.Future[Any]) -> None:
        if not landed.cancelled() and landed.exception() is None and landed.result() and self._state == "alive":
            if self._counted("due") is not None:
                self._die(landed)

    def _die(self, landed: asyncio.Future[Any]) -> None:
        self._state = "dead"
        loop = asyncio.get_running_loop()

        def turns(left: int) -> None:
            if left:
                loop.call_soon(turns, left - 1)
            else:
                self.gone.set()

        landed.add_done_callback(lambda _: turns(LAST_TURNS))

    def _hold(self, operation: Callable[[], Awaitable[Any]] | None) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._held.append((future, operation or _forever))
        return future

    def _done(self, operation: Callable[[], Awaitable[Any]]) -> asyncio.Future[Any]:
        """What the operation gives, a turn later when asked slowly."""
        landing = asyncio.ensure_future(operation())
        self.working += 1
        landing.add_done_callback(self._landed)
        if not self._slowly:
            return landing
        later: asyncio.Future[Any] = landing.get_loop().create_future()
        landing.add_done_callback(lambda done: done.get_loop().call_soon(_settle, done, later))
        return later

    def _landed(self, landing: asyncio.Future[Any]) -> None:
        self.working -= 1
        if not landing.cancelled():
            landing.exception()  # whoever asked has it; one that died does not


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


def _pass_on(source: asyncio.Future[Any], target: asyncio.Future[Any]) -> None:
    source.add_done_callback(lambda done: _settle(done, target))


def _settle(done: asyncio.Future[Any], target: asyncio.Future[Any]) -> None:
    if target.done():
        return
    if done.cancelled():
        target.cancel()
    elif (error := done.exception()) is not None:
        target.set_exception(error)
        target.exception()
    else:
        target.set_result(done.result())


def _nothing(name: str) -> asyncio.Future[Any]:
    """What a buried store answers: a farewell is as good as said, anything else fails."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    if name in ("release", "renew"):
        future.set_result(None)
    else:
        future.set_exception(StoreError(f"the store died before {name}; nothing was written"))
        future.exception()
    return future
