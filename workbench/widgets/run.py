"""The window of a run: its timeline, what it waits for, Approve, Reject, Kill and Recover.

The front end's half is in `widgets/src/run/`; the shape of the state is in `workbench.agents.views`.
Knows nothing of where the view comes from.
"""

from __future__ import annotations

from workbench.widgets.base import Window, bundle

__all__ = ["RunWindow"]


class RunWindow(Window):
    """Shows one view of kind "run"."""

    _esm, _css = bundle("run")
    what = "run"
