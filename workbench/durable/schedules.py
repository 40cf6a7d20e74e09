"""Schedules: messages that are posted again and again, by whichever scheduler on the store comes first.

- What is stored is plain data: when, in which time zone, what becomes of what was missed, and what to post. It fires in
  any worker on the store, also in one that has no code for what it posts to.
- Every instant is posted by exactly one of any number of schedulers, in one transaction with the move to the next.
- What was missed, while no worker ran or while one was blocked, is posted as the schedule says: `once` for all of it,
  `all` one by one, or `skip` for none that is more than `GRACE` seconds late.

Source: DESIGN rule 6, PROCESSES 2.13. Knows nothing of agents: who can be posted to says how, as a kind.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args
from zoneinfo import ZoneInfo

from workbench.durable.keys import KEY
from workbench.durable.recurrence import Recurrence
from workbench.errors import BadInput, NoCode
from workbench.given import named
from workbench.plain import decode, encode
from workbench.store.schedules import Firing
from workbench.table import Table, in_html

if TYPE_CHECKING:
    from workbench.clock import Clock
    from workbench.durable.process import DurableProcess
    from workbench.store.schedules import Planned
    from workbench.store.store import Store

__all__ = ["GRACE", "Kind", "Missed", "Schedule", "Schedules", "When"]

Missed: TypeAlias = Literal["once", "all", "skip"]

Kind: TypeAlias = Callable[[dict[str, Any], str, float], Firing]
"""Makes a post of a stored target, the schedule's name and the instant."""

GRACE = 60.0
BATCH = 100

log = logging.getLogger("workbench")


@dataclass(frozen=True, slots=True)
class When:
    """What `bench.every` was asked for: when, in which zone, what becomes of what was missed, under which name."""

    every: object
    zone: str = "UTC"
    missed: str = "once"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """One schedule, as it was when it was read. Instants are UTC seconds; `next` and `last` are the same as dates."""

    name: str
    every: float | str
    zone: str
    missed: str
    target: str
    next_at: float | None
    last_at: float | None
    fired: int

    @property
    def next(self) -> datetime | None:
        """When it comes next, in its time zone."""
        return self._local(self.next_at)

    @property
    def last(self) -> datetime | None:
        """The newest instant that was posted, in its time zone."""
        return self._local(self.last_at)

    def _local(self, instant: float | None) -> datetime | None:
        return None if instant is None else datetime.fromtimestamp(instant, ZoneInfo(self.zone))


