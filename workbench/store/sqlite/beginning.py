"""Beginning: everything that a life needs from the file, in one job, so that a thousand are recovered in one commit.

One statement reads what is known of the key and whether there is anything in the tables that are mostly empty; only
what is there is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.claims import Begun
from workbench.store.journal import Loaded
from workbench.store.sqlite.claims import LAST_LIFE, NO_LIFE, SET_WHAT, live, own
from workbench.store.sqlite.inbox import move
from workbench.store.sqlite.replay import of_message, waiting
from workbench.store.sqlite.sound import guarded
from workbench.store.sqlite.states import read_state

if TYPE_CHECKING:
    from workbench.store.sqlite.hosts import Member
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["begin"]

READ = """
    SELECT
        k.definition, k.args, k.owner, a.epoch, a.began_at, a.how,
        EXISTS (SELECT 1 FROM answers WHERE key = k.id AND given IS NULL),
        EXISTS (SELECT 1 FROM inbox WHERE key = k.id),
        EXISTS (SELECT 1 FROM records WHERE key = k.key AND status = 'pending')
    FROM keys k LEFT JOIN activations a ON a.id = k.last_life
    WHERE k.id = ?
"""


def begin(key: str, definition: str, args: str, member: Member, *, force: bool, code: str | None) -> Job[Begun]:
    """Register the key, claim it and begin a life of it, with what it has to do."""

    def job(ledger: Ledger) -> Begun:
        known = ledger.make(key)
        name, stored, owner, *life, parked, posts, asks = ledger.sql(READ, (known.id,)).fetchone()
        if name is None:
            ledger.sql(SET_WHAT, (definition, args, known.id))
        elif (name, stored) != (definition, args):
            return Begun(name, stored)
        host = own(ledger, known, owner, member, force=force)
        if host is not None:
            return Begun(definition, args, host)
        if force:
            life = ledger.sql(LAST_LIFE, (known.last_life,)).fetchone() or NO_LIFE
        version, snapshot = read_state(ledger.connection, known)
        before = Loaded(0, snapshot, version)
        loaded = live(ledger, known, member, tuple(life), before, parked=bool(parked), code=code)
        messages = waiting(ledger, known, known.cursor)
        if posts:
            messages += move(ledger, key, known)
            ledger.settle()  # what was posted may have brought records with it
        head = of_message(ledger, known, messages[0].seq) if messages else ()
        return Begun(definition, args, None, loaded, tuple(messages), tuple(head), bool(asks))

    return guarded(key, job)
