"""Carrying over: what a message takes along when it is delivered again under another number, in every keeper.

- Finished steps and sleeps are kept, so that nothing is done twice; failed attempts are not.
- The first number is kept too, so that idempotency keys stay what they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.store.journal import StepRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["carried_over"]


def carried_over(records: Sequence[StepRecord], seq: int) -> list[StepRecord]:
    """What a message that had the number `seq` takes along when it is delivered again under another one.

    The steps that were finished, and the number by which its steps are known outside.
    """
    replaced = max((at for at, record in enumerate(records) if record.kind == "replaced"), default=-1)
    kept = [record for record in records[replaced + 1 :] if record.kind in ("step", "sleep", "requeued")]
    if not any(record.kind == "requeued" for record in kept):
        kept.insert(0, StepRecord("", "requeued", 0, str(seq), "requeued"))
    return kept
