"""Beginning: everything that a life needs from the file, in one job, so that a thousand are recovered in one commit.

One statement reads what is known of the key and whether there is anything in the tables that are mostly empty; only
what is there is read. Many that begin together are read ahead (`workbench.store.sqlite.ahead`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.store.claims import Begun
from workbench.store.journal import Loaded
from workbench.store.sqlite.ahead import WHAT, Ahead, entry
from workbench.store.sqlite.claims import LAST_LIFE, NO_LIFE, SET_WHAT, live, own
from workbench.store.sqlite.inbox import move
from workbench.store.sqlite.replay import of_message, waiting
from workbench.store.sqlite.sound import guarded
from workbench.store.sqlite.states import in_commit, read_state

if TYPE_CHECKING:
    from workbench.store.sqlite.gathered import Known
    from workbench.store.sqlite.hosts import Member
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["begin"]

READ = f"SELECT {WHAT} FROM keys k LEFT JOIN activations a ON a.id = k.last_life WHERE k.id = ?"


def begin(key: str, definition: str, args: str, member: Member, *, force: bool, code: str | None) -> Job[Begun]:
    """Register the key, claim it and begin a life of it, with what it has to do."""

    def job(ledger: Ledger) -> Begun:
        known = ledger.make(key)
        ahead = Ahead() if ledger.ahead is None else ledger.ahead
        what = ahead.what.pop(known.id, None) or ledger.sql(READ, (known.id,)).fetchone()
        name, stored, owner, *life, parked, asks = what
        if name is None:
            ledger.sql(SET_WHAT, (definition, args, known.id))
        elif (name, stored) != (definition, args):
            return Begun(name, stored)
        host = own(ledger, known, owner, member, force=force, ahead=ahead)
        if host is not None:
            return Begun(definition, args, host)
        if force:
            ledger.settle()  # the life that it was taken from is marked by now
            life = ledger.sql(LAST_LIFE, (known.last_life,)).fetchone() or NO_LIFE
        version, snapshot = _state(ledger, known, ahead)
        before = Loaded(0, snapshot, version)
        loaded = live(ledger, known, member, tuple(life), before, parked=bool(parked), code=code)
        messages = waiting(ledger, known, known.cursor)
        if known.posted:
            messages += move(ledger, key, known)
            ledger.settle()  # what was posted may have brought records with it
        head = of_message(ledger, known, messages[0].seq) if messages else ()
        return Begun(definition, args, None, loaded, tuple(messages), tuple(head), bool(asks))

    return guarded(key, job)


def _state(ledger: Ledger, known: Known, ahead: Ahead) -> tuple[int, Any]:
    """The version and the newest state of a key."""
    if known.id in ahead.states:
        return ahead.states.pop(known.id)
    commit = entry(ledger, known.last_state) if known.last_state else None
    return read_state(ledger.connection, known) if commit is None else in_commit(commit.occurrence, commit.payload)
