"""Busy: whether the message that an activation has in hand may be cut off without repeating anything.

A message asleep has its deadline in the journal, and one that waits for a person has its question there: each begins
again where it was. Whatever else is in hand is at work. Source: PROCESSES 2.14 and B.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.durable.activation import Activation
    from workbench.durable.requests import Requests
    from workbench.durable.steps import Ledger

__all__ = ["at_work", "is_busy", "sleeps"]


def is_busy(activation: Activation) -> bool:
    """Whether the activation has messages to handle, a message in hand that is not asleep, or callers who wait."""
    return bool(activation.inbox) or activation.is_awaited or _is_awake(activation)


def at_work(activation: Activation, requests: Requests) -> bool:
    """Whether a message is in hand that neither sleeps nor waits for a person."""
    ledger = activation.ledger
    return _is_awake(activation) and not (ledger and ledger.open and _is_parked(ledger, requests))


def _is_awake(activation: Activation) -> bool:
    return activation.in_hand is not None and not (activation.ledger and _is_asleep(activation.ledger))


def _is_asleep(ledger: Ledger) -> bool:
    """Whether all that the message does now is to sleep."""
    return bool(ledger.open) and ledger.open.keys() <= sleeps(ledger)


def _is_parked(ledger: Ledger, requests: Requests) -> bool:
    asleep = sleeps(ledger)
    return all(address in asleep or requests.knows(ledger.key_of(address)) for address in ledger.open)


def sleeps(ledger: Ledger) -> set[tuple[str, str, int, int]]:
    """The addresses of its sleeps, those that are over included."""
    return {
        (record.branch, record.name, record.occurrence, record.position)
        for record in ledger.records
        if record.kind == "sleep"
    }
