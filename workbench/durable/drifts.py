"""Drifts: messages whose code asks for other steps than their journal has, and the choices about them, in the store.

- A drift leaves a mark among the records of its message and a row that waits for a choice. The same drift met again, by
  whichever host, is the same row.
- A choice is one compare-and-set that wakes the key in the same transaction: it is made once, from any host, and
  whoever activates the key next acts on it.
- A drift that the code has overcome since (its message was acknowledged, or is at work) is open no more.

Source: DESIGN rule 8, PROCESSES B.2 (7) and B.4. What the choices mean is in `workbench.durable.choices`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.durable.choices import CHOICES, Choice, Choices
from workbench.errors import AlreadyDecided, BadInput, NoCode
from workbench.plain import decode, encode
from workbench.store.journal import StepRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.clock import Clock
    from workbench.durable.activation import Activation
    from workbench.errors import Drift
    from workbench.store.records import Record
    from workbench.store.store import Store

__all__ = ["Drifted", "Drifts", "choices_of", "replace_all"]

KIND, OPEN = "drift", "open"


@dataclass(frozen=True, slots=True)
class Drifted:
    """One message that drifted. `asked` is None where a recorded step was left out; `at` is in UTC seconds."""

    id: str
    key: str
    seq: int
    asked: str | None
    recorded: str
    error: str
    at: float


class Drifts:
    """The drifts of one store that wait for a choice, as far as this bench has seen them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self.known: dict[str, Drifted] = {}
        self.met_here: set[str] = set()
        """The keys whose drift was met by this bench, and was open when it last looked."""
        self._store = store
        self._clock = clock

    async def note(self, activation: Activation, drift: Drift) -> None:
        """Leave the mark and the row of a drift that ended `activation`. Raises: what the store raises."""
        ledger, fields = activation.ledger, drift.fields
        assert ledger is not None
        now, place = self._clock.now(), {"asked": fields["place"], "recorded": fields["recorded_place"]}
        decided = 0 if ledger.choices is None else ledger.choices.count
        text = encode([activation.key, ledger.seq, place, decided])
        id = f"dr-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        mark = encode(id)
        body = encode({"seq": ledger.seq, "error": str(drift), **place})
        await self._store.put_record(KIND, id, activation.key, body, status=OPEN, at=now)
        if not any(record.kind == KIND and record.payload == mark for record in ledger.records):
            record = StepRecord("", KIND, 0, mark, "drift", 0, now, 0.0, activation.epoch)
            await self._store.put_step(activation.key, activation.epoch, ledger.seq, record)
        self.met_here.add(activation.key)

    async def refresh(self) -> set[str]:
        """Bring in what others met and decided; gives the keys whose drift was met here and is open no more."""
        rows = await self._store.find_records(KIND, status=OPEN)
        found = [(drifted, await self._store.key_info(drifted.key)) for drifted in map(_drifted, rows)]
        self.known = {
            drifted.key: drifted
            for drifted, info in found
            if info is not None and info.cursor < drifted.seq and info.owner is None
        }
        decided = self.met_here - {row.key for row in rows}
        self.met_here -= decided
        return decided

    async def choose(self, key: str, what: str, *, by: str) -> Drifted:
        """Decide about the drift of a key, once; gives what was decided about.

        Raises: NoCode when the key has none, AlreadyDecided, BadInput for what is no choice.
        """
        if what not in CHOICES:
            raise BadInput(f"{what!r} is no choice about a drift; there are {', '.join(CHOICES)}")
        await self.refresh()
        drifted = self.known.get(key)
        if drifted is None:
            raise await self._none_of(key)
        decision = encode({"by": by})
        now = self._clock.now()
        if not await self._store.decide_record(KIND, drifted.id, expect=OPEN, status=what, decision=decision, at=now):
            row = await self._store.get_record(KIND, drifted.id)
            raise await self._none_of(key) if row is None else _decided(row)
        del self.known[key]
        return drifted

    async def _none_of(self, key: str) -> AlreadyDecided | NoCode:
        """Why there is nothing to decide about a key."""
        rows = [row for row in await self._store.find_records(KIND, key=key) if row.decision is not None]
        info = await self._store.key_info(key)
        if not rows or info is None or decode(rows[-1].body)["seq"] <= info.cursor:
            return NoCode(
                f"no message of {key!r} asks for other steps than it has; there is nothing to choose", name=key
            )
        return _decided(rows[-1])


def _decided(row: Record) -> AlreadyDecided:
    by = decode(row.decision or "{}").get("by")
    return AlreadyDecided(
        f"the drift of {row.key!r} is already {row.status}, by {by}; the first decision stands",
        id=row.id,
        status=row.status,
        by=by,
        at=row.decided_at,
    )


async def choices_of(store: Store, key: str, records: Sequence[StepRecord]) -> Choices | None:
    """What was chosen about a message with these records, or None when it never drifted."""
    if not any(record.kind == KIND for record in records):
        return None
    rows = [row for row in await store.find_records(KIND, key=key) if row.decision is not None]
    return Choices(records, {encode(row.id): _choice(row) for row in rows})


async def replace_all(store: Store, key: str, epoch: int, seq: int, now: float) -> None:
    """Mark what a message has recorded as replaced. Raises: what the store raises."""
    await store.put_step(key, epoch, seq, StepRecord("", "replaced", 0, "null", "replaced", 0, now, 0.0, epoch))


def _choice(row: Record) -> Choice:
    return Choice.of(row.status, decode(row.body), decode(row.decision or "{}").get("by", "you"))


def _drifted(row: Record) -> Drifted:
    body: dict[str, Any] = decode(row.body)
    asked = body["asked"][1] if body["asked"] is not None else None
    return Drifted(row.id, row.key, body["seq"], asked, body["recorded"][1], body["error"], row.at)
