"""Places where durable processes live under test: a keeper, its hosts, and ways for a host to die.

- A `Place` is one keeper's place: a room in memory, or a file. Each `open` is one more host, with one clock for all.
- `Mortal` wraps a host's store: once dead, nothing it is asked for lands or returns, as when a kernel is gone.
- Dying leaves what a SIGKILL leaves: no release, no farewell, and a host that everybody knows to be dead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench import Workbench
from workbench.store.memory import MemoryStore, Room
from workbench.store.sqlite import hosts
from workbench.store.sqlite.keeper import SQLiteStore
from workbench.testing.clock import ManualClock

OPERATIONS = ("begin", "append", "put_step", "steps", "commit", "release", "collect")
PATIENCE = 20.0


class Mortal:
    """A store that dies after so many operations. What one turn of the loop asks for lands together."""

    def __init__(self, inner: Any, after: int | None = None, *, heard: bool = True) -> None:
        self.inner = inner
        self.count = 0
        self.gone = asyncio.Event()
        self.failing: Callable[[str, tuple[Any, ...]], BaseException | None] = lambda name, args: None
        self._after = after
        self._heard = heard

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self.inner, name)
        return self._mortal(name, operation) if name in OPERATIONS else operation

    def _mortal(self, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            loop = asyncio.get_running_loop()
            if self.gone.is_set():
                return loop.create_future()
            if (error := self.failing(name, args)) is not None:
                failed = loop.create_future()
                failed.set_exception(error)
                return failed
            self.count += 1
            if self._after is None or self.count < self._after:
                return operation(*args, **named)
            if self.count == self._after:
                loop.call_soon(self.gone.set)
            landed = asyncio.ensure_future(operation(*args, **named))
            if self._heard:
                return landed
            landed.add_done_callback(lambda done: done.exception())
            return loop.create_future()

        return call


class Place:
    """One keeper's place. `await place.open(definition, …)` gives one more bench on it."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.clock = ManualClock()
        self.benches: list[Workbench] = []
        self._folder = folder
        self._room = Room()

    async def open(self, *what: Any, after: int | None = None, heard: bool = True, **options: Any) -> Workbench:
        inner = MemoryStore(self._room) if self.kind == "memory" else SQLiteStore(self._folder / "bench.db")
        store: Any = Mortal(inner, after, heard=heard)
        if isinstance(inner, SQLiteStore):
            self.clock.busy_while(lambda: inner._open and not inner._writer.idle)
        bench = await Workbench.open(*(), store=store, clock=self.clock, **options)
        bench.add(*what)
        await bench._runtime.recover()
        self.benches.append(bench)
        return bench

    async def crash(self, bench: Workbench) -> None:
        """End a host as SIGKILL would: nothing more lands, nothing is said."""
        store: Any = bench.store
        runtime = bench._runtime
        store.gone.set()
        if runtime._unwatch is not None:
            runtime._unwatch()
        tasks = [process._task for process in runtime._handles.values()] + [runtime._scheduler]
        runtime.pool.shutdown(wait=False, cancel_futures=True)
        bench.closed = True
        self.benches.remove(bench)
        for _ in range(3):  # one that ends asks the dead store for something else, and waits for that
            for task in tasks:
                if task is not None:
                    task.cancel()
            await settle()
        inner = store.inner
        if isinstance(inner, SQLiteStore):
            await inner._disconnect()
            hosts.forget(inner._member)
        else:
            del self._room.hosts[inner.host.id]

    async def close(self) -> None:
        for bench in reversed(self.benches):
            await bench.close()


async def settle() -> None:
    """Let everything run that can run now."""
    for _ in range(20):
        await asyncio.sleep(0)


async def until(condition: Callable[[], Any]) -> None:
    """Return once the condition holds; what works in threads and files decides when."""
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.001)
