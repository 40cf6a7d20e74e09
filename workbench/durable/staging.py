"""Staging: the stage of one life of a process whose stages are declared; each transition is a mark in its journal.

A transition that a replay makes again is the one that is in the journal already. Knows nothing of what a body does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.durable.stages import STAGE, stage_of, stages_of
from workbench.plain import decode, encode
from workbench.store.journal import StepRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workbench.durable.activation import Activation
    from workbench.durable.stages import Stages
    from workbench.store.glance import Entry

__all__ = ["Staging", "way_of"]


class Staging:
    """Follows the states of one life, from the state that was committed before it."""

    __slots__ = ("_activation", "_moves", "_seq", "_stage", "_stages")

    def __init__(self, stages: Stages, activation: Activation, restored: Any) -> None:
        self._stages = stages
        self._activation = activation
        self._stage = stage_of(restored) if restored is not None else None
        self._seq = self._moves = 0

    def see(self, state: Any) -> None:
        """Take a state that is about to be published. Raises: BadInput for a transition that is not declared."""
        before, activation = self._stage, self._activation
        after = self._stages.check(before, stage_of(state), repr(activation.key))
        if after == before:
            return
        self._stage = after
        ledger = activation.ledger
        if ledger is None:  # outside any message nothing is journaled, and begun again the same way
            return
        if ledger.seq != self._seq:
            self._seq, self._moves = ledger.seq, 0
        occurrence, self._moves = self._moves, self._moves + 1
        known = {record.occurrence for record in ledger.records if record.kind == "stage"}
        if occurrence not in known:
            payload = encode({"from": before, "to": after})
            record = StepRecord("", STAGE, occurrence, payload, "stage", 0, activation.now(), 0.0, activation.epoch)
            ledger.records.append(record)
            activation.watch(activation.store.put_step(activation.key, activation.epoch, ledger.seq, record))


def way_of(entries: Iterable[Entry]) -> list[str]:
    """The way through its stages that the journal of a process tells."""
    moves = [entry.step for entry in entries if entry.step is not None and entry.step.kind == "stage"]
    return stages_of(decode(move.payload) for move in moves)
