"""The journal: what a store promises to durable processes, as eight verbs, and the three protocols beside them.

- A payload is text: what `workbench.plain` made. A store keeps it and gives it back to the letter; it never looks
  inside.
- Every write is conditional on the epoch that `load` gave; a stale one raises `Fenced` and changes nothing.
- A verb returns an awaitable that is done once COMMIT returned. Its row is queued when the verb is *called*, so writes
  land in call order, and many writers share one transaction.
- `commit` is one transaction: snapshot, version, cursor, answers, casts, dead letter and wake time land together or not
  at all.
- A key with unacknowledged messages keeps a wake time, so work in flight is never stranded: `load` leaves the wake
  alone.

Instants are UTC seconds, sizes bytes. Source: PROCESSES 2.11 to 2.13 and B.4, DESIGN sections 2 and 4.
Knows nothing of processes, agents or JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from workbench.store.letters import Letters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from workbench.store.past import Past
    from workbench.store.queue import QueueStore
    from workbench.store.schedules import ScheduleStore
    from workbench.store.topic import TopicStore
    from workbench.store.upkeep import Upkeep

__all__ = [
    "Activation",
    "Begun",
    "Claims",
    "Commit",
    "DeadLetter",
    "Entry",
    "Glance",
    "Host",
    "Inbox",
    "Journal",
    "KeyInfo",
    "Loaded",
    "Logged",
    "Records",
    "StepRecord",
    "Store",
]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What an activation starts from.

    `snapshot` is absent (None) until a commit wrote one; a null state is the text `null`.

    `cut_off` says that the activation before this one never said how it ended: its host died or was fenced.
    `open_calls` are the calls at or before the cursor that have no answer yet (parked), so that a retry attaches to
    them.
    """

    epoch: int
    snapshot: str | None = None
    version: int = 0
    cursor: int = 0
    cut_off: bool = False
    open_calls: tuple[Logged, ...] = ()


@dataclass(frozen=True, slots=True)
class Logged:
    """A message in the log. `call_id` is there for calls only."""

    seq: int
    message: str
    call_id: str | None = None


@dataclass(slots=True, unsafe_hash=True)  # never changed; a frozen one takes longer to make than its row to write
class StepRecord:
    """What one step of one message left behind.

    `kind` is `step` (the payload is its result), `sleep` (the payload is the instant it ends) or `failure` (the payload
    is how it failed). The others are marks, which answer no step: `try` (a try of the step failed, another follows),
    `wait` (the step waits for another process), `attempt` (a delivery that failed; `occurrence` counts them),
    `requeued` (the payload is the number that the message had when it was first delivered), `drift` (the code asked for
    other steps; the payload names the row that says which) and `replaced` (what was recorded before answers no more).
    `position` is its place in its branch in the order of asking. `began_at` is an instant, `took` seconds.
    """

    branch: str
    name: str
    occurrence: int
    payload: str
    kind: Literal["step", "failure", "try", "wait", "attempt", "sleep", "requeued", "drift", "replaced"] = "step"
    position: int = 0
    began_at: float = 0.0
    took: float = 0.0
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was set aside, why, and after how many attempts."""

    seq: int
    message: str
    call_id: str | None
    error: str
    attempts: int = 0


@dataclass(slots=True, unsafe_hash=True)  # as StepRecord
class Commit:
    """The end of one message: everything in it lands in one transaction.

    `answers` are `(call id, payload)`; `casts` are messages of the process to itself, logged behind what waits.
    `wake_at` becomes the key's wake if messages remain past `cursor`; with none left the wake is cleared.
    """

    snapshot: str | None
    version: int
    cursor: int
    answers: Sequence[tuple[str, str]] = ()
    dead: DeadLetter | None = None
    wake_at: float | None = None
    casts: Sequence[str] = ()


class Journal(Protocol):
    """The eight verbs."""

    def load(self, key: str) -> Awaitable[Loaded]:
        """Begin an activation: a new epoch above all earlier ones of the key.

        An unknown key is empty. Leaves state and wake alone.
        """
        ...

    def append(
        self, key: str, epoch: int, message: str, call_id: str | None = None, wake_at: float | None = None
    ) -> Awaitable[int]:
        """Log a message; gives its number, above 0, rising, never used twice for the key.

        `wake_at` sets the wake only if the key has none. A call is opened under its id with the same write.
        """
        ...

    def pending(self, key: str, cursor: int) -> Awaitable[list[Logged]]:
        """The messages after `cursor`, in order. Not fenced."""
        ...

    def put_step(
        self, key: str, epoch: int, seq: int, record: StepRecord, wake_at: float | None = None
    ) -> Awaitable[None]:
        """Keep a step's record. `wake_at` replaces the wake; absent leaves it."""
        ...

    def steps(self, key: str, seq: int) -> Awaitable[list[StepRecord]]:
        """The records of a message in write order, attempts included. Not fenced."""
        ...

    def commit(self, key: str, epoch: int, commit: Commit) -> Awaitable[Sequence[int]]:
        """Acknowledge everything up to `commit.cursor`, in one transaction; gives the numbers of its casts."""
        ...

    def result(self, key: str, call_id: str) -> Awaitable[str | None]:
        """The recorded answer of a call, or None while it has none. A null answer is the text `null`. Not fenced.

        Reads what is committed when it is called; it never waits for writes that are queued.
        """
        ...

    def due(self, now: float, until: float, limit: int) -> Awaitable[list[str]]:
        """Keys whose wake is at or before `now`, earliest first, at most `limit`.

        Each one's wake moves to `until` in the same operation. What a host that left, or is known dead, had unfinished
        is due at once.
        """
        ...


