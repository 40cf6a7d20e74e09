"""Recurrences: the instants at which something comes again. The embassy of cronsim.

- A number of seconds is a grid from when the schedule was made: it never drifts, and knows no time zone.
- A cron expression is local time in a time zone, with the rules of Debian's cron where the clocks change: a job at a
  fixed time that the clocks skip comes right after the gap, one that they pass twice comes the first time; one with a
  star for the minute or the hour follows the time that passes.
- An instant is always after the one before it, whatever the clocks do.

Source: cron(8) of Debian, "NOTES". Knows nothing of what comes again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from workbench.errors import BadInput
from workbench.given import LONGEST, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SHORTEST", "Recurrence"]

SHORTEST = 1.0
"""Seconds between two instants of a grid, at least: the scheduler looks twice in that time."""

FIELDS = 5


@dataclass(frozen=True, slots=True)
class Recurrence:
    """When something comes: `every` so many seconds, or by a cron expression in `zone`."""

    every: float | str
    zone: str = "UTC"

    @classmethod
    def of(cls, when: object, zone: str = "UTC") -> Recurrence:
        """What was asked for, if it can be. Raises: BadInput naming what can not."""
        if isinstance(when, timedelta):
            when = when.total_seconds()
        if isinstance(when, (int, float)) and not isinstance(when, bool):
            if not SHORTEST <= when <= LONGEST:
                raise BadInput(
                    f"what comes again needs from {SHORTEST:g} to {LONGEST:g} s in between, found {shown(when)}"
                )
            return cls(float(when), _zone(zone).key)
        if not isinstance(when, str):
            raise BadInput(
                f"what comes again is told in seconds, by a timedelta or by a cron expression, found {when!r}; "
                "write e.g. 3600 or '0 9 * * mon-fri'"
            )
        expression = " ".join(when.split())
        found = cls(expression, _zone(zone).key)
        try:
            if len(expression.split()) != FIELDS:
                raise CronSimError(f"it has {len(expression.split())} fields")
            CronSim(expression, datetime(2000, 1, 1))
        except CronSimError as error:
            raise BadInput(
                f"{when!r} is no cron expression: {error}; write minute, hour, day, month and weekday, "
                "e.g. '0 9 * * mon-fri'"
            ) from error
        return found

    def after(self, instant: float, since: float) -> Iterator[float]:
        """The instants after `instant`, of a grid that began at `since`."""
        if isinstance(self.every, float):
            number = max(1, math.floor((instant - since) / self.every))
            while True:
                if (found := since + number * self.every) > instant:
                    yield found
                number += 1
        for local in CronSim(self.every, datetime.fromtimestamp(instant, _zone(self.zone))):
            if (found := local.timestamp()) > instant:
                instant = found
                yield found

    def newest(self, first: float, now: float, since: float) -> float:
        """The last instant until `now`, of which `first` is known to be one, found without counting those between."""
        if isinstance(self.every, float):
            return max(first, since + math.floor((now - since) / self.every) * self.every)
        ahead = datetime.fromtimestamp(math.floor(now) + 1, _zone(self.zone))
        for local in CronSim(self.every, ahead, reverse=True):
            if (found := local.timestamp()) <= now:
                return max(first, found)
        return first


def _zone(name: object) -> ZoneInfo:
    """A time zone. Raises: BadInput for one that this machine does not know."""
    try:
        if not isinstance(name, str):
            raise TypeError
        return ZoneInfo(name)
    except (TypeError, ValueError, OSError, LookupError) as error:
        raise BadInput(f"there is no time zone {name!r} here; write e.g. 'Europe/Berlin' or 'UTC'") from error
