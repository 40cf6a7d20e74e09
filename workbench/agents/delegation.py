"""Delegation: an agent that is asked by a call of another agent's run, as a run of its own.

- The child's id is made from its parent's call, so a retry and a replay reach the same child: what it finished is used,
  what it had begun goes on, nothing is asked twice.
- The parent waits for the end that the journal has of the child, wherever the child lives: no thread, and no look at
  the store that nothing announced.
- A child is bound to its parent: a kill of the parent is one of its children, whoever goes on with the parent goes on
  with them, and a parent that ends leaves none of them at work.
- How a child failed, or who cancelled it, is an error of the call, which the parent's model hears.

Source: PROCESSES 1.7 and 6.2, DESIGN 2, CASES 26 and 28. Knows nothing of turns or views.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from workbench.durable.stages import STAGE
from workbench.errors import (
    BadInput,
    NoCode,
    ProcessError,
    RunCancelled,
    RunError,
    RunFailed,
    StoreError,
    WorkbenchError,
)
from workbench.given import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from workbench.agents.agent import Agent
    from workbench.agents.context import Stopped
    from workbench.agents.live import Live
    from workbench.agents.run import Run
    from workbench.agents.studio import Assignment, Studio
    from workbench.durable.context import DurableContext
    from workbench.durable.steps import Ledger

__all__ = ["AT_ONCE", "CHILD", "Delegation", "child_id", "end_children", "end_of", "output_of", "until_ended"]

log = logging.getLogger("workbench")
CHILD = "@run"
"""The step that a child's end is recorded as."""
AT_ONCE = 4
DEEPEST = 32
"""How many runs may ask one another in a row, from the outermost on."""


def child_id(run: str, seq: int, branch: str, occurrence: int) -> str:
    """The id of the child that a call of `run` asks: `r1/t2.0`, the same on every retry of that call."""
    message = "" if seq == 1 else f"{seq}."
    return f"{run}/{message}{branch}{f'~{occurrence}' if occurrence else ''}"


def children_in(run: str, ledger: Ledger) -> list[str]:
    """The ids of the children that the message in hand has begun and not heard of, by its journal."""
    begun = {(r.branch, r.occurrence): r for r in ledger.records if r.kind == "wait" and r.name == CHILD}
    heard = {(r.branch, r.occurrence) for r in ledger.records if r.kind == "step" and r.name == CHILD}
    return [child_id(run, ledger.origin, *place) for place in begun if place not in heard]


async def end_children(studio: Studio, run: str, ledger: Ledger, by: str) -> None:
    """Cancel what a run has begun and will not hear of; nothing of it is at work when this returns."""
    children = [studio.runs[id] for id in children_in(run, ledger) if id in studio.runs]
    await asyncio.gather(*(_cancelled(child, by) for child in children))


async def _cancelled(child: Run, by: str) -> None:
    with suppress(RunError):  # nobody runs it now: its cancel is in its journal, and comes before whatever it would do
        await child.cancel(by)


async def _killed(child: Run, by: str) -> None:
    try:
        await child.kill(by)
    except (RunError, ProcessError):
        return  # it has ended meanwhile, or lives nowhere
    except StoreError as error:
        log.error("%s was killed and %s, which it asked, was not: %s", child.parent, child.id, error)


async def until_ended(run: Run, studio: Studio, seen: Callable[[bool], None]) -> None:
    """Return once the journal has the end of a run; `seen(waits)` hears whether it waits, at each change until then."""
    changed = asyncio.Event()

    def maybe() -> None:
        if run.process.activation is None:  # what lives here says so itself, to nobody else
            changed.set()

    stops = [source.subscribe(changed.set) for source in (run.process.states.changes, run.live.changes)]
    stops += [source.subscribe(maybe) for source in (studio.runtime.changes, studio.requests.changes)]
    try:
        while not run.ended:
            seen(run.state["status"] == "waiting")
            await changed.wait()
            changed.clear()
    finally:
        for stop in stops:
            stop()


def end_of(run: Run) -> dict[str, Any]:
    """How a run ended, as plain data."""
    state, error = run.state, run.state["error"]
    return {
        "run": run.id,
        "status": state["status"],
        "output": state["output"],
        "error": error and {"type": error["type"], "message": error["message"]},
        "by": state.get("cancelled_by"),
    }


def output_of(agent: str, end: dict[str, Any]) -> Any:
    """What the agent answered, by the end of its run. Raises: RunFailed, RunCancelled."""
    if end["status"] == "completed":
        return end["output"]
    if end["status"] == "cancelled":
        by = end["by"] or "someone"
        raise RunCancelled(f"{agent!r} gave no answer: its run was cancelled by {by}", run=end["run"])
    error = end["error"]
    raise RunFailed(f"{agent!r} failed with {error['type']}: {error['message']}", run=end["run"], **error, traceback="")


