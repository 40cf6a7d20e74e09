"""The desk of an agent: where processes ask it. A call is a run whose id is that of the call.

So `await ctx.call("research", bench.lookup(researcher), "…")` in a durable process asks once, over any crash: its
replay finds the run that it began, and waits for it or has its answer. The run is of nobody's tree: it lives on its
own, and a process that ends does not end it.

Knows nothing of turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.delegation import end_of, output_of, until_ended
from workbench.errors import CallRefused

if TYPE_CHECKING:
    from workbench.agents.agent import Agent
    from workbench.agents.run import Run
    from workbench.agents.studio import Studio

__all__ = ["Desk"]


class Desk:
    """One agent of a bench, to be asked by processes. `key` is `agent:<name>`."""

    def __init__(self, studio: Studio, agent: Agent) -> None:
        self.key = f"agent:{agent.name}"
        self.agent = agent.name
        self._studio = studio

    async def call(self, message: str, *, id: str) -> Any:
        """The output of the run with this id, which is begun unless it was.

        Raises: CallRefused without an id, BadInput, CallConflict when the id is another run, RunFailed and RunCancelled
        as the run ended.
        """
        if type(id) is not str or not id:
            raise CallRefused(
                f"a call of agent {self.agent!r} needs an id made from the thing being done, found {id!r}", key=self.key
            )
        run = self.begin(message, id)
        await until_ended(run, self._studio, lambda waits: None)
        return output_of(self.agent, end_of(run))

    def begin(self, message: str, id: str | None = None) -> Run:
        """A run of the agent, as `bench.run` begins it."""
        return self._studio.runs.start(self._studio.agents[self.agent], message, id=id)

    def __repr__(self) -> str:
        return f"<Desk of {self.agent}>"
