"""The tool context: what a tool may ask for while it runs. What `ctx: ToolContext` is.

Source: DESIGN 2. Knows nothing of models, and of requests only that they are asked and decided.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.agents.budget import Budget
from workbench.agents.delegation import AT_ONCE, CHILD
from workbench.agents.printed import printing_elsewhere
from workbench.durable.stages import STAGE
from workbench.errors import BadInput, StepMisuse
from workbench.given import duration
from workbench.process.drive import Cancelled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from datetime import timedelta

    from workbench.agents.agent import Agent
    from workbench.agents.budget import Amounts
    from workbench.agents.budget_spending import Spending
    from workbench.agents.delegation import Delegation
    from workbench.agents.inquiry import Inquiry
    from workbench.agents.memory import Memory
    from workbench.durable.context import DurableContext
    from workbench.durable.directory import Directory
    from workbench.durable.retries import Retry
    from workbench.loop import Home
    from workbench.process.definition import Definition
    from workbench.process.handle import Handle

OWNERS = frozenset(("notebook", "cli"))

__all__ = ["Principal", "Stopped", "ToolContext", "principal_or_none"]


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking. `channel` is notebook, cli, mcp, a2a or wire; who asks by the first two owns the bench."""

    name: str = "you"
    channel: str = "notebook"

    def __str__(self) -> str:
        return f"{self.channel}:{self.name}"

    @property
    def is_owner(self) -> bool:
        """Whether the bench is theirs: they sit at its notebook, or at a command line on its store."""
        return self.channel in OWNERS

    @classmethod
    def of_account(cls, account: str) -> Principal:
        """A principal whose account it is."""
        channel, _, name = account.partition(":")
        return cls(name, "notebook" if channel == "owner" else channel)

    @property
    def account(self) -> str:
        """Whose conversations and notes they have: the same at the notebook and at the command line."""
        return f"owner:{self.name}" if self.is_owner else str(self)

    def may_see(self, other: Principal) -> bool:
        """Whether what is of `other` may be shown to them: everything to the owner, to others what is theirs."""
        return self.is_owner or self.account == other.account


def principal_or_none(given: object) -> Principal | None:
    """The principal itself, or None where nobody is named. Raises: BadInput for what is neither."""
    if given is not None and not isinstance(given, Principal):
        raise BadInput(f"a principal is a Principal, found {given!r:.80}; write Principal(name, channel)")
    return given


class Stopped:
    """Whether a call should end: its run is cancelled, or its process ends. Safe from any thread."""

    __slots__ = ("_process", "_run")

    def __init__(self, process: Cancelled) -> None:
        self._process = process
        self._run = Cancelled()

    def is_set(self) -> bool:
        """Whether the call should end."""
        return self._run.is_set() or self._process.is_set()

    def set(self) -> None:
        """Say that the run is cancelled."""
        self._run.set()


