"""The loop of a durable agent: its library runs it, and every model request and tool call is a step of the run.

- A model request is a `turn` on the trunk, as in our own loop, so views, usage, forks and budgets know it.
- A tool call is a branch with intent and outcome. One that was begun and never ended is not done again, unless its
  tool says that it may be: the model is told that it may or may not have happened.
- A call that needs a person waits on its branch for the decision, through any crash.

Source: DESIGN rule 12. Knows nothing of the library's types.
"""

from __future__ import annotations

import asyncio
import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.agents.asking import Asking
from workbench.agents.calls import INTERRUPTED, OUTCOME, branch_of, with_places
from workbench.agents.durable_agent import DurableAgent
from workbench.agents.execution import holds_a_signal
from workbench.agents.gate import INTENT, Gate, Permit
from workbench.agents.lines import Line, is_cancelled
from workbench.agents.loop import Loop
from workbench.agents.outcomes import outcome, raised, told
from workbench.agents.secret_texts import secret_places
from workbench.agents.tools import Tool
from workbench.errors import RunFailed
from workbench.models.durability import Refused, Verdict, play, turn_of
from workbench.models.messages import ToolResult, tool_results_message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from workbench.models.durability import Deferred
    from workbench.models.messages import Call
    from workbench.models.model import Request, Turn

    Run = Callable[[], Awaitable[Any]]

__all__ = ["ForeignLoop"]

DEFERRED = "@deferred"
"""The step of a call that began, and then wanted a person's yes, or a result from elsewhere."""
DEFERS = ("approval_required", "call_deferred")
ANYTHING = {"type": "object", "properties": {}}
NO_RESULT = outcome("denied", content="It was approved, and no result was given. Nothing was done.")
STATUSES = {"model_retry": "retried", "validation_error": "retried", "tool_failed": "failed"}
"""What the library's kinds of results are among our outcomes; the others are successes."""


