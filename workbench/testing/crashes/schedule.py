"""Schedules: when and how the hosts of a round die. Each is a value whose repr makes it again, so it can be replayed.

Knows nothing of stores.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from workbench.testing.crashes.mortal import Death

__all__ = ["Schedule", "every_operation", "random_schedules"]


HOW: tuple[Literal["heard", "unheard", "stalled"], ...] = ("heard", "unheard", "stalled")


@dataclass(frozen=True, slots=True)
class Schedule:
    """The deaths of a round, one host after another; the last host lives. `slowly`: see `Mortal`."""

    deaths: tuple[Death, ...] = ()
    slowly: bool = False


def every_operation(count: int, *, step: int = 1) -> Iterator[Schedule]:
    """One death after every operation of an undisturbed run, in turn heard of, not heard of, and stalled."""
    for number, after in enumerate(range(1, count + 1, step)):
        yield Schedule((Death(after, HOW[number % 3]),), slowly=number // 3 % 2 == 1)


def random_schedules(seed: int, number: int, count: int) -> Iterator[Schedule]:
    """`number` schedules of one to four deaths, each after up to `count` operations; the same for the same seed."""
    for each in range(number):
        chance = random.Random(f"{seed}/{each}")
        deaths = tuple(
            Death(1 + int(count * chance.random() ** 2), chance.choice(HOW)) for _ in range(chance.randint(1, 4))
        )
        yield Schedule(deaths, slowly=chance.random() < 0.5)
