"""The room: what the memory keepers of one place share, and how a key's line of it changes.

The rules are those that the SQLite keeper has in SQL. Each function changes one line, at once, or refuses and changes
nothing. Knows nothing of hosts' loops or of awaiting.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from workbench.errors import StoreError
from workbench.store.carrying import carried_over
from workbench.store.conversation_room import Talks
from workbench.store.glance import Activation, Entry
from workbench.store.journal import Commit, Logged, StepRecord
from workbench.store.letters import SetAside
from workbench.store.past import OWN, Committed, change
from workbench.store.queue_room import QueueRoom
from workbench.store.topic_room import TopicRoom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workbench.store.claims import Host
    from workbench.store.notes import Note
    from workbench.store.records import Record
    from workbench.store.schedules import Planned

__all__ = [
    "Call",
    "Line",
    "Room",
    "acknowledge",
    "decide",
    "finished",
    "log",
    "lose",
    "make_due",
    "prune",
    "put",
    "requeue",
    "strike_off",
    "text",
]


@dataclass(slots=True)
class Call:
    """One call id of a key. `message` is None while its message waits in the inbox."""

    number: int
    message: Logged | None = None
    answer: str | None = None
    given: Entry | None = None


@dataclass(slots=True)
class Line:
    """Everything of one key. `lies` says that its state lies in its commit (`workbench.store.past`)."""

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
    dead: list[SetAside] = field(default_factory=list)
    inbox: list[Entry] = field(default_factory=list)
    requeued: dict[int, int] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    commits: list[Committed] = field(default_factory=list)
    lies: bool = True
    lives: list[tuple[int, Activation]] = field(default_factory=list)


class Room:
    """What the stores of one place share."""

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}
        self.records: dict[tuple[str, str], Record] = {}
        self.hosts: dict[str, Host] = {}
        self.watchers: dict[object, tuple[str, Callable[[], object]]] = {}
        self.deleted: dict[str, tuple[int, int]] = {}
        self.queues = QueueRoom()
        self.topics = TopicRoom()
        self.talks = Talks(self.lines)
        self.notes: dict[tuple[str, str], Note] = {}
        self.schedules: dict[str, Planned] = {}
        self.ids = itertools.count(1)


def log(
    line: Line, number: int, at: float, epoch: int, message: str, call_id: str | None, wake_at: float | None
) -> int:
    """Add a message to the log of a line; gives its number."""
    line.last_seq += 1
    logged = Logged(line.last_seq, message, call_id)
    line.log.append(logged)
    line.entries.append(Entry(number, "message", at, logged.seq, epoch, message, call_id))
    if call_id is not None:
        call = line.calls.setdefault(call_id, Call(logged.seq))
        if call.given is None:
            call.message = logged
    if wake_at is not None and line.wake_at is None:
        line.wake_at = wake_at
    return logged.seq


def acknowledge(line: Line, number: Callable[[], int], at: float, epoch: int, commit: Commit) -> Sequence[int]:
    """Take a commit in; gives the numbers of its casts."""
    snapshot = None if commit.snapshot is None else text(commit.snapshot)
    answers = [(call_id, text(payload)) for call_id, payload in commit.answers]
    casts = [text(payload) for payload in commit.casts]
    kept = change(line.snapshot, snapshot, lies_in_commit=line.lies or line.snapshot is None)
    line.lies = kept[:1] == OWN
    line.snapshot, line.version = snapshot, commit.version
    line.cursor = max(line.cursor, commit.cursor)
    line.last_seq = max(line.last_seq, line.cursor)
    _answer(line, number, at, epoch, answers)
    if commit.dead is not None:
        dead, id = commit.dead, number()
        line.dead.append(SetAside(id, line.key, line.what[0] if line.what else "", at, dead))
        line.entries.append(Entry(id, "dead", at, dead.seq, epoch, dead.error, dead.call_id))
    id = number()
    line.entries.append(Entry(id, "commit", at, line.cursor, epoch))
    line.commits.append(Committed(id, line.cursor, at, epoch, commit.version, kept))
    line.log = [logged for logged in line.log if logged.seq > line.cursor]
    line.steps = {seq: kept for seq, kept in line.steps.items() if seq > line.cursor}
    numbers = [log(line, number(), at, epoch, cast, None, None) for cast in casts]
    line.wake_at = commit.wake_at if line.log or line.inbox else None
    return numbers


def _answer(line: Line, number: Callable[[], int], at: float, epoch: int, answers: Sequence[tuple[str, str]]) -> None:
    for call_id, payload in answers:
        call = line.calls.setdefault(call_id, Call(line.cursor))
        if call.given is None:
            call.answer = payload
            call.given = Entry(number(), "answer", at, line.cursor, epoch, payload, call_id)


def put(line: Line, number: int, at: float, epoch: int, seq: int, record: StepRecord) -> None:
    """Keep the record of a step."""
    kept = replace(record, payload=text(record.payload), epoch=epoch)
    line.steps.setdefault(seq, []).append(kept)
    line.entries.append(Entry(number, kept.kind, at, seq, epoch, step=kept))


def decide(line: Line, id: int, status: Literal["requeued", "discarded"], by: str, at: float) -> SetAside | None:
    """Decide a letter of a line; gives it, or None when it is not there or was decided before."""
    for place, letter in enumerate(line.dead):
        if letter.id == id and letter.status == "waiting":
            line.dead[place] = replace(letter, status=status, by=by, decided_at=at)
            return letter
    return None


def requeue(line: Line, letter: SetAside, number: int, at: float, message: str | None) -> None:
    """Post a letter to its line again, with its call open."""
    dead = letter.letter
    line.inbox.append(
        Entry(number, "message", at, payload=dead.message if message is None else message, call_id=dead.call_id)
    )
    if message is None:
        line.requeued[number] = dead.seq
    if dead.call_id is not None:
        line.calls[dead.call_id] = Call(number)
    line.wake_at = at if line.wake_at is None else min(line.wake_at, at)


def finished(line: Line, seq: int) -> list[StepRecord]:
    """What the message that had the number `seq` takes along when it is delivered again."""
    return carried_over([entry.step for entry in line.entries if entry.seq == seq and entry.step is not None], seq)


def lose(line: Line) -> bool:
    """Mark the lives that never said how they ended; gives whether there was one."""
    unfinished = [at for at, (_, life) in enumerate(line.lives) if life.how is None]
    for at in unfinished:
        id, life = line.lives[at]
        wrote = [entry.at for entry in line.entries if entry.epoch == life.epoch]
        line.lives[at] = (id, replace(life, how="lost", ended_at=wrote[-1] if wrote else life.began_at))
    return bool(unfinished)


def strike_off(room: Room, at: float) -> None:
    """Disown what hosts that are gone had; what they had unfinished is due at `at`."""
    for line in room.lines.values():
        if line.owner is not None and line.owner not in room.hosts:
            line.owner = None
            make_due(line, at)


def make_due(line: Line, at: float) -> None:
    """What a line has unfinished is due at `at`."""
    if line.log or line.inbox:
        line.wake_at = at if line.wake_at is None else min(line.wake_at, at)


def prune(line: Line, before: float) -> int:
    """Forget what is older than `before`; gives how many rows went."""
    open_calls = {call.message.seq for call in line.calls.values() if call.message is not None and call.given is None}

    letters = {letter.letter.seq for letter in line.dead if letter.status == "waiting"}

    def stays(entry: Entry) -> bool:
        if entry.kind == "dead" or entry.at >= before or entry.seq in letters or entry is newest:
            return True
        return entry.kind != "commit" and (
            entry.seq > line.cursor or (entry.kind == "message" and entry.seq in open_calls)
        )

    newest = next((entry for entry in reversed(line.entries) if entry.kind == "commit"), None)

    kept = [entry for entry in line.entries if stays(entry)]
    answered = {id: call for id, call in line.calls.items() if call.given is None or call.given.at >= before}
    gone = len(line.entries) - len(kept) + len(line.calls) - len(answered)
    left = {entry.id for entry in kept}
    line.commits = [commit for commit in line.commits if commit.id in left]
    line.entries, line.calls = kept, answered
    return gone


def text(payload: str) -> str:
    """The payload, which is text that UTF-8 can hold. Raises: StoreError, as SQL would."""
    if not isinstance(payload, str):
        raise StoreError(f"a payload is text, not {type(payload).__name__}; encode it first")
    try:
        payload.encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"the payload {payload[:40]!r} has half of a character in it; encode it first") from error
    return payload
