"""Reading ahead: what many lives that begin together need, in three statements instead of seven for each.

What is here was true when it was read, in the transaction that uses it: a life takes what is said of its key once, and
rows of lines never change. Who finds nothing here reads for itself.

A line of rows only ever leads back: one that leads forward would be walked for ever.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.store.sqlite.hosts import Member, read_host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.store.claims import Host
    from workbench.store.sqlite.ledger import Ledger

__all__ = ["WHAT", "Ahead", "Entry", "entry", "entry_at", "read_ahead"]


class Entry(NamedTuple):
    """A row of a line, as it is in the file: a message, the record of a step, or a commit."""

    prev: int
    seq: int
    epoch: int
    at: float
    payload: Any
    call_id: str | None
    kind: Any
    branch: str | None
    name: Any
    occurrence: Any
    position: Any
    began_at: Any
    took: Any


FEW = 4
"""Lives that begin together from which reading ahead is quicker."""

COLUMNS = ", ".join(Entry._fields)
ENTRY = f"SELECT {COLUMNS} FROM entries WHERE id = ? AND prev < id"
ENTRIES = f"SELECT id, {COLUMNS} FROM entries WHERE id IN (SELECT value FROM json_each(?)) AND prev < id"
STATES = "SELECT key, version, snapshot FROM states WHERE key IN (SELECT value FROM json_each(?))"
WHAT = """
    k.definition, k.args, k.owner, a.epoch, a.began_at, a.how,
    EXISTS (SELECT 1 FROM answers WHERE key = k.id AND given IS NULL),
    EXISTS (SELECT 1 FROM records WHERE key = k.key AND status = 'pending')
"""
KEYS = f"""
    SELECT
        k.key, k.id, k.epoch, k.cursor, k.last_seq, k.last_message, k.last_work, k.last_life, k.wake_at, k.last_state,
        EXISTS (SELECT 1 FROM inbox WHERE key = k.id), {WHAT}
    FROM json_each(?) j JOIN keys k ON k.key = j.value LEFT JOIN activations a ON a.id = k.last_life
"""
KNOWN = slice(1, 11)
"""The columns of `KEYS` that a ledger remembers of a key."""


class Ahead:
    """What was read, by the number of the key or of the row."""

    __slots__ = ("entries", "hosts", "states", "what")

    def __init__(self) -> None:
        self.what: dict[int, tuple[Any, ...]] = {}
        self.entries: dict[int, Entry] = {}
        self.states: dict[int, tuple[int, Any]] = {}
        self.hosts: dict[int, Host | None] = {}

    def host(self, ledger: Ledger, member: Member, slot: int) -> Host | None:
        """The host of a slot while it is alive, else None; asked once."""
        if slot not in self.hosts:
            self.hosts[slot] = read_host(ledger.connection, member, slot, ledger.at)
        return self.hosts[slot]


def read_ahead(ledger: Ledger, keys: Sequence[str]) -> Ahead:
    """Read what the lives of `keys` need, as far as it is where it mostly is."""
    ahead = Ahead()
    if len(keys) < FEW:
        return ahead
    ends: set[int] = set()
    apart: list[int] = []
    for row in ledger.sql(KEYS, (json.dumps(keys),)).fetchall():
        known = ledger.remember(row[0], row[KNOWN])
        if known is not None:
            ahead.what[known.id] = row[KNOWN.stop :]
            ends.update((known.last_message, known.last_work, known.last_state))
            if not known.last_state:
                apart.append(known.id)
    for id, *rest in ledger.sql(ENTRIES, (json.dumps([*ends]),)).fetchall():
        ahead.entries[id] = Entry(*rest)
    for key, version, snapshot in ledger.sql(STATES, (json.dumps(apart),)).fetchall() if apart else ():
        ahead.states[key] = version or 0, snapshot
    return ahead


def entry(ledger: Ledger, row: int) -> Entry | None:
    """A row of a line; None when it is not there, or leads forward."""
    if ledger.ahead is not None and (known := ledger.ahead.entries.get(row)) is not None:
        return known
    found = ledger.sql(ENTRY, (row,)).fetchone()
    return None if found is None else Entry(*found)


def entry_at(ledger: Ledger, row: int) -> Entry:
    """A row of a line that another one names. Raises: ValueError when it is not there, or leads forward."""
    found = entry(ledger, row)
    if found is None:
        raise ValueError(f"row {row} is not there, or leads to a later one")
    return found
