"""Crashes: who wants to hear of every process that fails, in memory or durable, also of those that begin again.

- An observer hears one turn of the loop later, never inside the crash, and cannot break it: one that raises is logged.
- A definition with `quiet=True` is not told of.

Source: PROCESSES 1.6 and 1.12.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Crash", "observe_crashes", "report"]

log = logging.getLogger("workbench")


@dataclass(frozen=True, slots=True)
class Crash:
    """One failure of a body. `name` is the definition's, or the key of a durable process.

    `again` says whether the body begins once more.
    """

    name: str
    error: BaseException
    again: bool


_observers: dict[object, Callable[[Crash], None]] = {}


def observe_crashes(observer: Callable[[Crash], None]) -> Callable[[], None]:
    """Call `observer(crash)` after every crash in this Python process; gives the function that stops it."""
    token = object()
    _observers[token] = observer
    return lambda: _observers.pop(token, None) and None


def report(crash: Crash) -> None:
    """Tell the observers soon, those who observe by then."""
    if _observers:
        asyncio.get_running_loop().call_soon(_tell, crash)


def _tell(crash: Crash) -> None:
    for observer in list(_observers.values()):
        try:
            observer(crash)
        except Exception:
            log.exception("an observer of crashes failed, of %s", crash.name)
