"""The memory keeper: everything a store promises but to outlive its process; for tests and `":memory:"`.

- Several stores over one `Room` are several hosts of one place, as several connections to one file are.
- A write is done when it is called; its awaitable is ready. It refuses what SQL would refuse: a payload that is no
  text, half a character.
- Dataclasses and text only go in and out, so nothing of the caller's can be changed later.

Certified by the same laws as every keeper (`workbench.testing.conformance`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.store import room
from workbench.store.claims import Begun, Host
from workbench.store.glance import Activation, Entry
from workbench.store.journal import Commit, Loaded, Logged, StepRecord
from workbench.store.memory_glance import MemoryGlance
from workbench.store.memory_records import MemoryRecords
from workbench.store.room import Call, Line, Room, acknowledge, log, lose, make_due, prune, strike_off, text

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence


__all__ = ["MemoryStore", "Room"]


class MemoryStore(MemoryRecords, MemoryGlance):
    """A store in memory. Implements `workbench.store.store.Store`."""

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
        if owner is not None and owner.id != self.host.id:
            lose(line)  # taken, not dead: it is no life that was cut off
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
            if how == "closed" or line.inbox:
                make_due(line, self._now())
        self._wrote()
        return self._done(None)

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

    async def prune(self, before: float) -> int:
        """Forget what is older than `before`."""
        gone = sum(prune(line, before) for line in self._room.lines.values())
        return (
            gone + await self._queues.prune(before) + await self._topics.prune(before) + self._room.talks.prune(before)
        )
