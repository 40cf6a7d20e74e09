"""Claims: who owns a key, and the lives that it had.

Jobs of the ledger: each function gives one, to be run inside a transaction. A key's owner counts while its host is
alive (`workbench.store.sqlite.hosts`); what a dead host owned is anyone's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from workbench.store.journal import Loaded, Logged
from workbench.store.sqlite.ahead import Ahead, entry
from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.hosts import Member, bury, read_host, renew
from workbench.store.sqlite.sound import guarded
from workbench.store.sqlite.states import read_state

if TYPE_CHECKING:
    from workbench.store.claims import Host
    from workbench.store.sqlite.gathered import Known
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["NO_LIFE", "claim", "describe", "due", "live", "live_owner", "load", "own", "prolong", "register", "release"]

READ_WHAT = "SELECT definition, args FROM keys WHERE id = ?"
SET_WHAT = "UPDATE keys SET definition = ?, args = ? WHERE id = ?"
READ_OWNER = "SELECT owner FROM keys WHERE id = ?"
OWN = "UPDATE keys SET owner = ? WHERE id = ?"
DISOWN = "UPDATE keys SET owner = NULL WHERE id = ? AND owner = ? AND epoch = ?"
PARKED = """
    SELECT e.seq, e.payload, a.call_id
    FROM answers a JOIN entries e ON e.id = a.message
    WHERE a.key = ? AND a.given IS NULL AND e.seq <= ?
    ORDER BY e.seq
