"""The memory keeper: everything a store promises but to outlive its process; for tests and `":memory:"`.

- Several stores over one `Room` are several hosts of one place, as several connections to one file are.
- A write is done when it is called; its awaitable is ready. It refuses what SQL would refuse: a payload that is no
  text, half a character.
- Dataclasses and text only go in and out, so nothing of the caller's can be changed later.

Certified by the same laws as every keeper (`workbench.testing.conformance`).
"""

from __future__ import annotations

import asyncio
import itertools
import os
import uuid
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.errors import BadInput, Fenced, StoreError
from workbench.store.journal import (
    Activation,
    Commit,
    DeadLetter,
    Entry,
    Host,
    KeyInfo,
    Loaded,
    Logged,
    Record,
    StepRecord,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MemoryStore", "Room"]

T = TypeVar("T")


@dataclass(slots=True)
class Call:
    """One call id of a key. `message` is None while its message waits in the inbox."""

    number: int
    message: Logged | None = None
    answer: str | None = None
    given: Entry | None = None


@dataclass(slots=True)
class Line:
    """Everything of one key."""

    key: str
    created_at: float
    epoch: int = 0
    cursor: int = 0
    last_seq: int = 0
    version: int = 0
    snapshot: str | None = None
    wake_at: float | None = None
    owner: str | None = None
    what: tuple[str, str] | None = None
    log: list[Logged] = field(default_factory=list)
    steps: dict[int, list[StepRecord]] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    dead: list[DeadLetter] = field(default_factory=list)
    inbox: list[Entry] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    lives: list[tuple[int, Activation]] = field(default_factory=list)


class Room:
    """What the stores of one place share."""

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}
        self.records: dict[tuple[str, str], Record] = {}
        self.hosts: dict[str, Host] = {}
        self.watchers: dict[object, tuple[str, Callable[[], object]]] = {}
        self.ids = itertools.count(1)