@dataclass(frozen=True, slots=True)
class Host:
    """One running bench: who owns keys.

    `until` is the end of its lease; a host of this machine may be known dead before.
    """

    id: str
    label: str
    pid: int
    until: float


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """What is known of a key without loading it. `owner` is there while a live host owns it.

    `damage` says why nothing else of it is to be believed: its row was changed by hand.
    """

    key: str
    definition: str
    args: str
    version: int
    cursor: int
    epoch: int
    last_seq: int
    wake_at: float | None
    owner: Host | None
    snapshot: str | None
    created_at: float
    damage: str | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """How a life begins: all that register, claim, load, pending, collect and steps say, in one transaction.

    `definition` and `args` are what the key is stored as. Where they differ from what was asked, or another live host
    is the `owner`, nothing was changed and there is nothing else. `waiting` are the messages to handle, `head` the
    records of the first of them; `asks` is whether a record of the key is pending.
    """

    definition: str
    args: str
    owner: Host | None = None
    loaded: Loaded | None = None
    waiting: tuple[Logged, ...] = ()
    head: tuple[StepRecord, ...] = ()
    asks: bool = False


class Claims(Protocol):
    """Who owns a key. `load` is called only under a claim."""

    def begin(
        self, key: str, definition: str, args: str, *, force: bool = False, code: str | None = None
    ) -> Awaitable[Begun]:
        """Register the key, claim it and begin a life of it, with what it has to do, in one transaction.

        `force` takes it from another live host. `code` is kept with the life.
        """
        ...

    def register(self, key: str, definition: str, args: str) -> Awaitable[tuple[str, str]]:
        """Store what the key is, unless it is known; gives the stored `(definition, args)`."""
        ...

    def claim(self, key: str, *, force: bool = False) -> Awaitable[Host | None]:
        """Make this host the owner; gives None, or the other live host that owns the key (then nothing changed).

        `force` takes it.
        """
        ...

    def taken(self) -> Awaitable[list[str]]:
        """The keys in which another host began a life since this was asked last, in that order.

        A read of what is committed; it waits for nothing.
        """
        ...

    def renew(self, until: float) -> Awaitable[None]:
        """Extend this host's lease; one write for any number of keys."""
        ...

    def release(self, key: str, epoch: int, how: str, by: str) -> Awaitable[None]:
        """End the activation `epoch` in the record of lives and own the key no more.

        `how` is done, crashed, disposed, replaced, killed, fenced or closed. What a closed life had unfinished is due
        at once: its host leaves.
        """
        ...


class Inbox(Protocol):
    """Posting to a key that this host may not own."""

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
        """Add a message without an epoch.

        A key that no live host owns gets it in its log at once; else its owner moves it there.

        Wakes the key at `wake` if it has no wake. With `id` a second post of the same id adds nothing. Gives a number
        above 0; 0 when `most` messages are not acknowledged already, and then nothing was added.
        """
        ...

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
        """`post`, committed when it returns; blocks for one commit."""
        ...

    def collect(self, key: str, epoch: int) -> Awaitable[list[Logged]]:
        """Move what was posted to the key into its log, in order; gives what was moved. Fenced."""
        ...

    def posted(self) -> Awaitable[list[str]]:
        """The keys that this host owns and that have posts waiting.

        A read of what is committed; it waits for nothing.
        """
        ...


