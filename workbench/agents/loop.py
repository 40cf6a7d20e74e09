"""The agent's loop, the handler of one message: ask the model, carry out its calls, tell it, until it answers.

- A model turn is a step named `turn`, so no turn is asked for twice; the text that streams meanwhile is shown, not
  stored.
- Every way to end is a state: completed, failed with its error, cancelled with its open approvals closed.
- A cancel that comes before the end wins over whatever it makes fail; one that comes after it changes nothing.

Source: AGENTS 1.2, DESIGN 1, CASES 28, u46, u50.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.agents.asking import Asking
from workbench.agents.budget_spending import Spending
from workbench.agents.calls import ToolCalls, calls_done
from workbench.agents.context import Stopped
from workbench.agents.delegation import end_children
from workbench.agents.direct import DIRECT, asked_directly, given_directly
from workbench.agents.history import Earlier
from workbench.agents.instructions import instructions_of
from workbench.agents.kin import stages_taken
from workbench.agents.usage import no_usage, with_turn
from workbench.agents.verdicts import Verdicts
from workbench.agents.working_time import seconds_of_calls, took
from workbench.durable.requests import PENDING
from workbench.errors import AlreadyDecided, NoCode, RunFailed, StepFailed, WorkbenchError
from workbench.models.messages import tool_results_message, user_message
from workbench.models.model import Request, Turn

if TYPE_CHECKING:
    from workbench.agents.agent import Agent
    from workbench.agents.live import Live
    from workbench.agents.studio import Assignment, Studio
    from workbench.durable.context import DurableContext

__all__ = ["FINAL", "FIRST", "TURN", "Loop", "first_state"]

TURN = "turn"
FIRST = "ask"  # the call id of a run's first message, so that it lands once; its answer is how the run ended
FINAL = frozenset(("completed", "failed", "cancelled"))
HEARING = 3.0  # seconds that the threads of a cancelled run have to end; who does not listen is left behind, and named
SHOW_EVERY = 0.05  # seconds between two published states while text streams


def first_state(agent: str, request: str) -> dict[str, Any]:
    """The state of a run before its first turn."""
    return {
        "status": "queued",
        "agent": agent,
        "request": request,
        "turn": 0,
        "text": "",
        "calls": {},
        "output": None,
        "error": None,
        "usage": no_usage(),
        "ended_at": None,
    }


class Loop:
    """Handles one `ask` message of one run."""

    def __init__(self, context: DurableContext[Any, Any], studio: Studio, assignment: Assignment, live: Live) -> None:
        self._context = context
        self._studio = studio
        self._assignment = assignment
        self._agent = assignment.agent
        self._live = live
        self._stopped = Stopped(context.cancelled)
        self._spending = Spending.of(context, studio.runtime, assignment)
        self._state = {**first_state(self._agent.name, assignment.request), "status": "running"}
        self._cancelled_by: str | None = None
        self._show_timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._part = studio.conversations.part(context, assignment)
        self._said: list[list[dict[str, Any]]] = []
        if self._part is not None and self._part.waits:
            self._state["status"] = "queued"

    async def carry_out(self) -> dict[str, Any]:
        """The state in which the run ends."""
        self._task = asyncio.current_task()
        self._live.ledger = self._context.ledger
        self._context.on_arrival(self._arrived)
        try:
            self._show()
            await self._context.caught_up()  # a cancel that was sent before strikes here, before anything begins
            await self._join()
            self._state["output"] = await self._answer()
            self._state["status"] = "completed"
        except (asyncio.CancelledError, Exception) as error:
            if self._cancelled_by is not None and not self._context.cancelled.is_set():
                await self._cancelled()
            elif isinstance(error, Exception):
                self._failed(error)
            else:
                raise
        finally:
            self._stop_listening()
        if self._state["status"] != "cancelled":
            await self._end_children(self._agent.name)
        if any(r.key == self._context.ledger.key and r.status == PENDING for r in self._studio.requests.known()):
            await self._close_requests("the run", "the run ended without it")
        if self._spending is not None and self._state["status"] != "completed":
            await self._spending.leave()
            self._state["reason"] = None
        if self._part is not None:
            said = [message for part in self._said for message in part]
            await self._part.leave(said, calls_done(self._context.ledger.records, said))
        self._state["text"] = ""
        self._state["ended_at"] = self._studio.clock.now()
        return dict(self._state)

    async def _join(self) -> None:
        """Take its turn in its conversation, if it is in one: queued behind the runs before it."""
        if self._part is None:
            return
        summary = await self._part.join(self._queued)
        self._state["status"] = "running"
        if summary is not None:
            self._count(summary)
        self._show()

    def _queued(self, key: str) -> None:
        self._state["status"] = "queued"
        self._show()

    async def _answer(self) -> Any:
        if (call := self._assignment.message.get(DIRECT)) is None:
            return await self._converse()
        self._appoint(self._agent)
        self._state["turn"] = 1

        async def ask() -> dict[str, Any]:
            return asked_directly(call).to_plain()

        turn = Turn.from_plain(await self._context.step(TURN, ask))
        self._count(turn)
        [result] = await self._calls.carry_out(1, turn.calls)
        return given_directly(result)

    async def _converse(self) -> Any:
        """The output, as it is kept: a text, or plain data that the agent's output is read from."""
        number = 0
        taken: Counter[str] = Counter()  # by agent: a run that is handed around in a circle comes to an end
        history = await self._take_up(self._agent, self._assignment.request, number)
        while taken[self._agent.name] < self._agent.max_turns:
            number += 1
            taken[self._agent.name] += 1
            turn = await self._turn(number, history)
            history.append(turn.message)
            if turn.calls:
                finals = self._verdicts.among(number, turn.calls)
                results = await self._calls.carry_out(number, turn.calls, but=finals)
                results, given = await self._verdicts.of_calls(number, turn.calls, finals, results)
                history.append(tool_results_message(results))
            else:
                words, given = await self._verdicts.of_text(number, turn.text)
                if given is None:
                    history.append(user_message(words))
            if (handed := self._calls.handed) is not None:
                history = await self._hand_over(handed["to"], handed["message"], number)
            elif given is not None:
                return given.value
        raise RunFailed(
            f"run {self._assignment.run!r} used all of its {self._agent.max_turns} model turns without an answer; "
            f"raise max_turns of {self._agent.name!r}",
            run=self._assignment.run,
        )

    async def _take_up(self, agent: Agent, request: str, after: int) -> list[dict[str, Any]]:
        """Let `agent` go on after the turn `after`; gives the history that it begins with."""
        about = self._appoint(agent)
        begun = any(each.name == TURN and each.occurrence >= after for each in self._context.ledger.recorded(""))
        self._instructions = await instructions_of(self._context, about, request, begun=begun)
        self._said.append([user_message(request)])
        return self._said[-1]

    def _appoint(self, agent: Agent) -> Assignment:
        """Have what the run does done by `agent`; gives what it is about from here on."""
        self._agent = agent
        self._assignment = about = replace(self._assignment, agent=agent)
        self._live.way = stages_taken(self._context.ledger.records, agent.name)
        self._asking = Asking(self._context, agent)
        self._spending = Spending.of(self._context, self._studio.runtime, about)
        self._verdicts = Verdicts(self._context, about, self._moved)
        self._calls = ToolCalls(
            self._context,
            self._studio,
            about,
            self._live,
            stopped=self._stopped,
            moved=self._moved,
            spending=self._spending,
        )
        return about

    async def _hand_over(self, name: str, message: str, after: int) -> list[dict[str, Any]]:
        """Let another agent go on with a message. Raises: NoCode when it is not here any more."""
        agent = self._studio.agents.get(name)
        if agent is None:
            raise NoCode(f"the run was handed to {name!r}, which is not here; add it with bench.add(…)", name=name)
        self._state["holder"] = name
        history = await self._take_up(agent, message, after)
        self._show()
        return history

    async def _turn(self, number: int, history: list[dict[str, Any]]) -> Turn:
        self._state["turn"] = number
        if self._spending is not None:
            worked = seconds_of_calls(self._context.ledger.records, number - 1)
            await self._spending.before_turn(worked, self._waits)
        self._live.began.setdefault(number, self._studio.clock.now())

        async def ask() -> dict[str, Any]:
            self._live.text[number] = ""
            listener = _Listener(self, number)
            return (await self._asking.ask(self._request(history), listener)).to_plain()

        turn = Turn.from_plain(await self._context.step(TURN, ask, retry=self._asking.retry))
        if self._spending is not None:
            await self._spending.after_turn(turn, took(self._context.ledger.records, TURN))
        self._count(turn)
        self._live.text.pop(number, None)
        self._state["text"] = ""
        self._show()
        return turn

    def _request(self, history: list[dict[str, Any]]) -> Request:
        """What the next turn is asked with; who was handed the run is told nothing of what came before."""
        agent = self._agent
        earlier = Earlier() if self._part is None or len(self._said) > 1 else self._part.earlier
        told, omitted = earlier.told(history, agent.history)
        output = None if agent.output is None else agent.output.spec
        return Request(self._instructions, told, agent.specs(), agent.settings, output, omitted)

    def _count(self, turn: Turn) -> None:
        self._state["usage"] = with_turn(self._state["usage"], turn)

    def streamed(self, number: int, text: str) -> None:
        """Show what a turn has said so far."""
        self._live.text[number] = self._state["text"] = text
        self._live.changes.tell()
        if self._show_timer is None:
            self._show_timer = self._studio.home.loop.call_later(SHOW_EVERY, self._show_text)

    def _show_text(self) -> None:
        self._show_timer = None
        if not self._context.cancelled.is_set():
            self._show()

    def _waits(self, stops: bool) -> None:
        """A budget stops the run before its next turn, or lets it go on."""
        self._state["status"] = "waiting" if stops else "running"
        self._show()

    def _moved(self, branch: str, status: str) -> None:
        self._state["calls"] = {**self._state["calls"], branch: status}
        standing = set(self._state["calls"].values())
        self._state["status"] = "waiting" if "waiting" in standing and "running" not in standing else "running"
        self._show()

    def _show(self) -> None:
        if self._spending is not None:
            self._state["reason"] = self._spending.reason
        if self._live.way:
            self._state["stage"] = self._live.way[-1]
        self._context.show(dict(self._state))
        self._live.changes.tell()

    def _arrived(self, message: Any) -> None:
        """A message came behind the one in hand: a cancel stops it."""
        is_cancel = isinstance(message, dict) and message.get("type") == "cancel"
        if is_cancel and self._cancelled_by is None and self._task is not None:
            self._cancelled_by = message.get("by", "you")
            self._stopped.set()
            self._task.cancel()

    def _stop_listening(self) -> None:
        """From here on nothing interrupts the end: a cancel that comes now finds a run that is over."""
        task, self._task = self._task, None
        if task is not None and self._cancelled_by is not None and not self._context.cancelled.is_set():
            task.uncancel()
        if self._show_timer is not None:
            self._show_timer.cancel()

    def _failed(self, error: Exception) -> None:
        while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]  # the calls of a turn run in a group, which is no reason
        self._state["status"] = "failed"
        if isinstance(error, StepFailed):  # a turn: what failed in it is what people want to read
            self._state["error"] = {name: error.fields[name] for name in ("type", "message", "traceback")}
            return
        if not isinstance(error, WorkbenchError):
            error.add_note(f"in run {self._assignment.run!r} of agent {self._agent.name!r}")
        self._state["error"] = {
            "type": type(error).__qualname__,
            "message": str(error),
            "traceback": "".join(traceback.format_exception(error)),
        }

    async def _end_children(self, by: str) -> None:
        """Leave no run at work that this one has asked and will not hear of."""
        await end_children(self._studio, self._assignment.run, self._context.ledger, by)

    async def _close_requests(self, by: str | None, reason: str) -> None:
        """Leave no question open that nobody waits for."""
        for request in await self._studio.requests.find(key=self._context.ledger.key, status=PENDING):
            with suppress(AlreadyDecided):  # a person was quicker; what was decided is not run
                await self._studio.requests.decide(request.id, "superseded", {"by": by, "reason": reason})

    async def _cancelled(self) -> None:
        self._context.give_up()
        await self._end_children(str(self._cancelled_by))
        await self._close_requests(self._cancelled_by, "the run was cancelled")
        with suppress(TimeoutError):
            async with asyncio.timeout(HEARING):
                await self._context.threads_over()
        self._state["status"] = "cancelled"
        self._state["cancelled_by"] = self._cancelled_by
        if left := sorted(set(self._live.at_work.values())):
            self._state["left_at_work"] = left


class _Listener:
    """Hears the text of one turn as it comes, and that it was void."""

    def __init__(self, loop: Loop, number: int) -> None:
        self._loop = loop
        self._number = number
        self._text = ""

    def __call__(self, piece: str) -> None:
        self._text += piece
        self._loop.streamed(self._number, self._text)

    def begin_again(self) -> None:
        """Forget what was said, if anything was."""
        if self._text:
            self._text = ""
            self._loop.streamed(self._number, "")
