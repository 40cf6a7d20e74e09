"""The memory keeper: everything a store promises but to outlive its process; for tests and `":memory:"`.

- Several stores over one `Room` are several hosts of one place, as several connections to one file are.
- A write is done when it is called; its awaitable is ready. It refuses what SQL would refuse: a payload that is no
  text, half a character.
- Dataclasses and text only go in and out, so nothing of the caller's can be changed later.

Certified by the same laws as every keeper (`workbench.testing.conformance`).
"""

from __future__ import annotations

import asyncio
import os
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from workbench.errors import QueueError, StoreError
from workbench.store import room
from workbench.store.claims import Begun, Host
from workbench.store.fencing import fenced
from workbench.store.glance import Activation, Entry, KeyInfo
from workbench.store.journal import Commit, DeadLetter, Loaded, Logged, StepRecord
from workbench.store.key import checked
from workbench.store.memory_queue import MemoryQueues
from workbench.store.memory_schedules import MemorySchedules
from workbench.store.memory_topic import MemoryTopics
from workbench.store.memory_upkeep import MemoryUpkeep
from workbench.store.past import Past
from workbench.store.records import Record
from workbench.store.room import Call, Line, Room, acknowledge, log, lose, make_due, prune, strike_off, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.store.letters import SetAside
    from workbench.store.topic import Post

__all__ = ["MemoryStore", "Room"]

T = TypeVar("T")


