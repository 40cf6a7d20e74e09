"""The life of a key in this kernel: an activation and the body that it drives, from the log to how the body ended.

- What the log holds is delivered first, and the death that ended the life before is counted.
- A state is encoded when it is yielded, by the definition that this life began with.
- A body that returns with a message in hand has handled it.

Source: PROCESSES 2.2 and 2.9. Knows nothing of claims, of other hosts, or of what follows.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.durable.activation import Activation
from workbench.durable.attempts import Attempts
from workbench.durable.context import DurableContext
from workbench.durable.staging import Staging
from workbench.errors import Drift, Signal
from workbench.process.drive import Outcome, current_owner, drive
from workbench.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.durable.definition import DurableDefinition
    from workbench.durable.runtime import Runtime
    from workbench.store.claims import Begun

__all__ = ["Life"]

log = logging.getLogger("workbench")


class Life:
    """One life. `published` hears the text of every state that the body yields.

    Raises: BadInput when the stored state is of another version and nothing migrates it; what `migrate` raises.
    """

    __slots__ = ("_attempts", "_begun", "_definition", "_published", "_runtime", "_staging", "activation", "context")

    def __init__(
        self,
        runtime: Runtime,
        definition: DurableDefinition,
        key: str,
        begun: Begun,
        published: Callable[[str], None],
    ) -> None:
        restored, loaded = None, begun.loaded
        assert loaded is not None
        if loaded.snapshot is not None:
            text, restored = definition.restore(key, loaded.snapshot, loaded.version)
            if text is not loaded.snapshot:
                loaded = replace(loaded, snapshot=text)
        self._runtime = runtime
        self._definition = definition
        self._begun = begun
        self._published = published
        self.activation = Activation(
            key,
            definition.name,
            runtime.store,
            loaded,
            version=definition.version,
            redeliver=runtime.redeliver,
            now=runtime.clock.now,
        )
        self.context: DurableContext[Any, Any] = DurableContext(
            self.activation,
            restored,
            definition.shapes[0],
            self._publish,
            clock=runtime.clock,
            pool=runtime.pool,
            requests=runtime.requests,
        )
        self._attempts = Attempts(self.activation, definition)
        stages = definition.stages
        self._staging = Staging(stages, self.activation, restored) if stages is not None else None

    async def take_up(self) -> Outcome | None:
        """Deliver what waits; gives how the life ended if that is already its end."""
        begun, activation = self._begun, self.activation
        assert begun.loaded is not None
        try:
            for logged in begun.waiting:
                activation.replay(logged)
            if begun.waiting:
                activation.inbox[0].records = list(begun.head)
                if begun.loaded.cut_off and not begun.asks:
                    await self._attempts.count_a_death()
        except Exception as error:
            return Outcome("crashed", error)
        except Signal as signal:
            return Outcome("signalled", signal)
        return None

    async def drive(self, args: dict[str, Any]) -> Outcome:
        """Run the body to its end, in the current task."""
        activation = self.activation
        current_owner.set(self.context.owner)
        body = self._definition.body(self.context, **args)
        outcome = await drive(body, self._publish, lambda: activation.closed or activation.broken is not None)
        if outcome.how == "done" and activation.in_hand is not None:
            try:
                await activation.finish()
            except BaseException as error:
                outcome = Outcome("signalled", error)
        return outcome if activation.broken is None else Outcome("signalled", activation.broken)

    def _publish(self, state: Any) -> None:
        text = self._definition.shapes[1].encode(state, "state")
        if self._staging is not None:
            self._staging.see(state)
        self.activation.snapshot = text
        self._published(text)

    async def end(self) -> None:
        """End what the body owns, in the order of PROCESSES 1.7; nothing more is written."""
        self.context.cancelled.set()
        await self.context.owner.end()
        self.activation.close()

    async def count_a_failure(self, error: BaseException) -> bool:
        """Count the message that failed, and set it aside when its attempts are used up.

        False when the body failed outside any message, which nothing mends. Raises: what the store raises.
        """
        delivery = self.activation.in_hand
        if delivery is None or isinstance(error, Drift):
            return False
        log.error("%s failed in message %s: %r", self.activation.key, delivery.seq, error, exc_info=error)
        await self._attempts.count_a_failure(delivery, f"{type(error).__name__}: {words_of(error)}")
        return True
