"""The standing of a key: what its handle knows of messages, attempts, owner and wake, wherever the key lives.

What lives here is known from its activation; the rest is read from the store, as it is committed.

Source: PROCESSES B.2 (11). Knows nothing of how a key comes to life.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.durable.attempts import attempts_of
from workbench.durable.choices import ACCEPTED, ADDED, SET_ASIDE, STARTED_OVER
from workbench.durable.dead_letters import DeadLetters
from workbench.process.handle import Handle

if TYPE_CHECKING:
    from workbench.durable.activation import Activation
    from workbench.durable.runtime import Runtime
    from workbench.durable.stages import StageGraph
    from workbench.plain import Shape
    from workbench.store.claims import Host
    from workbench.store.glance import KeyInfo

__all__ = ["Standing"]


class Standing(Handle):
    """A handle of a key, by what it can be asked."""

    def __init__(self, runtime: Runtime, key: str, shape: Shape) -> None:
        super().__init__(key, shape)
        self.key = key
        self.activation: Activation | None = None
        self.drawn: tuple[int, StageGraph] | None = None
        """Its stages as they were drawn last, and for which state."""
        self._runtime = runtime
        self._attempts = 0

    @property
    def gone(self) -> bool:
        """Whether its bench is closed."""
        return self._runtime.closed

    @property
    def status(self) -> str:
        """As of every handle; restarting too while a message that failed is held back until its next attempt."""
        held = self.activation is not None and self.activation.held and self._status == "running"
        return "restarting" if held else self._status

    @property
    def pending(self) -> int:
        """Messages in the journal that the body has not asked for."""
        return len(self.activation.inbox) if self.activation is not None else 0

    @property
    def epoch(self) -> int | None:
        """The epoch of the activation that lives here, or None."""
        return self.activation.epoch if self.activation is not None else None

    @property
    def unacked(self) -> int:
        """Messages in the journal that are not acknowledged: those that wait, and the one in hand."""
        if self.activation is not None:
            return len(self.activation.inbox) + (self.activation.in_hand is not None)
        return 0 if (info := self._info()) is None else info.last_seq - info.cursor

    @property
    def attempts(self) -> int:
        """How often the message in hand has failed since its last progress, as far as it is known here."""
        ledger = self.activation.ledger if self.activation is not None else None
        if ledger is not None:
            self._attempts = attempts_of(ledger.records)
        return self._attempts if self.unacked else 0

    @property
    def next_wake(self) -> float | None:
        """When the key is woken next, in UTC seconds, as it is committed; None while nothing is due."""
        return None if (info := self._info()) is None else info.wake_at

    @property
    def owner(self) -> Host | None:
        """The live host that owns the key, as it is committed; None while nobody does."""
        return None if (info := self._info()) is None else info.owner

    @property
    def code(self) -> str | None:
        """The fingerprint of the code that the newest life ran, as it is committed."""
        lives = self._runtime.store.activations_now(self.key)
        return lives[-1].code if lives else None

    @property
    def dead_letters(self) -> DeadLetters:
        """The messages of this key that were set aside and wait to be decided."""
        return DeadLetters(self._runtime, self.key)

    async def start_over(self, *, by: str = "you") -> None:
        """Have a drifted message begin from scratch: what it recorded answers no step, and its effects run again.

        Its records stay in the journal, and its steps keep their keys. Raises: NoCode without a drift, AlreadyDecided.
        """
        await self._runtime.choose(self.key, STARTED_OVER, by=by)

    async def accept(self, *, added: bool = False, by: str = "you") -> None:
        """Take the journal of a drifted message as it is.

        The step that is asked for takes the place of the recorded one, gets its result and does not run; a recorded
        step that is left out is settled. With `added` the step asked for is a new one beside those recorded: it runs,
        and what the message does not ask for in the end is settled. Raises: NoCode without a drift, AlreadyDecided.
        """
        await self._runtime.choose(self.key, ADDED if added else ACCEPTED, by=by)

    async def set_aside(self, *, by: str = "you") -> None:
        """Make a drifted message a dead letter. Raises: NoCode without a drift, AlreadyDecided."""
        await self._runtime.choose(self.key, SET_ASIDE, by=by)

    def _info(self) -> KeyInfo | None:
        return next(iter(self._runtime.store.keys_now(key=self.key)), None)
