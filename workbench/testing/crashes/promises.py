"""The promises: what must hold of every round, whenever and however its hosts died.

- Each promise is a function of the evidence of a round, and of the round that nothing disturbed; it gives what breaks
  it, one sentence for each.
- They judge what is left, not how it came about, so they hold for any store and any death.

Source: DESIGN 7, PROCESSES section 4 (6, 13, 14).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from workbench.durable.keys import step_key

if TYPE_CHECKING:
    from workbench.testing.crashes.evidence import Evidence, Line

__all__ = ["PROMISES", "Breach", "breaches"]

Promise: TypeAlias = Callable[["Evidence", "Evidence"], Iterator[str]]
PROMISES: list[Promise] = []


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that was broken, by its name, and what was found."""

    promise: str
    found: str

    def __str__(self) -> str:
        return f"{self.promise.replace('_', ' ')}: {self.found}"


def breaches(evidence: Evidence, clean: Evidence) -> list[Breach]:
    """What a round breaks, compared with the one that nothing disturbed."""
    return [Breach(promise.__name__, found) for promise in PROMISES for found in promise(evidence, clean)]


def _promise(promise: Promise) -> Promise:
    PROMISES.append(promise)
    return promise


@_promise
def the_work_is_done(evidence: Evidence, clean: Evidence) -> Iterator[str]:
    """Nothing is left unfinished, and nothing was set aside."""
    for line in evidence.lines.values():
        info = line.info
        if info is None:
            yield f"{line.key!r} is not in the store"
        elif info.cursor != info.last_seq or info.wake_at is not None:
            yield f"{line.key!r} is at message {info.cursor} of {info.last_seq} and wakes at {info.wake_at}"
        for letter in line.dead:
            yield f"message {letter.seq} of {line.key!r} was set aside: {letter.error}"


@_promise
def the_end_is_that_of_the_undisturbed_run(evidence: Evidence, clean: Evidence) -> Iterator[str]:
    """The committed states are those of a run in which no host died."""
    for name, line in evidence.lines.items():
        found, expected = _comparable(line.state), _comparable(clean.lines[name].state)
        if found != expected:
            yield f"the state of {line.key!r} is {found!r}, undisturbed {expected!r}"


def _comparable(state: Any) -> Any:
    """A state without the tokens under which casts were sent."""
    return {name: value for name, value in state.items() if name != "tokens"} if isinstance(state, dict) else state


@_promise
def an_accepted_cast_is_handled_once(evidence: Evidence, clean: Evidence) -> Iterator[str]:
    """A cast whose receipt came is in the state once; any other at most once."""
    accepted = evidence.about("accepted")
    handled = Counter(
        f"{name}/{token}"
        for name, line in evidence.lines.items()
        if isinstance(line.state, dict)
        for token in line.state["tokens"]
    )
    for token in accepted:
        if handled[token] != 1:
            yield f"the cast {token!r} was accepted and is in the state {handled[token]} times"
    for token, times in handled.items():
        if times > 1 and token not in accepted:
            yield f"the cast {token!r} is in the state {times} times"


@_promise
def one_id_has_one_answer(evidence: Evidence, clean: Evidence) -> Iterator[str]:
    """Whoever asks under an id, whenever, hears what the journal has, and the journal has it once."""
    heard = evidence.about("heard")
    for name, line in evidence.lines.items():
        written = Counter(entry.call_id for entry in line.history if entry.kind == "answer")
        for id, answer in line.answers.items():
            if written[id] != 1:
                yield f"the journal has {written[id]} answers to the call {id!r} of {line.key!r}"
            for value in heard.get(f"{name}/{id}", ()):
                if value != _told(answer):
                    yield f"the call {id!r} of {line.key!r} heard {value!r}; the journal has {_told(answer)!r}"
    for about in clean.about("heard"):
        if about not in heard:
            yield f"nobody heard an answer to {about!r}"


def _told(answer: Any) -> Any:
    """What a caller hears of a recorded answer, as the sender notes it."""
    if answer is None:
        return None
    return str(answer["words"]).split(";")[0] if "failed" in answer else answer["ok"]


@_promise
def a_recorded_step_is_not_repeated(evidence: Evidence, clean: Evidence) -> Iterator[str]:
    """No life does again what an earlier one had recorded."""
    began = {life: number for number, life in enumerate(evidence.lives)}
    recorded: dict[str, str] = {}
    for line in evidence.lines.values():
        for key, life in _recorded(line):
            if key in recorded:
                yield f"{key!r} was recorded by {recorded[key]} and again by {life}"
            recorded.setdefault(key, life)
    for note in evidence.notes:
        by = recorded.get(note.value) if note.kind == "did" else None
        if by is not None and began[note.life] > began[by]:
            yield f"{note.about!r} was done again under {note.value!r} by a host that began after it was recorded"


def _recorded(line: Line) -> Iterator[tuple[str, str]]:
    """The key of each recorded step, and the host whose life recorded it."""
    hosts = {life.epoch: life.host for life in line.lives}
    for entry in line.history:
        step = entry.step
        if step is not None and step.kind in ("step", "failure"):
            yield step_key(line.key, entry.seq, step.branch, step.name, step.occurrence), hosts[step.epoch]


@_promise
def an_interrupted_step_runs_again_once_per_crash(evidence: Evidence, clean: Evidence) -> Iterator[str]:
    """Effects happen as often as undisturbed, and at most once more for each death."""
    did, undisturbed = evidence.about("did"), clean.about("did")
    for what, keys in did.items():
        most = len(undisturbed.get(what, ())) + evidence.crashes
        if len(keys) > most:
            yield f"{what!r} was done {len(keys)} times; with {evidence.crashes} deaths {most} are allowed"
    for what in undisturbed:
        if what not in did:
            yield f"{what!r} was never done"


@_promise
def a_step_keeps_its_key(evidence: Evidence, clean: Evidence) -> Iterator[str]:
    """However often it runs, a step has one idempotency key."""
    for what, keys in evidence.about("did").items():
        if len(set(keys)) > 1:
            yield f"{what!r} was done under {sorted(set(keys))}"


@_promise
def the_first_decision_stands(evidence: Evidence, clean: Evidence) -> Iterator[str]:
    """A request is decided once, by who was told so."""
    told = {by for decided in evidence.about("decided").values() for by in decided}
    for line in evidence.lines.values():
        for row in line.requests:
            if row.status == "pending":
                yield f"the request {row.id!r} of {line.key!r} is still open"
            by = next((by for by in told if f'"by":"{by}"' in (row.decision or "")), None)
            others = {
                by
                for about, decided in evidence.about("decided").items()
                if about.endswith(f"/{row.id}")
                for by in decided
            } - {by}
            if others:
                yield f"{sorted(others)} decided the request {row.id!r} of {line.key!r}, and {by!r} did before"


@_promise
def a_life_that_was_replaced_writes_nothing(evidence: Evidence, clean: Evidence) -> Iterator[str]:
    """After a newer life began, the journal has nothing of an older one."""
    for line in evidence.lines.values():
        newest = 0
        for entry in line.history:
            if entry.kind == "activation":
                newest = max(newest, entry.epoch)
            elif 0 < entry.epoch < newest:
                yield f"{entry.kind} {entry.seq} of {line.key!r} was written by life {entry.epoch} after {newest} began"
