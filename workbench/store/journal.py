"""The journal: what a store promises to durable processes, as eight verbs and what goes in and out of them.

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

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

__all__ = ["Commit", "DeadLetter", "Journal", "Loaded", "Logged", "StepRecord"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What an activation starts from.

    `snapshot` is absent (None) until a commit wrote one; a null state is the text `null`.

    `cut_off` says that the activation before this one never said how it ended: its host died. One that was taken from a
    living host was not cut off.
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
    other steps; the payload names the row that says which), `replaced` (what was recorded before answers no more) and
    `stage` (the state went from one stage to another, which the payload names).
    `position` is its place in its branch in the order of asking. `began_at` is an instant, `took` seconds.
    """

    branch: str
    name: str
    occurrence: int
    payload: str
    kind: Literal["step", "failure", "try", "wait", "attempt", "sleep", "requeued", "drift", "replaced", "stage"] = (
        "step"
    )
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
    `wake_at` becomes the key's wake if messages remain past `cursor` or were posted; with none left it is cleared.
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
