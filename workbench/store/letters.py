"""Letters: what a store promises of the messages that were set aside, across all keys.

- A letter is decided once, by compare-and-set: requeued or discarded. Two hosts that decide at once decide once.
- A letter that is requeued as it was takes the steps that it had finished along, and the number by which they are known
  outside: none of them is done twice, and one that was cut off is done under the key that it had.

Source: PROCESSES B.4. Knows nothing of why a message was set aside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from workbench.store.journal import DeadLetter

__all__ = ["Letters", "SetAside"]


@dataclass(frozen=True, slots=True)
class SetAside:
    """A dead letter in its place. `status` is waiting, then once requeued or discarded."""

    id: int
    key: str
    definition: str
    at: float
    letter: DeadLetter
    status: Literal["waiting", "requeued", "discarded"] = "waiting"
    decided_at: float | None = None
    by: str | None = None


class Letters(Protocol):
    """What was set aside, across all keys: decided once each, by compare-and-set."""

    def letters_now(self, *, key: str | None = None, status: str | None = None) -> list[SetAside]:
        """Dead letters, oldest first, as they are committed."""
        ...

    def requeue_letter(self, id: int, *, by: str, message: str | None = None) -> Awaitable[bool]:
        """Post a waiting letter to its key again and wake the key, in one transaction; False when it was decided.

        As it was, it is collected with what `carried_over` gives of its steps; as another `message` it is new. A call
        that failed by being set aside is open again.
        """
        ...

    def discard_letter(self, id: int, *, by: str) -> Awaitable[bool]:
        """Decide that a waiting letter stays where it is; False when it was decided before."""
        ...
