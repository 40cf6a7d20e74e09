"""Leases: the words with which whoever lost a job is refused, the same in every keeper.

One sentence per end of a job, so that tests and people read the same whatever keeps the queue. Knows nothing of how
a keeper finds out.
"""

from __future__ import annotations

from workbench.errors import LeaseLost

__all__ = ["DIED", "RAN_OUT", "lease_lost"]

RAN_OUT = "its lease ran out before it was done"
DIED = "its host died while it was handled"

_FOUND = {
    "waiting": "waits again",
    "delayed": "waits again",
    "leased": "was leased again",
    "done": "was done",
    "dead": "was set aside",
    "discarded": "was discarded",
}


def lease_lost(queue: str, id: int, number: int, status: str | None, newest: int) -> LeaseLost:
    """The refusal of lease `number` of a job, which has `status` and lease `newest` now, or is not there at all."""
    if status is None:
        words = f"there is no job {id} in {queue!r}; it was forgotten, or belongs to another queue"
    else:
        words = (
            f"job {id} of {queue!r} {_FOUND[status]} (lease {newest}, ours {number}); "
            "nothing was changed, let whoever has it finish it"
        )
    return LeaseLost(words, queue=queue, job=id, number=number, status=status)