class ForeignLoop(Loop):
    """Handles one `ask` message of one run of a durable agent."""

    async def _converse(self) -> Any:
        agent, about = self._agent, self._assignment
        assert isinstance(agent, DurableAgent)
        self._history = await self._take_up(agent, about.request, 0)
        earlier = self._request(self._history).history[:-1]
        self._lines: dict[str, Line] = {}
        self._places: dict[str, str] = {}
        self._decided: dict[str, Any] = {}
        self._deferred: set[str] = set()
        self._open: list[tuple[str, Call]] = []
        self._results: dict[str, ToolResult] = {}
        self._gate = Gate(self._context, self._studio, about, self._moved)
        self._tasks: list[asyncio.Task[Any]] = []
        self._signal: BaseException | None = None
        self._trunk = Line()
        playing = asyncio.create_task(
            play(agent.foreign, about.request, _Records(self), about.run, agent.options, earlier),
            name=f"{about.run} plays",
        )
        self._tasks.append(playing)
        try:
            await self._trunk.serve(playing)
            return await playing
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            if self._signal is not None:
                raise self._signal

    async def turn(self, run: Run) -> dict[str, Any]:
        """A model request as a turn of the run; in the task of the trunk."""
        if self._open:
            self._history.append(tool_results_message([self._result(*each) for each in self._open]))
        self._asking = _Answering(run)
        number = self._state["turn"] + 1
        turn = await self._turn(number, [])
        self._history.append(turn.message)
        self._open = [(branch_of(number, position), call) for position, call in enumerate(turn.calls)]
        self._places |= {call.id: branch_of(number, position) for position, call in enumerate(turn.calls)}
        message: dict[str, Any] = turn.message["json"]
        return message

    def line_of(self, call: str | None) -> Line:
        """The line of a call by its id, begun when it is first asked for; the trunk for what is no call of a turn."""
        branch = self._places.get(call or "")
        if branch is None:
            return self._trunk
        line = self._lines.get(branch)
        if line is None:
            line = self._lines[branch] = Line()
            self._tasks.append(asyncio.create_task(self._stand(branch, line), name=f"{self._assignment.run} {branch}"))
        return line

    @property
    def trunk(self) -> Line:
        """The line of the run's own task."""
        return self._trunk

    async def _stand(self, branch: str, line: Line) -> None:
        """Take the steps of a call. A signal of the runtime ends the whole run, as one on the trunk does."""
        try:
            async with self._context.branch(branch):
                await line.serve()
        except (asyncio.CancelledError, Exception):
            raise
        except BaseException as signal:
            self._signal = self._signal or signal
            self._tasks[0].cancel()

    async def step(self, name: str, run: Run) -> Any:
        """Whatever else the library does once."""
        return await self._context.step(f"@{name}", run)

    async def call(self, id: str, tool: str, args: dict[str, Any], again: bool, run: Run) -> Any:
        """A tool call, in the task of its branch. Raises: Refused, RunFailed, and what the tool raised."""
        branch = self._places[id]
        made = self._context.concluded(OUTCOME)
        if made is None:
            made = await self._settled(branch, tool, args, again, run)
        self._moved(branch, made["status"])
        if made["status"] != "waiting":
            self._results[branch] = ToolResult(id, tool, told(made), made["status"])
        if "payload" in made:
            return made["payload"]
        if made["error"] is None:
            raise Refused(str(made["content"]))
        error = made["error"]
        raise RunFailed(f"{tool!r} failed with {error['type']}: {error['message']}", run=self._assignment.run, **error)

    async def _settled(self, branch: str, tool: str, args: dict[str, Any], again: bool, run: Run) -> dict[str, Any]:
        """The outcome of a call: by the policy, by a person, or of the tool."""
        note, done = "", self._context.recorded()
        if DEFERRED in done:
            self._deferred.add(branch)
        if branch not in self._decided:  # the library asks for no decision: the policy may
            known = self._tool(tool, False)
            permit = await self._gate.permit(known, args, branch, done)
            if isinstance(permit, dict):
                return await self._conclude(with_places(_with_payload(permit), known, args))
            if permit.args != args:
                words = f"A person changed the arguments to {permit.args!r}; call {tool} again with these."
                made = outcome("retried", content=words, note=permit.note)
                return await self._conclude(with_places(made, known, args))
            note = permit.note
        elif (made := self._decided[branch]) is not None:
            return await self._conclude(_with_payload(made))
        again_approved = branch in self._deferred and branch in self._decided
        if self._spending is not None and not again_approved:
            await self._spending.before_call(branch, self._moved)
        if DEFERRED in done and not again_approved:  # it began in an earlier life, and waits for a decision since
            await self._kept(INTENT, None)
            return {"status": "waiting", "payload": await self._kept(DEFERRED, None)}
        self._moved(branch, "running")
        if again_approved:
            async with self._context.branch("approved"):
                made = await self._carried_out(tool, args, again, run, note)
        else:
            made = await self._carried_out(tool, args, again, run, note)
        if made["status"] == "success" and made["payload"].get("kind") in DEFERS:
            self._deferred.add(branch)
            return {"status": "waiting", "payload": await self._kept(DEFERRED, made["payload"])}
        return await self._conclude(made)

    async def _carried_out(self, tool: str, args: dict[str, Any], again: bool, run: Run, note: str) -> dict[str, Any]:
        fresh = False

        async def intend() -> dict[str, Any]:
            nonlocal fresh
            fresh = True
            secret = secret_places(self._tool(tool, False).parameters, args)
            return {"tool": tool, "args": args, "again": again, "secret": secret}

        await self._context.step(INTENT, intend)
        if not fresh and not again:
            return outcome("interrupted", content=INTERRUPTED, note=note)
        try:
            payload = await run()
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            return raised(error, note)
        except BaseException as error:
            if self._context.over and holds_a_signal(error):
                raise
            return raised(error, note)
        kind = payload.get("kind") if isinstance(payload, dict) else None
        words = payload.get("message") if kind in STATUSES else None
        made = outcome(STATUSES.get(str(kind), "success"), content=payload.get("result", words), note=note)
        return {**made, "payload": payload}

    async def _conclude(self, made: dict[str, Any]) -> dict[str, Any]:
        if made["status"] != "success":
            self._context.conclude()
        kept: dict[str, Any] = await self._kept(OUTCOME, made)
        return kept

    async def _kept(self, name: str, value: Any) -> Any:
        """What a step is to hold, once it is in the journal."""

        async def recorded() -> Any:
            return value

        return await self._context.step(name, recorded)

    async def decision(self, asked: Deferred, _: Run) -> Verdict:
        """What a person says of a call, waited for in the task of its branch."""
        branch, tool = self._places[asked.id], self._tool(asked.tool, True)
        if branch in self._deferred:
            permit = await self._gate.demand(tool, asked.args, branch, "")
        else:
            permit = await self._gate.permit(tool, asked.args, branch, self._context.recorded())
        if isinstance(permit, Permit) and not asked.elsewhere:
            self._decided[branch] = None
            return Verdict(args=permit.args)
        made = NO_RESULT if isinstance(permit, Permit) else permit
        answered = made["status"] == "success"
        if answered and not asked.elsewhere:
            self._decided[branch] = made  # the library carries it out, and what it is given is the answer
            return Verdict(args=asked.args)
        await self._conclude(with_places(made, tool, asked.args))
        self._moved(branch, made["status"])
        self._results[branch] = ToolResult(asked.id, asked.tool, told(made), made["status"])
        return Verdict(result=made["content"]) if answered else Verdict(refusal=str(made["content"]))

    def _result(self, branch: str, call: Call) -> ToolResult:
        """What came of a call of the last turn; the library gave back itself what never came to a tool."""
        return self._results.get(branch) or ToolResult(call.id, call.tool, "The call was not made.", "retried")

    def _tool(self, name: str, asks: bool) -> Tool:
        """The tool as far as it is known here; one of a connection has a schema that takes anything."""
        known = self._agent.tools.get(name)
        tool = copy.copy(known) if known is not None else Tool.from_schema(dict, name, "", ANYTHING)
        tool.approval = asks
        return tool


