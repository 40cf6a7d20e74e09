"""Execution: one run of a tool's code, and whatever comes of it as an outcome.

- A plain function runs in a thread, an async one on the loop; one that yields is read to its end.
- Whatever a tool raises is its outcome. Only a signal that ends this very run passes through; one that a tool got hold
  of elsewhere is its failure like any other.
- What it prints and its lines of progress are kept with the outcome, bounded.

Source: AGENTS 1.3, CASES 49. Knows nothing of models, approvals or what was asked.
"""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import to_jsonable_python

from workbench.agents.context import ToolContext
from workbench.agents.delegation import Delegation
from workbench.agents.inquiry import Inquiry
from workbench.agents.lines import is_cancelled
from workbench.agents.live import Nudge
from workbench.agents.memory import Memory
from workbench.agents.outcomes import error_of, outcome, raised
from workbench.agents.printed import Printed, printing
from workbench.agents.streams import drained, drained_async
from workbench.durable.functions import in_thread
from workbench.errors import NeedsApproval, NotPlain, Signal
from workbench.models.foreign_tools import verdict
from workbench.plain import decode, encode, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from workbench.agents.budget_spending import Spending
    from workbench.agents.context import Stopped
    from workbench.agents.live import Live
    from workbench.agents.studio import Assignment, Studio
    from workbench.agents.tools import Tool
    from workbench.durable.context import DurableContext

__all__ = ["ASKS", "Execution", "holds_a_signal"]


ASKS = "asks"
"""The status of a call whose tool wants a person's yes before it does anything; never that of a call that is over."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One run of a tool."""

    tool: Tool
    args: dict[str, Any]
    branch: str
    note: str
    approved: bool


class Execution:
    """Runs tools for one message of one run. `moved(branch, status)` hears where each call stands."""

    def __init__(
        self,
        context: DurableContext[Any, Any],
        studio: Studio,
        assignment: Assignment,
        live: Live,
        *,
        stopped: Stopped,
        moved: Callable[[str, str], None],
        spending: Spending | None = None,
    ) -> None:
        self._context = context
        self._studio = studio
        self._assignment = assignment
        self._live = live
        self._nudge = Nudge(studio.home, live.changes)
        self._stopped = stopped
        self._moved = moved
        self._spending = spending

    async def run(
        self, tool: Tool, args: dict[str, Any], branch: str, *, note: str = "", approved: bool = False
    ) -> dict[str, Any]:
        """The outcome of a tool that runs now, on `branch`; `approved` when a person said yes to it.

        Its status is `ASKS`, and its content the reason, when the tool wants such a yes first. Raises: CancelledError
        and the signals of its run.
        """
        printed = self._live.printed[branch] = Printed(self._nudge)
        delegation = self._delegation(branch)
        made = await self._ran(_Call(tool, args, branch, note, approved), printed, delegation)
        if delegation.handed is not None and made["status"] == "success":
            made["handed"] = delegation.handed
        made["progress"] = self._live.said(branch).lines
        if text := printed.text:
            made["stdout"] = text
        return made

    async def _ran(self, call: _Call, printed: Printed, delegation: Delegation) -> dict[str, Any]:
        tool, note = call.tool, call.note
        try:
            async with asyncio.timeout(tool.timeout) as limit:
                bound = tool.bind(tool.validate(call.args), self._tool_context(call, delegation, limit))
                value = await self._value(tool, bound, call.branch, printed)
            content = _kept(value, tool)
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            return raised(error, note)
        except NotPlain as error:
            return outcome("failed", error=error_of("NotPlain", f"{error}; the tool did run"), note=note)
        except BaseException as error:
            if self._context.over and holds_a_signal(error):
                raise
            return _said(error, call)
        return outcome("success", content=content, note=note)

    def _delegation(self, branch: str) -> Delegation:
        return Delegation(
            self._context,
            self._studio,
            self._assignment,
            branch,
            stopped=self._stopped,
            moved=self._moved,
            live=self._live,
        )

    def _tool_context(self, call: _Call, delegation: Delegation, limit: asyncio.Timeout) -> ToolContext:
        ledger, branch = self._context.ledger, call.branch
        return ToolContext(
            self._context,
            call_id=f"{ledger.key}#{ledger.origin}#{branch}",
            approved=call.approved,
            cancelled=self._stopped,
            progress=self._say(branch),
            principal=self._assignment.principal,
            conversation=self._assignment.conversation,
            home=self._studio.home,
            delegation=delegation,
            directory=self._studio.directory,
            memory=Memory(self._context, self._studio, self._assignment.principal),
            spending=self._spending,
            inquiry=Inquiry(
                self._context,
                self._assignment,
                branch,
                call.tool.name,
                moved=self._moved,
                limit=limit,
                clock=self._studio.clock,
            ),
        )

    def _say(self, branch: str) -> Callable[[str], None]:
        """How a call adds a line of progress, from any thread."""
        said, nudge = self._live.said(branch), self._nudge

        def say(line: str) -> None:
            said.say(line)
            nudge()

        return say

    async def _value(self, tool: Tool, bound: Callable[[], Any], branch: str, printed: Printed) -> Any:
        """What the tool gives, on the loop or through a thread; a stream of it read to its end."""
        home, live, say = self._studio.home, self._live, self._say(branch)

        def in_its_thread() -> Any:
            with printing(printed):
                value = bound()
                if inspect.isgenerator(value):
                    return drained(value, say, self._stopped.is_set)
                return value

        def entered(thread: Future[Any]) -> None:
            live.at_work[thread] = tool.name
            thread.add_done_callback(lambda _: home.hop(live.at_work.pop, thread, None))
            self._context.entered(thread)

        live.at_work[printed] = tool.name
        try:
            with printing(printed):
                plain = (in_its_thread, (), tool.name, self._context.pool, entered)
                value = bound() if tool.is_async else await in_thread(*plain)
                if inspect.isasyncgen(value):
                    return await drained_async(value, say)
                return await value if inspect.isawaitable(value) else value
        finally:
            live.at_work.pop(printed, None)


def _said(error: BaseException, call: _Call) -> dict[str, Any]:
    """The outcome of a tool that raised `error`."""
    status, words = ("asks", str(error)) if isinstance(error, NeedsApproval) else verdict(error) or ("failed", "")
    if status == "asks" and not call.approved:
        return outcome(ASKS, content=words)
    made = raised(error, call.note)
    if status == "retried":
        made["status"] = status
    if words and status != "asks":
        made["error"]["message"] = words
    return made


def _kept(value: Any, tool: Tool) -> Any:
    """A result as the journal has it; what has no type to come back to, as its JSON. Raises: NotPlain."""
    path = f"the result of tool {tool.name!r}"
    try:
        return decode(shape_of(tool.returns).encode(value, path))
    except NotPlain:
        try:
            made = to_jsonable_python(value)
        except (ValueError, RecursionError):  # it holds what has no JSON, or itself
            made = None
        if made is None:
            raise
        return decode(encode(made, path))


def holds_a_signal(error: BaseException) -> bool:
    """Whether it is a signal of the runtime, or a group with one in it."""
    return isinstance(error, Signal) or (isinstance(error, BaseExceptionGroup) and error.split(Signal)[0] is not None)
