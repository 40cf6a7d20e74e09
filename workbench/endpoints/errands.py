"""Errands: what a caller has done at the bench, as runs of its own. All of it happens on the bench's loop.

- Whatever a caller begins is a durable run with the caller as its principal; it goes on without the request.
- A caller sees, follows and cancels its own runs; of all others it hears what it hears of none at all.
- What goes wrong inside is told by the run's id, not in its words, unless the words were meant for whoever calls.

Source: ENDPOINTS 1.7 and 5, DESIGN 2. Knows no protocol.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from workbench.agents.direct import direct, words_of
from workbench.agents.inquiry import ASKS
from workbench.agents.questions import INPUT_REQUIRED, asked_through
from workbench.durable.requests import PENDING
from workbench.errors import BadInput, NoCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workbench.agents.run import Run
    from workbench.agents.tools import Tool
    from workbench.bench import Workbench
    from workbench.endpoints.callers import Caller

__all__ = ["Errands", "Question", "Standing"]

MEANT = frozenset(("BadArguments", "BadInput", "ToolArgumentsInvalid", "NotAnswered", "NoCode", "UnknownTool"))
"""The errors whose words are for who called: what was handed over could not be used."""

AT_ONCE = 50
"""Runs that are looked at in one turn of the loop, when all are: some milliseconds."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a run asks of its caller: `schema` is the JSON schema of the answer."""

    id: str
    run: str
    message: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands, as its caller may know it. `words` say why it failed, or what it waits for.

    `conversation` is what its caller called it, or None; `question` is what it asks of its caller, where callers are
    asked.
    """

    run: str
    agent: str
    status: Literal["working", "waiting", "completed", "failed", "cancelled"]
    output: Any
    words: str
    began: float
    changed: float
    request: str = ""
    conversation: str | None = None
    question: Question | None = None

    @property
    def over(self) -> bool:
        """Whether it has come to its end."""
        return self.status in ("completed", "failed", "cancelled")

    def to_plain(self) -> dict[str, Any]:
        """As a caller reads it."""
        plain: dict[str, Any] = {"run": self.run, "status": self.status}
        if self.status == "completed":
            plain["output"] = self.output
        if self.words:
            plain["note"] = self.words
        return plain


class Errands:
    """What the callers of one door have done at a bench. `declines`: nobody is asked on their behalf."""

    def __init__(self, bench: Workbench, *, declines: bool) -> None:
        self._bench = bench
        self._more = {"approvals": "decline"} if declines else {}

    async def ask(
        self, caller: Caller, agent: str, message: str, conversation: str | None = None, *, once: str | None = None
    ) -> str:
        """Begin a run of an agent; gives its id. A conversation is the caller's own, whatever it calls it.

        The same `once` is the same run. Raises: NoCode.
        """
        return self._begun(caller, agent, message, conversation, self._more, once)

    async def call(self, caller: Caller, agent: str, tool: Tool, args: Mapping[str, Any], asks: bool = False) -> str:
        """Begin a run that is one call of a tool; gives its id. What the tool asks a person for, `asks` the caller.

        Raises: ToolArgumentsInvalid before anything begins.
        """
        tool.validate(args)
        words, questions = words_of(tool.name, args), {ASKS: "caller"} if asks else {}
        return self._begun(caller, agent, words, None, {**self._more, **direct(tool.name, args), **questions})

    async def wait(
        self,
        caller: Caller,
        id: str,
        seconds: float | None,
        tell: Callable[[str], None],
        *,
        until_it_waits: bool = False,
    ) -> Standing:
        """How a run stands once it is over or asks its caller, or after `seconds`; `tell` hears its progress.

        With `until_it_waits`, also once it waits for a person or for more to spend.
        Raises: NoCode for a run that is not the caller's.
        """
        run, changed = self._own(caller, id), asyncio.Event()
        stop = run.subscribe(changed.set)
        lines = _Lines(run, tell)
        try:
            async with asyncio.timeout(seconds):
                while not ((standing := self._standing(run)).over or standing.question is not None):
                    if until_it_waits and standing.status == "waiting":
                        break
                    lines.tell_new(standing)
                    await changed.wait()
                    changed.clear()
        except TimeoutError:
            standing = self._standing(run)
        finally:
            stop()
        lines.tell_new(standing)
        return standing

    async def standing(self, caller: Caller, id: str) -> Standing:
        """How a run stands now. Raises: NoCode for a run that is not the caller's."""
        return self._standing(self._own(caller, id))

    async def cancel(self, caller: Caller, id: str) -> Standing:
        """Cancel a run; gives how it ended, which may be an earlier end. Raises: NoCode, RunError."""
        run = self._own(caller, id)
        if not self._standing(run).over:
            await run.cancel(by=str(caller))
        return self._standing(run)

    async def answer(self, caller: Caller, question: str, value: Any) -> None:
        """Answer what a run of the caller asks it. Raises: NoCode, AlreadyDecided, BadInput for another value."""
        self._asked(caller, question)
        await self._bench.approvals.answer(question, value, by=str(caller), via=caller.channel)

    async def refuse(self, caller: Caller, question: str, reason: str) -> None:
        """Leave a question unanswered. Raises: NoCode, AlreadyDecided."""
        self._asked(caller, question)
        await self._bench.approvals.reject(question, reason, by=str(caller), via=caller.channel)

    async def runs(self, caller: Caller) -> list[Standing]:
        """The caller's runs, the newest first."""
        mine: list[Standing] = []
        for place, run in enumerate(self._bench.runs):
            if caller.principal.may_see(run.principal) and run.parent is None:
                mine.append(self._standing(run))
            if place % AT_ONCE == 0:
                await asyncio.sleep(0)  # others have their turn
        return mine[::-1]

    async def journal(self, caller: Caller, id: str) -> list[dict[str, Any]]:
        """Every message and step of a run, without what is the owner's alone. Raises: NoCode, as `standing`."""
        rows = self._bench.journal(self._own(caller, id).key)
        return [_for_callers(dict(row)) for row in rows if row["kind"] in ("message", "step")]

    def _begun(
        self,
        caller: Caller,
        agent: str,
        words: str,
        conversation: str | None,
        more: Mapping[str, Any],
        once: str | None = None,
    ) -> str:
        if agent not in self._bench.agents:
            raise NoCode(f"no agent {agent!r} here", name=agent)
        run = self._bench.runs.start(
            self._bench.agents[agent],
            words,
            id=f"{caller.channel}-{once or secrets.token_hex(6)}",
            conversation=None if conversation is None else f"{_room(caller, agent)}{conversation}",
            principal=caller.principal,
            more=more,
        )
        return run.id

    def _asked(self, caller: Caller, id: str) -> None:
        """Raises: NoCode for a question that a run of the caller does not ask it."""
        for request in self._bench.runs.studio.requests.known():
            if request.id == id and self._question(self._own(caller, str(request.body.get("run")))) is not None:
                return
        raise NoCode(f"no question {id!r}", name=id)

    def _question(self, run: Run) -> Question | None:
        if run.message.get(ASKS) != "caller":
            return None
        for request in self._bench.runs.studio.requests.known():
            body = request.body
            if request.status == PENDING and (body.get("run"), body.get("reason")) == (run.id, INPUT_REQUIRED):
                return Question(request.id, run.id, body["message"], body["schema"])
        return None

    def _own(self, caller: Caller, id: str) -> Run:
        try:
            return self._bench.runs.get(id, principal=caller.principal)
        except (NoCode, BadInput):
            raise NoCode(f"no run {id!r}", name=id) from None

    def _standing(self, run: Run) -> Standing:
        state = run.state
        status: Any = state["status"]
        words = ""
        if not run.ended and status in ("completed", "failed", "cancelled"):
            status = "working"  # it has come to its end, and the journal does not have it yet
        elif status == "failed":
            words = _failure(run.id, state["error"] or {})
        elif status == "cancelled":
            words = f"cancelled by {state.get('cancelled_by') or 'someone'}"
        elif self._waits_for_a_person(run.id):
            status, words = "waiting", "it waits for a person at the bench"
        elif not run.ended and not run.alive:
            status, words = "waiting", "it was cut off, and goes on when somebody at the bench recovers it"
        elif status == "waiting":
            words = "it waits for more to spend"
        elif status != "completed":
            status = "working"
        began = run.asked_at
        room, conversation = _room(run.principal, run.agent), run.conversation
        own = conversation.removeprefix(room) if conversation is not None and conversation.startswith(room) else None
        changed = state["ended_at"] or began
        question = self._question(run) if status == "waiting" else None
        return Standing(run.id, run.agent, status, state["output"], words, began, changed, run.request, own, question)

    def _waits_for_a_person(self, id: str) -> bool:
        requests = self._bench.runs.studio.requests.known()
        return any(request.status == PENDING and asked_through(request, id) for request in requests)


