"""Doing: what a durable process is at now, as one plain sentence: the message in hand, or what that sleeps on.

- A sleep says until when, and a question that somebody decides it: neither looks like work, or like a beginning.

Source: LOOK 3 (process inspector) and 5. Knows nothing of windows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from workbench.durable.busy import sleeps
from workbench.process.inspector import Doing

if TYPE_CHECKING:
    from workbench.durable.activation import Activation
    from workbench.durable.requests import Requests
    from workbench.durable.steps import Address, Ledger

__all__ = ["doing"]


def doing(activation: Activation, requests: Requests, now: float) -> Doing | None:
    """What the activation is at; None while its body has not come to its mailbox, and while a message is held back."""
    if activation.held:
        return None
    if activation.parked_on_mailbox():
        return Doing("running", "Waits for messages.")
    if activation.in_hand is None or (ledger := activation.ledger) is None:
        return None
    asleep = sleeps(ledger)
    at_work = [each for each in ledger.open if each not in asleep and not _waits(ledger, each, requests)]
    if at_work:
        return _at_work(ledger, at_work[-1], activation.in_hand.seq, now)
    if not ledger.open:
        return Doing("running", f"Working on message {activation.in_hand.seq}.")
    return _at_rest(ledger, asleep, requests, now)


def _waits(ledger: Ledger, address: Address, requests: Requests) -> bool:
    """Whether a step waits for another process or a person."""
    return ledger.has(address, "wait") or requests.knows(ledger.key_of(address))


def _at_work(ledger: Ledger, address: Address, seq: int, now: float) -> Doing:
    again = ledger.deadlines.get(address)
    if again is not None and again > now:
        return Doing("retried", f"Tries step {address.name} again", f"at {_moment(again, now)}.")
    return Doing("running", f"Working on message {seq}:", f"step {address.name}.")


def _at_rest(ledger: Ledger, asleep: set[tuple[str, str, int, int]], requests: Requests, now: float) -> Doing:
    """What it waits for: a person before another process, and that before the time."""
    asked = [address for address in ledger.open if requests.knows(ledger.key_of(address))]
    if asked:
        return Doing("waiting", "Waits for a decision", f"in step {asked[0].name}.", tone="amber")
    called = [address for address in ledger.open if address not in asleep]
    if called:
        return Doing("running", "Waits for another process", f"in step {called[0].name}.")
    first = min(ledger.open, key=lambda address: ledger.deadlines[address])
    return Doing("running", f"Asleep in step {first.name}", f"until {_moment(ledger.deadlines[first], now)}.")


def _moment(instant: float, now: float) -> str:
    """A time of day where the kernel is, with its date when that is not today."""
    there, here = time.localtime(instant), time.localtime(now)
    today = there[:3] == here[:3]
    return time.strftime("%H:%M:%S" if today else f"{there.tm_mday} %b %Y, %H:%M:%S", there)
