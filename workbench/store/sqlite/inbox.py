"""The inbox: messages for a key from who does not own it.

Jobs of the ledger. A key that no live host owns has the message in its log at once. A live owner is the one writer of
its log: the message waits in `inbox` until the owner collects it. What waits keeps its order, so nothing overtakes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.journal import Logged
from workbench.store.sqlite.blobs import unfold
from workbench.store.sqlite.claims import describe, live_owner
from workbench.store.sqlite.letters import finished
from workbench.store.sqlite.sound import guarded

if TYPE_CHECKING:
    from workbench.store.sqlite.gathered import Known
    from workbench.store.sqlite.hosts import Member
    from workbench.store.sqlite.ledger import Ledger
    from workbench.store.sqlite.write import Job

__all__ = ["collect", "move", "post"]

FIND_CALL = "SELECT seq FROM answers WHERE key = ? AND call_id = ?"
OPEN_CALL = "INSERT INTO answers (id, key, call_id, seq) VALUES (?, ?, ?, ?)"
COUNT = "SELECT count(*) FROM inbox WHERE key = ?"
WAITS = "SELECT 1 FROM inbox WHERE key = ? LIMIT 1"
PUT = "INSERT INTO inbox (id, key, at, call_id, message) VALUES (?, ?, ?, ?, ?)"
READ = "SELECT call_id, message, dead FROM inbox WHERE key = ? ORDER BY id"
TAKE = "DELETE FROM inbox WHERE key = ?"
IS_LOGGED = "SELECT 1 FROM answers WHERE key = ? AND call_id = ? AND (message IS NOT NULL OR given IS NOT NULL)"


def post(
    key: str,
    member: Member,
    message: str,
    id: str | None,
    wake: float | None,
    definition: str | None,
    args: str | None,
    most: int | None = None,
) -> Job[int]:
    """Add a message without an epoch; gives its number, or 0 when `most` are not acknowledged already.

    With `id`, a second post of the same id adds nothing and gives the first number.
    """

    def job(ledger: Ledger) -> int:
        known = ledger.make(key)
        if definition is not None:
            describe(ledger, known, definition, args or "")
        if id is not None and (first := ledger.sql(FIND_CALL, (known.id, id)).fetchone()):
            number: int = first[0]
            return number
        if most is not None and known.last_seq - known.cursor + ledger.sql(COUNT, (known.id,)).fetchone()[0] >= most:
            return 0
        if live_owner(ledger, known, member) or ledger.sql(WAITS, (known.id,)).fetchone():
            return _leave(ledger, known, message, id, wake)
        return ledger.log(known, 0, message, id, wake)

    return guarded(key, job)


def _leave(ledger: Ledger, known: Known, message: str, id: str | None, wake: float | None) -> int:
    number = ledger.next_id()
    ledger.sql(PUT, (number, known.id, ledger.at, id, ledger.fold(message)))
    known.posted = True
    if id is not None:
        ledger.sql(OPEN_CALL, (ledger.next_id(), known.id, id, number))
    if wake is not None and known.wake is None:
        ledger.set_wake(known, wake)
    return number


def collect(key: str, epoch: int) -> Job[list[Logged]]:
    """Move what was posted to a key into its log, in order; gives what was moved.

    A call that its owner logged meanwhile is not logged again.
    """

    def job(ledger: Ledger) -> list[Logged] | BaseException:
        known = ledger.known(key)
        if known is None or known.epoch != epoch:
            return ledger.fenced(key, epoch, known)
        return move(ledger, key, known)

    return guarded(key, job)


def move(ledger: Ledger, key: str, known: Known) -> list[Logged]:
    """`collect`, inside a job that knows that the epoch is right."""
    posts = ledger.sql(READ, (known.id,)).fetchall()
    moved = []
    for call_id, column, letter in posts:
        if call_id is not None and ledger.sql(IS_LOGGED, (known.id, call_id)).fetchone():
            continue
        message = unfold(ledger.connection, column)
        moved.append(Logged(ledger.log(known, known.epoch, message, call_id, None), message, call_id))
        if call_id is not None:
            known.move(call_id, moved[-1].seq)
        for record in finished(ledger, letter) if letter is not None else ():
            ledger.keep_step(key, known.epoch, moved[-1].seq, record)
    if posts:
        ledger.sql(TAKE, (known.id,))
        known.posted = False
    return moved
