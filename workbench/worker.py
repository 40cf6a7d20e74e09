"""The worker: a headless host. It opens the bench that an application names, and works until it is told to stop.

- The application is a module that can be imported from the working directory, and an attribute of it: what
  `Workbench.open(…)` gives, not awaited yet, or a function that gives it or a bench.
- A first SIGTERM or SIGINT ends it cleanly: what is unfinished stays in the journal, for any worker at once.

Knows nothing of the command line, and prints nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

from workbench.bench import Workbench
from workbench.errors import BadInput
from workbench.opening import Opening

__all__ = ["work"]

ADVICE = "write e.g. bench = Workbench.open('agents.db', support) in it"


async def work(
    application: str, tell: Callable[[dict[str, Any]], None], publish: Mapping[str, Any] | None = None
) -> None:
    """Work on what `application` (`module:attribute`) names until SIGTERM or SIGINT; `tell` hears what happens.

    With `publish`, the options of `Workbench.publish`, a door is open meanwhile, also for a bench that runs nothing
    itself. Events are `working`, `serving`, `stopping` and `stopped`. Raises: BadInput when it names no bench, or when
    the door cannot be opened; NotAStore.
    """
    named = _named(application)
    stop: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    bench = await _opened(application, named)
    try:
        if not bench.worker and publish is None:
            raise BadInput(f"{application!r} is opened with worker=False and would run nothing; leave that out")
        with _Signals(stop):
            tell(
                {
                    "event": "working",
                    "store": bench.place,
                    "pid": os.getpid(),
                    "definitions": bench.definitions,
                    "blocked": sorted(bench.blocked),
                }
            )
            if publish is not None:
                door = await bench.publish(**publish)
                tell({"event": "serving", "url": door.url, "port": door.port, "callers": door.callers})
            tell({"event": "stopping", "signal": await stop})
    finally:
        await bench.close()
    tell({"event": "stopped", "store": bench.place})


def _named(application: str) -> Any:
    module, _, attribute = application.partition(":")
    if not module or not attribute:
        raise BadInput(f"a worker is told module:attribute, e.g. app:bench, found {application!r}")
    sys.path.insert(0, os.getcwd())
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise
        raise BadInput(f"there is no module {module!r} here; run this in the folder of {module}.py") from error
    if not hasattr(found, attribute):
        raise BadInput(f"{module!r} has no {attribute!r}; {ADVICE}")
    return getattr(found, attribute)


async def _opened(application: str, named: Any) -> Workbench:
    made = named() if callable(named) and not isinstance(named, Opening) else named
    bench = await made if inspect.isawaitable(made) else made
    if not isinstance(bench, Workbench):
        raise BadInput(f"{application!r} is no bench, found {bench!r}; {ADVICE}")
    return bench


class _Signals:
    """While it is entered, SIGTERM and SIGINT are told to `stop` instead of ending the process."""

    def __init__(self, stop: asyncio.Future[str]) -> None:
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            self._before[number] = signal.signal(number, self._came)

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def _came(self, number: int, _: object) -> None:
        self._loop.call_soon_threadsafe(self._hear, signal.Signals(number).name)

    def _hear(self, name: str) -> None:
        if not self._stop.done():
            self._stop.set_result(name)