"""
LAST_LIFE = "SELECT epoch, began_at, how FROM activations WHERE id = ?"
LOST = "UPDATE activations SET how = 'lost', ended_at = ? WHERE id = ?"
BEGAN = "INSERT INTO activations (id, prev, key, epoch, host, began_at, code) VALUES (?, ?, ?, ?, ?, ?, ?)"
LIFE = "SELECT prev, epoch FROM activations WHERE id = ? AND prev < id"
ENDED = "UPDATE activations SET how = ?, by = ?, ended_at = ? WHERE id = ? AND (how IS NULL OR how = 'lost')"

Life: TypeAlias = "tuple[int | None, float, str | None]"
"""A row of `LAST_LIFE`: epoch, began_at, how."""

NO_LIFE: Life = (None, 0.0, None)
DUE = "SELECT id, key FROM keys WHERE wake_at <= ? ORDER BY wake_at, key LIMIT ?"
LEASE = "UPDATE keys SET wake_at = ? WHERE id = ?"


def register(key: str, definition: str, args: str) -> Job[tuple[str, str]]:
    """Store what a key is, unless it is known; gives what is stored."""

    def job(ledger: Ledger) -> tuple[str, str]:
        return describe(ledger, ledger.make(key), definition, args)

    return job


def describe(ledger: Ledger, known: Known, definition: str, args: str) -> tuple[str, str]:
    """`register`, inside a job."""
    found, stored = ledger.sql(READ_WHAT, (known.id,)).fetchone()
    if found is not None:
        return found, stored
    ledger.sql(SET_WHAT, (definition, args, known.id))
    return definition, args


def claim(key: str, member: Member, *, force: bool) -> Job[Host | None]:
    """Make `member` the owner; gives None, or the live host that has the key."""

    def job(ledger: Ledger) -> Host | None:
        known = ledger.make(key)
        (owner,) = ledger.sql(READ_OWNER, (known.id,)).fetchone()
        return own(ledger, known, owner, member, force=force, ahead=Ahead())

    return guarded(key, job)


def own(ledger: Ledger, known: Known, owner: int | None, member: Member, *, force: bool, ahead: Ahead) -> Host | None:
    """`claim`, inside a job that has read who the owner is."""
    if owner == member.slot:
        return None
    host = None if owner is None else ahead.host(ledger, member, owner)
    if host is not None and not force:
        return host
    if host is not None:
        life = ledger.sql(LAST_LIFE, (known.last_life,)).fetchone()
        _mark_lost(ledger, known, *life or NO_LIFE)  # taken, not dead: it is no life that was cut off
    ledger.later(OWN, (member.slot, known.id))
    return None


def live_owner(ledger: Ledger, known: Known, member: Member) -> Host | None:
    """The live host that owns a key."""
    (owner,) = ledger.sql(READ_OWNER, (known.id,)).fetchone()
    return None if owner is None else read_host(ledger.connection, member, owner, ledger.at)


def load(key: str, member: Member) -> Job[Loaded]:
    """Begin an activation. One that did not say how it ended is marked lost, at the last thing it wrote."""

    def job(ledger: Ledger) -> Loaded:
        known = ledger.make(key)
        life = ledger.sql(LAST_LIFE, (known.last_life,)).fetchone()
        version, snapshot = read_state(ledger.connection, known)
        return live(ledger, known, member, life or NO_LIFE, Loaded(0, snapshot, version), parked=True)

    return guarded(key, job)


def live(
    ledger: Ledger, known: Known, member: Member, life: Life, stored: Loaded, *, parked: bool, code: str | None = None
) -> Loaded:
    """`load`, inside a job that has read the `life` before and the stored state; `parked` unless no call is open."""
    cut_off = _mark_lost(ledger, known, *life)
    before = known.last_life
    row = ledger.begin_life(known)
    ledger.later(BEGAN, (row, before, known.id, known.epoch, member.host.id, ledger.at, code))
    calls = ledger.sql(PARKED, (known.id, known.cursor)) if parked else ()
    open_calls = tuple(Logged(seq, unfold(ledger.connection, message), id) for seq, message, id in calls)
    return Loaded(known.epoch, stored.snapshot, stored.version, known.cursor, cut_off, open_calls)


def _mark_lost(ledger: Ledger, known: Known, epoch: int | None, began_at: float, how: str | None) -> bool:
    if epoch is None or how is not None:
        return False
    wrote = [_last_wrote(ledger, end, epoch) for end in (known.last_message, known.last_work)]
    ledger.later(LOST, (max([began_at, *(at for at in wrote if at is not None)]), known.last_life))
    return True


def _last_wrote(ledger: Ledger, row: int, epoch: int) -> float | None:
    """When the life `epoch` wrote to a line last, walking back from `row` over what others wrote since."""
    while (found := entry(ledger, row)) is not None:
        if found.epoch == epoch:
            return found.at
        if 0 < found.epoch < epoch:
            return None
        row = found.prev
    return None


def release(key: str, member: Member, epoch: int, how: str, by: str) -> Job[None]:
    """End the activation `epoch`, and own the key no more if it was the last."""

    def job(ledger: Ledger) -> None:
        known = ledger.known(key)
        if known is None:
            return
        ledger.sql(ENDED, (how, by, ledger.at, _life(ledger, known, epoch)))
        left = known.posted or (how == "closed" and known.last_seq > known.cursor)
        if known.epoch == epoch and left:
            ledger.set_wake(known, ledger.at if known.wake is None else min(known.wake, ledger.at))
            ledger.settle()
        ledger.sql(DISOWN, (known.id, member.slot, epoch))
        ledger.forget(key)

    return guarded(key, job)


def _life(ledger: Ledger, known: Known, epoch: int) -> int:
    """The number of the life `epoch` of a key, or 0."""
    row = known.last_life
    while (found := ledger.sql(LIFE, (row,)).fetchone()) and found[1] > epoch:
        row = found[0]
    return row if found and found[1] == epoch else 0


def prolong(member: Member, until: float) -> Job[None]:
    """Extend the lease of `member`."""

    def job(ledger: Ledger) -> None:
        renew(ledger.connection, member.slot, until)
        ledger.renewed = ledger.at

    return job


def due(member: Member, now: float, until: float, limit: int) -> Job[list[str]]:
    """Take the keys that are due; each one's wake moves to `until` in the same transaction."""

    def job(ledger: Ledger) -> list[str]:
        for key in bury(ledger.connection, member, now):
            ledger.forget(key)
        found = ledger.sql(DUE, (now, limit)).fetchall()
        for row, key in found:
            ledger.sql(LEASE, (until, row))
            ledger.forget(key)
        return [key for _, key in found]

    return job