class ToolContext:
    """What a tool gets for its `ctx` parameter, for one call."""

    def __init__(
        self,
        context: DurableContext[Any, Any],
        *,
        call_id: str,
        approved: bool,
        cancelled: Stopped,
        progress: Callable[[str], None],
        principal: Principal,
        conversation: str,
        home: Home,
        delegation: Delegation,
        inquiry: Inquiry,
        directory: Directory,
        memory: Memory,
        spending: Spending | None = None,
    ) -> None:
        self.call_id = call_id
        """Equal on every retry of one interrupted call, different for every new call, never made from the arguments."""
        self.approved = approved
        """Whether a person said yes to this very call; a tool that wants one raises NeedsApproval."""
        self.cancelled = cancelled
        """`is_set()` says, from any thread, whether the call should end; async tools are cancelled as well."""
        self.principal = principal
        self.conversation = conversation
        """The conversation that the call belongs to: the run's own, unless it was given one."""
        self._context = context
        self._progress = progress
        self._home = home
        self._delegation = delegation
        self._inquiry = inquiry
        self._directory = directory
        self._memory = memory
        self._spending = spending

    def step(
        self,
        name: str,
        fn: Callable[..., Any],
        *,
        returns: Any = None,
        retry: Retry | None = None,
        timeout: float | None = None,
    ) -> Awaitable[Any]:
        """Do something once, as `ctx.step` of a durable process: its result is in the journal before the next line.

        Raises: StepMisuse from a plain tool, whose thread cannot await; and what `ctx.step` raises.
        """
        self._must_be_async(f"step {name!r} is asked for", name)
        if name.startswith("@"):
            raise StepMisuse(
                f"step {name!r}: names that begin with @ are the workbench's own; choose another", name=name
            )
        return self._context.step(name, fn, returns=returns, retry=retry, timeout=timeout)

    async def ask(self, agent: Agent | str, message: str) -> Any:
        """Ask another agent, and give its answer: a run of its own, which a retry of this call finds again.

        The child's run ends with this one. Raises: StepMisuse from a plain tool; BadInput; NoCode for an agent that is
        not here; RunFailed or RunCancelled as the child ended.
        """
        self._must_be_async("another agent is asked for", CHILD)
        return await self._delegation.ask(agent, message)

    async def ask_all(self, agent: Agent | str, messages: Iterable[str], *, at_once: int = AT_ONCE) -> list[Any]:
        """Ask another agent once for each message, `at_once` at most at a time; the answers in the order of asking.

        All come to their end, whatever becomes of the others. Raises: as `ask`, for the first in order that failed.
        """
        self._must_be_async("another agent is asked for", CHILD)
        return await self._delegation.ask_all(agent, messages, at_once)

    async def move_to(self, stage: str) -> str:
        """Have the run in another stage of its agent, and give that; it is in the journal when this returns.

        Raises: StepMisuse from a plain tool; BadInput naming both stages and what is declared, when this one may not
        follow.
        """
        self._must_be_async("a stage", STAGE)
        return await self._delegation.move_to(stage)

    def hand_off(self, agent: Agent | str, message: str) -> None:
        """Have another agent take this run over once the calls of this turn are done.

        It sees `message`, and nothing else of what came before. The first call of a turn that hands off decides, and
        only a call that succeeds. Raises: BadInput, NoCode for an agent that is not here.
        """
        self._delegation.hand_off(agent, message)

    async def ask_user(self, schema: Any = str, message: str = "", *, expires: float | timedelta | None = None) -> Any:
        """Ask a person for a value and wait for it, through any crash: the same question, one answer.

        `schema` is a type (a model, a dataclass, an Enum, `int`, …) or a JSON schema, and says what the form has; a
        text in its place is the message of a question that a text answers. An answer that the type refuses is asked for
        again. The question waits for `expires` seconds, or for as long as it takes.

        After a crash while it waits the tool runs again up to here, also one that is not idempotent: what has effects
        before it belongs into steps. The tool's timeout does not run meanwhile.

        Raises: NotAnswered when it is dismissed, rejected or expires, StepMisuse from a plain tool, whose thread cannot
        wait, BadInput for what has no JSON schema.
        """
        self._must_be_async("a person is asked", "ask_user")
        if isinstance(schema, str):
            schema, message = str, schema
        within = duration("the expiry of a question", expires)
        return await self._inquiry.ask(schema, message or "A value is needed.", within)

    async def remember(self, text: str, *, tags: Iterable[str] = ()) -> str:
        """Keep a note for the principal of the run, once however often this call runs again; gives its id.

        Raises: StepMisuse from a plain tool, BadInput.
        """
        self._must_be_async("a note is kept", "remember")
        return await self._memory.remember(text, tags)

    async def recall(
        self, query: str | None = None, *, tag: str | None = None, limit: int = 10
    ) -> list[dict[str, Any]]:
        """The notes of the principal of the run, `{"id", "text", "tags", "at"}` each: those with any word of `query`.

        Those that fit best come first; without a query the newest. A replay recalls the same. Raises: StepMisuse from a
        plain tool, BadInput.
        """
        self._must_be_async("notes are recalled", "recall")
        return await self._memory.recall(query, tag, limit)

    def _must_be_async(self, what: str, name: str) -> None:
        if not self._home.here or asyncio.current_task() is None:
            raise StepMisuse(f"{what} from a plain tool; write the tool as async def to wait for it", name=name)

    def lookup(self, definition: Definition | str, /, **args: Any) -> Any:
        """The process of these arguments on the bench of the run, got or begun.

        Raises: StepMisuse from a plain tool, NoCode, BadInput.
        """
        self._must_be_async("a process is looked up", "lookup")
        with printing_elsewhere():
            return self._directory.lookup(definition, args, take=False)

    def call(self, name: str, handle: Handle, message: Any, *, id: str | None = None) -> Awaitable[Any]:
        """Call a process, once: a step whose key is the call's id unless another is given; gives its reply.

        Raises: StepMisuse from a plain tool, and what the call raises: ProcessEnded, CallRefused, DeadLettered, ….
        """
        self._must_be_async(f"process {handle.name!r} is called", name)
        return _elsewhere(self._context.call(name, handle, message, id=id))

    def spend(self, **amounts: Any) -> Awaitable[None]:
        """Spend amounts such as `tokens=60` from every budget that governs the run: all of them, once, or nothing.

        A run without a budget spends nothing. Raises: BudgetSpent when one of them has less left, BadInput, StepMisuse
        from a plain tool, whose thread cannot wait.
        """
        self._must_be_async("a budget is spent", "spend")
        return self._spend(Budget.of(amounts).limits)

    async def _spend(self, amounts: Amounts) -> None:
        if self._spending is not None:
            await self._spending.spend(amounts)

    def progress(self, text: str) -> None:
        """Show a line of progress; from any thread."""
        self._progress(str(text))


async def _elsewhere(called: Awaitable[Any]) -> Any:
    """A call that may begin the life of what it calls."""
    with printing_elsewhere():
        return await called
