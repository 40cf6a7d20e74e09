"""Attempts: how often a message has failed, counted in the journal so that the count outlives the kernel.

- An exception of the body counts. A host's death counts only if user code was running and no new step was journaled since the last count.
- Dispose, kill, fencing, a broken store, and time spent parked or asleep never count. Progress resets the count.

Source: DESIGN rule 7, PROCESSES B.4.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.plain import decode, encode
from workbench.store.journal import StepRecord

__all__ = ["asleep", "attempt_record", "count", "progressed"]


def count(records: Sequence[StepRecord]) -> int:
    """The attempts since the last progress."""
    counted = 0
    for record in records:
        counted = record.occurrence if record.kind == "attempt" else 0 if record.kind != "sleep" else counted
    return counted


def progressed(records: Sequence[StepRecord]) -> bool:
    """Whether a step was journaled since the last count."""
    return bool(records) and records[-1].kind != "attempt"


def asleep(records: Sequence[StepRecord], now: float) -> bool:
    """Whether the last thing that the message did was to go to sleep, and it sleeps still."""
    return bool(records) and records[-1].kind == "sleep" and decode(records[-1].payload) > now


def attempt_record(number: int, why: str, at: float, epoch: int) -> StepRecord:
    """The record of the attempt `number`; 0 marks progress without counting."""
    return StepRecord("", "attempt", number, encode({"why": why}), "attempt", 0, at, 0.0, epoch)
