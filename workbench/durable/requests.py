"""Requests: questions of durable processes that somebody else decides, kept in the store until then.

- A request is a row, made once for its step however often the step is replayed; its id comes from the step's key.
- A decision is one compare-and-set that wakes the key in the same transaction: the first one stands, from any host.
- Waiting costs a future here and nothing in the store; what other hosts decide is noticed when the store says that it
  changed.
- A request that expires is decided by whichever worker looks first, or by whoever comes too late with a decision: as
  `expired`, by "timeout", which is no person's decision.

Source: DESIGN rule 12, PROCESSES B.2 (19), CASES 13 to 20. Knows nothing of tools or agents.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from workbench.errors import AlreadyDecided, BadInput, NoSuchApproval
from workbench.events import Changes
from workbench.given import LONGEST, named
from workbench.plain import decode, encode

if TYPE_CHECKING:
    from workbench.clock import Clock
    from workbench.store.records import Record
    from workbench.store.store import Store

__all__ = ["EXPIRED", "KIND", "PENDING", "TIMEOUT", "Request", "Requests", "request_id"]

KIND = "request"
"""The kind of the rows that requests are."""
log = logging.getLogger("workbench")
PENDING, EXPIRED, TIMEOUT = "pending", "expired", "timeout"


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `status` is pending, then once the word of its decision; instants are UTC seconds."""

    id: str
    key: str
    body: dict[str, Any]
    asked_at: float
    status: str = PENDING
    decision: dict[str, Any] | None = None
    decided_at: float | None = None

    @property
    def expires_at(self) -> float | None:
        """When it expires if nobody decides, in UTC seconds; None when it waits for as long as it takes."""
        when = self.body.get("expires_at")
        if isinstance(when, bool) or not isinstance(when, int | float) or not -LONGEST <= when <= LONGEST:
            return None
        return float(when)

    def to_plain(self) -> dict[str, Any]:
        """The request as plain data."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Request:
        """The request that `to_plain` gave."""
        return cls(**plain)


class Requests:
    """The requests of one store, with those who wait for them here."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.changes = Changes()
        self._store = store
        self._clock = clock
        self._waiting: dict[str, list[asyncio.Future[Request]]] = {}
        self._known: dict[str, Request] = {}
        self._expiring: dict[str, float] = {}

    def known(self) -> list[Request]:
        """The requests that this bench has seen, oldest first; `refresh` brings in what others asked and decided."""
        return sorted(self._known.values(), key=lambda request: request.asked_at)

    def knows(self, step_key: str) -> bool:
        """Whether the step of this key has made its request."""
        return request_id(step_key) in self._known

    async def ask(self, key: str, step_key: str, body: dict[str, Any]) -> Request:
        """Put the request unless it is there, and wait until it is decided."""
        id = request_id(step_key)
        await self._store.put_record(KIND, id, key, encode(body, "request"), status=PENDING, at=self._clock.now())
        future: asyncio.Future[Request] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(id, []).append(future)
        try:
            request = await self.get(id)
            return await future if request.status == PENDING else request
        finally:
            self._forget(id, future)

    async def decide(self, id: str, status: str, decision: dict[str, Any]) -> Request:
        """Decide a pending request; one whose time is over expires instead.

        Raises: NoSuchApproval, AlreadyDecided naming the decision that stands.
        """
        text = encode(decision, "decision")
        known = self._known.get(named("the id of an approval", id)) or await self.get(id)
        if known.expires_at is not None and known.expires_at <= self._clock.now():
            await self._expire(id)
        decided = await self._move(id, status, text)
        request = await self.get(id)
        if not decided:
            by = (request.decision or {}).get("by", "someone")
            raise AlreadyDecided(
                f"{id!r} is already {request.status}, by {by}; the first decision stands",
                id=id,
                status=request.status,
                by=by,
                at=request.decided_at,
            )
        return request

    async def expire(self) -> None:
        """Decide what nobody decided in time."""
        now = self._clock.now()
        for id in [id for id, when in self._expiring.items() if when <= now]:
            await self._expire(id)
            self._expiring.pop(id, None)
            with suppress(NoSuchApproval):  # it was deleted with its key
                await self.get(id)

    async def _expire(self, id: str) -> None:
        await self._move(id, EXPIRED, encode({"by": TIMEOUT}))

    async def _move(self, id: str, status: str, decision: str) -> bool:
        return await self._store.decide_record(
            KIND, id, expect=PENDING, status=status, decision=decision, at=self._clock.now()
        )

    async def get(self, id: str) -> Request:
        """One request. Raises: NoSuchApproval, BadInput for an id that is no text."""
        record = await self._store.get_record(KIND, named("the id of an approval", id))
        if record is None:
            raise NoSuchApproval(
                f"no approval {id!r} in this store; bench.approvals.pending() lists the open ones", id=id
            )
        return self._see(_request(record))

    async def find(self, *, key: str | None = None, status: str | None = None) -> list[Request]:
        """Requests oldest first."""
        found = []
        for record in await self._store.find_records(KIND, key=key, status=status):
            try:
                found.append(self._see(_request(record)))
            except BadInput as error:
                log.error("%s", error)
        return found

    def forget(self, key: str) -> None:
        """Know nothing more of the requests of a key that was deleted."""
        gone = [id for id, request in self._known.items() if request.key == key]
        for id in gone:
            del self._known[id]
            self._expiring.pop(id, None)
        self.changes.tell()

    async def refresh(self) -> None:
        """Look at the store again: another host may have asked, or decided what is open here."""
        open_here = {request.id for request in self._known.values() if request.status == PENDING}
        open_there = {request.id for request in await self.find(status=PENDING)}
        for id in open_here - open_there:
            await self.get(id)

    def _see(self, request: Request) -> Request:
        """Know a request as it is in the store, whoever read it and why; those who wait for its decision hear of it."""
        known = self._known.get(request.id)
        if known is not None and known.status != PENDING:
            return known  # a decision stands; what was read before it is old
        if known != request:
            self._known[request.id] = request
            if request.status == PENDING and request.expires_at is not None:
                self._expiring[request.id] = request.expires_at
            else:
                self._expiring.pop(request.id, None)
            self.changes.tell()
        if request.status != PENDING:
            for future in self._waiting.get(request.id, ()):
                if not future.done():
                    future.set_result(request)
        return request

    def _forget(self, id: str, future: asyncio.Future[Request]) -> None:
        waiting = self._waiting.get(id, [])
        if future in waiting:
            waiting.remove(future)
        if not waiting:
            self._waiting.pop(id, None)


def request_id(step_key: str) -> str:
    """The id of the request that the step of this key makes."""
    return "ap-" + hashlib.sha256(step_key.encode()).hexdigest()[:16]


def _request(record: Record) -> Request:
    """The request of a row. Raises: BadInput when the row was changed by hand into something else."""
    body = decode(record.body)
    decision = decode(record.decision) if record.decision is not None else None
    if type(body) is not dict or (decision is not None and type(decision) is not dict):
        raise BadInput(f"the request {record.id!r} of {record.key!r} cannot be read; its row was changed by hand")
    return Request(record.id, record.key, body, record.at, record.status, decision, record.decided_at)
