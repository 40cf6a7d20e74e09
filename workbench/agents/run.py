"""The run: one agent run as a person holds it. Await it for its output; every button is a verb here that raises.

- Awaiting waits beside the run, never in it: interrupting the cell ends the cell, and the run goes on.
- While it is awaited a slow ticker keeps the loop awake, without which a kernel notices an interrupt only when the
  awaited thing ends.
- A killed run keeps the last status of its journal; `alive` is False, and `recover()` carries on.

Source: DESIGN 2 and 3, KERNEL B, CASES u8, u16, u17, u19.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.as_test import source_of_test, write_test
from workbench.agents.run_record import RunRecord
from workbench.agents.team import Team
from workbench.errors import (
    BadInput,
    NeedsDecision,
    NoCode,
    ProcessEnded,
    RunCancelled,
    RunError,
    RunFailed,
    RunInterrupted,
)
from workbench.events import republish
from workbench.given import predicate
from workbench.process.handle import ENDED

if TYPE_CHECKING:
    from workbench.agents.approval import Approval
    from workbench.agents.budget import Amounts

__all__ = ["Run"]

TICK = 0.2
PATIENCE = 5.0
"""Seconds that a cancel waits for what is cancelled."""


class Run(RunRecord):
    """A run. `id`, `key`, `agent`, `process` (the durable process below it)."""

    @property
    def children(self) -> list[Run]:
        """The runs that this one asked, in order of asking."""
        return self._studio.runs.children(self.id)

    @property
    def asked(self) -> list[Run]:
        """The runs that its calls asked, in order of asking; of a fork also those of its origin that it heard of."""
        return [self._studio.runs[one.id] for one in self.facts().kin]

    @property
    def team(self) -> Team:
        """The run with all that it asked, as one thing to look at: a graph and a table."""
        if self._team is None:
            self._team = Team(self, self._studio)
        return self._team

    def __await__(self) -> Generator[Any, None, Any]:
        return self._outcome().__await__()

    async def _outcome(self) -> Any:
        """The output, waited for. Raises: RunFailed, RunCancelled, RunInterrupted, NeedsDecision."""
        while not self._over():
            if self._cannot_hear() and (self._pending() is not None or self.reason is not None):
                raise NeedsDecision(
                    f"run {self.id!r} waits for {'a budget' if self._pending() is None else 'an approval'}, and this "
                    "kernel takes no clicks while a cell waits; decide it in the panel or with bench.approvals or "
                    "run.extend, then await the run again; ipykernel 7.4 or newer can do both at once",
                    run=self.id,
                )
            await self._change()
        republish(self)
        return self._end()

    def _end(self) -> Any:
        state = self.state
        if state["status"] == "completed":
            return self._typed(state["output"])
        if state["status"] == "failed":
            error = state["error"]
            failed = RunFailed(f"run {self.id!r} failed with {error['type']}: {error['message']}", run=self.id, **error)
            if error.get("traceback"):
                failed.add_note(error["traceback"])
            raise failed
        if state["status"] == "cancelled":
            raise RunCancelled(
                f"run {self.id!r} was cancelled by {state.get('cancelled_by') or 'someone'}", run=self.id
            )
        if self.process.error is not None:
            raise RunFailed(
                f"run {self.id!r} stopped with {type(self.process.error).__name__}: {self.process.error}",
                run=self.id,
                type=type(self.process.error).__name__,
                message=str(self.process.error),
                traceback="",
            ) from self.process.error
        raise RunInterrupted(
            f"run {self.id!r} is not running, its journal is whole; await run.recover() carries on", run=self.id
        )

    async def _change(self) -> None:
        """Return when a state or a request of the run may have changed, or after a tick."""
        change: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def changed() -> None:
            if not change.done():
                change.set_result(None)

        stops = [source.changes.subscribe(changed) for source in (self.process.states, self._runtime.requests)]
        try:
            await asyncio.wait([change], timeout=TICK)
        finally:
            for stop in stops:
                stop()

    @staticmethod
    def _cannot_hear() -> bool:
        """Whether this kernel delivers clicks only after the awaiting cell."""
        kernel = sys.modules.get("ipykernel")
        return (
            kernel is not None
            and tuple(kernel.version_info[:2]) < (7, 4)
            and sys.modules.get("ipykernel.kernelapp") is not None
        )

    async def approval(self) -> Approval:
        """The oldest request that the run, or one that it asked, waits for; waited for.

        Raises: RunError when the run ends without asking.
        """
        while (request := self._pending()) is None:
            if self._over():
                raise RunError(f"run {self.id!r} is {self.status} and asks for nothing", run=self.id)
            await self._change()
        return request

    async def until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first state, the present one included, for which the condition holds.

        Raises: what awaiting the run raises.
        """
        predicate(condition)
        while not condition(state := self.state):
            if self._over():
                self._end()
                raise RunError(f"run {self.id!r} is {self.status}, and the condition was not met before", run=self.id)
            await self._change()
        return state

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """States as they come, newest wins, ending with the run."""
        return self._states()

    async def _states(self) -> AsyncIterator[dict[str, Any]]:
        seen = None
        while True:
            state = self.state
            if state != seen:
                seen = state
                yield state
            elif self._over():
                return
            else:
                await self._change()

    async def kill(self, by: str = "you") -> None:
        """End it as a crash would: nothing more is written, its approvals stay pending.

        Who awaits it gets RunInterrupted. This bench leaves the run alone until `recover()`. One that runs elsewhere is
        killed there, by its host. Raises: RunError when it has ended, StoreError when its host does not answer.
        """
        if self._has_ended():
            raise RunError(f"run {self.id!r} is {self.status}; there is nothing to kill", run=self.id)
        if self.owner is not None:
            await self._runtime.kill(self.key, by)
            self.process.held_by = by
            return self._tell()
        ledger = self.live.ledger
        if ledger is not None:
            self._cut = frozenset(ledger.open)
        await self.process.kill(by)
        self._tell()

    async def recover(self, *, beside: bool = False) -> None:
        """Replay from the journal and carry on. Does nothing to a run that is alive.

        A plain function that still runs in a thread is waited for first; `beside=True` goes on next to it. Raises:
        RunError when it has ended, or when this bench runs nothing.
        """
        if self._has_ended():
            raise RunError(f"run {self.id!r} is {self.status} and needs no recovery", run=self.id)
        if not self.alive:
            if not self._runtime.worker:
                raise RunError(
                    f"run {self.id!r} is not running, and this bench runs nothing (worker=False); "
                    "open its store in a bench that does",
                    run=self.id,
                )
            await self.process.recover(beside=beside)
        self._tell()

    async def extend(self, **amounts: Any) -> Amounts:
        """Raise the budget that stops it, else its own, and let it go on where it stopped; gives by how much.

        Takes what `Account.extend` takes: `requests=5`, `dollars="1"`, or nothing for as much again. Raises: BadInput
        when it has no budget.
        """
        governs = self._governs()
        if not governs:
            raise BadInput(f"run {self.id!r} has no budget to extend; give the next one bench.run(…, budget=Budget(…))")
        stop = self.facts().stop
        of = governs[0]["of"] if stop is None else stop["of"]
        account = next((one for one in governs if one["of"] == of), {"of": of})
        extended = await self._account(account).extend(**amounts)
        self._tell()
        return extended

    async def cancel(self, by: str = "you") -> str:
        """Stop it for good and close its approvals; gives the status that became true, which may be an earlier end.

        A tool or model that swallows it for `PATIENCE` seconds is left behind: what it does is written no more, and
        `at_work` names the tools that still execute.
        Raises: RunInterrupted or RunFailed when it stops running before that, RunError when nobody carries it out; what
        is in the journal of the cancel is carried out when the run is recovered.
        """
        if not self._has_ended():
            posted = asyncio.ensure_future(self._in_the_journal(self._sent({"type": "cancel", "by": by})))
            try:
                await self._carried_out(posted, by)
            finally:
                posted.cancel()
        self._tell()
        return str(self.state["status"])

    async def _carried_out(self, posted: asyncio.Future[None], by: str) -> None:
        """Return when the run has ended, whatever of it does not listen."""
        now, insisted = asyncio.get_running_loop().time, False
        ends = now() + PATIENCE
        while not self._has_ended():
            if posted.done():
                posted.result()
                if self._runtime.worker and self.process.status in ENDED:
                    self._end()
            if now() > ends:
                if insisted or self.process.activation is None:
                    raise RunError(
                        f"the cancel of run {self.id!r} is on its way to its journal, and no host carries it out yet; "
                        "it ends with the next one that runs it",
                        run=self.id,
                    )
                insisted = True
                await self.process.insist(by)
                ends = now() + PATIENCE
            await self._change()

    def _sent(self, cancel: dict[str, Any]) -> Awaitable[int]:
        if self.process.activation is None and self.process.threads and self._runtime.worker and self.owner is None:
            return self.process.send_beside(cancel)
        return self.process.cast(cancel)

    async def _in_the_journal(self, cancel: Awaitable[int]) -> None:
        try:
            await cancel
        except ProcessEnded as error:
            raise RunInterrupted(
                f"run {self.id!r} stopped before the cancel was in its journal; cancel it again", run=self.id
            ) from error

    async def fork(
        self, before: int | str | None = None, *, edit: Mapping[str, Any] | None = None, id: str | None = None
    ) -> Run:
        """A new run that shares everything before a step of this one, and goes its own way from there.

        `before` is a turn (2 or "t2"), a call ("t2.0") or a step of a call ("t2.0/charge"); left out, it is right
        behind what is edited last. `edit` changes what is shared: `request`, `instructions`, `model` (a provider
        string), `agent`, what the model said in a turn ("t1": as in a script), what a call gave ("t1.0": a value, or
        an exception to raise). Nothing before the step runs again; approvals decided there are not asked again. The
        fork is there whole or not at all, and `id` makes it idempotent. `forked_from` says what was saved.
        Raises: BadInput naming what there is to fork before or to edit, NotPlain, NoCode, CallConflict.
        """
        return await self._studio.forks.fork(self, before, edit, id)

    def to_test(
        self, path: str | os.PathLike[str] | None = None, *, agent: str | None = None, ignore: Iterable[str] = ()
    ) -> str:
        """A Python test of this run: its turns and decisions are played again, and what its tools give is asserted.

        Gives the text, and writes it to a new file at `path`. `agent` says where the test imports the agent from
        ("shop:support"), for one that is in no module yet; `ignore` are calls whose result is another each time
        ("t1.0"). Secret arguments are not written. Raises: BadInput for a run that has not ended, a file that is there.
        """
        known = self._studio.agents.get(self.agent)
        if known is None:
            raise NoCode(f"no agent {self.agent!r} here to make a test of; add it with bench.add(…)", name=self.agent)
        text = source_of_test(self, known, agent, ignore, importable=path is not None, agents=self._studio.agents)
        if path is not None:
            write_test(text, path)
        return text

    def _tell(self) -> None:
        self.process.states.tell()
        self.live.changes.tell()

    def source(self) -> Run:
        """The run is its own source."""
        return self

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after something of the run changed; gives the function that stops it."""
        stops = [
            self.process.states.changes.subscribe(changed),
            self.live.changes.subscribe(changed),
            self._runtime.requests.changes.subscribe(changed),
        ]

        def stop_all() -> None:
            for stop in stops:
                stop()

        return stop_all

    async def command(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Carry out a button. Raises: what its verb raises; BadInput for a command that there is not."""
        match name:
            case "kill":
                await self.kill()
            case "recover":
                await self.recover()
            case "cancel":
                return {"status": await self.cancel()}
            case "approve" | "edit" | "reject" | "answer" | "dismiss" | "always":
                return await self._runtime.decide(name, args)
            case "extend":
                return {"extended": await self.extend(**args), "status": self.status}
            case _:
                raise BadInput(
                    f"a run has no command {name!r}; it has kill, recover, cancel, extend and those of its approvals"
                )
        return {"status": self.status}
