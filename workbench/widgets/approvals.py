"""The window of the inbox: every approval that waits, and those decided lately.

The front end's half is in `widgets/src/approvals/`; the shape of the state is in `workbench.agents.views`.
Knows nothing of where the view comes from.
"""

from __future__ import annotations

from workbench.widgets.base import Window, bundle

__all__ = ["ApprovalsWindow"]


class ApprovalsWindow(Window):
    """Shows one view of kind "approvals"."""

    _esm, _css = bundle("approvals")
    what = "approvals"