class MemoryStore:
    """A store in memory. Implements `workbench.store.store.Store`."""

    queues_of: ClassVar[type[MemoryQueues]] = MemoryQueues
    topics_of: ClassVar[type[MemoryTopics]] = MemoryTopics
    schedules_of: ClassVar[type[MemorySchedules]] = MemorySchedules

    def __init__(self, room: Room | None = None) -> None:
        self._room = room or Room()
        self._host: Host | None = None

    @property
    def upkeep(self) -> MemoryUpkeep:
        """What who looks after the room can do."""
        return MemoryUpkeep(self._room, lambda: self.host, self._settle, self._wrote)

    @property
    def queues(self) -> MemoryQueues:
        """The queues of the room."""
        _ = self.host
        return self._queues

    @property
    def topics(self) -> MemoryTopics:
        """The topics of the room."""
        _ = self.host
        return self._topics

    @property
    def schedules(self) -> MemorySchedules:
        """The schedules of the room."""
        _ = self.host
        return self._schedules

    @property
    def host(self) -> Host:
        """Who we are among the hosts of the room."""
        if self._host is None:
            raise StoreError("the store in memory is not open; await its open(...), or open its bench again")
        return self._room.hosts.get(self._host.id, self._host)

    async def open(self, *, label: str, lease: float, now: Callable[[], float]) -> None:
        """Join as a host. A host of this process lives until it closes, so `lease` is only shown."""
        if self._host is not None:
            raise StoreError("the store in memory is open already; close it first")
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._host = Host(uuid.uuid4().hex[:12], label, os.getpid(), now() + lease)
        self._room.hosts[self._host.id] = self._host
        self._newest_life = next(self._room.ids)
        shared = (lambda: self.host, self._room.hosts, now, self._settle, self._wrote)
        self._queues = self.queues_of(self._room.queues, *shared)
        self._topics = self.topics_of(self._room.topics, *shared, self._posted)
        self._schedules = self.schedules_of(self._room.schedules, self.post_now, now, self._settle)

    async def close(self) -> None:
        """Leave as a host."""
        if self._host is not None:
            del self._room.hosts[self._host.id]
            strike_off(self._room, self._now())
            self._host = None

    # Journal.

    def load(self, key: str) -> asyncio.Future[Loaded]:
        """Begin an activation."""
        return self._done(self._live(self._make(key)))

    def _live(self, line: Line, code: str | None = None) -> Loaded:
        cut_off = lose(line)
        line.epoch += 1
        life = replace(Activation(line.epoch, self.host.id, self._now(), None, None, None), code=code)
        line.lives.append((self._wrote(), life))
        parked = tuple(
            call.message
            for call in line.calls.values()
            if call.message is not None and call.given is None and call.message.seq <= line.cursor
        )
        return Loaded(line.epoch, line.snapshot, line.version, line.cursor, cut_off, parked)

    def append(
        self, key: str, epoch: int, message: str, call_id: str | None = None, wake_at: float | None = None
    ) -> asyncio.Future[int]:
        """Log a message."""
        return self._fenced(
            key, epoch, lambda line: log(line, self._wrote(), self._now(), epoch, text(message), call_id, wake_at)
        )

    async def pending(self, key: str, cursor: int) -> list[Logged]:
        """The messages after `cursor`."""
        return [logged for logged in self._look(key).log if logged.seq > cursor]

    def put_step(
        self, key: str, epoch: int, seq: int, record: StepRecord, wake_at: float | None = None
    ) -> asyncio.Future[None]:
        """Keep a step's record."""

        def put(line: Line) -> None:
            room.put(line, self._wrote(), self._now(), epoch, seq, record)
            if wake_at is not None:
                line.wake_at = wake_at

        return self._fenced(key, epoch, put)

    async def steps(self, key: str, seq: int) -> list[StepRecord]:
        """The records of a message."""
        return list(self._look(key).steps.get(seq, ()))

    def commit(self, key: str, epoch: int, commit: Commit) -> asyncio.Future[Sequence[int]]:
        """Acknowledge a message."""
        return self._fenced(key, epoch, lambda line: acknowledge(line, self._wrote, self._now(), epoch, commit))

    async def result(self, key: str, call_id: str) -> str | None:
        """The recorded answer of a call."""
        return self.result_now(key, call_id)

    def result_now(self, key: str, call_id: str) -> str | None:
        """The recorded answer of a call."""
        call = self._look(key).calls.get(call_id)
        return None if call is None else call.answer

    def results_now(self, key: str, call_ids: Sequence[str]) -> dict[str, str]:
        """The answers of those calls that have one."""
        found = {id: self.result_now(key, id) for id in call_ids}
        return {id: answer for id, answer in found.items() if answer is not None}

    def message_now(self, key: str, call_id: str) -> str | None:
        """The message of a call."""
        line = self._look(key)
        call = line.calls.get(call_id)
        if call is not None and call.message is not None:
            return call.message.message
        return next((post.payload for post in line.inbox if post.call_id == call_id), None)

    def due(self, now: float, until: float, limit: int) -> asyncio.Future[list[str]]:
        """Take the keys that are due."""
        strike_off(self._room, now)
        found = sorted(
            (line.wake_at, line.key, line)
            for line in self._room.lines.values()
            if line.wake_at is not None and line.wake_at <= now
        )[:limit]
        for _, _, line in found:
            line.wake_at = until
        return self._done([key for _, key, _ in found])

    # Claims.

    def register(self, key: str, definition: str, args: str) -> asyncio.Future[tuple[str, str]]:
        """Store what the key is."""
        return self._done(self._describe(self._make(key), definition, args))

    def _describe(self, line: Line, definition: str, args: str) -> tuple[str, str]:
        if line.what is None:
            line.what = (definition, args)
            self._wrote()
        return line.what

    def claim(self, key: str, *, force: bool = False) -> asyncio.Future[Host | None]:
        """Make this host the owner."""
        return self._done(self._own(self._make(key), force=force))

    def _own(self, line: Line, *, force: bool) -> Host | None:
        owner = self._owner(line)
        if owner is not None and owner.id != self.host.id and not force:
            return owner
        line.owner = self.host.id
        self._wrote()
        return None

    async def taken(self) -> list[str]:
        """The keys that others have begun lives of since the last time."""
        newest, self._newest_life = self._newest_life, next(self._room.ids)
        lives = [
            (id, line.key)
            for line in self._room.lines.values()
            for id, life in line.lives
            if id > newest and life.host != self.host.id
        ]
        return list(dict.fromkeys(key for _, key in sorted(lives)))

    def begin(
        self, key: str, definition: str, args: str, *, force: bool = False, code: str | None = None
    ) -> asyncio.Future[Begun]:
        """Register, claim and load, with what there is to do."""
        line = self._make(key)
        stored = self._describe(line, definition, args)
        if stored != (definition, args):
            return self._done(Begun(*stored))
        owner = self._own(line, force=force)
        if owner is not None:
            return self._done(Begun(*stored, owner=owner))
        loaded = self._live(line, code)
        self._move(line, loaded.epoch)
        waiting = tuple(logged for logged in line.log if logged.seq > line.cursor)
        head = tuple(line.steps.get(waiting[0].seq, ())) if waiting else ()
        asks = any(record.key == key and record.status == "pending" for record in self._room.records.values())
        return self._done(Begun(*stored, loaded=loaded, waiting=waiting, head=head, asks=asks))

    def renew(self, until: float) -> asyncio.Future[None]:
        """Extend this host's lease."""
        self._room.hosts[self.host.id] = replace(self.host, until=until)
        return self._done(None)

    def release(self, key: str, epoch: int, how: str, by: str) -> asyncio.Future[None]:
        """End an activation."""
        line = self._look(key)
        for at, (id, life) in enumerate(line.lives):
            if life.epoch == epoch and life.how in (None, "lost"):
                line.lives[at] = (id, replace(life, ended_at=self._now(), how=how, by=by))
        if line.epoch == epoch and line.owner == self.host.id:
            line.owner = None
            if how == "closed":
                make_due(line, self._now())
        self._wrote()
        return self._done(None)

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
    ) -> asyncio.Future[int]:
        """Add a message without an epoch."""
        line = self._make(key)
        known = id is not None and id in line.calls
        if most is not None and not known and line.last_seq - line.cursor + len(line.inbox) >= most:
            return self._done(0)
        return self._done(self.post_now(key, message, id=id, wake=wake, definition=definition, args=args))

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
        """`post`, done when it returns."""
        text(message)
        line = self._make(key)
        if definition is not None and line.what is None:
            line.what = (definition, args or "")
        if id is not None and id in line.calls:
            return line.calls[id].number
        if self._owner(line) is None and not line.inbox:
            return log(line, self._wrote(), self._now(), 0, message, id, wake)
        number = self._wrote()
        line.inbox.append(Entry(number, "message", self._now(), payload=message, call_id=id))
        if id is not None:
            line.calls[id] = Call(number)
        if wake is not None and line.wake_at is None:
            line.wake_at = wake
        return number

    def _posted(self, post: Post) -> int:
        """Post what a topic delivers."""
        return self.post_now(post.key, post.message, wake=post.wake, definition=post.definition, args=post.args)

    def collect(self, key: str, epoch: int) -> asyncio.Future[list[Logged]]:
        """Move what was posted into the log."""
        return self._fenced(key, epoch, lambda line: self._move(line, epoch))

    def _move(self, line: Line, epoch: int) -> list[Logged]:
        waiting, line.inbox = line.inbox, []
        moved = []
        for post in waiting:
            known = line.calls.get(post.call_id) if post.call_id is not None else None
            if known is not None and (known.message is not None or known.given is not None):
                continue
            log(line, self._wrote(), self._now(), epoch, post.payload or "", post.call_id, None)
            moved.append(line.log[-1])
            origin = line.requeued.pop(post.id, None)
            for record in room.finished(line, origin) if origin is not None else ():
                room.put(line, self._wrote(), self._now(), epoch, moved[-1].seq, record)
        return moved

    async def posted(self) -> list[str]:
        """The keys that this host owns and that have posts waiting."""
        return [line.key for line in self._room.lines.values() if line.inbox and line.owner == self.host.id]

    # Records.

    def put_record(self, kind: str, id: str, key: str, body: str, *, status: str, at: float) -> asyncio.Future[bool]:
        """Add a row."""
        if (kind, id) in self._room.records:
            return self._done(False)
        self._room.records[kind, id] = Record(kind, id, key, text(body), status, at)
        self._wrote()
        return self._done(True)

    def decide_record(
        self, kind: str, id: str, *, expect: str, status: str, decision: str, at: float
    ) -> asyncio.Future[bool]:
        """Decide a row."""
        row = self._room.records.get((kind, id))
        if row is None or row.status != expect:
            return self._done(False)
        self._room.records[kind, id] = replace(row, status=status, decision=text(decision), decided_at=at)
        line = self._room.lines.get(row.key)
        if line is not None:
            line.wake_at = at if line.wake_at is None else min(line.wake_at, at)
        self._wrote()
        return self._done(True)

    async def get_record(self, kind: str, id: str) -> Record | None:
        """One row."""
        return self._room.records.get((kind, id))

    async def find_records(self, kind: str, *, key: str | None = None, status: str | None = None) -> list[Record]:
        """Rows oldest first."""
        found = [
            row
            for row in self._room.records.values()
            if row.kind == kind and key in (None, row.key) and status in (None, row.status)
        ]
        return sorted(found, key=lambda row: row.at)

    # Letters.

    def letters_now(self, *, key: str | None = None, status: str | None = None) -> list[SetAside]:
        """Dead letters, oldest first."""
        lines = [line for line in self._room.lines.values() if key in (None, line.key)]
        found = [letter for line in lines for letter in line.dead if status in (None, letter.status)]
        return sorted(found, key=lambda letter: letter.id)

    def requeue_letter(self, id: int, *, by: str, message: str | None = None) -> asyncio.Future[bool]:
        """Post a waiting letter again."""
        for line in self._room.lines.values():
            if (letter := room.decide(line, id, "requeued", by, self._now())) is not None:
                room.requeue(line, letter, self._wrote(), self._now(), None if message is None else text(message))
                return self._done(True)
        return self._done(False)

    def discard_letter(self, id: int, *, by: str) -> asyncio.Future[bool]:
        """Leave a letter where it is."""
        lines = self._room.lines.values()
        decided = [line for line in lines if room.decide(line, id, "discarded", by, self._now()) is not None]
        if decided:
            self._wrote()
        return self._done(bool(decided))

    # Housekeeping.

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` on the loop soon after another store of the room wrote."""
        token = object()
        self._room.watchers[token] = (self.host.id, partial(self._loop.call_soon, changed))
        return lambda: self._room.watchers.pop(token, None) and None

    async def keys(self, *, definition: str | None = None) -> list[KeyInfo]:
        """Every key, oldest first."""
        return self.keys_now(definition=definition)

    def keys_now(self, *, definition: str | None = None, key: str | None = None) -> list[KeyInfo]:
        """Keys, oldest first."""
        infos = [self._info(line) for line in self._room.lines.values() if key in (None, line.key)]
        return [info for info in infos if definition in (None, info.definition)]

    async def key_info(self, key: str) -> KeyInfo | None:
        """One key."""
        line = self._room.lines.get(key)
        return None if line is None else self._info(line)

    async def history(self, key: str) -> list[Entry]:
        """Everything that was written for the key."""
        return self.history_now(key)

    def history_now(self, key: str) -> list[Entry]:
        """Everything that was written for the key."""
        line = self._look(key)
        lives = [
            Entry(id, "activation", life.began_at, 0, life.epoch, ended_at=life.ended_at, how=life.how, by=life.by)
            for id, life in line.lives
        ]
        answers = [call.given for call in line.calls.values() if call.given is not None]
        return sorted([*line.entries, *line.inbox, *lives, *answers], key=lambda entry: entry.id)

    def past_now(self, key: str) -> Past:
        """The states of the key."""
        line = self._look(key)
        return Past(key, line.snapshot, line.commits[::-1])

    async def activations(self, key: str) -> list[Activation]:
        """The lives of the key."""
        return self.activations_now(key)

    def activations_now(self, key: str) -> list[Activation]:
        """The lives of the key."""
        return [life for _, life in self._look(key).lives]

    async def dead(self, key: str) -> list[DeadLetter]:
        """What was set aside."""
        return [letter.letter for letter in self._look(key).dead]

    async def prune(self, before: float) -> int:
        """Forget what is older than `before`."""
        gone = sum(prune(line, before) for line in self._room.lines.values())
        return gone + await self._queues.prune(before) + await self._topics.prune(before)

    # What the verbs are made of.

    def _look(self, key: str) -> Line:
        _ = self.host
        return self._room.lines.get(key) or Line(key, 0.0)

    def _make(self, key: str) -> Line:
        _ = self.host
        line = self._room.lines.get(checked(key))
        if line is None:
            epoch, last_seq = self._room.deleted.get(key, (0, 0))
            line = Line(key, self._now(), epoch, last_seq, last_seq)
            self._room.lines[key] = line
        return line

    def _wrote(self) -> int:
        """The number of a new row; whoever watches from another host is told."""
        for host, tell in list(self._room.watchers.values()):
            if host != self.host.id:
                tell()
        return next(self._room.ids)

    def _owner(self, line: Line) -> Host | None:
        return self._room.hosts.get(line.owner) if line.owner is not None else None

    def _fenced(self, key: str, epoch: int, write: Callable[[Line], T]) -> asyncio.Future[T]:
        line = self._look(key)
        if line.epoch != epoch:
            return self._failed(fenced(key, epoch, line.epoch))
        return self._settle(lambda: write(line))

    def _settle(self, write: Callable[[], T]) -> asyncio.Future[T]:
        """Write now; the future says what came of it."""
        try:
            return self._done(write())
        except (StoreError, QueueError) as error:
            return self._failed(error)

    def _info(self, line: Line) -> KeyInfo:
        definition, args = line.what or ("", "")
        return KeyInfo(
            line.key,
            definition,
            args,
            line.version,
            line.cursor,
            line.epoch,
            line.last_seq,
            line.wake_at,
            self._owner(line),
            line.snapshot,
            line.created_at,
        )

    def _done(self, value: T) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self._loop.create_future()
        future.set_result(value)
        return future

    def _failed(self, error: BaseException) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        future.set_exception(error)
        future.exception()  # a failure that nobody awaits is its caller's choice
        return future
