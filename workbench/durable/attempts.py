"""Attempts: how often a message has failed, counted in the journal so that the count outlives the kernel.

- An exception of the body counts. A host's death counts only if user code was running and no new step was journaled
  since the last count.
- Dispose, kill, fencing, a broken store, and time spent parked, asleep, in a back-off or waiting for another process
  never count. Progress resets the count, and attempts older than the window of the definition are forgotten.
- When a message is delivered again is in the journal with the attempt, and is the wake of its key.
- A message whose attempts are used up is set aside, with the reason.

Source: DESIGN rule 7, PROCESSES B.4.
"""

from __future__ import annotations

import math
from itertools import takewhile
from typing import TYPE_CHECKING

from workbench.durable.retries import Try
from workbench.durable.steps import MARKS
from workbench.plain import decode, encode
from workbench.store.journal import StepRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from workbench.durable.activation import Activation, Delivery
    from workbench.durable.definition import DurableDefinition

__all__ = ["Attempts", "attempts_of", "due_again"]

DEATH = "its host died while it was handled"


class Attempts:
    """The attempts at the messages of one activation, as many and as far apart as its definition says."""

    def __init__(self, activation: Activation, definition: DurableDefinition) -> None:
        self._activation = activation
        self._definition = definition

    async def count_a_failure(self, delivery: Delivery, why: str) -> None:
        """The body failed in the message. Raises: what the store raises."""
        activation = self._activation
        records = await activation.store.steps(activation.key, delivery.seq)
        number = self._number(records) + 1
        await self._record(delivery, number, why)
        if number >= self._definition.max_attempts:
            await activation.set_aside(delivery, why, number)

    async def count_a_death(self) -> None:
        """The last host died in the first message that waits, unless the message was at rest or moving on.

        The records of the message are at hand; who calls has seen that it is not parked at a request.
        """
        activation = self._activation
        head = activation.inbox[0]
        records = head.records
        assert records is not None
        if _at_rest(records, activation.now()):
            return
        if _progressed(records):  # only marks the place: the next death finds the same if this one comes first
            activation.watch(self._record(head, 0, DEATH))
            return
        number = self._number(records) + 1
        await self._record(head, number, DEATH)
        if number >= self._definition.max_attempts:
            activation.in_hand = activation.inbox.popleft()
            await activation.set_aside(head, f"{DEATH}, {number} times", number)

    def _number(self, records: Sequence[StepRecord]) -> int:
        """The attempts since the last progress, of those that are not forgotten."""
        window = self._definition.policy.window
        return attempts_of(records, -math.inf if window is None else self._activation.now() - window)

    def _record(self, delivery: Delivery, number: int, why: str) -> Awaitable[None]:
        """Keep the count, and when the message is delivered again; 0 marks progress without counting."""
        activation, now = self._activation, self._activation.now()
        wait = self._definition.policy.wait_before(number) if number else 0.0
        due = now + wait if wait else 0.0
        content = encode({"why": why, "next_at": due})
        record = StepRecord("", "attempt", number, content, "attempt", 0, now, 0.0, activation.epoch)
        wake = due or now + activation.redeliver
        if delivery.records is not None:
            delivery.records.append(record)
        return activation.store.put_step(activation.key, activation.epoch, delivery.seq, record, wake)


def attempts_of(records: Sequence[StepRecord], since: float = -math.inf) -> int:
    """The attempts at a message since its last progress, those before the instant `since` left out."""
    counted = 0
    for record in records:
        if record.kind == "attempt":
            counted = min(record.occurrence, counted + 1) if record.began_at >= since else 0
        elif record.kind not in MARKS:
            counted = 0
    return counted


def due_again(records: Sequence[StepRecord]) -> float:
    """When a message may be delivered again (UTC seconds), or 0 when nothing holds it back."""
    last = next((record for record in reversed(records) if record.kind == "attempt"), None)
    return 0.0 if last is None else float(decode(last.payload).get("next_at", 0.0))


def _progressed(records: Sequence[StepRecord]) -> bool:
    """Whether a step was journaled since the last count."""
    since = list(takewhile(lambda record: record.kind != "attempt", reversed(records)))
    return any(record.kind not in MARKS for record in since)


def _at_rest(records: Sequence[StepRecord], now: float) -> bool:
    """Whether the message sleeps, is in a back-off, or waits for the answer of another process.

    One of several branches is enough: what the others did when the host died is nowhere written down.
    """
    waits = {_place(record) for record in records if record.kind == "wait"}
    came = {_place(record) for record in records if record.kind not in MARKS}
    return bool(waits - came) or any(_ends_at(record) > now for record in records)


def _place(record: StepRecord) -> tuple[str, str, int]:
    return record.branch, record.name, record.occurrence


def _ends_at(record: StepRecord) -> float:
    """When what a record began to wait for comes, or 0 when it waits for no instant."""
    if record.kind == "sleep":
        return float(decode(record.payload))
    if record.kind == "attempt":
        return due_again([record])
    return Try.of(record).next_at if record.kind == "try" else 0.0