class Schedules:
    """The schedules of a bench's store: `schedules[name]`, iteration by name, `cancel`."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.kinds: dict[str, Kind] = {"process": _post_to_process}
        self.closed = False
        self._store = store
        self._clock = clock

    async def post(self, when: When, process: DurableProcess, message: Any) -> Schedule:
        """Cast a message to a process again and again. Raises: BadInput, NotPlain."""
        definition = process.definition
        target = {
            "key": process.key,
            "definition": definition.name,
            "args": process.args,
            "message": decode(definition.shapes[0].encode(message, "message")),
        }
        return await self.put(process.key, when, "process", target)

    async def put(self, default: str, when: When, kind: str, target: dict[str, Any]) -> Schedule:
        """Add a schedule or replace the one of its name; an equal one goes on as it is. Raises: BadInput, NotPlain."""
        name = default if when.name is None else when.name
        named("a schedule", name, KEY)
        if when.missed not in get_args(Missed):
            raise BadInput(f"what was missed is posted 'once', 'all' or 'skip', found missed={when.missed!r}")
        recurrence = Recurrence.of(when.every, when.zone)
        plan = {"every": recurrence.every, "zone": recurrence.zone, "missed": when.missed}
        text = encode({**plan, "kind": kind, "target": target}, f"the schedule {name!r}")
        now = float(math.ceil(self._clock.now()))
        await self._store.schedules.put(name, text, since=now, next_at=next(recurrence.after(now, now), None))
        return self[name]

    async def cancel(self, name: str) -> None:
        """Forget a schedule; what it posted stays. Raises: NoCode when there is none of that name."""
        if not await self._store.schedules.drop(named("a schedule", name, KEY)):
            raise self._unknown(name)

    def __getitem__(self, name: str) -> Schedule:
        for planned in self._store.schedules.listed():
            if planned.name == name:
                return _shown(planned)
        raise self._unknown(name)

    def __iter__(self) -> Iterator[Schedule]:
        return (_shown(planned) for planned in self._store.schedules.listed())

    def __len__(self) -> int:
        return len(self._store.schedules.listed())

    def __contains__(self, name: object) -> bool:
        return any(planned.name == name for planned in self._store.schedules.listed())

    def __repr__(self) -> str:
        return "<Schedules: the bench is closed>" if self.closed else repr(self._table())

    def _repr_html_(self) -> str:
        return in_html(self) if self.closed else self._table()._repr_html_()

    def _table(self) -> Table:
        rows = [
            {
                "name": each.name,
                "every": each.every if isinstance(each.every, str) else f"{each.every:g} s",
                "zone": each.zone,
                "missed": each.missed,
                "target": each.target,
                "next": "never" if each.next is None else each.next.isoformat(" ", "seconds"),
                "last": "" if each.last is None else each.last.isoformat(" ", "seconds"),
                "fired": each.fired,
            }
            for each in self
        ]
        return Table(rows, columns=("name", "every", "zone", "missed", "target", "next", "last", "fired"))

    async def fire(self) -> int:
        """Post everything that is due; gives how many messages this scheduler posted."""
        posted = 0
        while found := await self._store.schedules.due(self._clock.now(), BATCH):
            for planned in found:
                posted += await self._fire(planned)
        return posted

    async def _fire(self, planned: Planned) -> int:
        due = planned.next_at
        assert due is not None  # it was found due
        now = self._clock.now()
        try:
            posts, last, following = self._posts(planned, due, now)
        except (BadInput, KeyError, TypeError) as error:
            log.error("the schedule %r cannot be read and is stopped: %s", planned.name, error)
            posts, last, following = [], None, None
        fired = await self._store.schedules.fire(planned.name, due=due, next_at=following, last_at=last, posts=posts)
        return len(posts) if fired else 0

    def _posts(self, planned: Planned, due: float, now: float) -> tuple[list[Firing], float | None, float | None]:
        """What is posted at `now`, the newest instant of it, and when the schedule comes next."""
        plan = decode(planned.plan)
        recurrence = Recurrence.of(plan["every"], plan["zone"])
        if plan["missed"] == "all":
            later = takewhile(lambda instant: instant <= now, recurrence.after(due, planned.since))
            instants = [due, *islice(later, BATCH - 1)]
        else:
            newest = recurrence.newest(due, now, planned.since)
            instants = [] if plan["missed"] == "skip" and now - newest > GRACE else [newest]
        make = self.kinds[plan["kind"]]
        posts = [make(plan["target"], planned.name, instant) for instant in instants]
        reached = instants[-1] if plan["missed"] == "all" else max(now, due)
        return posts, (instants[-1] if instants else None), next(recurrence.after(reached, planned.since), None)

    def _unknown(self, name: object) -> NoCode:
        names = [planned.name for planned in self._store.schedules.listed()]
        return NoCode(f"no schedule {name!r} in this store, there are {names}", name=name)


def _shown(planned: Planned) -> Schedule:
    plan = decode(planned.plan)
    target = plan["target"]
    return Schedule(
        planned.name,
        plan["every"],
        plan["zone"],
        plan["missed"],
        str(target.get("key") or target.get("agent")),
        planned.next_at,
        planned.last_at,
        planned.fired,
    )


def _post_to_process(target: dict[str, Any], name: str, at: float) -> Firing:
    """A cast. A message with a field `at` that is None has the instant there."""
    message = target["message"]
    if type(message) is dict and "at" in message and message["at"] is None:
        message = {**message, "at": at}
    return Firing(
        target["key"], encode(message, "message"), definition=target["definition"], args=encode(target["args"])
    )