@dataclass(frozen=True, slots=True)
class Activation:
    """One life of a key. `how` is None while it lives, or when its host died before it could say.

    `code` is the fingerprint of the code that it ran, if that was told.
    """

    epoch: int
    host: str
    began_at: float
    ended_at: float | None
    how: str | None
    by: str | None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a key's history.

    `kind`: message, answer, commit, dead, activation, or the kind of a `StepRecord`. `id` rises with the order of
    writing. Which other fields are there depends on the kind.
    """

    id: int
    kind: str
    at: float
    seq: int = 0
    epoch: int = 0
    payload: str | None = None
    call_id: str | None = None
    step: StepRecord | None = None
    ended_at: float | None = None
    how: str | None = None
    by: str | None = None


class Records(Protocol):
    """Rows that are found by what they hold: approvals today.

    `body` is a payload; `status` moves by compare-and-set.
    """

    def put_record(self, kind: str, id: str, key: str, body: str, *, status: str, at: float) -> Awaitable[bool]:
        """Add a row; gives False and changes nothing when the id is there already."""
        ...

    def decide_record(
        self, kind: str, id: str, *, expect: str, status: str, decision: str, at: float
    ) -> Awaitable[bool]:
        """Move `status` from `expect`, keep `decision` and wake the key, in one transaction; False when it had moved.

        Written with synchronous FULL whatever the durability of the bench.
        """
        ...

    def get_record(self, kind: str, id: str) -> Awaitable[Record | None]:
        """One row, or None."""
        ...

    def find_records(self, kind: str, *, key: str | None = None, status: str | None = None) -> Awaitable[list[Record]]:
        """Rows oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class Record:
    """One row of `Records`. `decision` is a payload, there once it is decided."""

    kind: str
    id: str
    key: str
    body: str
    status: str
    at: float
    decision: str | None = None
    decided_at: float | None = None


class Glance(Protocol):
    """Reading at once, for whoever shows or lists: what is committed now, without waiting for what is queued."""

    def keys_now(self, *, definition: str | None = None, key: str | None = None) -> list[KeyInfo]:
        """Keys, oldest first: all, those of a definition, or the one of that name."""
        ...

    def result_now(self, key: str, call_id: str) -> str | None:
        """`Journal.result`, at once."""
        ...

    def results_now(self, key: str, call_ids: Sequence[str]) -> dict[str, str]:
        """The answers of those calls that have one, by id, in one look."""
        ...

    def message_now(self, key: str, call_id: str) -> str | None:
        """The message of a call while it is kept, answered or not; None when it is unknown or pruned."""
        ...

    def history_now(self, key: str) -> list[Entry]:
        """`Store.history`, at once."""
        ...

    def past_now(self, key: str) -> Past:
        """Every state that the key had and that is still kept."""
        ...

    def activations_now(self, key: str) -> list[Activation]:
        """`Store.activations`, at once."""
        ...


class Store(Journal, Claims, Inbox, Records, Letters, Glance, Protocol):
    """What a bench needs of a keeper: the protocols of keys, those of the post room, and the housekeeping below."""

    @property
    def queues(self) -> QueueStore:
        """Leased work (`workbench.store.queue`)."""
        ...

    @property
    def topics(self) -> TopicStore:
        """Published events (`workbench.store.topic`)."""
        ...

    @property
    def schedules(self) -> ScheduleStore:
        """Work that comes again (`workbench.store.schedules`)."""
        ...

    @property
    def upkeep(self) -> Upkeep:
        """Measuring, checking, deleting, copies (`workbench.store.upkeep`)."""
        ...

    @property
    def host(self) -> Host:
        """Who this store is among the hosts of its place."""
        ...

    def open(self, *, label: str, lease: float, now: Callable[[], float]) -> Awaitable[None]:
        """Connect, make or migrate the schema, join as a host.

        A keeper's constructor does no I/O. Raises: NotAStore.
        """
        ...

    def close(self) -> Awaitable[None]:
        """Finish what is queued, leave as a host, and disconnect."""
        ...

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` on the loop soon after another host wrote; gives the function that stops it."""
        ...

    def keys(self, *, definition: str | None = None) -> Awaitable[list[KeyInfo]]:
        """Every key, oldest first."""
        ...

    def key_info(self, key: str) -> Awaitable[KeyInfo | None]:
        """One key, or None when it is unknown."""
        ...

    def history(self, key: str) -> Awaitable[list[Entry]]:
        """Everything that was written for the key, in order of writing, posts that wait included."""
        ...

    def activations(self, key: str) -> Awaitable[list[Activation]]:
        """The lives of the key, oldest first."""
        ...

    def dead(self, key: str) -> Awaitable[list[DeadLetter]]:
        """What was set aside, oldest first."""
        ...

    def prune(self, before: float) -> Awaitable[int]:
        """Forget answers, committed messages, steps, finished jobs and events that are older than `before`.

        Gives how many rows went.
        """
        ...
