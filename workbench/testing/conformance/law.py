"""A law: one fact that every keeper keeps, as an async function that anyone can run.

- A law is enrolled by its decorator, by hand; nothing is collected by scanning a module.
- It knows two things: how to open one more host of a fresh place, and the clock that all of them read.
- It needs no test framework. When it fails, it raises AssertionError; when it hangs, it fails after `LONGEST` seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from workbench.store.store import Store
from workbench.testing.clock import ManualClock

__all__ = ["Law", "MakePlace", "MakeStore", "Open", "enrol"]

LONGEST = 30.0

MakeStore: TypeAlias = Callable[[], Store]
"""Gives a keeper, not open yet; every call gives one more host of the same place, which was empty at the first."""

MakePlace: TypeAlias = Callable[[], MakeStore]
"""Gives a fresh place."""

Open: TypeAlias = Callable[[], Awaitable[Store]]
"""Opens one more host of the place under test; the law's end closes it."""


class Law:
    """One fact. `await law(make_store)` fails when the keeper breaks it."""

    def __init__(self, body: Callable[[Open, ManualClock], Awaitable[None]]) -> None:
        self._body = body
        self.name = body.__name__
        self.__doc__ = body.__doc__

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<law {self.name}>"

    async def __call__(self, make_store: MakeStore) -> None:
        """Run the law against a fresh place. Raises: AssertionError when it is broken."""
        clock = ManualClock()
        opened: list[Store] = []

        async def open_store() -> Store:
            store = make_store()
            await store.open(label=f"host {len(opened) + 1}", lease=30.0, now=clock.now)
            opened.append(store)
            return store

        try:
            async with asyncio.timeout(LONGEST):
                await self._body(open_store, clock)
        except TimeoutError as error:
            raise AssertionError(f"{self.name} did not end within {LONGEST:.0f} s") from error
        finally:
            for store in reversed(opened):
                await store.close()


def enrol(laws: list[Law]) -> Callable[[Callable[[Open, ManualClock], Awaitable[None]]], Law]:
    """The decorator that puts a law on a list."""

    def law(body: Callable[[Open, ManualClock], Awaitable[None]]) -> Law:
        enrolled = Law(body)
        laws.append(enrolled)
        return enrolled

    return law
