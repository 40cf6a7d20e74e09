"""Hosts: who shares a store file, and which of them are alive.

- Host i holds byte i of the lock file beside the database as a POSIX record lock, from joining to leaving. The kernel
  frees it the moment the process ends, so a host of this machine whose byte is free is dead at once, even as a zombie,
  and one that holds it is alive however long its loop is blocked.
- Closing *any* descriptor of a file drops all record locks that the process has on it: there is one descriptor per lock
  file in a process, shared by all its stores and closed by the last.
- Where record locks do not work, or a host runs on another machine, its lease decides.

What a dead host or one that left had unfinished is due at once, for whoever looks first. Knows nothing else of keys.
"""

from __future__ import annotations

import os
import sys
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.store.claims import Host
from workbench.store.sqlite.sound import is_instant
from workbench.store.upkeep import READER

if TYPE_CHECKING:
    import asyncio
    import sqlite3

if sys.platform != "win32":
    import fcntl

__all__ = ["LockFile", "Member", "bury", "depart", "enter", "forget", "join", "leave", "machine", "read_host", "renew"]

INSERT = "INSERT INTO hosts (name, label, pid, boot, locks, until) VALUES (?, ?, ?, ?, ?, ?)"
DELETE = "DELETE FROM hosts WHERE id = ?"
RENEW = "UPDATE hosts SET until = ? WHERE id = ?"
READ = "SELECT name, label, pid, until, boot, locks FROM hosts WHERE id = ?"
NEIGHBOURS = "SELECT id FROM hosts WHERE boot = ? AND id <> ? AND locks"
DISOWN = "UPDATE keys SET owner = NULL WHERE owner = ?"
DUE_NOW = """
    UPDATE keys SET wake_at = min(coalesce(wake_at, ?1), ?1)
    WHERE owner = ?2 AND (last_seq > cursor OR EXISTS (SELECT 1 FROM inbox WHERE key = keys.id)) RETURNING key
"""

READER_SLOT = -1
"""What `keys.owner` has for a read-only copy."""

_files: dict[str, LockFile] = {}
_guard = threading.Lock()


class LockFile:
    """The lock file of one store, in this process.

    `slots` are the bytes that our hosts hold, each with the loop that its host lives on.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.slots: dict[int, asyncio.AbstractEventLoop] = {}
        self.users = 0
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def hold(self, slot: int, loop: asyncio.AbstractEventLoop) -> bool:
        """Take byte `slot`; False where record locks do not work."""
        self.slots[slot] = loop
        return self._lock(slot, exclusive=True)

    def free(self, slot: int) -> None:
        """Give byte `slot` back."""
        self.slots.pop(slot, None)
        if sys.platform != "win32":
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, slot)

    def is_held(self, slot: int) -> bool:
        """Whether a living host, of this process or another, has byte `slot`."""
        loop = self.slots.get(slot)
        if loop is not None:  # a lock of our own process never refuses us: asking by locking would lose it
            return not loop.is_closed()
        if not self._lock(slot, exclusive=False):
            return True
        self.free(slot)
        return False

    def close(self) -> None:
        """Close the descriptor, and with it every lock."""
        os.close(self._descriptor)

    def _lock(self, slot: int, *, exclusive: bool) -> bool:
        if sys.platform == "win32":
            return False
        kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
        try:
            fcntl.lockf(self._descriptor, kind | fcntl.LOCK_NB, 1, slot)
        except OSError:
            return False
        return True


@dataclass(slots=True)
class Member:
    """Our own place among the hosts of a file."""

    slot: int
    host: Host
    file: LockFile
    locks: bool
    boot: str


def enter(path: str) -> LockFile:
    """The lock file of the store at `path`, to be given back by `depart`."""
    place = os.path.realpath(path) + "-hosts"
    with _guard:
        file = _files.get(place)
        if file is None:
            file = _files[place] = LockFile(place)
        file.users += 1
        return file


def depart(file: LockFile, slot: int | None) -> None:
    """Give a byte back, and close the lock file after the last store of this process that uses it."""
    with _guard:
        if slot is not None:
            file.free(slot)
        file.users -= 1
        if not file.users:
            del _files[file.path]
            file.close()


def forget(member: Member) -> None:
    """`depart` for a host that had joined."""
    depart(member.file, member.slot)


def join(
    connection: sqlite3.Connection, file: LockFile, label: str, at: float, lease: float, loop: asyncio.AbstractEventLoop
) -> Member:
    """Become a host at `at`, inside the transaction that is open on `connection`. Strikes off who is certainly dead."""
    until = at + lease
    name, pid, boot = uuid.uuid4().hex[:12], os.getpid(), machine()
    slot = connection.execute(INSERT, (name, label, pid, boot, True, until)).lastrowid
    assert slot is not None  # an INSERT has one
    locks = file.hold(slot, loop)
    if not locks:
        connection.execute("UPDATE hosts SET locks = 0 WHERE id = ?", (slot,))
    member = Member(slot, Host(name, label, pid, until), file, locks, boot)
    bury(connection, member, at)
    return member


def bury(connection: sqlite3.Connection, member: Member, at: float) -> list[str]:
    """Strike off the hosts of this machine whose bytes are free; gives the keys that are due because of it.

    One that only let its lease run out may come back.
    """
    due: list[str] = []
    if member.locks:
        for (slot,) in connection.execute(NEIGHBOURS, (member.boot, member.slot)).fetchall():
            if not member.file.is_held(slot):
                due += _strike_off(connection, slot, at)
    return due


def leave(connection: sqlite3.Connection, member: Member, at: float) -> None:
    """Be no host any more, and own nothing, inside the transaction that is open. `forget` gives the byte back."""
    _strike_off(connection, member.slot, at)


def _strike_off(connection: sqlite3.Connection, slot: int, at: float) -> list[str]:
    due = [key for (key,) in connection.execute(DUE_NOW, (at, slot)).fetchall()]
    connection.execute(DISOWN, (slot,))
    connection.execute(DELETE, (slot,))
    return due


def renew(connection: sqlite3.Connection, slot: int, until: float) -> None:
    """Extend a lease to `until`."""
    connection.execute(RENEW, (until, slot))


def read_host(connection: sqlite3.Connection, member: Member, slot: int, now: float) -> Host | None:
    """The host of `slot` while it is alive, else None."""
    if slot == READER_SLOT:
        return READER
    found = connection.execute(READ, (slot,)).fetchone()
    if found is None:
        return None
    name, label, pid, until, boot, locks = found
    if not is_instant(until):
        until = 0.0  # changed by hand: its lease is over
    if slot == member.slot:
        alive = True
    elif locks and member.locks and boot == member.boot:
        alive = member.file.is_held(slot)
    else:
        alive = until > now
    return Host(name, label, pid, until) if alive else None


def machine() -> str:
    """What two processes have in common while record locks between them mean something: the boot of their kernel."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"node:{uuid.getnode():x}"
