"""Steps: what a message has done so far, and where the next step stands in it.

- A step is addressed by branch, name and occurrence, taken when `ctx.step(…)` is called, so the order in which parallel
  steps finish can never mix them up.
- A branch belongs to one task. A step asked for in a task without a branch of its own is refused: names that repeat
  would swap results.
- A step asked for inside another step's function stands in a branch of that step, and is settled with it.
- Drift is an unrecorded step asked for at position i while a record at a position <= i of the branch is unclaimed, or a
  record that nobody claimed when the message ends. The function does not run; the activation alone stops.

Source: DESIGN rule 8, PROCESSES B.4.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.durable.choices import Place
from workbench.durable.keys import escape, key_stem
from workbench.durable.retries import Try
from workbench.errors import Drift, StepMisuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.durable.choices import Choices
    from workbench.store.journal import StepRecord

__all__ = ["MARKS", "Address", "Branch", "Ledger", "current_branch", "inside_path"]

MARKS = frozenset(("attempt", "try", "wait", "requeued", "drift", "replaced", "stage"))
"""The kinds of records that answer no step: they say what happened to a message on the way."""


class Address(NamedTuple):
    """Where a step stands: enough to find its record, and to make its key."""

    branch: str
    name: str
    occurrence: int
    position: int


class Ledger:
    """The records of one message: those of earlier deliveries, claimed one by one, and those of this one."""

    __slots__ = (
        "_branches", "_recorded", "_stem", "_unclaimed", "choices", "deadlines", "key", "open", "origin", "records",
        "replayed", "seq",
    )  # fmt: skip

    def __init__(self, key: str, seq: int, recorded: Iterable[StepRecord] = (), choices: Choices | None = None) -> None:
        self.key = key
        self.choices = choices
        self.seq = self.origin = seq
        self.records: list[StepRecord] = list(recorded) if choices is None else choices.kept
        self.replayed: set[tuple[str, str, int]] = set()
        self.open: dict[Address, float] = {}
        self.deadlines: dict[Address, float] = {}
        self._recorded: dict[tuple[str, str, int], StepRecord] = {}
        self._unclaimed: dict[str, dict[tuple[str, int], int]] = {}
        self._branches: dict[str, int] = {}
        self._stem = ""
        if self.records:
            self._see_what_is_recorded()

    def _see_what_is_recorded(self) -> None:
        self._recorded = {(r.branch, r.name, r.occurrence): r for r in self.records if r.kind not in MARKS}
        self.origin = next((int(r.payload) for r in self.records if r.kind == "requeued"), self.seq)
        for record in self._recorded.values():
            self._unclaimed.setdefault(record.branch, {})[(record.name, record.occurrence)] = record.position

    def claim(self, address: Address) -> StepRecord | None:
        """The record of the step, or None when it has yet to run. Raises: Drift."""
        if not self._recorded:
            return None
        place = asked = (address.branch, address.name, address.occurrence)
        if self.choices is not None:
            place = self._place_of(asked)
        record = self._recorded.get(place)
        if record is not None:
            self._unclaimed.get(record.branch, {}).pop((record.name, record.occurrence), None)
            self.replayed.add(place)
            self.settle(inside_path(Address(*place, record.position)))
            return record
        if self.choices is not None and asked in self.choices.added:
            return None
        unclaimed = self._unclaimed.get(address.branch, {})
        passed = [place for place, position in unclaimed.items() if position <= address.position]
        if passed:
            raise self._drift(f"asks for step {address.name!r} now", asked, (address.branch, *passed[0]))
        return None

    def _place_of(self, asked: tuple[str, str, int]) -> tuple[str, str, int]:
        """Where the record of the step asked for stands, by what was chosen. Raises: Drift for one that was renamed."""
        renamed = self.choices.renamed if self.choices is not None else {}
        for new, old in renamed.items():
            if old == asked:
                raise self._drift(f"gave it to {new.name!r}, as was accepted, and asks for it itself now", asked, old)
        return renamed.get(Place(*asked), asked)

    def tries(self, address: Address) -> list[Try]:
        """The tries of the step that failed, in this life and before, oldest first."""
        return [Try.of(record) for record in self._marks(address, "try")]

    def has(self, address: Address, mark: str) -> bool:
        """Whether a step has a mark of this kind."""
        return bool(self._marks(address, mark))

    def _marks(self, address: Address, mark: str) -> list[StepRecord]:
        at = (address.branch, address.name, address.occurrence)
        return [r for r in self.records if r.kind == mark and (r.branch, r.name, r.occurrence) == at]

    def begin_again(self, path: str) -> None:
        """What was recorded on the branch `path`, and below it, in this life answers the next try too."""
        for record in self.records:
            branch = record.branch
            if record.kind not in MARKS and (branch == path or branch.startswith(f"{path}/")):
                self._recorded[branch, record.name, record.occurrence] = record
                self._unclaimed.setdefault(branch, {})[record.name, record.occurrence] = record.position
        for known in [known for known in self._branches if known.startswith(f"{path}/")]:
            del self._branches[known]

    def recorded(self, path: str) -> list[StepRecord]:
        """What earlier deliveries recorded on the branch `path`."""
        return [record for record in self._recorded.values() if record.branch == path]

    def settle(self, path: str) -> None:
        """What was recorded on the branch `path`, and below it, has been used: what it led to is recorded too."""
        for branch in [known for known in self._unclaimed if known == path or known.startswith(f"{path}/")]:
            del self._unclaimed[branch]

    def give_up(self) -> None:
        """The message ends early on purpose: records that nobody asked for are no drift."""
        self._unclaimed.clear()

    def leftover(self) -> Drift | None:
        """The drift of a message that ends without asking for a step that it has recorded."""
        settled = self.choices.settled if self.choices is not None else ()
        for branch, unclaimed in self._unclaimed.items():
            for name, occurrence in unclaimed:
                if (branch, name, occurrence) not in settled:
                    return self._drift("ended without asking for it", None, (branch, name, occurrence))
        return None

    def key_of(self, address: Address) -> str:
        """The idempotency key of a step."""
        return self.key_at(address.branch, address.name, address.occurrence)

    def key_at(self, branch: str, name: str, occurrence: int) -> str:
        """The idempotency key of the step there: under the number that its message had when it was first delivered."""
        if not self._stem:
            self._stem = key_stem(self.key, self.origin)
        return f"{self._stem}{branch}#{escape(name)}#{occurrence}"

    def branch(self, parent: Branch, name: str) -> Branch:
        """A branch below `parent`; a name used twice gets a number."""
        path = f"{parent.path}/{escape(name)}" if parent.path else escape(name)
        count = self._branches.get(path, 0)
        self._branches[path] = count + 1
        return Branch(self, f"{path}~{count}" if count else path)

    def _drift(self, what: str, asked: tuple[str, str, int] | None, recorded: tuple[str, str, int]) -> Drift:
        drift = Drift(
            f"message {self.seq} of {self.key!r} recorded the step {recorded[1]!r} and {what}; "
            "put the choice of what to do inside a step, or bring the earlier code back",
            key=self.key,
            seq=self.seq,
            asked=None if asked is None else asked[1],
            recorded=recorded[1],
            place=None if asked is None else list(asked),
            recorded_place=list(recorded),
        )
        drift.add_note(
            "or choose: await handle.start_over() runs its effects again, .accept() takes the journal as it is, "
            ".set_aside() makes it a dead letter"
        )
        return drift


class Branch:
    """One line of steps in one task."""

    __slots__ = ("_counts", "_position", "inside", "ledger", "path", "running", "task")

    def __init__(self, ledger: Ledger, path: str, task: asyncio.Task[Any] | None = None) -> None:
        self.ledger = ledger
        self.path = path
        self.task = task
        self.running: Address | None = None
        self.inside: Branch | None = None
        self._counts: dict[str, int] = {}
        self._position = 0

    def begin_again(self, address: Address) -> None:
        """The step at `address` is tried (again): what its function asks for is what it asked for in the last try."""
        if self.inside is not None and self.running == address:
            self.inside = None
            self.ledger.begin_again(inside_path(address))

    def address(self, name: str) -> Address:
        """The next address for a step of this name. Raises: StepMisuse when the current task is not the branch's."""
        if _current_task(name) is not self.task:
            raise StepMisuse(
                f"step {name!r} is asked for in a task that has no branch of its own; "
                'give the task a branch: async with ctx.branch("…")',
                name=name,
            )
        if self.running is not None:
            if self.inside is None:
                self.inside = Branch(self.ledger, inside_path(self.running), self.task)
            return self.inside.address(name)
        occurrence = self._counts.get(name, 0)
        self._counts[name] = occurrence + 1
        position, self._position = self._position, self._position + 1
        return Address(self.path, name, occurrence, position)


def _current_task(name: str) -> asyncio.Task[Any] | None:
    """The task that asks for a step. Raises: StepMisuse in a thread, which has none."""
    try:
        return asyncio.current_task()
    except RuntimeError as error:
        raise StepMisuse(
            f"step {name!r} is asked for in a thread, where nothing can be awaited; "
            "write the function that asks for it as async def",
            name=name,
        ) from error


def inside_path(address: Address) -> str:
    """The path of the branch that stands for the inside of a step."""
    name = f"{escape(address.name)}!{address.occurrence}"
    return f"{address.branch}/{name}" if address.branch else name


current_branch: ContextVar[Branch | None] = ContextVar("workbench_branch", default=None)
"""The branch that steps are asked for on; a task created by the body inherits it, and owns none."""
