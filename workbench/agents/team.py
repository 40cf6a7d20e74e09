"""The team of a run: whom it asked and whom those asked, as one thing to look at. `run.team` shows it in a cell.

What has ended is read from the journal once. Knows nothing of windows, or of how a team is laid out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.agents.team_graph import Member
from workbench.agents.team_view import team_view
from workbench.events import Shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.agents.run import Run
    from workbench.agents.studio import Studio
    from workbench.agents.views import RunView, TeamView

__all__ = ["Team"]


class Team(Shown):
    """The runs of a team. `members()` are they, with who asked for each; `view()` has the graph and the table."""

    def __init__(self, run: Run, studio: Studio) -> None:
        self.run = run
        self._studio = studio
        self._ended: dict[str, RunView] = {}

    def members(self) -> list[Member]:
        """The run itself, then each run that it asked with those below it, in the order of asking."""
        return self._members(self.run, (), None)

    def _members(self, run: Run, above: tuple[str, ...], by: str | None) -> list[Member]:
        view = self._view_of(run)
        path = (*above, view["agent"])
        found = [Member(path, by, view)]
        for row in view["rows"]:
            if row["kind"] == "call":
                turn = row["turn"]
                holder = _holder(view, turn)
                below = path if holder == view["agent"] else (*path, holder)
                for child in row["children"]:
                    if child["id"] in self._studio.runs:
                        found += self._members(self._studio.runs[child["id"]], below, holder)
        return found

    def _view_of(self, run: Run) -> RunView:
        if run.id not in self._ended:
            view = run.view()
            if not run.ended:
                return view
            self._ended[run.id] = view
        return self._ended[run.id]

    def view(self) -> TeamView:
        """The team as a person sees it."""
        return team_view(self.members(), self._studio.agents.get(self.run.agent), self._studio.clock.now())

    def source(self) -> Team:
        """The team is its own source."""
        return self

    def subscribe(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after something of the team changed; gives the function that stops it."""
        return self.run.subscribe(changed)

    async def command(self, name: str, args: dict[str, Any]) -> dict[str, Any]:
        """Carry out a button: those of its run, and of all approvals below it. Raises: as the run's."""
        return await self.run.command(name, args)

    @property
    def gone(self) -> bool:
        """Whether its bench is closed."""
        return self.run.gone

    def __repr__(self) -> str:
        return f"<Team of {self.run!r}>"


def _holder(view: RunView, turn: int) -> str:
    """Who had the run in a turn."""
    said = (row["who"] for row in view["rows"] if row["kind"] == "message" and row["turn"] == turn)
    return next(said, view["agent"])