class _Answering(Asking):
    """Asks whoever the library asks: a model request is handed back to the task that wants it."""

    def __init__(self, run: Run) -> None:
        self.retry = None  # type: ignore[assignment]  # the library has tries of its own
        self._run = run

    async def ask(self, request: Request, on_text: Callable[[str], None]) -> Turn:
        return turn_of(await self._run())


class _Records:
    """The recorder of one run, for tasks of the library."""

    def __init__(self, loop: ForeignLoop) -> None:
        self._loop = loop

    async def turn(self, body: Run) -> Any:
        return await self._loop.trunk.ask(self._loop.turn, body)

    async def call(self, id: str, tool: str, args: dict[str, Any], again: bool, body: Run) -> Any:
        return await self._loop.line_of(id).ask(partial(self._loop.call, id, tool, args, again), body)

    async def other(self, name: str, call: str | None, body: Run) -> Any:
        return await self._loop.line_of(call).ask(partial(self._loop.step, name), body)

    async def decide(self, asked: Sequence[Deferred]) -> dict[str, Verdict]:
        async def nothing() -> None:
            """A decision runs nothing here."""

        asking = [self._loop.line_of(each.id).ask(partial(self._loop.decision, each), nothing) for each in asked]
        return dict(zip((each.id for each in asked), await asyncio.gather(*asking), strict=True))


def _with_payload(made: dict[str, Any]) -> dict[str, Any]:
    """An outcome that a person gave in place of the tool, as the library takes results."""
    if made["status"] != "success":
        return made
    return {**made, "payload": {"kind": "tool_return", "result": made["content"]}}
