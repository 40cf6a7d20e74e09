"""The SQLite keeper: one file shared by any number of hosts on one machine.

- A verb queues its write when it is called and gives a future; nothing above it sees batches, threads or SQL.
- A read first waits for what was queued before it, except `result`. It holds no snapshot across an await.
- `durability="process"` survives the death of every process and may lose the last commits in a power cut; approvals and
  decisions survive both.

Source: DESIGN rules 2 and 3, RECIPES "The SQLite writer" and "Leases, owners, other kernels".
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Literal, TypeVar

from workbench.errors import BadInput, StoreError
from workbench.loop import Home
from workbench.store.key import checked
from workbench.store.sqlite import (
    beginning,
    claims,
    hosts,
    inbox,
    letters,
    pruning,
    reading,
    records,
    replay,
    states,
)
from workbench.store.sqlite.conversations import SQLiteConversations
from workbench.store.sqlite.file import PATIENCE, connect, open_file
from workbench.store.sqlite.following import Follower
from workbench.store.sqlite.ledger import Ledger
from workbench.store.sqlite.notes import SQLiteNotes
from workbench.store.sqlite.queue_keeper import SQLiteQueues
from workbench.store.sqlite.schedules import SQLiteSchedules
from workbench.store.sqlite.topic_keeper import SQLiteTopics
from workbench.store.sqlite.upkeep import SQLiteUpkeep
from workbench.store.sqlite.write import APPEND, BEGIN, COMMIT, JOB, STEP, Job
from workbench.store.sqlite.writer import Writer

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Awaitable, Callable, Sequence

    from workbench.store.claims import Begun, Host
    from workbench.store.glance import Activation, Entry, KeyInfo, KeyName
    from workbench.store.journal import Commit, DeadLetter, Loaded, Logged, StepRecord
    from workbench.store.letters import SetAside
    from workbench.store.past import Past
    from workbench.store.records import Record

__all__ = ["SQLiteStore"]

T = TypeVar("T")

SHORTEST_BEAT = 0.05


class SQLiteStore:
    """The store in the file at `path`, which `open` makes if there is none.

    Implements `workbench.store.store.Store`.
    """

    def __init__(self, path: str | os.PathLike[str], *, durability: Literal["full", "process"] = "full") -> None:
        if durability not in ("full", "process"):
            raise BadInput(f"durability {durability!r} is not known; use 'full' or 'process'", found=durability)
        self.path = os.fspath(path)
        self.durability = durability
        self._open = False
        self._member: hosts.Member
        self._queues: SQLiteQueues
        self._topics: SQLiteTopics
        self._schedules: SQLiteSchedules
        self._conversations: SQLiteConversations
        self._notes: SQLiteNotes
        self._upkeep: SQLiteUpkeep

    @property
    def host(self) -> Host:
        """Who we are among the hosts of the file."""
        self._check()
        return self._member.host

    @property
    def queues(self) -> SQLiteQueues:
        """The queues of the file."""
        self._check()
        return self._queues

    @property
    def topics(self) -> SQLiteTopics:
        """The topics of the file."""
        self._check()
        return self._topics

    @property
    def schedules(self) -> SQLiteSchedules:
        """The schedules of the file."""
        self._check()
        return self._schedules

    @property
    def conversations(self) -> SQLiteConversations:
        """The conversations of the file."""
        self._check()
        return self._conversations

    @property
    def notes(self) -> SQLiteNotes:
        """The notes of the file."""
        self._check()
        return self._notes

    @property
    def upkeep(self) -> SQLiteUpkeep:
        """What who looks after the file can do."""
        self._check()
        return self._upkeep

    @property
    def idle(self) -> bool:
        """Whether everything that was queued is committed; for tests that wait until nothing happens any more."""
        return not self._open or self._writer.idle

    async def open(self, *, label: str, lease: float, now: Callable[[], float]) -> None:
        """Connect, make or migrate the tables, join as a host whose lease is `lease` seconds of `now`.

        Raises: NotAStore.
        """
        if self._open:
            raise StoreError(f"the store {self.path!r} is open already; close it first")
        loop = asyncio.get_running_loop()
        connection = await asyncio.to_thread(open_file, self.path, self.durability)
        self._now = now
        self._connection = connection
        self._reader = connect(self.path, timeout=PATIENCE)
        self._ledger = Ledger(connection, self.path, now, relaxed=self.durability == "process")
        self._writer = Writer(self._ledger, Home.of_running(), max(lease / 3, SHORTEST_BEAT))
        self._follower = Follower(self._ledger, self._writer, loop)
        self._newest_life = reading.newest_life(self._reader)
        self._open = True
        file = hosts.enter(self.path)
        try:
            self._member = await self._job(lambda ledger: hosts.join(connection, file, label, ledger.at, lease, loop))
        except BaseException:
            await self._disconnect()
            hosts.depart(file, None)
            raise
        self._queues = SQLiteQueues(self._job, self._reader, self._member, now)
        self._topics = SQLiteTopics(self._job, self._reader, self._member, now)
        shared = (self._job, self._reader, self._member, now)
        self._conversations = SQLiteConversations(*shared, at_once=self._at_once)
        self._notes = SQLiteNotes(*shared)
        self._schedules = SQLiteSchedules(self._job, self._reader, self._member)
        self._upkeep = SQLiteUpkeep(self._job, self._reader, self.path, self._member, now)
        self._ledger.slot, self._ledger.lease, self._ledger.renewed = self._member.slot, lease, now()

    async def close(self) -> None:
        """Land what is queued, leave as a host, fold the write-ahead log into the file, and disconnect."""
        if not self._open:
            return
        leaving = self._job(lambda ledger: hosts.leave(ledger.connection, self._member, ledger.at))
        self._open = False
        try:
            await leaving
        finally:
            await self._disconnect()
            hosts.forget(self._member)

    async def _disconnect(self) -> None:
        self._open = False
        self._follower.close()
        await self._writer.close()
        self._reader.close()
        with self._writer.lock:
            await asyncio.to_thread(_finish, self._connection)

    # Journal.

    def load(self, key: str) -> Awaitable[Loaded]:
        """Begin an activation."""
        return self._job(claims.load(checked(key), self._member))

    def append(
        self, key: str, epoch: int, message: str, call_id: str | None = None, wake_at: float | None = None
    ) -> Awaitable[int]:
        """Log a message."""
        return self._writer.put((APPEND, key, epoch, message, call_id, wake_at))

    def pending(self, key: str, cursor: int) -> Awaitable[list[Logged]]:
        """The messages after `cursor`."""
        return self._job(replay.pending(key, cursor))

    def put_step(
        self, key: str, epoch: int, seq: int, record: StepRecord, wake_at: float | None = None
    ) -> Awaitable[None]:
        """Keep a step's record."""
        return self._writer.put((STEP, key, epoch, seq, record, wake_at))

    def steps(self, key: str, seq: int) -> Awaitable[list[StepRecord]]:
        """The records of a message."""
        return self._job(replay.steps(key, seq))

    def commit(self, key: str, epoch: int, commit: Commit) -> Awaitable[Sequence[int]]:
        """Acknowledge a message."""
        return self._writer.put((COMMIT, key, epoch, commit))

    async def result(self, key: str, call_id: str) -> str | None:
        """The recorded answer of a call."""
        self._check()
        return reading.result(self._reader, key, call_id)

    def due(self, now: float, until: float, limit: int) -> Awaitable[list[str]]:
        """Take the keys that are due."""
        return self._job(claims.due(self._member, now, until, limit))

    # Claims.

    def register(self, key: str, definition: str, args: str) -> Awaitable[tuple[str, str]]:
        """Store what the key is."""
        return self._job(claims.register(checked(key), definition, args))

    def begin(
        self, key: str, definition: str, args: str, *, force: bool = False, code: str | None = None
    ) -> Awaitable[Begun]:
        """Register, claim and load, with what there is to do."""
        self._check()
        job = beginning.begin(checked(key), definition, args, self._member, force=force, code=code)
        return self._writer.put((BEGIN, key, job))

    def claim(self, key: str, *, force: bool = False) -> Awaitable[Host | None]:
        """Make this host the owner."""
        return self._job(claims.claim(checked(key), self._member, force=force))

    async def taken(self) -> list[str]:
        """The keys that others have begun lives of since the last time."""
        self._check()
        lives = reading.taken(self._reader, self._member, self._newest_life)
        self._newest_life = lives[-1][0] if lives else self._newest_life
        return list(dict.fromkeys(key for _, key in lives))

    def renew(self, until: float) -> Awaitable[None]:
        """Extend this host's lease."""
        return self._job(claims.prolong(self._member, until))

    def release(self, key: str, epoch: int, how: str, by: str) -> Awaitable[None]:
        """End an activation."""
        return self._job(claims.release(key, self._member, epoch, how, by))

    # Inbox.

    def post(
        self,
        key: str,
        message: str,
        *,
        id: str | None = None,
        wake: float | None = None,
        definition: str | None = None,
        args: str | None = None,
        most: int | None = None,
    ) -> Awaitable[int]:
        """Add a message without an epoch."""
        return self._job(inbox.post(checked(key), self._member, message, id, wake, definition, args, most))

    def post_now(
        self,
        key: str,
        message: str,
        *,
        id: str | None = None,
        wake: float | None = None,
        definition: str | None = None,
        args: str | None = None,
    ) -> int:
        """`post`, committed when it returns, with everything that was queued before it."""
        return self._at_once(inbox.post(checked(key), self._member, message, id, wake, definition, args))

    def collect(self, key: str, epoch: int) -> Awaitable[list[Logged]]:
        """Move what was posted into the log."""
        return self._job(inbox.collect(key, epoch))

    async def posted(self) -> list[str]:
        """The keys that this host owns and that have posts waiting."""
        self._check()
        return reading.posted(self._reader, self._member)

    # Records.

    def put_record(self, kind: str, id: str, key: str, body: str, *, status: str, at: float) -> Awaitable[bool]:
        """Add a row."""
        return self._job(records.put(kind, id, key, body, status, at), full=True)

    def decide_record(
        self, kind: str, id: str, *, expect: str, status: str, decision: str, at: float
    ) -> Awaitable[bool]:
        """Decide a row."""
        return self._job(records.decide(kind, id, expect, status, decision, at), full=True)

    async def get_record(self, kind: str, id: str) -> Record | None:
        """One row."""
        return records.get(await self._read(), kind, id)

    async def find_records(self, kind: str, *, key: str | None = None, status: str | None = None) -> list[Record]:
        """Rows oldest first."""
        return records.find(await self._read(), kind, key, status)

    # Letters.

    def letters_now(self, *, key: str | None = None, status: str | None = None) -> list[SetAside]:
        """Dead letters, as they are committed."""
        self._check()
        return letters.letters(self._reader, key, status)

    def requeue_letter(self, id: int, *, by: str, message: str | None = None) -> Awaitable[bool]:
        """Post a waiting letter again."""
        return self._job(letters.requeue(id, by, message), full=True)

    def discard_letter(self, id: int, *, by: str) -> Awaitable[bool]:
        """Leave a letter where it is."""
        return self._job(letters.discard(id, by), full=True)

    # Glance.

    def keys_now(self, *, definition: str | None = None, key: str | None = None) -> list[KeyInfo]:
        """Keys, as they are committed."""
        self._check()
        return reading.keys(self._reader, self._member, self._now(), definition=definition, key=key)

    def names_now(self, prefix: str = "") -> list[KeyName]:
        """What keys are, as it is committed."""
        self._check()
        return reading.names(self._reader, prefix)

    def result_now(self, key: str, call_id: str) -> str | None:
        """The answer of a call, as it is committed."""
        self._check()
        return reading.result(self._reader, key, call_id)

    def results_now(self, key: str, call_ids: Sequence[str]) -> dict[str, str]:
        """The answers of those calls that have one, as they are committed."""
        self._check()
        return reading.results(self._reader, key, call_ids)

    def message_now(self, key: str, call_id: str) -> str | None:
        """The message of a call, as it is committed."""
        self._check()
        return reading.message(self._reader, key, call_id)

    def history_now(self, key: str) -> list[Entry]:
        """What was written for the key, as it is committed."""
        self._check()
        return reading.history(self._reader, key)

    def past_now(self, key: str) -> Past:
        """The states of the key, as they are committed."""
        self._check()
        return states.past(self._reader, key)

    def activations_now(self, key: str) -> list[Activation]:
        """The lives of the key, as they are committed."""
        self._check()
        return reading.activations(self._reader, key)

    # Housekeeping.

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` on the loop within 20 ms of a write by another host; our own writes never do."""
        return self._follower.watch(changed)

    async def keys(self, *, definition: str | None = None) -> list[KeyInfo]:
        """Every key, oldest first."""
        return reading.keys(await self._read(), self._member, self._now(), definition=definition)

    async def key_info(self, key: str) -> KeyInfo | None:
        """One key."""
        found = reading.keys(await self._read(), self._member, self._now(), key=key)
        return found[0] if found else None

    async def history(self, key: str) -> list[Entry]:
        """Everything that was written for the key."""
        return reading.history(await self._read(), key)

    async def activations(self, key: str) -> list[Activation]:
        """The lives of the key."""
        return reading.activations(await self._read(), key)

    async def dead(self, key: str) -> list[DeadLetter]:
        """What was set aside."""
        return reading.dead(await self._read(), key)

    async def prune(self, before: float) -> int:
        """Forget what is older than `before`, in slices, so that others write in between."""
        gone, end = 0, await self._job(pruning.young(before))
        for table in pruning.TABLES:
            after: int | None = 0
            while after is not None:
                went, after = await self._job(pruning.prune_slice(table, after, end, before))
                gone += went
        gone += await self._queues.prune(before) + await self._topics.prune(before)
        gone += await self._conversations.prune(before)
        await self._job(pruning.sweep_blobs())
        return gone

    def _at_once(self, job: Job[T]) -> T:
        value: T = self._writer.at_once((JOB, job, False))
        return value

    def _job(self, job: Job[T], *, full: bool = False) -> asyncio.Future[T]:
        self._check()
        return self._writer.put((JOB, job, full))

    async def _read(self) -> sqlite3.Connection:
        self._check()
        await self._writer.flushed()
        return self._reader

    def _check(self) -> None:
        if not self._open:
            raise StoreError(f"the store {self.path!r} is not open; await its open(...), or open its bench again")


def _finish(connection: sqlite3.Connection) -> None:
    """Leave a file without a log beside it, unless others still use it."""
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