class MemoryStore:
    """A store in memory. Implements `workbench.store.journal.Store`."""

    def __init__(self, room: Room | None = None) -> None:
        self._room = room or Room()
        self._host: Host | None = None

    @property
    def host(self) -> Host:
        """Who we are among the hosts of the room."""
        if self._host is None:
            raise StoreError("the store in memory is not open; await its open(...) first")
        return self._room.hosts.get(self._host.id, self._host)

    async def open(self, *, label: str, lease: float, now: Callable[[], float]) -> None:
        """Join as a host. A host of this process lives until it closes, so `lease` is only shown."""
        if self._host is not None:
            raise StoreError("the store in memory is open already; close it first")
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._host = Host(uuid.uuid4().hex[:12], label, os.getpid(), now() + lease)
        self._room.hosts[self._host.id] = self._host

    async def close(self) -> None:
        """Leave as a host."""
        if self._host is not None:
            for line in self._room.lines.values():
                if line.owner == self._host.id:
                    line.owner = None
            del self._room.hosts[self._host.id]
            self._host = None

    # Journal.

    def load(self, key: str) -> asyncio.Future[Loaded]:
        """Begin an activation."""
        line = self._make(key)
        cut_off = self._mark_lost(line)
        line.epoch += 1
        life = Activation(line.epoch, self.host.id, self._now(), None, None, None)
        line.lives.append((self._wrote(), life))
        parked = tuple(
            call.message
            for call in line.calls.values()
            if call.message is not None and call.given is None and call.message.seq <= line.cursor
        )
        loaded = Loaded(line.epoch, line.snapshot, line.version, line.cursor, cut_off, parked)
        return self._done(loaded)

    def append(
        self, key: str, epoch: int, message: str, call_id: str | None = None, wake_at: float | None = None
    ) -> asyncio.Future[int]:
        """Log a message."""
        return self._fenced(key, epoch, lambda line: self._log(line, epoch, _text(message), call_id, wake_at))

    async def pending(self, key: str, cursor: int) -> list[Logged]:
        """The messages after `cursor`."""
        return [logged for logged in self._look(key).log if logged.seq > cursor]

    def put_step(
        self, key: str, epoch: int, seq: int, record: StepRecord, wake_at: float | None = None
    ) -> asyncio.Future[None]:
        """Keep a step's record."""

        def put(line: Line) -> None:
            kept = replace(record, payload=_text(record.payload), epoch=epoch)
            line.steps.setdefault(seq, []).append(kept)
            line.entries.append(Entry(self._wrote(), kept.kind, self._now(), seq, epoch, step=kept))
            if wake_at is not None:
                line.wake_at = wake_at

        return self._fenced(key, epoch, put)

    async def steps(self, key: str, seq: int) -> list[StepRecord]:
        """The records of a message."""
        return list(self._look(key).steps.get(seq, ()))

    def commit(self, key: str, epoch: int, commit: Commit) -> asyncio.Future[None]:
        """Acknowledge a message."""
        return self._fenced(key, epoch, lambda line: self._commit(line, epoch, commit))

    async def result(self, key: str, call_id: str) -> str | None:
        """The recorded answer of a call."""
        return self.result_now(key, call_id)

    def result_now(self, key: str, call_id: str) -> str | None:
        """The recorded answer of a call."""
        call = self._look(key).calls.get(call_id)
        return None if call is None else call.answer

    def due(self, now: float, until: float, limit: int) -> asyncio.Future[list[str]]:
        """Take the keys that are due."""
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
        line = self._make(key)
        if line.what is None:
            line.what = (definition, args)
            self._wrote()
        return self._done(line.what)

    def claim(self, key: str, *, force: bool = False) -> asyncio.Future[Host | None]:
        """Make this host the owner."""
        line = self._make(key)
        owner = self._owner(line)
        if owner is not None and owner.id != self.host.id and not force:
            return self._done(owner)
        line.owner = self.host.id
        self._wrote()
        return self._done(None)

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
    ) -> asyncio.Future[int]:
        """Add a message without an epoch."""
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
        _text(message)
        line = self._make(key)
        if definition is not None and line.what is None:
            line.what = (definition, args or "")
        if id is not None and id in line.calls:
            return line.calls[id].number
        if self._owner(line) is None and not line.inbox:
            return self._log(line, 0, message, id, wake)
        number = self._wrote()
        line.inbox.append(Entry(number, "message", self._now(), payload=message, call_id=id))
        if id is not None:
            line.calls[id] = Call(number)
        if wake is not None and line.wake_at is None:
            line.wake_at = wake
        return number

    def collect(self, key: str, epoch: int) -> asyncio.Future[list[Logged]]:
        """Move what was posted into the log."""

        def move(line: Line) -> list[Logged]:
            waiting, line.inbox = line.inbox, []
            moved = []
            for post in waiting:
                known = line.calls.get(post.call_id) if post.call_id is not None else None
                if known is not None and (known.message is not None or known.given is not None):
                    continue
                self._log(line, epoch, post.payload or "", post.call_id, None)
                moved.append(line.log[-1])
            return moved

        return self._fenced(key, epoch, move)

    async def posted(self) -> list[str]:
        """The keys that this host owns and that have posts waiting."""
        return [line.key for line in self._room.lines.values() if line.inbox and line.owner == self.host.id]

    # Records.

    def put_record(self, kind: str, id: str, key: str, body: str, *, status: str, at: float) -> asyncio.Future[bool]:
        """Add a row."""
        if (kind, id) in self._room.records:
            return self._done(False)
        self._room.records[kind, id] = Record(kind, id, key, _text(body), status, at)
        self._wrote()
        return self._done(True)

    def decide_record(
        self, kind: str, id: str, *, expect: str, status: str, decision: str, at: float
    ) -> asyncio.Future[bool]:
        """Decide a row."""
        row = self._room.records.get((kind, id))
        if row is None or row.status != expect:
            return self._done(False)
        self._room.records[kind, id] = replace(row, status=status, decision=_text(decision), decided_at=at)
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

    async def activations(self, key: str) -> list[Activation]:
        """The lives of the key."""
        return self.activations_now(key)

    def activations_now(self, key: str) -> list[Activation]:
        """The lives of the key."""
        return [life for _, life in self._look(key).lives]

    async def dead(self, key: str) -> list[DeadLetter]:
        """What was set aside."""
        return list(self._look(key).dead)

    async def prune(self, before: float) -> int:
        """Forget what is older than `before`."""
        return sum(_prune(line, before) for line in self._room.lines.values())

    # What the verbs are made of.

    def _look(self, key: str) -> Line:
        _ = self.host
        return self._room.lines.get(key) or Line(key, 0.0)

    def _make(self, key: str) -> Line:
        _ = self.host
        if not isinstance(key, str) or not key:
            raise BadInput(f"a key is a text of at least one character, not {key!r}; name the process", key=key)
        return self._room.lines.setdefault(_whole(key), Line(key, self._now()))

    def _wrote(self) -> int:
        """The number of a new row; whoever watches from another host is told."""
        for host, tell in list(self._room.watchers.values()):
            if host != self.host.id:
                tell()
        return next(self._room.ids)

    def _owner(self, line: Line) -> Host | None:
        return self._room.hosts.get(line.owner) if line.owner is not None else None

    def _mark_lost(self, line: Line) -> bool:
        unfinished = [at for at, (_, life) in enumerate(line.lives) if life.how is None]
        for at in unfinished:
            id, life = line.lives[at]
            wrote = [entry.at for entry in line.entries if entry.epoch == life.epoch]
            line.lives[at] = (id, replace(life, how="lost", ended_at=wrote[-1] if wrote else life.began_at))
        return bool(unfinished)

    def _log(self, line: Line, epoch: int, message: str, call_id: str | None, wake_at: float | None) -> int:
        line.last_seq += 1
        logged = Logged(line.last_seq, message, call_id)
        line.log.append(logged)
        line.entries.append(Entry(self._wrote(), "message", self._now(), logged.seq, epoch, message, call_id))
        if call_id is not None:
            call = line.calls.setdefault(call_id, Call(logged.seq))
            if call.given is None:
                call.message = logged
        if wake_at is not None and line.wake_at is None:
            line.wake_at = wake_at
        return logged.seq

    def _commit(self, line: Line, epoch: int, commit: Commit) -> None:
        snapshot = None if commit.snapshot is None else _text(commit.snapshot)
        answers = [(call_id, _text(payload)) for call_id, payload in commit.answers]
        line.snapshot, line.version = snapshot, commit.version
        line.cursor = max(line.cursor, commit.cursor)
        line.last_seq = max(line.last_seq, line.cursor)
        self._answer(line, epoch, answers)
        if commit.dead is not None:
            dead = commit.dead
            line.dead.append(dead)
            line.entries.append(Entry(self._wrote(), "dead", self._now(), dead.seq, epoch, dead.error, dead.call_id))
        line.entries.append(Entry(self._wrote(), "commit", self._now(), line.cursor, epoch))
        line.log = [logged for logged in line.log if logged.seq > line.cursor]
        line.steps = {seq: kept for seq, kept in line.steps.items() if seq > line.cursor}
        line.wake_at = commit.wake_at if line.log else None

    def _answer(self, line: Line, epoch: int, answers: Sequence[tuple[str, str]]) -> None:
        for call_id, payload in answers:
            call = line.calls.setdefault(call_id, Call(line.cursor))
            if call.given is None:
                call.answer = payload
                call.given = Entry(self._wrote(), "answer", self._now(), line.cursor, epoch, payload, call_id)

    def _fenced(self, key: str, epoch: int, write: Callable[[Line], T]) -> asyncio.Future[T]:
        line = self._look(key)
        if line.epoch != epoch:
            return self._failed(_refusal(line, epoch))
        try:
            return self._done(write(line))
        except StoreError as error:
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


