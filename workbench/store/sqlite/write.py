"""A write: what the writer queues and the ledger lands.

Shapes and nothing else: what they do to the file is in the ledger and in the jobs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from workbench.store.sqlite.ledger import Ledger

__all__ = ["APPEND", "BEGIN", "COMMIT", "JOB", "NOTHING", "STEP", "Job", "Write"]

T = TypeVar("T")

APPEND, STEP, COMMIT, JOB, NOTHING, BEGIN = range(6)

Write: TypeAlias = tuple[Any, ...]
"""A queued write: its kind (above), then its parts as `Ledger._append` and its siblings unpack them.

A tuple, because it is made per message.
"""

Job: TypeAlias = Callable[["Ledger"], "T | BaseException"]
"""A write of another shape: runs inside the transaction, at its place in the batch.

It may run twice; it gives a value, or an error to raise.

Queued as `(JOB, job, full)`; `full` makes its transaction survive a power cut whatever the durability of the store.
The beginning of a life is queued as `(BEGIN, key, job)`, so that many of them read ahead together.
"""
