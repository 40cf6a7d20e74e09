"""Attempts: how often a message has failed, counted in the journal so that the count outlives the kernel.

- An exception of the body counts. A host's death counts only if user code was running and no new step was journaled
  since the last count.
- Dispose, kill, fencing, a broken store, and time spent parked, asleep, in the back-off of a step or waiting for
  another process never count. Progress resets the count.
- A message whose attempts are used up is set aside, with the reason.

Source: DESIGN rule 7, PROCESSES B.4.
"""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from workbench.durable.retries import Try
from workbench.durable.steps import MARKS
from workbench.plain import decode, encode
from workbench.store.journal import StepRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.durable.activation import Activation, Delivery
    from workbench.durable.requests import Requests

__all__ = ["Attempts"]

DEATH = "its host died while it was handled"


class Attempts:
    """The attempts at the messages of one activation, of which a message has `most`."""

    def __init__(self, activation: Activation, requests: Requests, most: int) -> None:
        self._activation = activation
        self._requests = requests
        self._most = most
        self.counted = 0
        """How often the message that failed last has failed, and is not set aside."""

    async def count_a_failure(self, delivery: Delivery, why: str) -> None:
        """The body failed in the message. Raises: what the store raises."""
        number = _count(await self._records(delivery)) + 1
        await self._record(delivery, number, why)
        self.counted = number
        if number >= self._most:
            await self._activation.set_aside(delivery, why)
            self.counted = 0

    async def count_a_death(self) -> None:
        """The last host died in the first message that waits, unless the message was parked, asleep or moving on."""
        activation = self._activation
        if not activation.inbox:
            return
        head = activation.inbox[0]
        records = await self._records(head)
        if _at_rest(records, activation.now()) or await self._requests.find(key=activation.key, status="pending"):
            return
        number = 0 if _progressed(records) else _count(records) + 1
        await self._record(head, number, DEATH)
        if number >= self._most:
            activation.in_hand = activation.inbox.popleft()
            await activation.set_aside(head, f"{DEATH}, {number} times")

    async def _records(self, delivery: Delivery) -> Sequence[StepRecord]:
        return await self._activation.store.steps(self._activation.key, delivery.seq)

    async def _record(self, delivery: Delivery, number: int, why: str) -> None:
        """Keep the count; 0 marks progress without counting."""
        activation, now = self._activation, self._activation.now()
        record = StepRecord("", "attempt", number, encode({"why": why}), "attempt", 0, now, 0.0, activation.epoch)
        wake = now + activation.redeliver
        await activation.store.put_step(activation.key, activation.epoch, delivery.seq, record, wake)


def _count(records: Sequence[StepRecord]) -> int:
    """The attempts since the last progress."""
    counted = 0
    for record in records:
        counted = record.occurrence if record.kind == "attempt" else counted if record.kind in MARKS else 0
    return counted


def _progressed(records: Sequence[StepRecord]) -> bool:
    """Whether a step was journaled since the last count."""
    since = list(takewhile(lambda record: record.kind != "attempt", reversed(records)))
    return any(record.kind not in MARKS for record in since)


def _at_rest(records: Sequence[StepRecord], now: float) -> bool:
    """Whether the message sleeps, is in the back-off of a step, or waits for the answer of another process.

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
    return Try.of(record).next_at if record.kind == "try" else 0.0
