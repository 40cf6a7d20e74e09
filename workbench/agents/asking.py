"""Asking: one model turn, asked for as often as its failures deserve.

- A try that failed is in the journal before the next one: how many there were, of which kind, and when to go on, so a
  kernel that is killed while it waits neither starts over nor forgets. A turn that succeeds at once has no such record.
- Each kind of failure has its chances (`CHANCES`); what another try cannot mend has none.
- A model that gave nothing usable hears why with the next try. The nudge is part of that request only: the history that
  is kept has no answer that was thrown away.

Source: AGENTS 1.2, CASES u44, u46, u50.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from workbench.durable.retries import Retry
from workbench.errors import ModelFailed
from workbench.models.failures import as_try
from workbench.models.messages import user_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.agents.agent import Agent
    from workbench.durable.context import DurableContext
    from workbench.models.model import Model, Request, Turn

__all__ = ["CHANCES", "NUDGES", "Asking"]

CHANCES = {"connection": 2, "server": 2, "cut_short": 2, "rate_limit": 4, "length": 1, "empty": 2}
"""How often a turn is asked for again after a failure of each kind; kinds that are not here have one try."""

NUDGES = {
    "empty": "Your last answer was empty. Answer in words, or call a tool.",
    "length": (
        "Your last answer reached the output limit and was thrown away; nothing of it was run. "
        "Answer again in fewer words, with shorter arguments."
    ),
}
"""What a model hears with the next try."""


class _Patience(Retry):
    """The waits between tries: doubling from a second, and none before a nudge, which changes the request."""

    def wait_after(self, number: int, error: BaseException | None = None) -> float:
        return 0.0 if getattr(error, "kind", None) in NUDGES else super().wait_after(number, error)


class Asking:
    """Asks the model of one agent, or `model`, for the turns of one run. `retry` goes with the step that a turn is."""

    def __init__(self, context: DurableContext[Any, Any], agent: Agent, model: Model | None = None) -> None:
        self._context = context
        self._agent = agent
        self._model = model
        self.retry = _Patience(times=1 + sum(CHANCES.values()), fatal=self._is_spent)

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        """One try, within that step; it knows of those before it. Raises: what the model raises, BadInput."""
        model, failed = self._model or self._agent.model, self._context.tries()
        if failed and (nudge := NUDGES.get(failed[-1].fields.get("kind", ""))):
            request = request.with_message(user_message(nudge))
        turn = await model.ask(request, on_text)
        return turn.after(as_try(model.name, each.fields, each.why) for each in failed)

    def _is_spent(self, error: Exception) -> bool:
        """Whether a failure has used up the chances of its kind."""
        if not isinstance(error, ModelFailed):
            return True
        failed = Counter(each.fields.get("kind") for each in self._context.tries())
        kind = error.fields.get("kind")
        return failed[kind] >= CHANCES.get(str(kind), 0)
