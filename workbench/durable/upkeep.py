"""Upkeep: what a bench forgets and when, and the verbs for keys as a whole.

- Every hour, and a minute after opening, what was over before `retention` is forgotten, in slices between which others
  write. What is uncommitted, open, or the newest of its key stays; dead letters have a window of their own.
- A store above `max_bytes` forgets sooner: the window is halved until it fits or only `LEAST` is left. That is
  reported, never silent. A file does not shrink: what is freed is written again.
- An answer that was forgotten is no answer: a retry of its id is a new call.

Source: DESIGN rule 10 and 7, PROCESSES 2.16. Knows nothing of what is shown.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.durable.copies import export_key, import_key
from workbench.durable.journal_table import key_of
from workbench.errors import BadInput, OwnedElsewhere
from workbench.given import LONGEST, shown
from workbench.plain import decode
from workbench.table import Table

if TYPE_CHECKING:
    import os

    from workbench.durable.runtime import Runtime
    from workbench.store.glance import KeyInfo

__all__ = ["DAY", "LEAST", "Retention", "Upkeep", "instant"]

DAY = 86_400.0
HOUR = 3600.0
SOON = 60.0
LEAST = 600.0
"""Seconds of history that a store keeps however large it is."""

COLUMNS = ("key", "definition", "args", "messages", "pending", "next_wake", "owner", "created_at")

log = logging.getLogger("workbench")


@dataclass(frozen=True, slots=True)
class Retention:
    """What a bench keeps: history and answers for `seconds`, dead letters for `letters`; None keeps for ever.

    `max_bytes` is what the store may use, in bytes; None for no limit.
    """

    seconds: float | None = 30 * DAY
    letters: float | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """What one pass did: when, how many rows went, what was in use after it, and the history it kept, in seconds."""

    at: float
    gone: int
    used: int
    kept: float | None


class Upkeep:
    """Looks after the store of one bench."""

    def __init__(self, runtime: Runtime, retention: Retention) -> None:
        self.retention = retention
        self.last: Pass | None = None
        self._runtime = runtime
        self._store = runtime.store
        self._clock = runtime.clock
        self._over = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to prune, if there is anything that says so."""
        if self._runtime.worker and self.retention != Retention(None, None, None):
            self._task = self._runtime.home.start(self._for_ever(), name="workbench upkeep")

    async def close(self) -> None:
        """Prune no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _for_ever(self) -> None:
        pause = SOON
        while True:
            await self._clock.pause(pause)
            pause = HOUR
            try:
                await self.one_pass()
            except Exception:
                log.exception("what is older than the retention could not be pruned; the next try is in an hour")

    async def one_pass(self) -> Pass:
        """Forget what the retention says, and more while the store is above its size; gives what was done."""
        keep, now = self.retention, self._clock.now()
        gone, window = 0, keep.seconds
        if window is not None:
            gone += await self._store.prune(now - window)
        if keep.letters is not None:
            gone += await self._store.upkeep.prune_letters(now - keep.letters)
        used = self._store.upkeep.used_now()
        while keep.max_bytes is not None and used > keep.max_bytes and (window is None or window > LEAST):
            window = max((30 * DAY if window is None else window) / 2, LEAST)
            gone += await self._store.prune(now - window)
            used = self._store.upkeep.used_now()
        self._report(used, window)
        self.last = Pass(now, gone, used, window)
        return self.last

    def _report(self, used: int, window: float | None) -> None:
        most = self.retention.max_bytes
        over = most is not None and used > most
        if over and not self._over:
            log.warning(
                "the store uses %d bytes, more than max_bytes=%d, and what is left is younger than %d s or unfinished; "
                "raise max_bytes, delete keys, or see bench.doctor()",
                used, most, LEAST,
            )  # fmt: skip
        elif not over and window != self.retention.seconds:
            log.warning("the store kept the history of %d s only, to stay below max_bytes=%d", window or 0, most or 0)
        self._over = over

    async def prune(self, before: object) -> int:
        """Forget what was over before `before`, or what the retention says; gives how many rows went.

        Raises: BadInput.
        """
        if before is None:
            return (await self.one_pass()).gone
        return await self._store.prune(instant(before, "before"))

    async def export(self, key: str, path: str | os.PathLike[str]) -> int:
        """Write a key or run to a new file; gives how many rows it has. Raises: NoCode, BadInput."""
        return await export_key(self._store, key_of(self._store, key), path, at=self._clock.now())

    async def bring_in(self, path: str | os.PathLike[str], *, read_only: bool) -> str:
        """Bring in the key of a file; one that is to go on is woken. Gives the key. Raises: BadInput."""
        key = await import_key(self._store, path, read_only=read_only)
        await self._runtime.requests.find(key=key)
        if not read_only and self._runtime.worker:
            await self._runtime.wake(key)
        return key

    def keys(self) -> Table:
        """Every key with what is known of it, oldest first."""
        return Table([_row(info) for info in self._store.keys_now()], columns=COLUMNS)

    async def delete(self, key: str, *, unfinished: bool) -> None:
        """Forget a key or run and everything of it. Raises: NoCode, BadInput, OwnedElsewhere."""
        runtime, key = self._runtime, key_of(self._store, key)
        info = next(iter(self._store.keys_now(key=key)), None)
        if key in runtime.live:
            raise BadInput(f"{key!r} is alive here; dispose it, or cancel its run, then delete it", key=key)
        if info is not None and info.owner is not None and info.owner.pid and info.owner.id != self._store.host.id:
            raise OwnedElsewhere(
                f"{key!r} belongs to {info.owner.label!r} (pid {info.owner.pid}), which is alive; end it there, then "
                "delete it",
                key=key,
                owner=info.owner,
            )
        if info is not None and not unfinished and (left := _left(info)):
            raise BadInput(
                f"{key!r} has work left: {left}; let it finish, or give unfinished=True to delete it all the same",
                key=key,
            )
        await self._store.upkeep.delete(key)
        runtime.forget(key)


def _left(info: KeyInfo) -> str:
    """What a key has left to do, in words, or nothing."""
    if info.last_seq > info.cursor:
        return f"{info.last_seq - info.cursor} messages wait"
    return "it sleeps until a deadline" if info.wake_at is not None else ""


def _row(info: KeyInfo) -> dict[str, Any]:
    return {
        "key": info.key,
        "definition": info.definition,
        "args": _args(info.args),
        "messages": info.last_seq,
        "pending": info.last_seq - info.cursor,
        "next_wake": info.wake_at,
        "owner": None if info.owner is None else info.owner.label,
        "created_at": info.created_at,
    }


def _args(text: str) -> Any:
    try:
        return decode(text) if text else {}
    except BadInput:  # changed by hand: shown as it is
        return text


def instant(value: object, name: str) -> float:
    """An instant in UTC seconds: a number, or a datetime with a time zone. Raises: BadInput."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.timestamp()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -LONGEST <= value <= LONGEST:
        raise BadInput(
            f"{name} is an instant in UTC seconds or a datetime with a time zone, found {shown(value)}; "
            "write datetime.now(UTC) - timedelta(days=…)"
        )
    return float(value)
