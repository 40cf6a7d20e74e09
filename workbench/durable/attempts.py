"""Attempts: how often a message has failed, counted in the journal so that the count outlives the kernel.

- An exception of the body counts. A host's death counts only if user code was running and no new step was journaled
  since the last count.
- Dispose, kill, fencing, a broken store, and time spent parked or asleep never count. Progress resets the count.
- A message whose attempts are used up is set aside, with the reason.

Source: DESIGN rule 7, PROCESSES B.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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

    async def count_a_failure(self, delivery: Delivery, why: str) -> None:
        """The body failed in the message. Raises: what the store raises."""
        number = _count(await self._records(delivery)) + 1
        await self._record(delivery, number, why)
        if number >= self._most:
            await self._activation.set_aside(delivery, why)

    async def count_a_death(self) -> None:
        """The last host died in the first message that waits, unless the message was parked, asleep or moving on."""
        activation = self._activation
        if not activation.inbox:
            return
        head = activation.inbox[0]
        records = await self._records(head)
        if _asleep(records, activation.now()) or await self._requests.find(key=activation.key, status="pending"):
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
        counted = record.occurrence if record.kind == "attempt" else 0 if record.kind != "sleep" else counted
    return counted


def _progressed(records: Sequence[StepRecord]) -> bool:
    """Whether a step was journaled since the last count."""
    return bool(records) and records[-1].kind != "attempt"


def _asleep(records: Sequence[StepRecord], now: float) -> bool:
    """Whether the last thing that the message did was to go to sleep, and it sleeps still."""
    return bool(records) and records[-1].kind == "sleep" and bool(decode(records[-1].payload) > now)
