"""The window of a team: who asked whom as a graph and a table, and what any of them waits for.

The front end's half is in `widgets/src/team/`; the shape of the state is in `workbench.agents.views`.
Knows nothing of where the view comes from.
"""

from __future__ import annotations

from workbench.widgets.base import Window, bundle

__all__ = ["TeamWindow"]


class TeamWindow(Window):
    """Shows one view of kind "team"."""

    _esm, _css = bundle("team")
    what = "team"
