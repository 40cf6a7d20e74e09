"""Verdicts: whether what a model gave ends its run, and how often in a row it may give what does not.

- Without a type of output, a text is the answer. With one, the answer is a call of `final_result`, or a text that is
  JSON of its shape; the verdict is an outcome in the journal, as of every call, so new code changes no old one.
- An answer beside other calls counts when all of those succeeded: it was made before their results were known.
- A turn of which nothing can be used is told why; more of them in a row than the agent's `retries` end the run.

Source: AGENTS 1.2, CASES 49, u48. Knows nothing of how tools run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.calls import OUTCOME, branch_of
from workbench.agents.outcomes import error_of, outcome, told
from workbench.agents.output import FINAL_RESULT, Misfit
from workbench.errors import RunFailed
from workbench.models.messages import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from workbench.agents.studio import Assignment
    from workbench.durable.context import DurableContext
    from workbench.models.messages import Call

__all__ = ["Given", "Verdicts"]

TAKEN = "The answer was taken."
BESIDE = "not every other call of this turn succeeded; look at their results, then answer"
SECOND = "an answer of this turn was taken before it"


@dataclass(frozen=True, slots=True)
class Given:
    """An answer, as it is kept: a text, or plain data that the agent's output is read from."""

    value: Any


class Verdicts:
    """What is made of the turns of one run. `moved(branch, status)` hears where each call that gives one stands."""

    def __init__(
        self, context: DurableContext[Any, Any], assignment: Assignment, moved: Callable[[str, str], None]
    ) -> None:
        self._context = context
        self._run = assignment.run
        self._agent = assignment.agent
        self._output = assignment.agent.output
        self._moved = moved
        self._useless = 0

    def among(self, turn: int, calls: list[Call]) -> list[int]:
        """The positions of the calls of a turn that are answers rather than work."""
        return [
            at
            for at, call in enumerate(calls)
            if call.tool == FINAL_RESULT and (self._output is not None or self._was_judged(branch_of(turn, at)))
        ]

    def _was_judged(self, branch: str) -> bool:
        """Whether the journal has a verdict there, given when the agent had a type of output."""
        return {record.name for record in self._context.ledger.recorded(branch)} == {OUTCOME}

    async def of_calls(
        self, turn: int, calls: list[Call], finals: Collection[int], results: list[ToolResult]
    ) -> tuple[list[ToolResult], Given | None]:
        """The results of all calls of a turn, in their order, and the answer among them.

        `results` are those of the calls that are no answers. Raises: RunFailed when the run has had its chances.
        """
        given: Given | None = None
        worked = all(result.outcome == "success" for result in results)
        others = iter(results)
        every: list[ToolResult] = []
        for position, call in enumerate(calls):
            if position not in finals:
                every.append(next(others))
                continue
            refusal = SECOND if given is not None else "" if worked else BESIDE
            verdict = await self._verdict(turn, position, call, refusal)
            accepted = verdict["status"] == "success"
            if accepted:
                given = Given(verdict["content"])
            words = TAKEN if accepted else told(verdict)
            every.append(ToolResult(call.id, call.tool, words, verdict["status"]))
        self._count(None if any(result.outcome != "retried" for result in every) else str(every[-1].content))
        return every, given

    async def _verdict(self, turn: int, position: int, call: Call, refusal: str) -> dict[str, Any]:
        branch = branch_of(turn, position)
        async with self._context.branch(branch):

            async def judge() -> dict[str, Any]:
                return self._judged(call, refusal)

            verdict: dict[str, Any] = await self._context.step(OUTCOME, judge)
        self._moved(branch, verdict["status"])
        return verdict

    def _judged(self, call: Call, refusal: str) -> dict[str, Any]:
        assert self._output is not None
        if refusal:
            return outcome("retried", error=error_of("NotTaken", refusal))
        if call.args is None:
            return outcome("retried", error=error_of("BadArguments", f"{call.error}; send a JSON object"))
        try:
            return outcome("success", content=self._output.of_arguments(call.args))
        except Misfit as misfit:
            words = f"{misfit}; call {FINAL_RESULT} again with what fits"
            return outcome("retried", error=error_of("BadOutput", words))

    async def of_text(self, turn: int, text: str) -> tuple[str, Given | None]:
        """The answer that a text is, or what the model is told of one that is none.

        Raises: RunFailed when the run has had its chances.
        """
        branch = f"t{turn}.text"
        output = self._output
        if output is None and not self._was_judged(branch):
            return "", Given(text)

        async def judge() -> dict[str, Any]:
            assert output is not None
            try:
                return outcome("success", content=output.of_text(text))
            except Misfit as misfit:
                words = f"{misfit}; answer by calling {FINAL_RESULT}"
                return outcome("retried", error=error_of("BadOutput", words))

        async with self._context.branch(branch):
            verdict: dict[str, Any] = await self._context.step(OUTCOME, judge)
        if verdict["status"] == "success":
            return "", Given(verdict["content"])
        self._count(told(verdict))
        return told(verdict), None

    def _count(self, useless: str | None) -> None:
        """Count a turn: why nothing of it can be used, or None. Raises: RunFailed."""
        self._useless = 0 if useless is None else self._useless + 1
        if self._useless > self._agent.retries:
            gave = f"no {self._output.name}" if self._output is not None else "nothing that can be used"
            times = "in its only try" if self._useless == 1 else f"{self._useless} times in a row"
            raise RunFailed(
                f"the model of {self._agent.name!r} gave {gave} {times}; the last time it was told {useless!r}; "
                "give it clearer instructions, or raise retries of the agent",
                run=self._run,
            )