class _Lines:
    """The lines of progress of a run that were told."""

    def __init__(self, run: Run, tell: Callable[[str], None]) -> None:
        self._run = run
        self._tell = tell
        self._told: dict[str, int] = {}
        self._words = ""

    def tell_new(self, standing: Standing) -> None:
        """Tell those that were not told yet, and what it waits for when that is new."""
        for branch, progress in self._run.live.progress.items():
            lines, self._told[branch] = progress.after(self._told.get(branch, 0))
            for line in lines:
                self._tell(line)
        if standing.status == "waiting" and standing.words != self._words:
            self._tell(standing.words)
        self._words = standing.words


def _room(who: object, agent: str) -> str:
    """What the conversations of a caller with an agent begin with, so that nobody else's have the same name."""
    return f"{who}/{agent}/"


def _failure(id: str, error: Mapping[str, Any]) -> str:
    """Why a run failed, as its caller may know it."""
    if error.get("type") in MEANT:
        return str(error.get("message", ""))
    if error.get("type") in ("denied", "interrupted", "retried"):
        return str(error.get("message", ""))
    return f"it failed; who runs this bench finds the reason in run {id}"


def _for_callers(value: Any) -> Any:
    """A value of a journal without tracebacks, without what went wrong inside, and without instructions."""
    if isinstance(value, dict):
        kept = {key: _for_callers(each) for key, each in value.items() if key not in ("traceback", "instructions")}
        withheld = isinstance(value.get("traceback"), str) and value.get("type") not in MEANT
        return kept | {"message": "withheld"} if withheld else kept
    return [_for_callers(each) for each in value] if isinstance(value, list) else value
