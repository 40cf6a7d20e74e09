"""Inquiry: what a tool asks a person for while it runs, one question at a time, through any crash.

- A question is a request of the call's branch, made once: a replay finds it, and its answer, where it stood.
- A call that was cut off while its question waited was at rest there: it runs again up to the question, whatever its
  tool says of running again, since nothing behind the question has begun.
- While a person thinks, the time of the tool stands still.

Source: AGENTS 3 (AG-UI interrupts) and 4 (P1, ask the user).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from workbench.agents.answers import Form
from workbench.agents.questions import INPUT_REQUIRED, input_question
from workbench.errors import BadInput, NotAnswered
from workbench.plain import decode

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.agents.studio import Assignment, Studio
    from workbench.clock import Clock
    from workbench.durable.context import DurableContext
    from workbench.durable.requests import Request

__all__ = ["ASKS", "QUESTION", "Inquiry", "rests_at_a_question"]

ASKS = "asks"
"""The field of a run's first message that says who is asked: its caller, where nobody else is."""
QUESTION = "@question"
"""The name of the steps that questions are."""


class Inquiry:
    """The questions of one call. `limit` is the time that its tool has."""

    def __init__(
        self,
        context: DurableContext[Any, Any],
        assignment: Assignment,
        branch: str,
        tool: str,
        *,
        moved: Callable[[str, str], None],
        limit: asyncio.Timeout,
        clock: Clock,
    ) -> None:
        self._context = context
        self._assignment = assignment
        self._branch = branch
        self._tool = tool
        self._moved = moved
        self._limit = limit
        self._clock = clock

    async def ask(self, asked: Any, message: str, expires: float | None = None) -> Any:
        """The answer of a person, as `asked` has it, within `expires` seconds if given.

        Raises: NotAnswered, BadInput for what has no JSON schema.
        """
        form, words = Form(asked), message
        if self._assignment.declines and self._assignment.message.get(ASKS) != "caller":
            raise NotAnswered(
                f"the question {words!r} was asked of nobody: this run was begun where no person is asked",
                id=None,
                status="rejected",
                by="rule",
                reason="nobody is asked on its behalf",
            )
        while True:
            request = await self._decided(words, form.schema, expires)
            decision = request.decision or {}
            if request.status != "answered":
                reason = decision.get("reason")
                raise NotAnswered(
                    f"the question {words!r} was {request.status}{f': {reason}' if reason else ''}; nobody answered it",
                    id=request.id,
                    status=request.status,
                    by=decision.get("by"),
                    reason=reason,
                )
            try:
                return form.read(decision.get("value"))
            except BadInput as error:
                words = f"{message} (not accepted: {error})"

    async def _decided(self, message: str, schema: dict[str, Any], expires: float | None) -> Request:
        body = input_question(
            message,
            schema,
            run=self._assignment.run,
            agent=self._assignment.agent.name,
            tool=self._tool,
            call=self._branch,
            chain=self._assignment.chain,
            expires_at=None if expires is None else self._clock.now() + expires,
        )
        loop, ends = asyncio.get_running_loop(), self._limit.when()
        left = None if ends is None else ends - loop.time()
        self._limit.reschedule(None)
        self._moved(self._branch, "waiting")
        request = await self._context.ask(QUESTION, body)
        self._moved(self._branch, "running")
        self._limit.reschedule(None if left is None else loop.time() + left)
        return request


async def rests_at_a_question(context: DurableContext[Any, Any], studio: Studio, branch: str) -> bool:
    """Whether the call on `branch` was cut off while a question of its tool waited."""
    ledger = context.ledger
    heard = {
        decode(record.payload)["id"]
        for record in ledger.records
        if record.name == QUESTION and record.branch.partition("/")[0] == branch
    }
    return any(
        request.body.get("call") == branch and request.body.get("reason") == INPUT_REQUIRED and request.id not in heard
        for request in await studio.requests.find(key=ledger.key)
    )
