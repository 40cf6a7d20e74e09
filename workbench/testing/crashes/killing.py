"""Killing: the mixed workload in processes that are ended by SIGKILL, at any moment of their lives.

- A round is one piece of work in as many lives as it takes; each life is a process, killed after a random time from its
  very beginning, and the last of a round is left alone.
- In every third round the sender is a host of its own, which lives on and runs nothing: what it sends and hears goes
  through the store.
- The moments are drawn on every scale from a millisecond to the length of a life, which follows the machine: the same
  seed is not the same schedule. What broke is in the store and in the book of its round, which the report names.

Needs `os.fork`. Source: PROCESSES section 4; DESIGN 7.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import BadInput
from workbench.testing.crashes.book import Book
from workbench.testing.crashes.evidence import Evidence, gather
from workbench.testing.crashes.promises import Breach, breaches
from workbench.testing.crashes.report import Played, Report
from workbench.testing.crashes.workload import Workload

if TYPE_CHECKING:
    from workbench.store.store import Store
    from workbench.testing.conformance.law import MakeStore

__all__ = ["kill_suite"]

MOMENT = 0.02
LEASE = 5.0
LONGEST = 60.0
"""Seconds that a life may take, or 30 times as long as an undisturbed one on a machine that is slower."""
DEATHS = 6
"""Deaths of a round, at most."""


async def kill_suite(
    make_store: MakeStore,
    folder: Path,
    *,
    kills: int,
    seconds: float = 0.0,
    seed: int = 0,
    tell: Callable[[str], object] = lambda line: None,
) -> Report:
    """Kill at least `kills` hosts, for at least `seconds`, over as many rounds as it takes; gives the report.

    `make_store` is made by `functools.partial` of something importable and plain arguments, so that another process can
    make it too; `folder` keeps the books. `tell` hears a line after each round. Ends at the third broken round.
    Raises: BadInput when another process cannot make the store, or this machine cannot fork.
    """
    if not hasattr(os, "fork"):
        raise BadInput("this machine cannot fork, so no host can be killed; run the crash suite in one process")
    report, made, began = Report(seed), _described(make_store), time.monotonic()
    child, desk = await _child(), await _child()
    try:
        killing = _Killing(make_store, made, child, desk, folder, seed)
        clean = await killing.undisturbed()
        report.add(Played("undisturbed", breaches(clean, clean)), 0)
        while (report.crashes < kills or time.monotonic() - began < seconds) and len(report.broken) < 3:
            report.add(*await killing.play(clean, kills - report.crashes if not seconds else DEATHS))
            tell(f"{report.crashes} kills in {report.rounds} rounds, {len(report.broken)} broken")
    finally:
        for process in (child, desk):
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()
    return report


async def _child() -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workbench.testing.crashes.child", stdin=PIPE, stdout=PIPE
    )


class _Killing:
    def __init__(
        self, make_store: MakeStore, made: dict[str, Any], child: Process, desk: Process, folder: Path, seed: int
    ) -> None:
        self._make_store = make_store
        self._made = made
        self._child = child
        self._desk = desk
        self._folder = folder
        self._seed = seed
        self._rounds = 0
        self._length = 1.0

    async def undisturbed(self) -> Evidence:
        """A round that nobody disturbs; its length says when the others are best killed."""
        name = self._next()
        ended = await self._life(name, None)
        if ended["code"]:
            raise AssertionError(f"the undisturbed round failed: {self._errors(name)}")
        self._length = ended["took"]
        return await self._evidence(name, 0)

    async def play(self, clean: Evidence, most: int) -> tuple[Played, int]:
        """One round of up to `most` deaths; gives what it broke, and how many died."""
        name, chance = self._next(), random.Random(f"{self._seed}/{self._rounds}")
        if self._rounds % 3 == 0:
            return await self._play_apart(name, chance, clean)
        moments = [round(self._length * 10 ** (-2.5 * chance.random()), 4) for _ in range(min(most, DEATHS))]
        schedule, crashes = f"round {name} of {self._folder}, killed after {moments} s", 0
        for moment in (*moments, None):
            ended = await self._life(name, moment)
            self._length *= 1.05 if ended["code"] else 0.9  # two of three are killed before they come to their end
            if not ended["code"]:
                break
            if ended["code"] > 0:
                return Played(schedule, [Breach("the_work_is_done", self._errors(name))]), crashes
            crashes += 1
        return Played(schedule, breaches(await self._evidence(name, crashes), clean)), crashes

    async def _play_apart(self, name: str, chance: random.Random, clean: Evidence) -> tuple[Played, int]:
        """One round that is sent from a host that lives on and runs nothing, while those that do the work die."""
        sending, moments, errors = asyncio.ensure_future(self._life(name, None, desk=True)), list[float](), ""
        while not sending.done() and not errors:
            moments.append(round(self._length * chance.uniform(0.1, 1.5), 4))
            ended = await self._life(name, moments[-1], sends=False)
            errors = self._errors(name) if ended["code"] > 0 else ""
        ended = await sending
        errors = errors or (self._errors(name) if ended["code"] else "")
        schedule = f"round {name} of {self._folder}, sent from another host, killed after {moments} s"
        if errors:
            return Played(schedule, [Breach("the_work_is_done", errors)]), len(moments)
        return Played(schedule, breaches(await self._evidence(name, len(moments)), clean)), len(moments)

    def _next(self) -> str:
        self._rounds += 1
        return f"k{self._seed}-{self._rounds}"

    async def _life(
        self, name: str, kill_after: float | None, *, sends: bool = True, desk: bool = False
    ) -> dict[str, Any]:
        process = self._desk if desk else self._child
        order = {
            "round": name,
            "store": self._made,
            "book": str(self._book(name)),
            "errors": str(self._book(name).with_suffix(".errors")),
            "kill_after": kill_after,
            "longest": max(LONGEST, 30 * self._length),
            "moment": MOMENT,
            "lease": LEASE,
            "sends": sends,
            "works": not desk,
        }
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(order).encode() + b"\n")
        ended: dict[str, Any] = json.loads(await process.stdout.readline())
        return ended

    async def _evidence(self, name: str, crashes: int) -> Evidence:
        book, store = Book(self._book(name)), self._make_store()
        await store.open(label="evidence", lease=LEASE, now=time.time)
        try:
            return await gather(store, Workload(name, book, "", moment=MOMENT).keys, book, crashes)
        finally:
            await store.close()
            book.close()

    def _book(self, name: str) -> Path:
        return self._folder / f"{name}.jsonl"

    def _errors(self, name: str) -> str:
        path = self._book(name).with_suffix(".errors")
        return path.read_text(encoding="utf-8") if path.exists() else "it left no word"


def _described(make_store: Callable[[], Store]) -> dict[str, Any]:
    """What another process needs to make the same store. Raises: BadInput."""
    made = make_store if isinstance(make_store, partial) else partial(make_store)
    function = made.func
    args = [os.fspath(arg) if isinstance(arg, os.PathLike) else arg for arg in made.args]
    described = {"module": getattr(function, "__module__", ""), "name": getattr(function, "__qualname__", "")}
    try:
        json.dumps([args, made.keywords])
    except TypeError:
        described = {}
    if not described or "<" in described["name"]:
        raise BadInput(
            f"another process cannot make the store that {make_store!r} makes; "
            "give functools.partial of an importable class or function with plain arguments"
        )
    return {**described, "args": args, "named": made.keywords}