def _refusal(line: Line, epoch: int) -> Fenced:
    if not line.epoch:
        words = (
            f"{line.key!r} was never loaded, so epoch {epoch} is not its owner's; nothing was written, load it first"
        )
    else:
        words = (
            f"{line.key!r} now belongs to another activation (epoch {line.epoch}, ours {epoch}); "
            "nothing was written here, reload to follow it"
        )
    return Fenced(words, key=line.key, epoch=line.epoch)


def _prune(line: Line, before: float) -> int:
    open_calls = {call.message.seq for call in line.calls.values() if call.message is not None and call.given is None}

    def stays(entry: Entry) -> bool:
        if entry.kind == "dead" or entry.at >= before:
            return True
        return entry.kind != "commit" and (
            entry.seq > line.cursor or (entry.kind == "message" and entry.seq in open_calls)
        )

    kept = [entry for entry in line.entries if stays(entry)]
    answered = {id: call for id, call in line.calls.items() if call.given is None or call.given.at >= before}
    gone = len(line.entries) - len(kept) + len(line.calls) - len(answered)
    line.entries, line.calls = kept, answered
    return gone


def _text(payload: str) -> str:
    if not isinstance(payload, str):
        raise StoreError(f"a payload is text, not {type(payload).__name__}; encode it first")
    return _whole(payload)


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"{text[:40]!r} has half of a character in it; use text that UTF-8 can hold") from error
    return text
