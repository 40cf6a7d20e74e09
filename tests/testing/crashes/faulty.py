"""Stores that break one promise each: the negative controls of the crash suite.

Each has one fault of the kind that only a crash shows. `FAULTY` says which promise must be seen to break.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from workbench.store.claims import Begun
from workbench.store.journal import Commit, StepRecord
from workbench.store.memory import MemoryStore
from workbench.store.sqlite.keeper import SQLiteStore


class _ForgetsTheSteps:
    """The journal is never looked at: what was recorded is done again."""

    async def steps(self, key: str, seq: int) -> list[StepRecord]:
        return _attempts(await super().steps(key, seq))  # type: ignore[misc]

    async def begin(self, key: str, definition: str, args: str, **options: Any) -> Begun:
        begun = await super().begin(key, definition, args, **options)  # type: ignore[misc]
        return replace(begun, head=tuple(_attempts(begun.head)))


def _attempts(records: Sequence[StepRecord]) -> list[StepRecord]:
    return [record for record in records if record.kind == "attempt"]


class ForgetsTheSteps(_ForgetsTheSteps, MemoryStore):
    pass


class ForgetsTheStepsOfAFile(_ForgetsTheSteps, SQLiteStore):
    """For processes that are killed."""


class FencesNobody(MemoryStore):
    """Whoever had a key once may write to it for ever."""

    def _fenced(self, key: str, epoch: int, write: Any) -> Any:
        return self._done(write(self._look(key)))


class AcceptsBeforeItWrites(MemoryStore):
    """A message is accepted, and in the log only when the next one is acknowledged."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._late: dict[str, list[tuple[Any, ...]]] = {}

    def append(self, key: str, epoch: int, message: str, *rest: Any) -> Any:
        line = self._look(key)
        if line.epoch != epoch:
            return super().append(key, epoch, message, *rest)
        late = self._late.setdefault(key, [])
        late.append((epoch, message, *rest))
        return self._done(line.last_seq + len(late))

    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        for late in self._late.pop(key, ()):
            super().append(key, *late)
        return super().commit(key, epoch, commit)


class ForgetsAnswers(MemoryStore):
    """An answer is found again by the host that gave it, and by no other."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._mine: set[tuple[str, str]] = set()

    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        self._mine.update((key, call_id) for call_id, _ in commit.answers)
        return super().commit(key, epoch, commit)

    def result_now(self, key: str, call_id: str) -> str | None:
        return super().result_now(key, call_id) if (key, call_id) in self._mine else None


class CommitsWithoutTheState(MemoryStore):
    """A message is acknowledged, and the state that it led to lands with the next one."""

    def commit(self, key: str, epoch: int, commit: Commit) -> Any:
        line = self._look(key)
        before = line.snapshot
        done = super().commit(key, epoch, commit)
        if line.log:
            line.snapshot = before
        return done


class KeepsNoStep(MemoryStore):
    """A step is recorded, and its record is gone with the host."""

    def put_step(self, key: str, epoch: int, seq: int, record: StepRecord, wake_at: float | None = None) -> Any:
        kept = super().put_step(key, epoch, seq, record, wake_at)
        self._look(key).steps.pop(seq, None)
        return kept


FAULTY: dict[type[MemoryStore], str] = {
    ForgetsTheSteps: "a_recorded_step_is_not_repeated",
    FencesNobody: "a_life_that_was_replaced_writes_nothing",
    AcceptsBeforeItWrites: "an_accepted_cast_is_handled_once",
    ForgetsAnswers: "one_id_has_one_answer",
    CommitsWithoutTheState: "the_end_is_that_of_the_undisturbed_run",
    KeepsNoStep: "a_recorded_step_is_not_repeated",
}
