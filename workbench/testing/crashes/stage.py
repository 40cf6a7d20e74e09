"""The stage: a place on which rounds are played, with hosts that live and die in this process.

- A dead host hears nothing and writes nothing any more; its end is not waited for. A stalled one is woken when the work
  is done, and must change nothing then.
- Time is the test clock's: it passes while somebody works, so a sleep of an hour takes no time, and work that does not
  end is known by the clock.

Knows nothing of which schedules are worth playing.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from workbench.bench import Workbench
from workbench.testing.clock import ManualClock
from workbench.testing.crashes.book import Book
from workbench.testing.crashes.evidence import Evidence, gather
from workbench.testing.crashes.mortal import Death, Mortal
from workbench.testing.crashes.promises import Breach, breaches
from workbench.testing.crashes.report import Played
from workbench.testing.crashes.schedule import Schedule
from workbench.testing.crashes.sender import send_all
from workbench.testing.crashes.workload import Workload

if TYPE_CHECKING:
    from workbench.store.store import Store
    from workbench.testing.conformance.law import MakeStore

__all__ = ["Stage"]

MOMENT = 10.0
LEASE = 30.0
PATIENCE = 3600.0
"""Seconds of the test clock after which the work of a life counts as stuck."""
LONGEST = 60.0
"""Seconds of real time after which it does."""


@dataclass(slots=True)
class Round:
    """One piece of work, in as many lives as it takes."""

    name: str
    book: Book = field(default_factory=Book)
    crashes: int = 0


class Stage:
    """Rounds are played here one after another, each with keys of its own. `make_store` is that of the laws."""

    def __init__(self, make_store: MakeStore) -> None:
        self._make_store = make_store
        self._clock = ManualClock()
        self._clock.busy_while(self._is_busy)
        self._name = secrets.token_hex(3)  # the place may have the rounds of another stage
        self._rounds = 0
        self._hosts: list[_Host] = []

    async def undisturbed(self) -> tuple[Played, Evidence, int]:
        """A round in which nothing dies: what it broke, what is left of it, and how many operations it took."""
        round_, stuck = self._next_round(), list[Breach]()
        host = self._host(None)
        try:
            await host.live(round_)
        except Stuck as error:
            stuck = [Breach("the_work_is_done", str(error))]
        await host.close()
        clean = await self._evidence(round_)
        return Played(Schedule(), stuck + breaches(clean, clean)), clean, host.store.count

    async def play(self, schedule: Schedule, clean: Evidence) -> tuple[Played, int]:
        """Play a schedule; gives what it broke, and how many hosts died."""
        round_, stuck = self._next_round(), list[Breach]()
        try:
            await self._play(schedule, round_)
        except Stuck as error:
            stuck = [Breach("the_work_is_done", str(error))]
        finally:
            for left in list(self._hosts):
                await left.close()
        return Played(schedule, stuck + breaches(await self._evidence(round_), clean)), round_.crashes

    async def _play(self, schedule: Schedule, round_: Round) -> None:
        stalled: list[_Host] = []
        for death in (*schedule.deaths, None):
            host = self._host(death, slowly=schedule.slowly, takes_over=bool(stalled))
            await host.live(round_)
            if not host.store.gone.is_set():
                break
            round_.crashes += 1
            if death is not None and death.how == "stalled":
                stalled.append(host)
            else:
                await host.close()
        for late in stalled:
            late.store.wake()
        await self._clock.advance(MOMENT)
        for late in (*stalled, host):
            await late.close()
        round_.crashes += host.store.gone.is_set()  # while it closed

    def _next_round(self) -> Round:
        self._rounds += 1
        return Round(f"{self._name}-{self._rounds}")

    def _host(self, death: Death | None, **options: bool) -> _Host:
        host = _Host(Mortal(self._make_store(), death, **options), self._clock, self._hosts)
        self._hosts.append(host)
        return host

    async def _evidence(self, round_: Round) -> Evidence:
        store, book = self._make_store(), round_.book
        await store.open(label="evidence", lease=LEASE, now=self._clock.now)
        try:
            return await gather(store, Workload(round_.name, book, "", moment=MOMENT).keys, book, round_.crashes)
        finally:
            await store.close()

    def _is_busy(self) -> bool:
        return any(host.store.working for host in self._hosts)


class Stuck(Exception):
    """A host neither died nor came to the end of its work."""


class _Host:
    """A bench on a mortal store, its sender, and the time that passes meanwhile."""

    def __init__(self, store: Mortal, clock: ManualClock, among: list[_Host]) -> None:
        self.store = store
        self._clock = clock
        self._among = among
        self._bench: Workbench | None = None
        self._opened = asyncio.Event()

    async def live(self, round_: Round) -> None:
        """Do the work of the round, or die in it. Raises: Stuck."""
        work = asyncio.ensure_future(self._work(round_))
        ends: dict[asyncio.Future[Any], str] = {
            work: "",
            asyncio.ensure_future(self.store.gone.wait()): "",
            asyncio.ensure_future(self._pass_time()): f"{PATIENCE:.0f} s of the test clock",
        }
        done, _ = await asyncio.wait(ends, timeout=LONGEST, return_when=asyncio.FIRST_COMPLETED)
        for task in ends:
            task.cancel()
        await asyncio.wait(ends)
        if self.store.gone.is_set():
            return
        if work not in done:
            found = next((ends[task] for task in done), f"{LONGEST:.0f} s")
            raise Stuck(f"{round_.name} came to no end within {found}")
        if (error := work.exception()) is not None:
            raise Stuck(f"the host of {round_.name} failed with {error!r}") from error

    async def _work(self, round_: Round) -> None:
        bench = await Workbench.open(store=cast("Store", self.store), clock=self._clock, lease=LEASE)
        self._bench = bench
        self._opened.set()
        workload = Workload(round_.name, round_.book, self.store.host.id, moment=MOMENT)
        workload.note("life", round_.name)
        workload.begin(bench)
        await send_all(workload, bench, round_.book)

    async def _pass_time(self) -> None:
        await self._opened.wait()
        end = self._clock.now() + PATIENCE
        while self._clock.now() < end:
            await self._clock.advance(MOMENT / 2)

    async def close(self) -> None:
        """End it: as one that closes if it lives, and without a word once it is dead."""
        if self not in self._among:
            return
        self._among.remove(self)
        if self._bench is None:
            self.store.bury()
            await self.store.inner.close()
            return
        closing = asyncio.ensure_future(self._bench.close())
        gone = asyncio.ensure_future(self.store.gone.wait())
        await asyncio.wait({closing, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if self.store.gone.is_set():
            self.store.bury()
        await closing
