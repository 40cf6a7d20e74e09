"""Failures: what becomes of a durable body that raised, and how long it waits before it begins again.

- A failure in a message is the message's: it is counted in the journal, and set aside after its attempts.
- A failure outside any message is the body's: the supervision of its definition says whether it begins again.
- The next life waits as long as the back-off says; a message, in the next life, until the instant in its journal.

Source: DESIGN rule 7, PROCESSES B.2 (3) and B.4. Knows nothing of claims, callers or what a life is made of.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from workbench.process.crashes import Crash, report
from workbench.process.supervision import Restarts

if TYPE_CHECKING:
    from workbench.clock import Clock
    from workbench.durable.definition import DurableDefinition
    from workbench.durable.life import Life

__all__ = ["Failures"]

log = logging.getLogger("workbench")


class Failures:
    """The failures of one durable process."""

    __slots__ = ("_clock", "_definition", "_key", "pausing", "restarts")

    def __init__(self, key: str, definition: DurableDefinition, clock: Clock) -> None:
        self.restarts = Restarts(definition.policy, clock)
        self.pausing = False
        self._key = key
        self._definition = definition
        self._clock = clock

    def use(self, definition: DurableDefinition) -> None:
        """Take another definition; one with another policy begins its count anew."""
        self._definition = definition
        if definition.policy != self.restarts.policy:
            self.restarts = Restarts(definition.policy, self._clock)

    async def begins_again(self, life: Life, error: BaseException) -> bool:
        """Count a failure of the body; gives whether another life follows. Raises: what the store raises."""
        if life.activation.in_hand is not None:
            return await life.count_a_failure(error)
        if self.restarts.policy.restart == "never":
            return False
        if self.restarts.take():
            log.error("%s failed outside any message and begins again: %r", self._key, error, exc_info=error)
            return True
        error.add_note(f"{self._key!r} has spent {self.restarts.budget}, and does not begin again by itself")
        return False

    def tell(self, error: BaseException, *, again: bool) -> None:
        """Tell the observers of crashes, unless the definition is quiet."""
        if not self._definition.quiet:
            report(Crash(self._key, error, again))

    async def pause(self) -> None:
        """Return when the next life may begin."""
        self.pausing = True
        try:
            await self.restarts.pause()
        finally:
            self.pausing = False
