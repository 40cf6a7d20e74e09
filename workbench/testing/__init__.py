"""The workshop: what tests of notebooks, stores and processes are made of.

Names load at first use, so that the pytest plugin costs nothing, and so that assertion rewriting sees the laws before
they are imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.lazy import lazily

if TYPE_CHECKING:
    from workbench.process.channel import Channel
    from workbench.testing.clock import ManualClock
    from workbench.testing.crashes import crash_suite
    from workbench.testing.notebooks import Notebook
    from workbench.testing.runs import call_outcomes, decided, scripted_team

__all__ = [
    "Channel",
    "ManualClock",
    "Notebook",
    "call_outcomes",
    "crash_suite",
    "decided",
    "scripted_team",
]

_HOMES = {
    "Channel": "workbench.process.channel",
    "ManualClock": "workbench.testing.clock",
    "Notebook": "workbench.testing.notebooks",
    "call_outcomes": "workbench.testing.runs",
    "crash_suite": "workbench.testing.crashes",
    "decided": "workbench.testing.runs",
    "scripted_team": "workbench.testing.runs",
}


__getattr__ = lazily(__name__, _HOMES, __all__)