class Delegation:
    """What one call of a run asks of other agents. `moved` hears that it waits, and that it goes on."""

    def __init__(
        self,
        context: DurableContext[Any, Any],
        studio: Studio,
        assignment: Assignment,
        branch: str,
        *,
        stopped: Stopped,
        moved: Callable[[str, str], None],
        live: Live,
    ) -> None:
        self._context = context
        self._studio = studio
        self._assignment = assignment
        self._branch = branch
        self._stopped = stopped
        self._moved = moved
        self._live = live
        self.run = assignment.run
        self.handed: dict[str, str] | None = None
        self._shown = False
        self._waits: dict[str, bool] = {}  # the children that are out, and whether each of them waits

    async def ask(self, agent: Agent | str, message: str) -> Any:
        """The output of a run of `agent`.

        Raises: BadInput, NoCode for an agent that is not here, RunFailed and RunCancelled as the child ended.
        """
        name = agent if isinstance(agent, str) else agent.name
        if type(message) is not str or not message.strip():
            raise BadInput(f"agent {name!r} is asked in words, found {message!r}")
        return output_of(name, await self._context.call(CHILD, _Child(self, name), message))

    async def ask_all(self, agent: Agent | str, messages: Iterable[str], at_once: int = AT_ONCE) -> list[Any]:
        """The outputs of one run of `agent` for each message, in the order of asking, `at_once` at most at a time.

        All of them come to their end, whatever becomes of the others. Raises: as `ask`, the first in order.
        """
        if type(at_once) is not int or at_once < 1:
            raise BadInput(f"at_once is how many are asked at a time, a whole number from 1, found {shown(at_once)}")
        room = asyncio.Semaphore(at_once)

        async def one(place: int, message: str) -> tuple[Any, WorkbenchError | None]:
            async with self._context.branch(f"ask{place}"), room:
                try:
                    return await self.ask(agent, message), None
                except WorkbenchError as error:
                    return None, error

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(place, message)) for place, message in enumerate(messages)]
        ends = [task.result() for task in tasks]
        for _, error in ends:
            if error is not None:
                raise error
        return [output for output, _ in ends]

    def hand_off(self, agent: Agent | str, message: str) -> None:
        """Have another agent take the run over once the calls of this turn are done. Raises: BadInput, NoCode."""
        name = self._known(agent if isinstance(agent, str) else agent.name).name
        if type(message) is not str or not message.strip():
            raise BadInput(f"agent {name!r} takes over with a message in words, found {message!r}")
        self.handed = {"to": name, "message": message}

    async def move_to(self, stage: str) -> str:
        """Have the run in `stage`. Raises: BadInput naming both stages when the transition is not declared."""
        of, way = self._assignment, self._live.way
        stages = of.agent.stages
        if stages is None:
            raise BadInput(f"agent {of.agent.name!r} has no stages; declare them: Agent(…, stages={{…}})")

        async def moved() -> dict[str, Any]:
            before = way[-1] if way else None
            after = stages.check(before, stage, f"run {of.run!r}")
            if after != before:
                way.append(after)
            return {"agent": of.agent.name, "from": before, "to": after, "number": len(way)}

        move: dict[str, Any] = await self._context.step(STAGE, moved)
        self._moved(self._branch, "running")
        return str(move["to"])

    def _known(self, name: str) -> Agent:
        agent = self._studio.agents.get(name)
        if agent is None:
            raise NoCode(f"no agent {name!r} here to be asked; add it with bench.add(…)", name=name)
        return agent

    def begin(self, name: str, message: str, id: str) -> Run:
        """The run of a child, begun unless it was.

        Raises: NoCode, CallConflict when the id is another run, BadInput where too many ask one another already.
        """
        agent, of = self._known(name), self._assignment
        link = {"run": of.run, "call": self._branch, "chain": of.chain}
        if len(of.chain) >= DEEPEST and id not in self._studio.runs:
            asked = " → ".join(each["agent"] for each in of.chain[-3:])
            raise BadInput(
                f"agent {name!r} is not asked: {len(of.chain)} runs ask one another already, in the end {asked}; "
                "answer with what there is"
            )
        return self._studio.runs.start(
            agent,
            message,
            id=id,
            conversation=of.conversation,
            principal=of.principal,
            parent=link,
            governed_by=of.message.get("budget") or [],
            more={"approvals": "decline"} if of.declines else None,
        )

    async def heard(self, child: Run) -> dict[str, Any]:
        """How the child ended, waited for."""
        self._waits[child.id] = False
        try:
            if not child.alive:
                await child.recover()
            await self._ended(child)
        except asyncio.CancelledError:
            await self._let_go(child)
            raise
        finally:
            self._waits.pop(child.id, None)
        return end_of(child)

    async def _ended(self, child: Run) -> None:
        await until_ended(child, self._studio, lambda waits: self._see(child.id, waits))
        del self._waits[child.id]
        self._show()

    def _see(self, child: str, waits: bool) -> None:
        self._waits[child] = waits
        self._show()

    def _show(self) -> None:
        """Show how the call stands: it waits when all that it has out do."""
        waits = bool(self._waits) and all(self._waits.values())
        if waits != self._shown:
            self._shown = waits
            self._moved(self._branch, "waiting" if waits else "running")
        self._live.changes.tell()

    async def _let_go(self, child: Run) -> None:
        """The call is cancelled: with its life, with its run, or by its tool, which wants no answer any more."""
        killed_by = self._studio.runs[self._assignment.run].process.held_by
        if killed_by is not None:
            if child.alive and not child.ended:
                await self._surely(_killed(child, killed_by))
        elif not self._context.over and not self._stopped.is_set():  # a run that is cancelled sees to all its children
            await self._surely(_cancelled(child, self._assignment.agent.name))

    async def _surely(self, end: Coroutine[Any, Any, None]) -> None:
        """Wait for the end of a child, however often who waits is cancelled meanwhile."""
        ending = self._studio.home.start(end, name=f"end what {self._assignment.run} asked")
        while not ending.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([ending])
        ending.result()


class _Child:
    """A child as `ctx.call` calls it: its id is made of where the step stands."""

    def __init__(self, delegation: Delegation, agent: str) -> None:
        self.key = agent
        self._delegation = delegation

    async def call(self, message: str, *, id: str) -> dict[str, Any]:
        """Begin the child, or find it, and wait for its end."""
        _, seq, branch, _, occurrence = id.rsplit("#", 4)
        run = self._delegation.run
        child = self._delegation.begin(self.key, message, child_id(run, int(seq), branch, int(occurrence)))
        return await self._delegation.heard(child)
