"""Crashes: what a store and the runtime on it keep when hosts die, as a suite that ships with the package.

await crash_suite(make_store)       # hosts that die in this process, after every operation
python -m workbench.testing.crashes --kills 500      # processes that are killed, at any moment
"""

from __future__ import annotations

from workbench.testing.crashes.killing import kill_suite
from workbench.testing.crashes.mortal import Death, Mortal
from workbench.testing.crashes.promises import Breach
from workbench.testing.crashes.report import Played, Report
from workbench.testing.crashes.schedule import Schedule
from workbench.testing.crashes.suite import crash_suite, rehearse, replay

__all__ = [
    "Breach",
    "Death",
    "Mortal",
    "Played",
    "Report",
    "Schedule",
    "crash_suite",
    "kill_suite",
    "rehearse",
    "replay",
]
