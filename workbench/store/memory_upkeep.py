"""Upkeep in memory: the verbs of `workbench.store.upkeep` over a room, so that a bench in memory has them too."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, cast

from workbench.errors import OwnedElsewhere
from workbench.store.glance import Activation, Entry
from workbench.store.journal import DeadLetter, Logged, StepRecord
from workbench.store.letters import SetAside
from workbench.store.past import OWN, Committed
from workbench.store.records import Record
from workbench.store.room import Call, Line, make_due
from workbench.store.upkeep import READER, ROWS, CopyRow, Kind, Size

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from workbench.store.claims import Host
    from workbench.store.room import Room

__all__ = ["MemoryUpkeep"]


class MemoryUpkeep:
    """Implements `workbench.store.upkeep.Upkeep`. `settle` makes a value awaitable, `wrote` gives a row number."""

    def __init__(
        self,
        room: Room,
        host: Callable[[], Host],
        settle: Callable[[Callable[[], Any]], Awaitable[Any]],
        wrote: Callable[[], int],
    ) -> None:
        self._room = room
        self._host = host
        self._settle = settle
        self._wrote = wrote

    def used_now(self) -> int:
        """Characters of all payloads."""
        return sum(kind.bytes for kind in self._kinds().values())

    async def measure(self) -> Size:
        """What the room weighs: no file, and its payloads in characters."""
        ages = [entry.at for line in self._room.lines.values() for entry in line.entries]
        return Size(0, 0, 0, self._kinds(), min(ages, default=None))

    async def check(self) -> list[str]:
        """Nothing: memory has no file that could be damaged."""
        return []

    def hosts_now(self) -> list[tuple[Host, bool]]:
        """The hosts of the room; one that is listed lives."""
        return [(host, True) for host in self._room.hosts.values() if host is not READER]

    def prune_letters(self, before: float) -> Awaitable[int]:
        """Forget dead letters."""

        def prune() -> int:
            gone = 0
            for line in self._room.lines.values():
                kept = [letter for letter in line.dead if letter.at >= before]
                gone, line.dead = gone + len(line.dead) - len(kept), kept
            return gone

        return self._settle(prune)

    def delete(self, key: str) -> Awaitable[bool]:
        """Forget a key."""

        def delete() -> bool:
            line = self._room.lines.get(key)
            if line is None:
                return False
            owner = self._room.hosts.get(line.owner or "")
            if owner is not None and owner is not READER and owner.id != self._host().id:
                raise OwnedElsewhere(
                    f"{key!r} belongs to {owner.label!r} (pid {owner.pid}), which is alive; end it there, "
                    "then delete it",
                    key=key,
                    owner=owner,
                )
            self._room.deleted[key] = (line.epoch, line.last_seq)
            del self._room.lines[key]
            self._room.talks.strike_off(key)
            self._room.records = {id: row for id, row in self._room.records.items() if row.key != key}
            self._wrote()
            return True

        return self._settle(delete)

    def copy(self, key: str) -> Iterator[CopyRow]:
        """The rows of a key."""
        line = self._room.lines.get(key)
        if line is None:
            return
        definition, args = line.what or ("", "")
        yield {
            "row": "key",
            "key": key,
            "definition": definition,
            "args": args,
            "version": line.version,
            "snapshot": line.snapshot,
            "cursor": line.cursor,
            "last_seq": line.last_seq,
            "epoch": line.epoch,
            "wake_at": line.wake_at,
            "created_at": line.created_at,
        }
        for _, row in sorted(_written(line), key=itemgetter(0)):
            yield row
        for record in self._room.records.values():
            if record.key == key:
                yield {"row": "record", **{column: getattr(record, column) for column in ROWS["record"]}}

    def restore(self, rows: Sequence[CopyRow], *, read_only: bool) -> Awaitable[str | None]:
        """Bring a copy in."""

        def restore() -> str | None:
            of_key = rows[0]
            if of_key["key"] in self._room.lines:
                return f"the key {of_key['key']!r}"
            records = [row for row in rows if row["row"] == "record"]
            for row in records:
                if (row["kind"], row["id"]) in self._room.records:
                    return f"the {row['kind']} {row['id']!r}"
            line = _line(of_key, rows, self._wrote)
            if line.wake_at is None:
                make_due(line, of_key["created_at"])
            line.epoch = max(line.epoch, self._room.deleted.get(line.key, (0, 0))[0])
            if read_only:
                line.owner = READER.id
                self._room.hosts[READER.id] = READER
            self._room.lines[line.key] = line
            for row in records:
                values = {column: row[column] for column in ROWS["record"]}
                self._room.records[row["kind"], row["id"]] = Record(key=line.key, **values)
            return None

        return self._settle(restore)

    def _kinds(self) -> dict[str, Kind]:
        sizes: dict[str, list[int]] = {}
        for line in self._room.lines.values():
            sizes.setdefault("keys", []).append(len(line.what[1]) if line.what else 0)
            sizes.setdefault("states", []).append(len(line.snapshot or ""))
            for _, row in _written(line):
                sizes.setdefault(_KINDS.get(row["row"], _kind(row)), []).append(
                    len(row.get("payload") or row.get("message") or "")
                )
        for record in self._room.records.values():
            sizes.setdefault("requests", []).append(len(record.body))
        for note in self._room.notes.values():
            sizes.setdefault("notes", []).append(len(note.text))
        for talk in self._room.talks.by_name.values():
            sizes.setdefault("exchanges", []).extend(len(each.content or "") for each in talk.exchanges.values())
        return {kind: Kind(len(each), sum(each)) for kind, each in sizes.items()}


_KINDS = {"call": "answers", "letter": "dead letters", "post": "posts", "life": "lives"}


def _kind(row: CopyRow) -> str:
    return {"message": "messages", "commit": "states"}.get(row.get("kind", ""), "steps")


def _written(line: Line) -> Iterator[tuple[int, CopyRow]]:
    """What was written for a line, each with its row number."""
    kept = {commit.id: commit for commit in line.commits}
    messages = {entry.call_id: entry.id for entry in line.entries if entry.kind == "message" and entry.call_id}
    epochs = {entry.id: entry.epoch for entry in line.entries if entry.kind == "dead"}
    for entry in line.entries:
        if entry.kind != "dead":
            yield entry.id, {"row": "entry", **_entry_row(entry, kept.get(entry.id))}
    for call_id, call in line.calls.items():
        given = call.given
        values = (given.epoch, given.at, given.payload) if given is not None else (None, None, None)
        row = dict(zip(("epoch", "at", "payload"), values, strict=True))
        seq = given.seq if given is not None else call.number
        place = given.id if given is not None else messages.get(call_id, call.number)
        yield place, {"row": "call", "call_id": call_id, "seq": seq, "logged": call.message is not None, **row}
    for letter in line.dead:
        dead = letter.letter
        of_letter = {column: getattr(letter, column) for column in ("at", "status", "decided_at", "by")}
        of_dead = {column: getattr(dead, column) for column in ("seq", "call_id", "message", "error", "attempts")}
        yield letter.id, {"row": "letter", "epoch": epochs.get(letter.id, 0), **of_letter, **of_dead}
    for post in line.inbox:
        letter_seq = line.requeued.get(post.id)
        yield (
            post.id,
            {"row": "post", "at": post.at, "call_id": post.call_id, "message": post.payload} | {"letter": letter_seq},
        )
    for id, life in line.lives:
        yield id, {"row": "life", **{column: getattr(life, column) for column in ROWS["life"]}}


def _entry_row(entry: Entry, commit: Committed | None) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(ROWS["entry"])
    row |= {"kind": entry.kind, "seq": entry.seq, "epoch": entry.epoch, "at": entry.at}
    step = entry.step
    if commit is not None:
        row |= {"occurrence": commit.version, "payload": commit.kept}
    elif step is not None:
        names = ("branch", "name", "occurrence", "position", "began_at", "took", "payload")
        row |= {name: getattr(step, name) for name in names}
    else:
        row |= {"call_id": entry.call_id, "payload": entry.payload}
    return row


def _line(of_key: CopyRow, rows: Sequence[CopyRow], number: Callable[[], int]) -> Line:
    """The line that a copy is of."""
    line = Line(of_key["key"], of_key["created_at"])
    line.epoch, line.cursor, line.last_seq = of_key["epoch"], of_key["cursor"], of_key["last_seq"]
    line.version, line.snapshot, line.wake_at = of_key["version"], of_key["snapshot"], of_key["wake_at"]
    line.what = (of_key["definition"], of_key["args"]) if of_key["definition"] else None
    for row in rows[1:]:
        _BRING_IN.get(row["row"], _nothing)(line, number(), row)
    line.lies = (bool(line.commits) and str(line.commits[-1].kept).startswith(OWN)) or line.snapshot is None
    return line


def _entry(line: Line, id: int, row: CopyRow) -> None:
    kind, seq, at, epoch, payload = row["kind"], row["seq"], row["at"], row["epoch"], row["payload"]
    if kind == "commit":
        line.commits.append(Committed(id, seq, at, epoch, row["occurrence"] or 0, payload))
        line.entries.append(Entry(id, kind, at, seq, epoch))
    elif kind == "message":
        line.entries.append(Entry(id, kind, at, seq, epoch, payload, row["call_id"]))
        if seq > line.cursor:
            line.log.append(Logged(seq, payload, row["call_id"]))
    else:
        place = {name: row[name] for name in ("branch", "name", "occurrence", "position", "began_at", "took")}
        step = StepRecord(payload=payload, kind=kind, epoch=epoch, **place)
        line.entries.append(Entry(id, kind, at, seq, epoch, step=step))
        if seq > line.cursor:
            line.steps.setdefault(seq, []).append(step)


def _call(line: Line, id: int, row: CopyRow) -> None:
    call = line.calls[row["call_id"]] = Call(row["seq"])
    if row["logged"]:
        logged = next((e for e in line.entries if e.kind == "message" and e.call_id == row["call_id"]), None)
        call.message = Logged(logged.seq, logged.payload or "", logged.call_id) if logged is not None else None
    if row["payload"] is not None:
        call.answer = row["payload"]
        call.given = Entry(id, "answer", row["at"], row["seq"], row["epoch"] or 0, row["payload"], row["call_id"])


def _letter(line: Line, id: int, row: CopyRow) -> None:
    dead = DeadLetter(row["seq"], row["message"], row["call_id"], row["error"], row["attempts"])
    status = cast("Literal['waiting', 'requeued', 'discarded']", row["status"])
    letter = SetAside(id, line.key, line.what[0] if line.what else "", row["at"], dead, status)
    line.dead.append(replace(letter, decided_at=row["decided_at"], by=row["by"]))
    line.entries.append(Entry(id, "dead", row["at"], dead.seq, row["epoch"], dead.error, dead.call_id))


def _post(line: Line, id: int, row: CopyRow) -> None:
    line.inbox.append(Entry(id, "message", row["at"], payload=row["message"], call_id=row["call_id"]))
    if row["letter"] is not None:
        line.requeued[id] = row["letter"]


def _life(line: Line, id: int, row: CopyRow) -> None:
    line.lives.append((id, Activation(**{column: row[column] for column in ROWS["life"]})))


def _nothing(line: Line, id: int, row: CopyRow) -> None:
    """A record is no part of a line."""


_BRING_IN: dict[str, Callable[[Line, int, CopyRow], None]] = {
    "entry": _entry,
    "call": _call,
    "letter": _letter,
    "post": _post,
    "life": _life,
}
