"""The window of a comparison: two runs beside each other on one axis.

The front end's half is in `widgets/src/compare/`; the shape of the state is in `workbench.agents.compare_view`.
Knows nothing of where the view comes from.
"""

from __future__ import annotations

from workbench.widgets.base import Window, bundle

__all__ = ["CompareWindow"]


class CompareWindow(Window):
    """Shows one view of kind "compare"."""

    _esm, _css = bundle("compare")
    what = "comparison"
