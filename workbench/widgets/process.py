"""The window of a process: its state, its mailbox, how it lives.

The front end's half is in `widgets/src/process/`; the shape of the state is in `workbench.agents.views`.
Knows nothing of where the view comes from.
"""

from __future__ import annotations

from workbench.widgets.base import Window, bundle

__all__ = ["ProcessWindow"]


class ProcessWindow(Window):
    """Shows one view of kind "process"."""

    _esm, _css = bundle("process")
    what = "process"
